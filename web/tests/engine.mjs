// The engine under node: web/explorer/src/engine.ts with its types taken off, and the module that
// `cmake --build --preset web` made.
import { build } from 'esbuild';
import { readFile } from 'node:fs/promises';

export const root = new URL('../../', import.meta.url);
/** The model that comes with the project. */
export const weights = await readFile(new URL('models/digits.safetensors', root));

/** A module of web/explorer/src, with what it imports. */
export async function load(name) {
  const { outputFiles } = await build({ entryPoints: [new URL(`web/explorer/src/${name}.ts`, root).pathname], bundle: true, format: 'esm', write: false });
  return import('data:text/javascript,' + encodeURIComponent(outputFiles[0].text));
}

export async function startEngine() {
  const { Engine } = await load('engine');
  return Engine.start(await readFile(new URL('build-web/wasm/explorer.wasm', root)));
}
