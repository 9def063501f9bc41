// The engine under node: web/explorer/src/engine.ts with its types taken off, and the module that
// `cmake --build --preset web` made.
import { transform } from 'esbuild';
import { readFile } from 'node:fs/promises';

export const root = new URL('../../', import.meta.url);

export async function startEngine(wasm = new URL('build-web/wasm/explorer.wasm', root)) {
  const typed = await readFile(new URL('web/explorer/src/engine.ts', root), 'utf8');
  const { code } = await transform(typed, { loader: 'ts' });
  const { Engine } = await import('data:text/javascript,' + encodeURIComponent(code));
  return Engine.start(await readFile(wasm));
}
