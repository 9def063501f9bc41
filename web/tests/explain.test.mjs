// Every number that the page takes apart is what its parts make: for each map, the sum of its factors,
// and what follows, give the engine's number.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load, startEngine, weights } from './engine.mjs';

const { explain } = await load('explain');

function readerOf(engine, model, forward) {
  const find = (name) => forward.tensors.find((t) => t.name === name);
  const parameter = (name) => model.parameters.find((t) => t.name === name);
  return {
    config: model.config,
    tensor: find,
    values: (name) => find(name) && engine.values(find(name)),
    parameter: (name) => parameter(name) && engine.values(parameter(name)),
  };
}

async function takesApart(engine, model) {
  engine.sample('digit', 3);
  const forward = engine.forward();
  const reader = readerOf(engine, model, forward);
  let taken = 0;
  for (const { name } of forward.tensors) {
    if (name === 'images') {
      assert.equal(explain(reader, name, 0), null);
      continue;
    }
    const numbers = reader.values(name);
    const step = numbers.length > 97 ? 13 : 1; // a prime: every row and column is met
    for (let i = 0; i < numbers.length; i += step) {
      const found = explain(reader, name, i);
      assert.ok(found && found.sentence && found.equation && found.factors.length, name);
      const sum = found.factors.reduce((s, { a, b }) => s + a * b, 0);
      const size = found.factors.reduce((s, { a, b }) => s + Math.abs(a * b), 1);
      const made = found.after.length ? found.after.at(-1).value : sum;
      // Every step says what it does, and does it: "− mean 0.12", "÷ √16", "× γ 1.03".
      let now = sum;
      for (const { label, value } of found.after) {
        const by = /^([−+×÷]) (?:.* )?(√?)(−?[\d.]+(?:e−?\d+)?)$/.exec(label);
        if (by && !/this one/.test(label)) {
          const number = Number(by[3].replaceAll('−', '-'));
          const operand = by[2] ? Math.sqrt(number) : number;
          const next = { '−': now - operand, '+': now + operand, '×': now * operand, '÷': now / operand }[by[1]];
          const rounded = by[2] ? 0 : /e/.test(by[3]) ? 0.06 * Math.abs(number) : 0.0051; // two decimals are said
          const slack = '×÷'.includes(by[1]) ? (Math.abs(next) * rounded) / Math.max(1e-9, Math.abs(operand) - rounded) : rounded;
          assert.ok(Math.abs(next - value) < 1e-4 * (1 + Math.abs(value)) + slack, `${name}[${i}]: ${now} ${label} is not ${value}`);
        } else {
          assert.match(label, /this one/);
        }
        now = value;
      }
      assert.equal(found.value, numbers[i]);
      assert.ok(Math.abs(made - numbers[i]) < 2e-5 * size, `${name}[${i}]: ${made} is not ${numbers[i]}`);
      ++taken;
    }
  }
  return taken;
}

test('the trained model: every map is the sum that is said', async (t) => {
  const engine = await startEngine();
  const model = engine.open(weights);
  t.diagnostic(`${await takesApart(engine, model)} numbers taken apart`);
});

test('a model of other sizes as well', async () => {
  const engine = await startEngine();
  const model = engine.create({ P: 4, D: 24, L: 2, h: 3, M: 40, images: 100, batch: 10 });
  engine.train(5); // so that no bias is 0
  await takesApart(engine, model);
});

test('GELU is x times the share of a bell curve below x', async () => {
  // The factor beside x is taken from the engine; here it is held against the curve itself.
  const engine = await startEngine();
  const model = engine.open(weights);
  engine.sample('digit', 3);
  const reader = readerOf(engine, model, engine.forward());
  const share = (x) => {
    let sum = 0.5;
    const n = 2000;
    for (let i = 0; i < n; ++i) sum += ((x / n) * Math.exp(-0.5 * (((i + 0.5) * x) / n) ** 2)) / Math.sqrt(2 * Math.PI);
    return sum;
  };
  for (let i = 0; i < 4000; i += 53) {
    const [{ a, b }] = explain(reader, 'blocks.1.mlp.hidden', i).factors;
    assert.ok(Math.abs(b - share(a)) < 1e-5 + 1e-6 / Math.abs(a), `Phi(${a}) is ${share(a)}, not ${b}`);
  }
});

test('every symbol of every equation, and of every shape, has a name, and its shape is that of the engine’s numbers', async () => {
  const { equations } = await load('equations');
  const { symbols, meaning } = await load('symbols');
  for (const [id, { math, symbols: listed }] of Object.entries(equations)) {
    for (const symbol of listed) assert.ok(symbols[symbol], `${id}: ${symbol} has no name`);
    // Every letter stands within a symbol that has it in its name: tags are followed, innermost last.
    const within = [];
    for (const [, tag, symbol, letter] of math.matchAll(/<(\/?\w+)(?: data-symbol="([^"]+)")?[^>]*>([^<]*)/g)) {
      if (tag.startsWith('/')) within.pop();
      else within.push(symbol ?? '');
      if (tag !== 'mi') continue;
      const its = within.findLast((name) => name !== '') ?? '';
      assert.ok(its.split(/[_′∂/−]/).includes(letter) || (letter === 'logit' && its === 'logit_i'), `${id}: ${letter} is within "${its}"`);
    }
  }
  const engine = await startEngine();
  const { config, parameters } = engine.open(weights);
  const { tensors } = engine.forward();
  for (const { symbols: shape } of tensors) {
    for (const symbol of shape.match(/\p{L}\w*/gu)) assert.ok(symbols[symbol], `${symbol} of ${shape}`);
  }
  const size = (symbol) => meaning(symbol, config).match(/= (.*?)(?: numbers)?$/)[1].split(' × ').reduce((n, part) => n * Number(part), 1);
  const count = (all, name) => all.find((t) => t.name === name).shape.reduce((n, d) => n * d, 1);
  for (const [symbol, name, times = 1] of [
    ['x_p', 'patch_embed.x_p', config.N], ['z_0', 'z_0'], ['z_ℓ', 'blocks.1.z'], ['z′_ℓ', 'blocks.1.z_prime'], ['MSA', 'blocks.0.msa'], ['MLP', 'blocks.0.mlp'],
    ['q', 'blocks.0.attn.q', config.h], ['k', 'blocks.0.attn.k', config.h], ['v', 'blocks.0.attn.v', config.h], ['A', 'blocks.0.attn.probs', config.h],
    ['SA', 'blocks.0.attn.heads', config.h], ['y', 'y'], ['logits', 'logits'],
  ]) assert.equal(size(symbol) * times, count(tensors, name), symbol);
  for (const [symbol, name, times = 1] of [
    ['E', 'patch_embed.proj.weight'], ['x_class', 'cls_token'], ['E_pos', 'pos_embed'], ['U_qkv', 'blocks.0.attn.qkv.weight', config.h], ['U_msa', 'blocks.0.attn.proj.weight'],
    ['W_1', 'blocks.0.mlp.fc1.weight'], ['b_1', 'blocks.0.mlp.fc1.bias'], ['W_2', 'blocks.0.mlp.fc2.weight'], ['b_2', 'blocks.0.mlp.fc2.bias'],
    ['γ', 'norm.weight'], ['β', 'norm.bias'], ['W_head', 'head.weight'], ['b_head', 'head.bias'],
  ]) assert.equal(size(symbol) * times, count(parameters, name), symbol);
  assert.match(meaning('D', config), /^numbers in a token. D = 64$/);
});
