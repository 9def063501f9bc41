// The lessons under node: build-web/wasm/lessons.{js,wasm}, every lesson's program in one module.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

export const root = new URL('../../', import.meta.url);
const built = (name) => new URL(`build-web/wasm/${name}`, root);
export const models = ['digits', 'cifar'];

process.setMaxListeners(0); // each module of emscripten's listens for what nobody caught

/** Runs `lesson NAME FLAG...`, as the book's Worker does; what it printed, line by line, and its exit code. */
export async function runLesson(words) {
  const make = createRequire(import.meta.url)(built('lessons.js').pathname);
  const lines = [];
  const module = await make({
    wasmBinary: readFileSync(built('lessons.wasm')),
    print: (line) => lines.push(line),
    printErr: (line) => lines.push(line),
  });
  module.FS.mkdirTree('/vitruvian/models');
  for (const name of models) module.FS.writeFile(`/vitruvian/models/${name}.safetensors`, readFileSync(new URL(`models/${name}.safetensors`, root)));
  const code = module.callMain(words);
  const file = (path) => module.FS.readFile(path, { encoding: 'utf8' });
  return { lines, code, file };
}
