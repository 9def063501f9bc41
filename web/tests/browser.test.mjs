// The engine where people meet it: in Chromium, in one file opened from the disk, and in a worker
// that the file carries. The page here is bare: engine.ts, the module and the weights, packed as
// in the explorer.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { transform } from 'esbuild';
import { withPage } from './chromium.mjs';
import { root, startEngine } from './engine.mjs';

const weights = await readFile(new URL('models/digits.safetensors', root));

// Runs in the worker, behind engine.ts.
const trainInWorker = `
onmessage = async ({ data: { wasm, steps } }) => {
  const engine = await Engine.start(wasm);
  engine.create({ images: 1000 });
  const losses = [];
  for (let i = 0; i < steps; i += 4) losses.push(...engine.train(4).losses);
  postMessage({ losses, memory: engine.memory });
};`;

const script = (engine, wasm) => `
${engine}
const unpack = async (base64) => {
  const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};
const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];
const timed = (times, action) => {
  const begin = performance.now();
  const result = action();
  times.push(performance.now() - begin);
  return result;
};
window.ready = (async () => {
  const wasm = await unpack('${gzipSync(wasm).toString('base64')}');
  const engine = await Engine.start(wasm);
  engine.open(await unpack('${gzipSync(weights).toString('base64')}'));
  return { wasm, engine };
})();
window.read = async (strokes) => {
  const { engine } = await window.ready;
  const reading = [], backward = [];
  for (let i = 0; i < 31; ++i) {
    timed(reading, () => { engine.draw({ strokes }); engine.forward(); });
    timed(backward, () => engine.backward(i % 10));
  }
  const forward = engine.forward();
  const logits = forward.tensors.find((t) => t.name === 'logits');
  return { logits: [...engine.values(logits)], guess: forward.guess, reading: median(reading), backward: median(backward) };
};
window.refused = async () => {
  try { (await window.ready).engine.backward(10); } catch (error) { return error.message; }
};
window.train = async (steps) => {
  const { wasm } = await window.ready;
  const source = URL.createObjectURL(new Blob([${JSON.stringify(engine + trainInWorker)}], { type: 'text/javascript' }));
  const worker = new Worker(source);
  let longest = 0, last = performance.now(), watching = true;
  const watch = (now) => { longest = Math.max(longest, now - last); last = now; if (watching) requestAnimationFrame(watch); };
  requestAnimationFrame((now) => { last = now; requestAnimationFrame(watch); });
  const trained = await new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage({ wasm, steps });
  });
  watching = false;
  worker.terminate();
  return { ...trained, longest };
};`;

async function bare() {
  const typed = await readFile(new URL('web/explorer/src/engine.ts', root), 'utf8');
  const { code } = await transform(typed, { loader: 'ts' });
  const engine = code.replace(/^export\s*\{[^}]*\};?/gm, '').replace(/^export /gm, '');
  const wasm = await readFile(new URL('build-web/wasm/explorer.wasm', root));
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,">
    <title>The engine</title></head><body><script>${script(engine, wasm)}</script></body></html>`;
}

test('in Chromium, from the disk: the numbers of node, in time, trained in a worker, and no request', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'explorer-'));
  try {
    const path = join(folder, 'engine.html');
    await writeFile(path, await bare());
    await withPage(path, {}, async (page, problems) => {
      const strokes = [[[0.35, 0.25], [0.65, 0.25], [0.45, 0.8]]];
      const read = await page.evaluate((s) => window.read(s), strokes);
      const here = await startEngine();
      here.open(weights);
      here.draw({ strokes });
      const forward = here.forward();
      assert.deepEqual(read.logits, [...here.values(forward.tensors.find((x) => x.name === 'logits'))]);
      assert.equal(read.guess, forward.guess);
      // What is left of 16 ms draws the picture; medians, on a machine that may be busy.
      t.diagnostic(`ink and forward ${read.reading.toFixed(1)} ms, backward ${read.backward.toFixed(1)} ms (medians)`);
      assert.ok(read.reading < 10, `${read.reading} ms`);
      assert.ok(read.backward < 40, `${read.backward} ms`);

      assert.match(await page.evaluate(() => window.refused()), /the label is a digit, 0 to 9; got 10/);

      const trained = await page.evaluate(() => window.train(40));
      here.create({ images: 1000 });
      assert.deepEqual(trained.losses, here.train(40).losses);
      assert.ok(trained.memory < 200e6, `${trained.memory} bytes`);
      t.diagnostic(`longest frame while the worker trained ${trained.longest.toFixed(0)} ms`);
      assert.deepEqual(problems, []);
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});

// The watcher must see what it is there for.
test('a page that asks for something or complains is found out', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'explorer-'));
  try {
    const path = join(folder, 'noisy.html');
    await writeFile(path, `<!doctype html><title>.</title><link rel="icon" href="data:,"><img src="beside.png" alt="">
      <script>console.error('complaint'); setTimeout(() => { throw new Error('slip'); });</script>`);
    await withPage(path, {}, async (page, problems) => {
      await page.waitForTimeout(100);
      for (const sign of [/^request: .*beside\.png/, /^console: complaint/, /^thrown: slip/]) {
        assert.ok(problems.some((p) => sign.test(p)), `${sign} in ${problems.join('; ')}`);
      }
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});
