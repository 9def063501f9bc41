import { svelte } from '@sveltejs/vite-plugin-svelte';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';

const root = new URL('..', import.meta.url).pathname;

/** `import { wasm, weights } from 'virtual:engine'`: the files themselves, as gzip in base64. */
function engine(): Plugin {
  const packed = (path: string) => gzipSync(readFileSync(root + path), { level: 9 }).toString('base64');
  return {
    name: 'engine',
    resolveId: (id) => (id === 'virtual:engine' ? '\0engine' : undefined),
    load: (id) =>
      id === '\0engine'
        ? `export const wasm = '${packed('build-web/wasm/explorer.wasm')}';\n` +
          `export const weights = '${packed('models/digits.safetensors')}';`
        : undefined,
  };
}

export default defineConfig({
  root: `${root}web/explorer`,
  plugins: [engine(), svelte({ configFile: `${root}web/svelte.config.js` }), viteSingleFile()],
  build: { outDir: `${root}build-web/explorer`, emptyOutDir: true, target: 'es2022', chunkSizeWarningLimit: 4000 },
});
