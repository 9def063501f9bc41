import { svelte } from '@sveltejs/vite-plugin-svelte';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';
import { firstPicture } from './first.mjs';

const root = new URL('..', import.meta.url).pathname;

/** What `virtual:first` gives: the first picture. */
const first: Plugin = {
  name: 'first',
  resolveId: (id) => (id === 'virtual:first' ? '\0first' : undefined),
  load: async (id) => (id === '\0first' ? `export const first = ${JSON.stringify(await firstPicture())};` : undefined),
};

/**
 * One file, named for what it is. Its script stands in the body and runs as soon as it is read: the first picture does not
 * wait for what stands behind it, the module and the weights (gzip in base64), most of the file.
 */
const oneFile = (name: string): Plugin => ({
  name: 'one-file',
  closeBundle() {
    const packed = (path: string) => gzipSync(readFileSync(root + path), { level: 9 }).toString('base64');
    const data = (id: string, path: string) => `<script type="text/plain" id="${id}">${packed(path)}</script>\n`;
    const page = readFileSync(`${root}build-web/${name}/index.html`, 'utf8');
    const [tag, script] = /<script type="module"[^>]*>([^]*?)<\/script>/.exec(page)!;
    const [head, foot] = page.split(tag).join('').split('</body>');
    writeFileSync(`${root}build-web/${name}.html`, [
      head, '<script>(() => {"use strict";', script, '})();</script>\n',
      data('wasm', 'build-web/wasm/explorer.wasm'), data('weights', 'models/digits.safetensors'), '</body>', foot,
    ].join(''));
    rmSync(`${root}build-web/${name}`, { recursive: true });
  },
});

export default defineConfig({
  root: `${root}web/explorer`,
  plugins: [first, svelte({ configFile: `${root}web/svelte.config.js` }), viteSingleFile(), oneFile('explorer')],
  build: { outDir: `${root}build-web/explorer`, emptyOutDir: true, target: 'es2022', chunkSizeWarningLimit: 4000 },
});
