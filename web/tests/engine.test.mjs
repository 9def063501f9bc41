// What the engine promises a page (web/engine/explorer.h), asked of it under node: equations hold
// between the numbers it shows, a mistake turns the gradient check red, and what it refuses is a
// sentence after which everything goes on. That the numbers are the native build's is
// numbers.test.mjs's matter.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, startEngine, weights } from './engine.mjs';

const stroke = [[0.2, 0.3], [0.7, 0.25], [0.4, 0.8]];

async function opened() {
  const engine = await startEngine();
  const model = engine.open(weights);
  return { engine, model };
}
const sum = (values) => values.reduce((a, b) => a + b, 0);
const near = (a, b, tolerance, what) =>
  assert.ok(Math.abs(a - b) <= tolerance, `${what}: ${a} and ${b} differ by more than ${tolerance}`);
// Copies: a view ends with the next call.
const numbers = (engine, forward, name) =>
  Float32Array.from(engine.values(forward.tensors.find((t) => t.name === name)));

test('a model says its sizes, and its parameters are as many numbers as it counts', async () => {
  const { engine, model } = await opened();
  const { C, H, W, P, D, h, N, T, D_h, K } = model.config;
  assert.deepEqual([C, H, W, K], [1, 28, 28, 10]);
  assert.equal(N, (H / P) * (W / P));
  assert.equal(T, N + 1);
  assert.equal(D_h * h, D);
  assert.equal(sum(model.parameters.map((t) => engine.values(t).length)), model.count);
  assert.equal(model.step, 0);
  const similarity = engine.values(model.similarity);
  for (let p = 0; p < N; ++p) near(similarity[p * N + p], 1, 1e-5, `the cosine of position ${p} with itself`);
});

test('the drawn digits are read', async () => {
  const { engine } = await opened();
  let right = 0;
  for (let i = 0; i < 50; ++i) {
    const { label } = engine.sample('digit', i);
    right += Number(engine.forward().guess === label);
  }
  assert.ok(right >= 48, `${right} of 50`);
});

test('the equations of the paper hold between the intermediates', async () => {
  const { engine, model } = await opened();
  const { T, D, h, L, K } = model.config;
  engine.sample('digit', 3);
  const forward = engine.forward();
  const of = (name) => numbers(engine, forward, name);
  let before = of('z_0');
  for (let l = 0; l < L; ++l) {
    const probs = of(`blocks.${l}.attn.probs`);
    assert.equal(probs.length, h * T * T);
    for (let row = 0; row < h * T; ++row) near(sum(probs.slice(row * T, (row + 1) * T)), 1, 1e-5, `row ${row} of A`);
    const [msa, prime, mlp, z] = ['msa', 'z_prime', 'mlp', 'z'].map((name) => of(`blocks.${l}.${name}`));
    for (let i = 0; i < T * D; ++i) {
      assert.equal(prime[i], Math.fround(msa[i] + before[i]), `z'_${l + 1}[${i}]`);
      assert.equal(z[i], Math.fround(mlp[i] + prime[i]), `z_${l + 1}[${i}]`);
    }
    before = z;
  }
  // One score is a dot product of the q and k beside it.
  const [q, k, scores] = ['q', 'k', 'scores'].map((name) => of(`blocks.0.attn.${name}`));
  const size = D / h;
  for (const [head, i, j] of [[0, 0, 0], [1, 3, 9], [h - 1, T - 1, 2]]) {
    let product = 0;
    for (let d = 0; d < size; ++d) product += q[(head * T + i) * size + d] * k[(head * T + j) * size + d];
    near(scores[(head * T + i) * T + j], product / Math.sqrt(size), 1e-4, `the score of ${i} and ${j} in head ${head}`);
  }
  const probabilities = Array.from(engine.values(forward.probabilities));
  const logits = Array.from(of('logits'), Math.exp);
  probabilities.forEach((p, digit) => near(p, logits[digit] / sum(logits), 1e-6, `the probability of ${digit}`));
  assert.equal(probabilities.indexOf(Math.max(...probabilities)), forward.guess);
  const lens = engine.values(forward.lens);
  assert.equal(lens.length, (L + 1) * K);
  probabilities.forEach((p, digit) => near(lens[L * K + digit], p, 1e-6, `the last lens of ${digit}`));
});

test('the gradient is the slope of the loss', async () => {
  const { engine } = await opened();
  const { label } = engine.sample('digit', 7);
  const { loss, tensors, walk } = engine.backward(label);
  near(loss, -Math.log(engine.values(engine.forward().probabilities)[label]), 1e-5, 'the loss and -log p');
  // The derivative by the logits is p - 1[label].
  const logits = engine.backward(label).tensors.find((t) => t.name === 'logits');
  const gradient = Array.from(engine.gradient(logits));
  const probabilities = engine.values(engine.forward().probabilities);
  gradient.forEach((g, digit) => near(g, probabilities[digit] - Number(digit === label), 1e-6, `logit ${digit}`));
  assert.deepEqual(walk.map((step) => step.name), tensors.map((t) => t.name).reverse());
  for (const { name, norm } of walk) assert.ok(norm > 0, `no cotangent reaches ${name}`);
});

test('what the walk back says of its nodes (walk.ts) is true of their gradients', async () => {
  const { engine, model } = await opened();
  const { D, L, T } = model.config;
  engine.sample('digit', 3);
  const { tensors, walk } = engine.backward(8);
  const { backTo } = await load('walk');
  for (const { name } of walk) assert.match(backTo(name, L), /^[A-Z].*\.$/, `${name} has no sentence`);
  const of = (name) => engine.gradient(tensors.find((t) => t.name === name));
  for (let l = 0; l < L; ++l) {
    assert.deepEqual(of(`blocks.${l}.mlp`), of(`blocks.${l}.z`));
    assert.deepEqual(of(`blocks.${l}.msa`), of(`blocks.${l}.z_prime`));
    const scores = of(`blocks.${l}.attn.scores`);
    for (let row = 0; row < scores.length / T; ++row) near(sum(scores.slice(row * T, (row + 1) * T)), 0, 1e-5, `row ${row} of block ${l}`);
  }
  assert.deepEqual(of('patches'), of('z_0').slice(D));
  const last = of(`blocks.${L - 1}.z`);
  assert.ok(last.slice(0, D).some((g) => g !== 0) && last.slice(D).every((g) => g === 0), 'only the class token was read');
  assert.deepEqual(of('images').slice().sort(), of('patch_embed.x_p').slice().sort());
});

test('a rule that is wrong turns the check red, and mending it green again', async () => {
  const { engine } = await opened();
  const { label } = engine.sample('digit', 2);
  const parameter = 'blocks.1.attn.qkv.weight';
  const good = engine.check(parameter, label);
  assert.ok(good.passed && good.relative_error <= good.tolerance);
  const { ops } = engine.fault(null);
  assert.ok(ops.some(({ op }) => op === 'matmul'), ops.map(({ op }) => op).join(' '));
  const clean = numbers(engine, engine.forward(), 'logits');
  engine.fault({ op: 'matmul', kind: 'flip_sign', input: 0 });
  const bad = engine.check(parameter, label);
  assert.ok(!bad.passed && bad.relative_error > bad.tolerance);
  assert.deepEqual(numbers(engine, engine.forward(), 'logits'), clean); // only derivatives are wrong
  engine.fault(null);
  assert.deepEqual(engine.check(parameter, label), good);
});

test('drawing: empty paper is empty, and centring moves the ink to the middle', async () => {
  const { engine } = await opened();
  assert.equal(engine.draw({ strokes: [] }).empty, true);
  assert.equal(sum(engine.pixels()), 0);
  const corner = [stroke.map(([x, y]) => [x / 3, y / 3])];
  const middle = (pixels) => {
    const ink = sum(pixels);
    return [0, 1].map((axis) => sum(pixels.map((p, i) => p * (axis ? Math.floor(i / 28) : i % 28))) / ink);
  };
  const drawn = engine.draw({ strokes: corner });
  assert.equal(drawn.empty, false);
  assert.ok(drawn.scale > 1);
  const away = middle(Array.from(engine.bytes(drawn.uncentred, 784)));
  assert.ok(away.every((c) => c < 8), String(away));
  const centred = middle(Array.from(engine.pixels()));
  centred.forEach((c) => near(c, 13.5, 1, 'the centre of mass'));
  engine.draw({ strokes: corner, centred: false });
  assert.deepEqual(middle(Array.from(engine.pixels())), away);
});

test('samples: the same index gives the same picture, and what is no digit has no label', async () => {
  const { engine } = await opened();
  for (const kind of ['digit', 'thick', 'thin', 'shifted', 'letter', 'noise']) {
    const { label } = engine.sample(kind, 4);
    const first = engine.pixels().slice();
    assert.equal(label, kind === 'letter' || kind === 'noise' ? null : 4);
    engine.sample(kind, 5);
    assert.notDeepEqual(engine.pixels(), first, kind);
    engine.sample(kind, 4);
    assert.deepEqual(engine.pixels(), first, kind);
  }
});

test('training lowers the loss, and the same seed trains the same way', async () => {
  const run = async () => {
    const engine = await startEngine();
    engine.create({ L: 1, D: 32, M: 64, images: 640, batch: 64, seed: 3 });
    const before = engine.score(200);
    const { losses, changes, step, images } = engine.train(30);
    assert.deepEqual([step, images, losses.length], [30, 30 * 64, 30]);
    for (const { name, update } of changes) assert.ok(update > 0, `${name} does not learn`);
    const after = engine.score(200);
    assert.ok(after.loss < before.loss && after.accuracy > before.accuracy, JSON.stringify([before, after]));
    return losses;
  };
  assert.deepEqual(await run(), await run());
});

test('a step on one picture teaches that picture, and takes no turn in the epochs', async () => {
  const settings = { L: 1, D: 32, M: 64, images: 128, batch: 64, dropout: 0.1, seed: 3 };
  const engine = await startEngine();
  engine.create(settings);
  const first = engine.train(20);
  const { label } = engine.sample('digit', 4);
  const belief = () => engine.values(engine.forward().probabilities)[label];
  const before = belief();
  const steps = Array.from({ length: 5 }, () => engine.learn(label));
  assert.ok(belief() > before, `${before}, then ${belief()}`);
  assert.ok(steps.at(-1).losses[0] < steps[0].losses[0]);
  steps.forEach(({ step, images, batch, losses, correct }, i) => {
    assert.deepEqual([step, images, batch], [21 + i, 20 * 64 + 1 + i, 1]);
    assert.deepEqual([losses.length, correct.length], [1, 1]);
  });
  assert.deepEqual(steps[0].changes.map((c) => c.name), first.changes.map((c) => c.name));
  for (const { name, update } of steps[0].changes) assert.ok(update > 0, `${name} does not learn`);
  const after = engine.train(1);
  assert.deepEqual([after.step, after.images, after.batch], [26, 21 * 64 + 5, 64]);

  // Where nothing is learned, gradients are those of the batches, and of the units dropped.
  const still = { ...settings, learning_rate: 0, images: 320 };
  const norms = (learn) => {
    engine.create(still);
    return Array.from({ length: 12 }, () => {
      if (learn) engine.learn(label);
      return engine.train(1).grad_norm;
    });
  };
  const alone = norms(false);
  assert.equal(new Set(alone).size, alone.length, 'batches differ');
  assert.deepEqual(norms(true), alone);
});

test('what a step did to the loss of its own batch, beside what the gradient promised', async () => {
  const engine = await startEngine();
  const small = { L: 1, D: 32, M: 64, images: 128, batch: 32, optimizer: 'sgd', weight_decay: 0, warmup: 0, seed: 3 };
  engine.create({ ...small, learning_rate: 1e-3 });
  const { effect, losses, grad_norm, learning_rate, changes } = engine.train(1);
  assert.equal(effect.before, losses[0]);
  assert.ok(grad_norm > 0.1 && grad_norm < 1, `${grad_norm}: not clipped`);
  near(effect.promised / (-learning_rate * grad_norm ** 2), 1, 1e-3, 'the promise of plain descent');
  near((effect.after - effect.before) / effect.promised, 1, 0.02, 'a small step keeps it');
  near(changes.find((c) => c.name === 'head.bias').gradient * learning_rate, changes.find((c) => c.name === 'head.bias').update, 1e-8, 'an update');

  // The loss after a step is that of the same images, and of the same units.
  engine.create({ ...small, learning_rate: 0, dropout: 0.3 });
  for (const trained of [engine.train(3), engine.learn(4)]) {
    assert.equal(trained.effect.after, trained.effect.before);
    assert.equal(trained.effect.before, trained.losses.at(-1));
    assert.equal(trained.effect.promised, 0);
  }
  // A norm above 1 is clipped: the step is shorter, and so is what it promises; the gradient is whole.
  engine.create({ ...small, learning_rate: 0.2 });
  engine.train(20);
  engine.sample('noise', 0);
  const steep = engine.learn(4);
  assert.ok(steep.grad_norm > 1, `${steep.grad_norm}`);
  const whole = Math.hypot(...steep.changes.map(({ name, gradient }) => gradient * Math.sqrt(engine.values(engine.weights().parameters.find((p) => p.name === name)).length)));
  near(whole / steep.grad_norm, 1, 1e-3, 'the gradient that is said');
});

test('a broken rule is what training learns by', async () => {
  const run = (fault) => {
    engine.create({ L: 1, D: 32, M: 64, images: 640, batch: 64, warmup: 0, seed: 3 });
    engine.fault(fault);
    const { losses, effect } = engine.train(30);
    engine.fault(null);
    return { first: losses[0], last: losses.at(-1), effect };
  };
  const engine = await startEngine();
  const sound = run(null);
  assert.ok(sound.last < 0.9 * sound.first, JSON.stringify(sound));
  for (const op of ['matmul', 'sub']) {
    const broken = run({ op, kind: 'flip_sign', input: 0 });
    near(broken.first, sound.first, 1e-4, 'the answer is the same before the first step');
    assert.notEqual(broken.last, sound.last, `${op} does not reach training`);
  }
  assert.deepEqual(run(null), sound, 'and mended it learns as before');
});

test('the defaults read nine of ten within half a minute', async (t) => {
  const engine = await startEngine();
  engine.create({});
  const begin = process.cpuUsage(); // others may keep this machine busy
  let images = 0;
  let accuracy = 0;
  while (accuracy < 0.9 && images < 45000) {
    images = engine.train(100).images;
    accuracy = engine.score(1000).accuracy;
  }
  const { user, system } = process.cpuUsage(begin);
  const seconds = (user + system) / 1e6;
  t.diagnostic(`${accuracy} of 1,000 held-out digits after ${images} images, ${seconds.toFixed(1)} s`);
  assert.ok(accuracy >= 0.9 && seconds < 30, `${accuracy} after ${images} images and ${seconds} s`);
});

test('what is refused is a sentence, and the model before it stays', async () => {
  const engine = await startEngine();
  assert.throws(() => engine.forward(), /there is no model yet/);
  engine.open(weights);
  engine.sample('digit', 3);
  const before = numbers(engine, engine.forward(), 'logits');
  const refused = [
    [() => engine.open(weights.subarray(0, 1000)), /weights/],
    [() => engine.open(new Uint8Array(0)), /weights/],
    [() => engine.create({ P: 5 }), /5/],
    [() => engine.create({ D: 30, h: 4 }), /30/],
    [() => engine.create({ D: 4096, L: 12 }), /too large for a page/],
    [() => engine.create({ learning_rat: 1 }), /learning_rate/],
    [() => engine.create({ optimizer: 'lion' }), /there is no optimizer 'lion'/],
    [() => engine.create({ batch: 0 }), /batch: expected 1 to 512/],
    [() => engine.backward(10), /the label is a digit, 0 to 9; got 10/],
    [() => engine.train(1), /no model in training/],
    [() => engine.learn(1), /no model in training/],
    [() => engine.score(0), /expected 1 to 10000 images/],
    [() => engine.check('nobody', 0), /there is no parameter 'nobody'/],
    [() => engine.fault({ op: 'nothing', kind: 'flip_sign', input: 0 }), /the model has no op 'nothing'/],
    [() => engine.fault({ op: 'matmul', kind: 'flip_sign', input: 9 }), /there is no input 9/],
    [() => engine.sample('digits'), /there is no sample 'digits'/],
    [() => engine.draw({ strokes: [[[NaN, 0]]] }), /expected points/],
    [() => engine.draw({ strokes: [stroke], pen: 1 }), /pen: expected above 0/],
  ];
  for (const [ask, sentence] of refused) {
    assert.throws(ask, (error) => {
      assert.equal(error.constructor.name, 'EngineError');
      assert.match(error.message, sentence);
      return true;
    });
    engine.sample('digit', 3);
    assert.deepEqual(numbers(engine, engine.forward(), 'logits'), before, `after ${sentence}`);
  }
});

test('a learning rate that breaks training is said, and a new model can be made', async () => {
  const engine = await startEngine();
  const wild = { optimizer: 'sgd', learning_rate: 10, weight_decay: 10, warmup: 0 };
  engine.create({ L: 1, D: 32, M: 64, images: 640, ...wild });
  assert.throws(() => engine.train(100), /training broke down at step \d+: .* a smaller learning rate may help/);
  engine.create({ L: 1, images: 640 });
  assert.ok(engine.train(2).losses.every(Number.isFinite));
  assert.throws(() => engine.learn(10), /the label is a digit, 0 to 9; got 10/);
});

test('memory does not grow with readings, gradients, checks and training', async () => {
  const { engine } = await opened();
  const all = () => {
    for (let i = 0; i < 20; ++i) {
      engine.draw({ strokes: [stroke] });
      engine.forward();
      engine.backward(i % 10);
    }
    engine.check('head.weight', 1);
    engine.create({ L: 2, images: 640 });
    engine.train(5);
    engine.score(100);
    engine.open(weights);
  };
  all();
  const before = engine.memory;
  for (let i = 0; i < 5; ++i) all();
  assert.equal(engine.memory, before);
  assert.ok(before < 200e6, `${before} bytes`);
});
