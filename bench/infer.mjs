// Times onnxruntime on the ViT-B/16 that pytorch_train.py --export writes, one image at a time:
//   node infer.mjs --model FILE.onnx [--threads T] [--seconds S] [--packages DIR]
// DIR holds node_modules/onnxruntime-node. It prints
//   vit-b infer batch 1 threads 2: 7.6 img/s, 131.2 ms
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

const { model, threads, seconds, packages } = parseArgs({
  options: {
    model: { type: 'string' },
    threads: { type: 'string', default: String(availableParallelism()) },
    seconds: { type: 'string', default: '5' },
    packages: { type: 'string', default: '.' },
  },
}).values;
const { InferenceSession, Tensor } = createRequire(resolve(packages, 'x.js'))('onnxruntime-node');
const session = await InferenceSession.create(model, {
  intraOpNumThreads: Number(threads),
  interOpNumThreads: 1,
  graphOptimizationLevel: 'all',
});
const pixels = Float32Array.from({ length: 3 * 224 * 224 }, () => 2 * Math.random() - 1);
const feeds = { image: new Tensor('float32', pixels, [1, 3, 224, 224]) };

for (let i = 0; i < 3; ++i) await session.run(feeds);
const times = [];
for (let total = 0; total < 1000 * seconds || times.length < 3; total += times.at(-1)) {
  const start = performance.now();
  await session.run(feeds);
  times.push(performance.now() - start);
}
const ms = times.sort((a, b) => a - b)[times.length >> 1];
const rate = (1000 / ms).toFixed(1);
console.log(`vit-b infer batch 1 threads ${threads}: ${rate} img/s, ${ms.toFixed(1)} ms`);
