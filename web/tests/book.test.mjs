// The book as people read it, in Debian's Chromium, opened from the disk; and its lessons, which must say what they say
// in a terminal.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { root, runLesson } from '../book/lessons.mjs';
import { allowed, axe, closeBrowser, paintedAfter, withPage, workToPaint } from './chromium.mjs';

after(closeBrowser);
const book = new URL('build-web/book/', root);
const path = (name) => fileURLToPath(new URL(name, book));
const pages = readdirSync(book).filter((name) => name.endsWith('.html') && name !== 'explorer.html'); // which goes elsewhere
const lessons = readFileSync(new URL('lessons/course/contents.txt', root), 'utf8').split('\n')
  .filter((line) => line.startsWith('  ')).map((line) => line.trim().split(' ')[0]);
const exercises = readFileSync(new URL('lessons/exercises/contents.txt', root), 'utf8').split('\n')
  .filter((line) => /^\w/.test(line));

/** A page that in the end complained of nothing and asked for nothing but the book's own files. */
const opened = (name, options, use) =>
  withPage(path(name.split('#')[0]), { viewport: { width: 1440, height: 900 }, fragment: name.replace(/^[^#]*/, ''), ...options }, async (page, problems, context) => {
    await use(page, context);
    assert.deepEqual(problems.filter((problem) => !problem.startsWith(`request: ${book.href}`)), [], name);
  });
/** What a run says in the end. */
async function ended(page) {
  await page.waitForFunction(() => /Done|noticed|Stopped/.test(document.querySelector('.run output').textContent), null, { timeout: 120_000 });
  return page.locator('.run output').innerText();
}
async function ran(page) {
  await page.getByRole('button', { name: 'Run' }).click();
  return ended(page);
}

test('at most 6 MB, a page for each lesson, every link to a page and a place in it', () => {
  const files = readdirSync(book, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const size = files.reduce((sum, { path: folder, name }) => sum + statSync(`${folder}/${name}`).size, 0);
  assert.ok(size <= 6e6, `${size} bytes`);
  for (const name of [...lessons, 'index', 'glossary', 'exercises', 'teachers', 'slides']) assert.ok(pages.includes(`${name}.html`), name);
  const text = new Map([...pages, 'explorer.html'].map((name) => [name, readFileSync(path(name), 'utf8')]));
  let links = 0;
  for (const [name, html] of text) {
    for (const [, target] of html.matchAll(/(?:href|src)="([^"]*)"/g)) {
      if (/^(https?|data):/.test(target) || target === '../explorer.html') continue; // which is beside the book
      const [file, place] = target.split('#');
      if (file.endsWith('.html') || file === '') {
        const there = text.get(file || name);
        assert.ok(there, `${name}: ${target}`);
        if (place && !place.includes('=')) assert.ok(there.includes(`id="${place}"`), `${name}: ${target}`);
      } else statSync(path(file));
      ++links;
    }
  }
  assert.ok(links > 500, `${links} links`);
});

test('each lesson says in WebAssembly what it says in the terminal', () => {
  for (const name of lessons) {
    const here = readFileSync(new URL(`build-web/pages/${name}.md`, root), 'utf8');
    assert.equal(here, readFileSync(new URL(`docs/lessons/${name}.md`, root), 'utf8'), name);
  }
});

test('without scripts it is a book with pictures', () =>
  withPage(path('softmax.html'), { javaScriptEnabled: false, viewport: { width: 800, height: 900 } }, async (page) => {
    assert.match(await page.title(), /^Lesson \d+\. Softmax and cross-entropy$/);
    assert.equal(await page.locator('.run').count(), 0);
    await page.goto(new URL('glossary.html', book).href);
    assert.equal(await page.locator('nav [aria-current]').innerText(), 'Glossary');
    await page.goBack();
    assert.ok(await page.locator('math').count() > 3);
    assert.ok(await page.locator('article figure img').count() >= 3);
    assert.ok((await page.locator('article').innerText()).length > 4000);
  }));

test('every page, light and dark, on a phone, a tablet, a desk: nothing wider than the screen, and axe-core finds nothing', async () => {
  const found = [];
  for (const [k, name] of pages.entries()) {
    const width = [390, 800, 1440][k % 3];
    await opened(name, { viewport: { width, height: 900 }, colorScheme: k % 2 ? 'dark' : 'light' }, async (page) => {
      const shown = await paintedAfter(page);
      const work = shown < 1000 ? 0 : await workToPaint(page); // what else runs here may have delayed it
      assert.ok(work < allowed(500), `${name}: first paint after ${shown} ms, ${work} ms of work`);
      for (const other of [390, 800, 1440]) {
        await page.setViewportSize({ width: other, height: 900 });
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (over > 0) found.push(`${name} is ${over} pixels too wide at ${other}`);
        if (other === 390) { // what is cut misleads
          found.push(...await page.evaluate(() => [...document.querySelectorAll('figure:not(.code)')].filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => `${document.title}: ${one.id} is cut`)));
        }
      }
      await page.setViewportSize({ width, height: 900 });
      await page.addScriptTag({ path: axe });
      const { violations } = await page.evaluate(() => window.axe.run({ preload: false }));
      found.push(...violations.map(({ id, nodes }) => `${name} at ${width}: ${id}: ${nodes[0].html}`));
    });
  }
  assert.deepEqual(found, []);
});

// Those that train take minutes with their mistakes: with VITRUVIAN_SLOW=1. Without, the same module has run them under node.
const trains = ['digits', 'inductive_bias', 'fine_tuning', 'miniature'];
test('every lesson runs on its page, and every mistake is noticed', async (t) => {
  let mistakes = 0;
  for (const name of lessons) {
    if (trains.includes(name) && !process.env.VITRUVIAN_SLOW) continue;
    await opened(`${name}.html`, {}, async (page) => {
      assert.match(await ran(page), /Done in .* All is as the page had it/, name);
      for (const mistake of await page.locator('#mistake option').evaluateAll((all) => all.map((one) => one.value).filter((value) => value))) {
        await page.locator('#mistake').selectOption(mistake);
        assert.match(await ran(page), /A check noticed the mistake/, `${name} ${mistake}`);
        assert.ok(await page.locator('.event.changed').count() > 0, `${name} ${mistake}`);
        ++mistakes;
      }
    });
  }
  t.diagnostic(`${mistakes} mistakes`);
  assert.ok(mistakes > 50, `${mistakes}`);
});

test('a training lesson can be stopped, and goes on when asked again', () =>
  opened('fine_tuning.html', {}, async (page) => {
    for (const [name, sign] of [['Run', 'Running'], ['Stop', 'Stopped'], ['Run', 'Running']]) {
      await page.getByRole('button', { name }).click();
      await page.waitForFunction((text) => document.querySelector('.run output').textContent.includes(text), sign);
    }
  }));

test('a link with a typing mistake says what it asks for in vain, and runs nothing', async () => {
  for (const [fragment, sentence] of [
    ['break=elementwice', 'The link asks for a mistake “elementwice”, which this lesson does not have.'],
    ['seed=5000', 'The link asks for a seed “5000”: whole numbers from 0 to 999 are seeds.'],
    ['seed=1.5&break=elementwise', 'The link asks for a seed “1.5”: whole numbers from 0 to 999 are seeds.'],
    ['turn=a,b', 'The page shows what seed 1 says.']]) {
    await opened(`softmax.html#${fragment}`, {}, async (page) => {
      assert.equal(await page.locator('.run output').textContent(), sentence);
      assert.equal(await page.locator('#mistake').inputValue(), fragment.endsWith('wise') ? 'elementwise' : '');
      assert.equal(await page.locator('.sliders input').first().inputValue(), await page.locator('.sliders input').first().getAttribute('value'));
    });
  }
});

test('another seed is another lesson, and what changed is marked; an address keeps seed and mistake', () =>
  opened('softmax.html#seed=3&break=elementwise', {}, async (page) => {
    assert.match(await ended(page), /noticed/);
    await page.locator('#mistake').selectOption('');
    assert.match(await ran(page), /Done in .* [1-9]\d* of \d+ parts differ/);
  }));

test('every control redraws, and says what the program in node says', async (t) => {
  const times = [];
  const turned = pages.filter((name) => name !== 'index.html' && readFileSync(path(name), 'utf8').includes('data-turn='));
  assert.ok(turned.length >= 20);
  for (const name of turned) {
    await opened(name, {}, async (page) => {
      const sliders = page.locator('.turn input[type=range]');
      for (let i = 0; i < (await sliders.count()); ++i) {
        const shown = new Set([await page.locator('.turn .shown').innerHTML()]);
        await sliders.nth(i).focus();
        for (const key of ['End', 'Home']) {
          await page.keyboard.press(key);
          await page.waitForFunction(() => document.querySelector('.turn .status').textContent === '', null, { timeout: 20_000 });
          await page.waitForTimeout(60);
          shown.add(await page.locator('.turn .shown').innerHTML());
        }
        assert.ok(shown.size > 1, `${name}: slider ${i}`);
        await sliders.nth(i).evaluate((one) => { // back to where it stood: the next is turned alone
          one.value = one.defaultValue;
          one.dispatchEvent(new Event('input'));
        });
        await page.waitForTimeout(60);
      }
      times.push(...(await page.evaluate(() => performance.getEntriesByName('turn').map((one) => one.duration))).slice(1));
      const values = await sliders.evaluateAll((all) => all.map((one) => one.value).join(','));
      const { lines } = await runLesson([name.replace('.html', ''), '--html', '--no-input', '--play', values]);
      const captions = lines.join('').replace(/&#39;/g, "'").replace(/&quot;/g, '"').match(/<figcaption>.*?<\/figcaption>/g) ?? [];
      const shown = await page.locator('.turn .shown figcaption').evaluateAll((all) => all.map((one) => one.outerHTML));
      assert.deepEqual(shown, captions, name);
    });
  }
  times.sort((a, b) => a - b);
  t.diagnostic(`${turned.length} lessons, median ${times[times.length >> 1]?.toFixed(1)} ms, longest ${times.at(-1)?.toFixed(0)} ms`);
});

test('searching: words in any order, a link to the place', () =>
  opened('index.html', {}, async (page) => {
    await page.getByRole('searchbox').fill('temperature softmax');
    await page.locator('.search li a').first().waitFor();
    assert.match(await page.locator('.search ol').innerText(), /Temperature/);
    await page.setViewportSize({ width: 390, height: 844 });
    const { left, right } = await page.locator('.search ol').evaluate((one) => one.getBoundingClientRect().toJSON());
    assert.ok(left >= 0 && right <= 390, `results from ${left} to ${right} on a phone`);
    await page.getByRole('searchbox').fill('attention'); // the glossary's word stands before the many headings that have it
    await page.locator('.search li:first-child a[href="glossary.html#attention"]').waitFor();
    assert.match(await page.locator('.search [role=status]').innerText(), /^\d{2,} sections have all of these words; the first 12 are listed\.$/);
    assert.equal(await page.locator('.search li').count(), 12);
    await page.getByRole('searchbox').fill('residual');
    await page.locator('.search li a').first().click();
    await page.waitForURL(/html#/);
    await page.getByRole('searchbox').fill('xyzzy');
    await page.locator('.search ol').getByText('Nothing has all of these words.').waitFor();
    assert.equal(await page.locator('.search [role=status]').innerText(), '0 sections have all of these words.');
  }));

test('exercises: the solution is hidden until asked for twice', () =>
  opened('exercises.html#softmax', {}, async (page) => {
    const exercise = page.locator('#softmax');
    const solution = exercise.getByText('return y * (g - sum(g * y');
    assert.ok(!(await solution.isVisible()));
    await exercise.getByText('The solution').click();
    assert.ok(!(await solution.isVisible()));
    await exercise.getByText('Show it all the same').click();
    assert.ok(await solution.isVisible());
    assert.ok(await exercise.getByText('lesson check softmax --watch').isVisible());
  }));

test('every exercise has a statement, a picture, hints that open one by one, and the command that checks it', () =>
  opened('exercises.html', {}, async (page) => {
    const all = await page.locator('.exercise').evaluateAll((exercises) => exercises.map((e) => ({
      name: e.id, words: e.querySelectorAll('p').length, picture: e.querySelector('figure img')?.alt.length, caption: e.querySelector('figure img + figcaption')?.textContent.length,
      hints: e.querySelectorAll(':scope > details').length, second: e.querySelectorAll('details > details > details > summary').length, code: e.textContent.includes(`lesson check ${e.id} --watch`),
      escaped: /\\[_*]|Parts:|<pre>/.test(e.textContent),
    })));
    assert.ok(all.length >= 39);
    for (const e of all) assert.ok(e.words >= 3 && e.picture > 8 && e.caption > 20 && e.hints === 2 && e.second === 1 && e.code && !e.escaped, JSON.stringify(e));
    const hints = page.locator('#gelu').getByText(/^Hint \d of 3$/);
    assert.deepEqual([await hints.nth(0).isVisible(), await hints.nth(1).isVisible()], [true, false]);
    await hints.nth(0).click();
    assert.deepEqual([await hints.nth(1).isVisible(), await hints.nth(2).isVisible()], [true, false]);
  }));

test('what was read to its end is marked in the contents', () =>
  opened('notation.html', {}, async (page) => {
    await page.locator('article footer').scrollIntoViewIfNeeded();
    await page.waitForTimeout(200);
    await page.getByRole('link', { name: 'The course' }).click();
    await page.waitForFunction(() => document.querySelector('[data-entry="lesson notation"]')?.classList.contains('read'));
  }));

test('progress: the file that the terminal reads; what either has, both have; another file changes nothing', async () => {
  const folder = mkdtempSync(`${tmpdir()}/progress-`);
  const file = (name, text) => { writeFileSync(`${folder}/${name}`, text); return `${folder}/${name}`; };
  try {
    await opened('index.html', {}, async (page) => {
      const said = () => page.locator('.progress output').innerText();
      const load = async (name, text) => {
        const before = await said();
        await page.locator('.progress input').setInputFiles(file(name, text));
        await page.waitForFunction((old) => document.querySelector('.progress output').textContent !== old, before);
      };
      const count = () => page.locator('.progress .count').innerText();
      assert.ok((await count()).startsWith(`0 of ${lessons.length} lessons read to their end, 0 of ${exercises.length} exercises solved`));
      await page.evaluate(() => localStorage.setItem('vitruvian-read', '["tape"]')); // before there were files
      await page.reload();
      assert.match(await count(), /^1 of \d+ lessons/);
      await load('some.txt', 'Vitruvian progress 1\r\nlesson softmax\r\nlesson tape\r\nlesson rope\r\nexercise gelu\r\n');
      assert.equal(await said(), 'some.txt: 3 are new here.');
      assert.ok((await count()).startsWith(`2 of ${lessons.length} lessons read to their end, 1 of ${exercises.length}`));
      for (const [i, bad] of ['', 'Vitruvian progress 2\n', '["tape"]', 'Vitruvian progress 1\nlesson gelu\n\n', 'Vitruvian progress 1\nlesson ../x\n',
        'Vitruvian progress 1\nlesson gelu\nlecture gelu\n', 'Vitruvian progress 1\nlesson <b>\n', `Vitruvian progress 1\n${'lesson gelu\n'.repeat(6000)}`].entries()) {
        await load(`bad${i}.txt`, bad);
        assert.match(await said(), /^bad\d\.txt: (Line [123] is not of|More than 65536 bytes)/, bad.slice(0, 60));
        assert.match(await count(), /^2 of \d+ lessons/);
      }
      await page.reload();
      const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save it as a file' }).click()]);
      assert.equal(saved.suggestedFilename(), 'vitruvian-progress.txt');
      assert.equal(readFileSync(await saved.path(), 'utf8'), 'Vitruvian progress 1\nlesson tape\nlesson softmax\nlesson rope\nexercise gelu\n');
      assert.equal(await page.locator('a.read').innerText(), `exercise ${exercises.indexOf('gelu') + 1}`);
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('notes lead to where the paper says it, and back', () =>
  opened('self_attention.html', {}, async (page) => {
    assert.match(await page.locator('.notes').innerText(), /Appendix A, “Multihead Self-attention” \(Equation 5, Equation 6, Equation 7\)/);
    assert.equal(await page.locator('.equation .note').count(), 3);
    await page.locator('.equation .note a').first().click();
    assert.match(await page.locator('.notes li:target').innerText(), /Equation 5/);
    await page.locator('.notes li:target a').click();
    assert.ok(await page.locator('.note a:target').isVisible());
  }));

test('slides: every figure of the lessons, a page each on paper', () =>
  opened('slides.html#softmax-1', {}, async (page) => {
    const figures = lessons.map((name) => readFileSync(path(`${name}.html`), 'utf8').split('<section class="turn"')[0].split('<figure id=').length - 1).reduce((a, b) => a + b);
    const slides = await page.locator('.slide').count();
    assert.ok(figures > 50);
    assert.equal(slides, figures);
    const { images, links } = await page.evaluate(() => ({
      images: new Set([...document.querySelectorAll('.slide img')].map((one) => one.getAttribute('src'))).size,
      links: document.querySelectorAll('.slide a[href*="#figure-"]').length,
    }));
    assert.deepEqual([images, links], [slides, slides]);
    const sheets = (await page.pdf({ preferCSSPageSize: true })).toString('latin1').match(/\/Type\s*\/Page\b/g).length;
    assert.ok(sheets > slides && sheets < slides + 5, `${sheets} sheets for ${slides} slides`);
  }));

test('another link to a moment of the same page is followed', () =>
  opened('softmax.html#turn=0.5,3', {}, async (page) => {
    const first = page.locator('.turn input').first();
    assert.equal(await first.inputValue(), '0.5');
    await page.evaluate(() => { location.hash = '#turn=2,3'; });
    await page.waitForFunction(() => document.querySelector('.turn input').value === '2');
  }));

test('on paper no line is cut', () =>
  opened('linear.html', {}, async (page) => {
    await page.emulateMedia({ media: 'print' });
    await page.setViewportSize({ width: 720, height: 1000 });
    const cut = await page.evaluate(() => [...document.querySelectorAll('pre, table, .equation, figure')]
      .filter((one) => one.getBoundingClientRect().right > innerWidth + 1 || (one.matches('pre') && one.scrollWidth > one.clientWidth + 1))
      .map((one) => one.outerHTML.slice(0, 80)));
    assert.deepEqual(cut, []);
  }));
