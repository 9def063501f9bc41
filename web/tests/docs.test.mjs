// What is written for readers, as they meet it: every link of every page leads somewhere, and KaTeX
// sets every equation.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import katex from 'katex';

const root = fileURLToPath(new URL('../../', import.meta.url));
const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' })
  .trim().split('\n').map((path) => [path, readFileSync(join(root, path), 'utf8')]);

/** Without code, in which nothing is a link. */
const prose = (text) => text.replace(/^```.*?^```/gms, '').replace(/`[^`\n]*`/g, (code) => code.replace(/[[\](]/g, ' '));
/** The names that GitHub gives a page's headings. */
const anchors = (text) => new Set(
  [...text.replace(/^```.*?^```/gms, '').matchAll(/^#+ +(.*)$/gm)].map(([, heading]) =>
    heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/\\(.)/g, '$1').toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')));
const equations = (text) => [...text.matchAll(/^```math\n(.*?)\n```$/gms)].map(([, tex]) => tex);

function problemsOf(path, text) {
  const problems = [];
  for (const [, link] of prose(text).matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^(https?|mailto):/.test(link)) continue;
    const [file, anchor] = link.split('#');
    const to = join(root, dirname(path), decodeURIComponent(file));
    if (!file) {
      if (!anchors(text).has(anchor)) problems.push(`${path}: ${link} is no heading of it`);
    } else if (!existsSync(to)) problems.push(`${path}: ${link} is not there`);
    else if (relative(root, to).startsWith('..')) problems.push(`${path}: ${link} leads out of the project`);
    else if (anchor && to.endsWith('.md') && !anchors(readFileSync(to, 'utf8')).has(anchor)) problems.push(`${path}: ${link} has no such heading`);
  }
  for (const tex of equations(text)) {
    try {
      katex.renderToString(tex, { displayMode: true, strict: 'error' });
    } catch (error) {
      problems.push(`${path}: ${error.message}`);
    }
  }
  return problems;
}

test('every link of every page leads somewhere, and every equation is one', (t) => {
  assert.ok(pages.length > 40, `${pages.length} pages`);
  const count = pages.flatMap(([, text]) => equations(text)).length;
  assert.ok(count > 50, `${count} equations`);
  t.diagnostic(`${pages.length} pages, ${count} equations`);
  assert.deepEqual(pages.flatMap(([path, text]) => problemsOf(path, text)), []);
});

test('what is wrong is found', () => {
  const wrong = '[a](nowhere.md) [b](README.md#no-such-heading) [c](../../outside.md)\n\n```math\n\\frac{1}{\n```\n';
  assert.equal(problemsOf('page.md', wrong).length, 4);
  assert.deepEqual(problemsOf('page.md', '# A b\n\n[a](#a-b) `[x](y)`\n\n```cpp\n[z](w)\n```\n'), []);
});
