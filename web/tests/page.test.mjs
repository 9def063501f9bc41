// The page as people use it, in Debian's Chromium, opened from the disk. That its engine's numbers
// are the native build's is numbers.test.mjs's matter; here, that the page shows the engine's.
import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { after, test } from 'node:test';
import { allowed, axe, closeBrowser, withPage, workOf, workToPaint } from './chromium.mjs';
import { startEngine, weights } from './engine.mjs';
import { answer, button, desktop, opened, path, phone, reads, soon, stroke } from './explorer.mjs';

after(closeBrowser);

test('one file of at most 2.5 MB, whose first picture is there before its engine and within half a second', async (t) => {
  assert.ok((await stat(path)).size <= 2.5e6);
  await opened({}, async (page) => {
    const time = await page.evaluate(() => {
      const at = (name) => performance.getEntriesByName(name)[0].startTime;
      return { paint: at('first-contentful-paint'), first: at('first picture'), engine: at('engine'), read: performance.getEntriesByType('navigation')[0].domInteractive };
    });
    assert.match(await answer(page), /It reads\s+3, and is sure/);
    await stat(new URL(await page.getByRole('link', { name: 'Its lessons' }).evaluate((link) => link.href))); // the book
    const work = await workToPaint(page); // by the clock, the browser's own start is in it
    t.diagnostic(JSON.stringify({ ...time, work }));
    assert.ok(time.first < time.read && time.read < time.engine, 'the first picture, then the rest of the file, then the engine');
    assert.ok(Math.min(time.paint, work) < allowed(500), 'the first paint');
  });
});

/** The page's weights with a head that says `digit` to everything. */
function stubborn(digit) {
  const bytes = Buffer.from(weights);
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString('utf8', 8, start));
  const [from, to] = header['head.weight'].data_offsets;
  bytes.fill(0, start + from, start + to);
  bytes.writeFloatLE(9, start + header['head.bias'].data_offsets[0] + 4 * digit);
  return bytes;
}

test('a model of one’s own takes the place of the page’s, and stays; a file that is none is refused in words', () =>
  opened({}, async (page) => {
    const file = page.getByLabel(/A model of your own/);
    const hand = (name, buffer) => file.setInputFiles({ name, mimeType: 'application/octet-stream', buffer });
    await reads(page, 3);
    await hand('model.safetensors', stubborn(7));
    await reads(page, 7);
    await hand('nonsense.safetensors', Buffer.from('no weights at all'));
    await page.getByText('nonsense.safetensors: text, and no file of weights').waitFor();
    await reads(page, 7);
    const inside = page.getByRole('checkbox', { name: 'all pictures above show this model' });
    await inside.check();
    await page.locator('#learning .now').waitFor(); // of a model that knows nothing
    await inside.uncheck();
    await page.waitForFunction(() => /It reads\s*7/.test(document.querySelector('.guess').textContent)); // out of sight
    assert.match(await page.locator('#draw').textContent(), /A Vision Transformer, read from model\.safetensors, runs in this page/);
    await file.evaluate((input) => {
      const many = new DataTransfer();
      many.items.add(new File([new Uint8Array(101_000_000)], 'many.safetensors'));
      input.files = many.files;
      input.dispatchEvent(new Event('change', { bubbles: true }));
    });
    await page.getByText('many.safetensors: 101 MB are more than the 100 of any model that this page shows').waitFor();
    assert.ok(await page.evaluate(() => {
      const files = new DataTransfer();
      files.items.add(new File(['no weights either'], 'dropped.safetensors'));
      return !document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: files, bubbles: true, cancelable: true }));
    }), 'the browser does not leave the page for a file that is dropped on it');
    await page.getByText('dropped.safetensors: text, and no file of weights').waitFor();
    await button(page, 'back to the page’s model').click();
    await page.waitForFunction(() => /It reads\s*3/.test(document.querySelector('.guess').textContent));
    assert.match(await page.locator('#draw').textContent(), /trained on digits drawn by a program, runs/);
    await hand('model.safetensors', stubborn(7)); // the same file again
    await reads(page, 7);
  }));

test('what is recorded for the first picture is what the engine says', () =>
  withPage(path, { ...desktop, before: () => { delete window.DecompressionStream; window.DecompressionStream = class { constructor() { throw new Error('withheld'); } }; } }, async (page) => {
    // The engine cannot start; what is seen comes from the recording, and the page says why there is no more.
    await page.getByRole('alert').waitFor();
    assert.match(await page.getByRole('alert').innerText(), /The engine did not start: withheld/);
    const shown = await page.locator('#answer td.number').allTextContents();
    await opened({}, async (live) => assert.deepEqual(shown, await live.locator('#answer td.number').allTextContents()));
  }));

test('the numbers on the page are the engine’s', () =>
  opened({}, async (page) => {
    const engine = await startEngine();
    engine.open(weights);
    const shown = (x) => (Math.abs(x) >= 0.01 ? x.toFixed(2) : x.toExponential(1)).replace('e-', 'e−').replace('-', '−');
    for (const [name, kind, index] of [['sample digit 7', 'digit', 7], ['sample digit 0', 'digit', 0], ['noise', 'noise', 0]]) {
      await button(page, name).click();
      engine.sample(kind, index);
      const forward = engine.forward();
      const logits = Array.from(engine.values(forward.tensors.find((t) => t.name === 'logits')), shown);
      await soon(async () => assert.deepEqual((await page.locator('#answer td.number').allTextContents()).slice(0, 10), logits, name));
      await reads(page, forward.guess);
    }
  }));

test('the guided tour: every stop is in sight, in at most 60 words, by keys alone', () =>
  opened({}, async (page) => {
    await button(page, 'Take the tour').click();
    const tour = page.getByRole('complementary', { name: 'Guided tour' });
    const titles = [];
    for (let stop = 1; ; ++stop) {
      await page.waitForTimeout(200);
      const text = await tour.locator('div').first().innerText();
      titles.push(text.split('\n')[0]);
      const [, of] = /^(?:\d+) \/ (\d+)/.exec(text).map(Number);
      assert.ok(text.startsWith(`${stop} / ${of}`), text);
      const words = text.split(/\s+/).length;
      assert.ok(words <= 66, `${words} words: ${text}`); // with the title
      if (stop === of) break;
      await page.keyboard.press('ArrowRight');
    }
    assert.ok(titles.length >= 12);
    await page.getByText('Learning, from nothing').waitFor();
    await page.keyboard.press('ArrowLeft');
    await page.getByText(/The gradient promised the loss of these 16 digits about −0\.\d+; it got −0\.\d+\./).waitFor();
    await page.keyboard.press('ArrowLeft');
    await page.getByText(/✗ [1-9] of 9/).waitFor();
    assert.equal(await page.getByLabel('for input').inputValue(), '1', 'the rule that the tour broke is the one that is shown');
    await page.keyboard.press('Escape');
    assert.equal(await tour.count(), 0);
  }));

const spokenOf = [ // at each stop of the tour
  '.pad', '#tokens .picture', '#products', '#positions', '#flow', '#qkv-maps', '#score-map', '#heads', '#hidden', '#logits', '#walk', '#broken', '#effect', '#train',
];
for (const [name, options] of [['1,440', desktop], ['390', phone]]) {
  test(`the guided tour covers nothing that it speaks of, ${name} pixels wide`, () =>
    opened(options, async (page) => {
      await button(page, 'Take the tour').click();
      for (let stop = 1; stop <= spokenOf.length; ++stop) {
        if (stop > 1) await button(page, 'Next →').click();
        await page.waitForFunction((n) => document.querySelector('.tour').innerText.startsWith(`${n} / `), stop);
        if (stop === 13) await page.waitForFunction(() => /The last step saw/.test(document.getElementById('effect').innerText)); // its worker has begun
        await page.waitForTimeout(stop === 13 ? 1500 : 500);
        const seen = await page.evaluate((selector) => {
          const box = document.querySelector(selector).getBoundingClientRect();
          const top = Math.max(box.top, document.querySelector('nav').getBoundingClientRect().bottom);
          const panels = [...document.querySelectorAll('.dock aside')].map((aside) => aside.getBoundingClientRect());
          const bottom = Math.min(box.bottom, innerHeight, ...panels.filter((p) => p.left < box.right && p.right > box.left).map((p) => p.top));
          return { all: box.height, seen: bottom - top, hidden: top - box.top };
        }, spokenOf[stop - 1]);
        // What is higher than there is room for begins at the top.
        assert.ok(seen.seen >= Math.min(seen.all, 0.3 * options.viewport.height) - 2, `stop ${stop}: ${JSON.stringify(seen)}`);
        assert.ok(seen.hidden <= 2, `stop ${stop}: ${JSON.stringify(seen)}`);
        assert.equal(await page.locator('.tour').evaluate((one) => one.scrollHeight - one.clientHeight), 0, `stop ${stop} is said whole`);
      }
      assert.equal(await button(page, 'Done').count(), 1, 'all stops were met');
    }));
}

test('the tour gives back what the learner had', () =>
  opened({ fragment: '#digit=7&label=7&token=4&block=2&head=3&gradients=1&number=logits:3:gradient' }, async (page) => {
    const state = () => page.evaluate(() => location.hash);
    await page.waitForTimeout(500);
    const before = await state();
    for (const way of ['End the tour', 'Escape', 'Done']) {
      await button(page, 'Take the tour').click();
      for (let stop = 1; stop < (way === 'Done' ? 14 : 11); ++stop) await button(page, 'Next →').click();
      await soon(async () => assert.notEqual(await state(), before));
      if (way === 'Escape') {
        assert.equal(await button(page, 'the right answer is 8').getAttribute('aria-pressed'), 'true');
        await page.keyboard.press('Escape');
      } else {
        await button(page, way).click();
        assert.equal(await page.evaluate(() => document.activeElement.innerText), 'Take the tour');
      }
      await soon(async () => assert.equal(await state(), before, way));
    }
    // What was chosen on the way stays: another digit, and its label.
    await button(page, 'Take the tour').click();
    await page.getByLabel('Go to stop').selectOption('10');
    await button(page, 'sample digit 5').click();
    await reads(page, 5);
    await button(page, 'End the tour').click();
    await page.waitForURL(/digit=5.*label=5/);
  }));

test('a link brings back what was seen, and nonsense in it harms nothing', async () => {
  let link = '';
  await opened({}, async (page) => {
    await stroke(page, [[0.5, 0.2], [0.5, 0.8]]);
    await page.getByRole('button', { name: /^block 2 / }).click();
    await button(page, 'head 3').click();
    await page.waitForURL(/ink=.*block=2&head=3/);
    link = new URL(page.url()).hash;
  });
  await opened({ fragment: link }, async (page) => {
    await reads(page, 1);
    assert.equal(await page.locator('.which').innerText(), 'Block 2 of 4');
    assert.equal(await button(page, 'head 3').getAttribute('aria-pressed'), 'true');
  });
  for (const fragment of ['#digit=99999999999&ink=%%%&block=77&head=-1&token=1e9&number=../x:3&fault=matmul.explode.9&tour=0', '#ink=zzzz0', '#<b>', '#number=blocks.0.msa:999999']) {
    await opened({ fragment }, async (page) => reads(page, 3));
  }
  await opened({ fragment: '#fault=nothing.flip_sign.0&gradients=1' }, async (page) => {
    assert.match(await page.getByRole('alert').innerText(), /the model has no op 'nothing'/);
  });
  // A second link in the same tab leaves nothing of the first, and what it is refused is said in sight.
  await opened({ fragment: '#digit=8&label=8&gradients=1&block=3&head=2&token=7&scope=model&fault=matmul.flip_sign.0&number=logits:3' }, async (page) => {
    await page.waitForTimeout(500);
    await page.evaluate(() => { location.hash = '#digit=5&label=5'; });
    await page.waitForTimeout(500);
    assert.equal(new URL(page.url()).hash, '#digit=5&label=5');
    assert.equal(await page.locator('.which').innerText(), 'Block 1 of 4');
    assert.equal(await page.getByRole('complementary').count(), 0);
    await button(page, 'head 2').click(); // and back at once: the address must not stay at the first
    await button(page, 'head 1').click();
    await page.waitForTimeout(500);
    assert.doesNotMatch(page.url(), /head/);
    await page.locator('#learning').scrollIntoViewIfNeeded();
    await page.evaluate(() => { location.hash = '#digit=5&fault=nothing.flip_sign.0'; });
    const { y } = await page.getByRole('alert').boundingBox();
    assert.ok(y > 0 && y < 900, `the alert is at ${y}`);
    await button(page, 'close').click();
    assert.equal(await page.getByRole('alert').count(), 0);
  });
});

for (const [name, options] of [['wide, light', desktop], ['wide, dark', { ...desktop, colorScheme: 'dark' }], ['narrow, light', phone], ['narrow, dark', { ...phone, colorScheme: 'dark' }]]) {
  test(`accessible, and as wide as the screen: ${name}`, () =>
    opened(options, async (page) => {
      await page.addScriptTag({ path: axe });
      const violations = async () =>
        (await page.evaluate(() => window.axe.run())).violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).slice(0, 3).join(' | ')}`);
      assert.deepEqual(await violations(), []);
      await button(page, 'Take the tour').click();
      await page.getByLabel('Go to stop').selectOption('6'); // one number, taken apart
      await page.locator('#learning').scrollIntoViewIfNeeded();
      await button(page, 'one step').click();
      await page.locator('.now').waitFor();
      await page.waitForTimeout(300);
      assert.deepEqual(await violations(), []);
      const sideways = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(await sideways(), 0, 'no sideways scrolling');
      await page.evaluate(() => document.documentElement.classList.add('whole')); // as while it scrolls
      assert.equal(await sideways(), 0, 'no sideways scrolling with every section laid out');
      const { bare, lens } = await page.evaluate(() => ({
        bare: [...document.querySelectorAll('#app *')].filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === 'auto'
          && getComputedStyle(one).backgroundImage === 'none').map((one) => one.outerHTML.slice(0, 80)),
        lens: (({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('[aria-label="Logit lens"]')),
      }));
      assert.deepEqual(bare, [], 'what scrolls shows it by a shade');
      assert.equal(lens, 0, 'the logit lens shows all digits');
    }));
}

test('on a phone a finger draws, and opens a number with its second tap', () =>
  opened(phone, async (page, context) => {
    await button(page, 'Clear').click();
    const { x, y, width, height } = await page.getByRole('application', { name: /Drawing pad/ }).boundingBox();
    const touch = await context.newCDPSession(page);
    const at = (u, v) => [{ x: x + u * width, y: y + v * height }];
    await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: at(0.5, 0.2) });
    for (let v = 0.2; v < 0.85; v += 0.05) await touch.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: at(0.5, v) });
    await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    await reads(page, 1);

    const map = page.getByRole('application', { name: /^LN\(z\)/ });
    const panel = page.getByRole('complementary', { name: 'One number, taken apart' });
    await map.tap();
    assert.match(await page.locator('.said').innerText(), /^patch \d, \d · number \d+: /);
    assert.equal(await panel.count(), 0);
    await map.tap();
    await panel.waitFor();
  }));

test('a browser without what is needed gets a sentence', () =>
  withPage(path, { before: () => { delete window.WebAssembly; } }, async (page, problems) => {
    assert.match(await page.locator('#app').innerText(), /this browser lacks WebAssembly/);
    assert.deepEqual(problems, []);
  }));

// The watchers must see what they are there for.
test('work that blocks a frame is found out, also in pieces', () =>
  opened({}, async (page) => {
    await page.waitForTimeout(500);
    const working = (pieces, each) => workOf(page, () => page.evaluate(async ([pieces, each]) => {
      for (let i = 0; i < 3; ++i) {
        for (let piece = 0; piece < pieces; ++piece) setTimeout(() => { for (const end = performance.now() + each; performance.now() < end; ); });
        await new Promise((done) => setTimeout(done, 300));
      }
    }, [pieces, each]));
    for (const [pieces, each, found] of [[1, 300, true], [20, 20, true], [1, 5, false]]) {
      const { longest } = await working(pieces, each);
      assert.equal(longest > 50, found, `${pieces} of ${each} ms: ${longest}`);
    }
  }));

test('a page that asks for something or complains is found out', () =>
  withPage(path, {}, async (page, problems) => {
    await page.evaluate(() => {
      console.error('complaint');
      setTimeout(() => { throw new Error('slip'); });
      document.body.append(Object.assign(new Image(), { src: 'beside.png' }));
    });
    for (const sign of [/^request: .*beside\.png/, /^console: complaint/, /^thrown: slip/]) {
      await soon(() => assert.ok(problems.some((p) => sign.test(p)), `${sign} in ${problems.join('; ')}`));
    }
  }));
