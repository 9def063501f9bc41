import { svelte } from '@sveltejs/vite-plugin-svelte';
import { readFileSync, renameSync, rmdirSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';
import { firstPicture } from './first.mjs';

const root = new URL('..', import.meta.url).pathname;

/** What `virtual:engine` gives: the files themselves, as gzip in base64, and the first picture. */
function engine(): Plugin {
  const packed = (path: string) => gzipSync(readFileSync(root + path), { level: 9 }).toString('base64');
  return {
    name: 'engine',
    resolveId: (id) => (id === 'virtual:engine' ? '\0engine' : undefined),
    async load(id) {
      if (id !== '\0engine') return undefined;
      return [
        `export const wasm = '${packed('build-web/wasm/explorer.wasm')}';`,
        `export const weights = '${packed('models/digits.safetensors')}';`,
        `export const first = ${JSON.stringify(await firstPicture())};`,
      ].join('\n');
    },
  };
}

/** One file, named for what it is. */
const named = (name: string): Plugin => ({
  name: 'named',
  closeBundle() {
    renameSync(`${root}build-web/${name}/index.html`, `${root}build-web/${name}.html`);
    rmdirSync(`${root}build-web/${name}`);
  },
});

export default defineConfig({
  root: `${root}web/explorer`,
  plugins: [engine(), svelte({ configFile: `${root}web/svelte.config.js` }), viteSingleFile(), named('explorer')],
  build: { outDir: `${root}build-web/explorer`, emptyOutDir: true, target: 'es2022', chunkSizeWarningLimit: 4000 },
});
