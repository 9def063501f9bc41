// The same numbers in a page and in a terminal, to the last bit: everything that the engine answers
// about a thousand digits, and twenty training steps, in WebAssembly and from the native twin
// (numbers.cpp), both in the portable form of the kernels.
//
// scripts/web.sh builds both. EXPLORER_NUMBERS names the twin where it lies elsewhere, EXPLORER_DIGITS another number of digits.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { root, startEngine } from './engine.mjs';

const twin = process.env.EXPLORER_NUMBERS ?? fileURLToPath(new URL('build-portable/bin/explorer_numbers', root));
const weights = fileURLToPath(new URL('models/digits.safetensors', root));
const digits = Number(process.env.EXPLORER_DIGITS ?? 1000);

// FNV-1a of 32-bit words: each bit counts.
function hash(...views) {
  let h = 0x811c9dc5;
  for (const view of views) {
    const bytes = view.byteOffset % 4 === 0 ? view : view.slice();
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
    for (const word of words) h = Math.imul(h ^ word, 0x01000193);
  }
  return (h >>> 0).toString(16).padStart(8, '0');
}
const double = (...numbers) => hash(new Float64Array(numbers));

function* readDigits(engine, count) {
  for (let i = 0; i < count; ++i) {
    const { label } = engine.sample('digit', i);
    const pixels = hash(engine.pixels());

    const { tensors, probabilities, lens, rollout } = engine.forward();
    const values = hash(...[...tensors, probabilities, lens, rollout].map((t) => engine.values(t)));
    const logits = hash(engine.values(tensors.at(-1)));

    const back = engine.backward(label);
    const gradients = hash(...[...back.tensors, ...back.parameters].map((t) => engine.gradient(t)),
      engine.values(back.saliency), engine.values(back.gradient_rollout));
    yield `digit ${i} pixels ${pixels} logits ${logits} values ${values} loss ${double(back.loss)} gradients ${gradients}`;
  }
}

function* lookInside(engine) {
  const similarity = hash(engine.values(engine.weights().similarity));
  engine.sample('digit', 3);
  const { relative_error, analytic, numeric } = engine.check('blocks.1.attn.qkv.weight', 0);
  engine.draw({ strokes: [[[0.2, 0.3], [0.7, 0.25], [0.4, 0.8]]] });
  const drawn = hash(engine.pixels());
  yield `similarity ${similarity} derivatives ${double(relative_error, analytic, numeric)} drawn ${drawn}`;
}

function* train(engine, settings, steps) {
  engine.create(settings);
  for (let step = 1; step <= steps; ++step) {
    const { losses, grad_norm } = engine.train(1);
    const parameters = engine.weights().parameters.map((t) => engine.values(t));
    yield `step ${step} loss ${double(losses[0], grad_norm)} weights ${hash(...parameters)}`;
  }
  const { loss, accuracy } = engine.score(200);
  yield `score ${double(loss, accuracy)}`;
}

test(`${digits} digits and 20 training steps: the bits of the native build`, async () => {
  const environment = { ...process.env, VITRUVIAN_SIMD: 'portable', VITRUVIAN_GEMM: 'packed' };
  const native = promisify(execFile)(twin, [weights, String(digits)], { env: environment });
  native.catch(() => {}); // said below, where it is awaited
  const engine = await startEngine();
  engine.open(await readFile(weights));
  const lines = [
    ...readDigits(engine, digits),
    ...lookInside(engine),
    ...train(engine, { dropout: 0.1 }, 20),
    // Rows that end in the middle of a vector, and another optimizer.
    ...train(engine, { P: 4, D: 50, L: 2, h: 5, M: 90, optimizer: 'sgd' }, 5),
  ];
  const expected = (await native).stdout.trimEnd().split('\n');
  assert.equal(lines.length, expected.length);
  lines.forEach((line, i) => assert.equal(line, expected[i]));
});
