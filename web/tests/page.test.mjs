// The page as people use it, in Debian's Chromium, opened from the disk. That its engine's numbers
// are the native build's is numbers.test.mjs's matter; here, that the page shows the engine's.
import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { allowed, closeBrowser, confining, inWorkers, keptBy, trapping, withPage, workOf, workToPaint } from './chromium.mjs';
import { root, startEngine, weights } from './engine.mjs';

after(closeBrowser);
const path = fileURLToPath(new URL('build-web/explorer.html', root));
const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const desktop = { viewport: { width: 1440, height: 900 } };
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true };
const still = { reducedMotion: 'reduce' }; // nothing to wait for

/** A page whose engine runs, that in the end complained of nothing and asked for nothing. */
const opened = (options, use) =>
  withPage(path, { ...desktop, ...still, ...options }, async (page, problems, context) => {
    await page.waitForFunction(() => performance.getEntriesByName('engine').length === 1);
    await use(page, context);
    assert.deepEqual(problems, []);
  });
const button = (page, name) => page.getByRole('button', { name, exact: true });
const answer = (page) => page.locator('.guess').innerText();
const median = (all) => [...all].sort((a, b) => a - b)[all.length >> 1];

/** Scrolls there, and again while sections that come into sight on the way take their true heights. */
async function scrolledTo(page, place) {
  for (let still = 0; still < 3;) {
    const top = await page.locator(place).evaluate((section) => {
      section.scrollIntoView();
      return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(section.getBoundingClientRect().top))));
    });
    still = Math.abs(top) < 200 ? still + 1 : 0;
  }
}

async function stroke(page, points) {
  const pad = page.getByRole('application', { name: /Drawing pad/ });
  await pad.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await pad.boundingBox();
  const at = ([u, v]) => [x + u * width, y + v * height];
  await page.mouse.move(...at(points[0]));
  await page.mouse.down();
  for (const point of points.slice(1)) await page.mouse.move(...at(point), { steps: 8 });
  await page.mouse.up();
  await page.waitForTimeout(60);
}

test('one file of at most 2.5 MB, whose first picture is there before its engine and within half a second', async (t) => {
  assert.ok((await stat(path)).size <= 2.5e6);
  await opened({}, async (page) => {
    const time = await page.evaluate(() => {
      const at = (name) => performance.getEntriesByName(name)[0].startTime;
      return { paint: at('first-contentful-paint'), first: at('first picture'), engine: at('engine'), read: performance.getEntriesByType('navigation')[0].domInteractive };
    });
    assert.match(await answer(page), /It reads\s+3, and is sure/);
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
    assert.match(await answer(page), /It reads\s+3/);
    await hand('model.safetensors', stubborn(7));
    await page.waitForFunction(() => /It reads\s+7/.test(document.querySelector('.guess').innerText));
    await hand('nonsense.safetensors', Buffer.from('no weights at all'));
    await page.locator('.error').first().waitFor();
    assert.match(await answer(page), /It reads\s+7/);
    const inside = page.getByRole('checkbox', { name: 'all pictures above show this model' });
    await inside.check();
    await page.locator('#learning .now').waitFor(); // of a model that knows nothing
    await inside.uncheck();
    await page.waitForFunction(() => /It reads\s*7/.test(document.querySelector('.guess').textContent)); // out of sight
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
      await page.waitForTimeout(80);
      engine.sample(kind, index);
      const forward = engine.forward();
      const logits = Array.from(engine.values(forward.tensors.find((t) => t.name === 'logits')), shown);
      assert.deepEqual((await page.locator('#answer td.number').allTextContents()).slice(0, 10), logits, name);
      assert.match(await answer(page), new RegExp(`It reads\\s+${forward.guess}`));
    }
  }));

test('drawing: by mouse, by keys, undone and cleared; every stroke is shown within 16 ms, its gradients within 40', (t) =>
  opened({}, async (page) => {
    await button(page, 'Clear').click();
    assert.equal(await answer(page), 'Nothing is drawn yet.');
    assert.equal(await page.locator('#draw td.number').count(), 0, 'no bars for an empty pad');
    await stroke(page, [[0.3, 0.2], [0.7, 0.2], [0.45, 0.85]]);
    assert.match(await answer(page), /It reads\s+7/);
    assert.match(await page.locator('#draw').innerText(), /Resized × \d/);
    await page.getByLabel('centre it').uncheck();
    assert.match(await page.locator('#draw').innerText(), /As drawn/);
    await page.getByLabel('centre it').check();
    await stroke(page, [[0.3, 0.5], [0.7, 0.5]]);
    await button(page, 'Undo').click();
    await page.waitForTimeout(60);
    assert.match(await answer(page), /It reads\s+7/);

    const strokes = () => stroke(page, [[0.2, 0.2], [0.8, 0.3], [0.2, 0.5], [0.8, 0.7], [0.2, 0.8], [0.5, 0.5]]);
    const samples = (place) => page.evaluate(async (id) => { // the same, where something else is on the screen
      document.getElementById(id).scrollIntoView();
      for (let i = 0; i < 30; ++i) {
        document.querySelector(`[aria-label="sample digit ${i % 10}"]`).click();
        await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
      }
    }, place);
    for (const [place, redraw, most] of [['pad', strokes, 16], ['blocks', samples, 16], ['backwards', samples, 40]]) {
      await redraw(place); // the section is laid out
      await page.waitForTimeout(place === 'backwards' ? 1500 : 300); // and its check is done
      await page.evaluate(() => performance.clearMeasures('redraw'));
      const { total, longest } = await workOf(page, () => redraw(place));
      const times = await page.evaluate(() => performance.getEntriesByName('redraw').map((m) => m.duration));
      assert.ok(times.length > 10, `${times.length} redraws`);
      const each = total / times.length;
      t.diagnostic(`${place}: a redraw is ${each.toFixed(1)} ms of work, ${median(times).toFixed(1)} by the clock (median); at most ${longest.toFixed(1)} at once`);
      assert.ok(each > 1 && each <= allowed(most) && longest <= allowed(50), `${place}: ${each} ms, ${longest} at once`);
    }

    await page.getByRole('application', { name: /Drawing pad/ }).focus();
    await page.keyboard.press('Delete');
    await page.keyboard.press('Space'); // a 1, by keys alone
    for (let i = 0; i < 15; ++i) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Space');
    await page.waitForTimeout(60);
    assert.match(await answer(page), /It reads\s+1/);
  }));

test('three depths of zoom: a block, its head, one number with the terms of its sum', () =>
  opened({}, async (page) => {
    await page.getByRole('button', { name: /^block 3 / }).press('Enter');
    assert.equal(await page.locator('.which').innerText(), 'Block 3 of 4');
    await button(page, 'head 2').click();
    const scores = page.getByRole('application', { name: /^scores/ });
    await scores.focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowRight');
    const said = await page.locator('.said').innerText();
    assert.match(said, /^head 2 · patch 1, 1 → patch 1, 1: −?[\d.]+/);
    await page.keyboard.press('Enter');
    const panel = page.getByRole('complementary', { name: 'One number, taken apart' });
    const value = /: (−?[\d.]+) /.exec(said)[1];
    assert.ok((await panel.innerText()).includes(`= ${value}`), await panel.innerText());
    assert.equal(await panel.locator('tbody tr').count(), 16);
    assert.match(await panel.innerText(), new RegExp(`÷ √16: ${value}`));
    await page.keyboard.press('Enter'); // again: into the panel, to its terms, and back to the same number
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    assert.match(await page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText), /^Equation: q times k/);
    await page.keyboard.press('Tab');
    assert.match(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), /^symbols: q times k/);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.innerText), 'largest first');
    await page.keyboard.press('Enter');
    assert.match(await panel.locator('tbody tr').first().innerText(), /^number 1\s/);
    await page.keyboard.press('Escape');
    assert.equal(await panel.count(), 0);
    assert.equal(await page.locator('.said').innerText(), said);

    await page.getByRole('button', { name: 'Just show it' }).click();
    assert.equal(await page.locator('figcaption', { hasText: /^head \d$/ }).count(), 4);
    for (const scope of ['the block', 'the model', 'each map']) await button(page, scope).click();
    const digit = page.getByRole('application', { name: /^16 patches/ });
    await digit.focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    assert.match(await page.locator('#attention + p').innerText(), /^patch 1, 2 asks/);
  }));

test('backwards: another label, a walk, derivatives everywhere, and a broken rule that turns the check red', () =>
  opened({}, async (page) => {
    await page.locator('#backwards').scrollIntoViewIfNeeded();
    await button(page, 'the right answer is 8').click();
    assert.match(await page.locator('#backwards').innerText(), /gives 8 a probability of .*\n?.*the loss is [\d.]+\s+\(worse than guessing/);
    const node = page.locator('.node');
    const flow = page.locator('#backwards .flow svg');
    const numbers = async () => (await flow.locator('text').allTextContents()).filter((x) => /\d/.test(x) && !/block|z_0/.test(x));
    assert.match(await node.innerText(), /^the loss is [\d.]+\. .* its gradient dL\/dL is 1/);
    assert.deepEqual(await numbers(), [], 'what is not reached has no number');
    await button(page, 'Step').click();
    assert.match(await node.innerText(), /^logits .*the probability of each digit, minus 1 at the right one.* The norm of its gradient is [\d.]+/s);
    await button(page, 'Step').click();
    assert.match(await node.innerText(), /^y /);
    assert.equal((await numbers()).length, 1);
    await button(page, 'Back').click();
    assert.match(await node.innerText(), /^logits /);
    for (let step = 2; step <= 62; ++step) {
      await button(page, 'Step').click();
      assert.match(await node.innerText(), /^\S+ \(.*\)\. (?!The norm)\S/, 'a sentence a step');
    }
    assert.match(await node.innerText(), /^images /);
    assert.equal((await numbers()).length, 2 + 3 * 4);
    await page.getByLabel('how far back').fill('5');
    assert.match(await node.innerText(), /^blocks\.3\.mlp\.hidden /);
    await page.getByLabel('how far back').fill('4');
    // The gradient's map opens the gradient, the other the number.
    const panel = page.getByRole('complementary', { name: 'One number, taken apart' });
    for (const [map, title] of [[/^dL\/d of it/, /^×\s*dL\/d of MLP = (\S+) .*the loss would (rise|fall) by about \d.*A sum hands its gradient on.*The number itself: MLP = /s], [/^what it is/, /^×\s*MLP = (\S+) /]]) {
      await node.getByRole('application', { name: map }).focus();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      const [, value] = /: (−?[\d.e−]+) \(/.exec(await node.locator('.said').innerText());
      await page.keyboard.press('Enter');
      assert.equal(title.exec(await panel.innerText())?.[1], value, await panel.innerText());
      await page.keyboard.press('Escape');
    }
    await page.getByLabel('gradients', { exact: true }).check();
    assert.ok((await page.locator('#tokens').textContent()).includes('dL/d x_p E'));
    await page.getByLabel('gradients', { exact: true }).uncheck();

    const verdict = page.locator('#broken p[role=status]');
    await page.locator('#check').scrollIntoViewIfNeeded();
    await page.getByText('✓ all 9 gradients agree').waitFor();
    const before = await answer(page);
    await button(page, 'Break it').click();
    await page.getByText(/✗ [1-9] of 9 gradients are wrong/).waitFor();
    assert.equal(await answer(page), before, 'only derivatives are wrong');
    await button(page, 'Mend it').click();
    await page.getByText('✓ all 9 gradients agree').waitFor();
    assert.match(await verdict.innerText(), /✓/);
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
      await page.waitForTimeout(500);
      assert.notEqual(await state(), before);
      if (way === 'Escape') {
        assert.equal(await button(page, 'the right answer is 8').getAttribute('aria-pressed'), 'true');
        await page.keyboard.press('Escape');
      } else {
        await button(page, way).click();
        assert.equal(await page.evaluate(() => document.activeElement.innerText), 'Take the tour');
      }
      await page.waitForTimeout(500);
      assert.equal(await state(), before, way);
    }
    // What was chosen on the way stays: another digit, and its label.
    await button(page, 'Take the tour').click();
    await page.getByLabel('Go to stop').selectOption('10');
    await button(page, 'sample digit 5').click();
    await page.waitForTimeout(100);
    await button(page, 'End the tour').click();
    await page.waitForTimeout(500);
    assert.match(await state(), /digit=5.*label=5/);
  }));

test('to look inside at once does not stop the training', () =>
  opened(phone, async (page) => {
    await button(page, 'Train').click();
    await page.getByLabel('all pictures above show this model').check();
    await page.waitForFunction(() => Number(/Step (\d+)/.exec(document.querySelector('.now')?.innerText ?? '')?.[1]) > 300);
    await page.waitForFunction(() => document.querySelectorAll('#blocks .block[role=button]').length === 2);
    await button(page, 'Pause').click();
    await button(page, 'Train').waitFor();
  }));

test('a link brings back what was seen, and nonsense in it harms nothing', async () => {
  let link = '';
  await opened({}, async (page) => {
    await stroke(page, [[0.5, 0.2], [0.5, 0.8]]);
    await page.getByRole('button', { name: /^block 2 / }).click();
    await button(page, 'head 3').click();
    await page.waitForTimeout(500);
    link = new URL(page.url()).hash;
    assert.match(link, /ink=.*block=2&head=3/);
  });
  await opened({ fragment: link }, async (page) => {
    assert.match(await answer(page), /It reads\s+1/);
    assert.equal(await page.locator('.which').innerText(), 'Block 2 of 4');
    assert.equal(await button(page, 'head 3').getAttribute('aria-pressed'), 'true');
  });
  for (const fragment of ['#digit=99999999999&ink=%%%&block=77&head=-1&token=1e9&number=../x:3&fault=matmul.explode.9&tour=0', '#ink=zzzz0', '#<b>', '#number=blocks.0.msa:999999']) {
    await opened({ fragment }, async (page) => assert.match(await answer(page), /It reads\s+3/));
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
  });
});

test('learning: 90 % within half a minute, one step, one image, a look inside', (t) =>
  opened({}, async (page) => {
    await scrolledTo(page, '#learning');
    const began = Date.now();
    await button(page, 'until 90 %').click();
    await page.waitForFunction(() => /Step [1-9].*reads 9\d %/s.test(document.querySelector('.now')?.innerText ?? ''), null, { timeout: 30000 });
    t.diagnostic(`90 % in ${(Date.now() - began) / 1000} s`);

    await button(page, 'Train').waitFor();
    const step = async () => Number(/Step (\d+)/.exec(await page.locator('.now').innerText())[1]);
    const before = await step();
    await button(page, 'one step').click();
    await page.waitForFunction((n) => document.querySelector('.now').innerText.includes(`Step ${n}`), before + 1);
    await button(page, 'ten steps').click();
    await page.waitForFunction((n) => document.querySelector('.now').innerText.includes(`Step ${n}`), before + 11);
    await button(page, 'the right answer is 8').click();
    await button(page, 'one image: yours, as a 8').click();
    const told = page.getByText(/The last step saw your picture, as a 8/);
    await told.waitFor();
    const [from, to, got] = /loss went ([\d.]+) → ([\d.]+)\. .* it got ([−+][\d.]+)\. .* a probability of/s.exec(await told.innerText()).slice(1).map((x) => Number(x.replace('−', '-')));
    assert.ok(to < from, await told.innerText());
    assert.ok(Math.abs(to - from - got) < 2e-4, await told.innerText());

    const trained = await page.locator('#answer td.number').allTextContents();
    await page.getByLabel('all pictures above show this model').check();
    await page.waitForFunction(() => document.querySelectorAll('#blocks .block[role=button]').length === 2);
    assert.notDeepEqual(await page.locator('#answer td.number').allTextContents(), trained);
    const probe = await page.locator('#learning td.number').allTextContents();
    assert.deepEqual((await page.locator('#answer td.number').allTextContents()).slice(10), probe, 'the page and the worker say the same of the picture');
    await page.getByLabel('all pictures above show this model').uncheck();
    await page.waitForFunction(() => document.querySelectorAll('#blocks .block[role=button]').length === 4);
    assert.deepEqual(await page.locator('#answer td.number').allTextContents(), trained);

    await page.getByLabel('batch', { exact: true }).fill('0');
    await button(page, 'Start anew').click();
    await page.getByText(/batch: expected 1 to 512, .* got 0/).waitFor();
    await page.getByLabel('batch', { exact: true }).fill('16');
    // The other optimizers, each with the rate and the weight decay that suit it, learn as well.
    for (const [name, rate] of [['adam', '0.003'], ['sgd', '0.05']]) {
      await page.getByLabel('optimizer', { exact: true }).selectOption(name);
      assert.equal(await page.getByLabel('learning rate', { exact: true }).inputValue(), rate);
      await button(page, 'Start anew').click();
      await button(page, 'until 90 %').click();
      await page.waitForFunction(() => /Step [1-9].*reads 9\d %/s.test(document.querySelector('.now')?.innerText ?? ''), null, { timeout: 30000 });
    }
  }));

test('training never blocks a frame for 50 ms: from the first step on, whatever is in sight, and with the largest model', (t) =>
  opened({}, async (page) => {
    const now = (pattern) => page.waitForFunction((p) => new RegExp(p).test(document.querySelector('.now')?.innerText ?? ''), pattern);
    const press = (name) => page.evaluate((text) => [...document.querySelectorAll('#train button')].find((b) => b.innerText === text).click(), name);
    const go = (place) => page.evaluate((id) => document.getElementById(id).scrollIntoView(), place);
    const holds = async (what, action) => {
      const { longest, wall, tasks } = await workOf(page, action);
      t.diagnostic(`${what}: ${longest.toFixed(1)} ms of work at once, ${wall.toFixed(0)} by the clock, ${tasks} tasks`);
      assert.ok(tasks > 20 && longest > 0, 'it was seen');
      assert.ok(longest < allowed(50), `${what}: ${longest} ms`);
    };
    await go('learning');
    await page.waitForTimeout(500);
    await holds('the curves, from the beginning', async () => {
      await press('Train');
      await now('^Step [1-9]\\d\\d');
      await page.waitForTimeout(2000);
    });
    await page.getByLabel('all pictures above show this model').check();
    for (const place of ['tokens', 'blocks', 'answer', 'backwards']) {
      await go(place);
      await page.waitForTimeout(1000);
      await holds(`inside, ${place}`, () => page.waitForTimeout(2000));
    }
    await go('learning');
    for (const [name, value] of [['blocks L', '4'], ['heads h', '8'], ['patch P', '4']]) await page.getByLabel(name).selectOption(value);
    await holds('the largest model', async () => {
      await press('Start anew');
      await now('^Step 0,');
      await press('Train');
      await page.getByLabel('gradients', { exact: true }).check();
      await now('^Step [1-9]');
      for (const place of ['tokens', 'blocks', 'backwards', 'learning']) {
        await go(place);
        await page.waitForTimeout(1500);
      }
    });
  }));

test('training leaves nothing behind, and the page takes less than 200 MB', (t) =>
  opened({}, async (page) => {
    await button(page, 'Train').click();
    await page.getByLabel('all pictures above show this model').check();
    await page.evaluate(() => document.getElementById('blocks').scrollIntoView());
    await page.waitForFunction(() => Number(/^Step (\d+)/.exec(document.querySelector('.now')?.innerText ?? '')?.[1]) > 1000); // the curve is full
    const all = [];
    for (let i = 0; i < 3; ++i) {
      await page.waitForTimeout(5000);
      await button(page, 'Pause').click();
      await page.waitForTimeout(500); // nothing is under way
      all.push(await keptBy(page));
      await button(page, 'Train').click();
    }
    t.diagnostic(JSON.stringify(all));
    // What is kept once is no leak: what grows each time is.
    const grows = (of) => Math.min(...all.slice(1).map((now, i) => of(now) - of(all[i])));
    assert.ok(grows(({ bytes }) => bytes.page) < 1_000_000, 'the page');
    assert.ok(grows(({ bytes }) => bytes.worker) < 50_000, 'the worker');
    assert.ok(grows(({ nodes }) => nodes) < 50, 'nodes of the document');
    assert.ok(grows(({ listeners }) => listeners) <= 0, 'listeners');
    for (const { megabytes } of all) assert.ok(megabytes < 200, `${megabytes} MB`);
  }));

test('learning: a model begun anew is all there is of it, a quick look away and back stays inside, and at rest page and worker are silent', () => {
  const before = () => { // counts what is sent to the worker
    window.orders = 0;
    const send = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (...order) { ++window.orders; return send.apply(this, order); };
  };
  return opened({ before }, async (page) => {
    const inside = page.getByLabel('all pictures above show this model');
    await page.getByLabel('blocks L').selectOption('4'); // as many as the trained model has
    await button(page, 'Train').click();
    await page.waitForFunction(() => /Step [1-9]/.test(document.querySelector('.now')?.innerText ?? ''));
    await button(page, 'Start anew').click(); // while steps are under way
    await page.waitForTimeout(600);
    assert.match(await page.locator('.now').innerText(), /^Step 0, 0 images \(epoch\s+0\)\./);
    assert.equal(await page.locator('.strip').count(), 0);
    assert.match(await page.locator('#learning svg[role=img]').getAttribute('aria-label'), /the loss is not measured, and held-out digits were not read yet/);
    assert.equal(await page.locator('#learning path.right').getAttribute('d'), '', 'no accuracy before it is measured');

    await button(page, 'ten steps').click();
    await page.waitForFunction(() => document.querySelector('.now').innerText.includes('Step 10,'));
    const shown = async () => (await page.locator('#answer td.number').allTextContents()).slice(10);
    const trained = await shown();
    await inside.check();
    await page.waitForFunction((was) => document.querySelectorAll('#answer td.number')[13].textContent !== was, trained[3]);
    await inside.evaluate((box) => { box.click(); box.click(); });
    await page.waitForTimeout(600);
    assert.deepEqual(await shown(), await page.locator('#learning td.number').allTextContents());

    const orders = await page.evaluate(() => window.orders);
    await page.waitForTimeout(500);
    assert.equal(await page.evaluate(() => window.orders), orders, 'nothing is sent while nothing happens');
    await button(page, 'sample digit 7').click();
    await page.waitForTimeout(300);
    assert.equal(await page.evaluate(() => window.orders), orders + 1, 'another picture is sent once');
    assert.deepEqual(await shown(), await page.locator('#learning td.number').allTextContents());
  });
});

test('why a step lowered the loss: its own digits before and after it, beside what the gradient promised', () =>
  opened({}, async (page) => {
    const engine = await startEngine();
    engine.create({ images: 6000, weight_decay: 0.05 });
    const fine = (x) => x.toFixed(4).replace('-', '−');
    for (let step = 1; step <= 3; ++step) {
      const { effect, batch } = engine.train(1);
      await button(page, 'one step').click();
      await page.waitForFunction((n) => document.querySelector('.now')?.innerText.includes(`Step ${n},`), step);
      const said = await page.locator('#effect').innerText();
      for (const part of [`The last step saw ${batch} digits`, `${fine(effect.before)} → ${fine(effect.after)}`, `promised about ${fine(effect.promised)}`, `got ${fine(effect.after - effect.before)}`]) {
        assert.ok(said.includes(part), `${part} is not in ${said}`);
      }
      assert.match(said, /Kept: each number moved/);
    }
  }));

test('a broken rule is what the model in training learns by, and the page says so', () =>
  opened({}, async (page) => {
    const warning = page.locator('#learning .error');
    const engine = await startEngine();
    const settings = { images: 6000, weight_decay: 0.05 };
    const fault = { op: 'matmul', kind: 'flip_sign', input: 1 };
    // Ten steps, in the page and beside it.
    const same = async (steps) => {
      const { effect } = engine.train(10);
      await button(page, 'ten steps').click();
      await page.waitForFunction((n) => document.querySelector('.now')?.innerText.includes(`Step ${n},`), steps);
      const said = await page.locator('#effect').innerText();
      const loss = `${effect.before.toFixed(4)} → ${effect.after.toFixed(4)}`;
      assert.ok(said.includes(loss), `${loss} is not in ${said}`);
      return loss;
    };
    await page.locator('#backwards').scrollIntoViewIfNeeded();
    await page.locator('#check').scrollIntoViewIfNeeded();
    await page.getByText('✓ all 9 gradients').waitFor();
    await page.getByLabel('for input').selectOption({ value: '1' });
    engine.create(settings);
    const sound = await same(10);
    assert.equal(await warning.count(), 0);
    engine.fault(fault);
    await button(page, 'Break it').click();
    assert.match(await warning.innerText(), /is broken, matmul turns the sign: this model learns by it/);
    await same(20);
    engine.create(settings);
    await button(page, 'Start anew').click(); // broken from the beginning
    await page.waitForFunction(() => document.querySelector('.now').innerText.includes('Step 0,'));
    assert.notEqual(await same(10), sound);
    engine.fault(null);
    await button(page, 'Mend the rule').click();
    await same(20);
    assert.equal(await warning.count(), 0);
  }));

test('a logit opens: the dot product that made it, and its gradient where gradients are shown', () =>
  opened({}, async (page) => {
    const panel = page.getByRole('complementary', { name: 'One number, taken apart' });
    const logit = (await page.locator('#answer td.number').allTextContents())[5];
    const bar = page.locator('#answer tr').filter({ hasText: logit }).first().locator('.bar');
    await bar.evaluate((element) => element.scrollIntoView({ block: 'center' }));
    await page.waitForTimeout(100);
    const { x, y, width, height } = await bar.boundingBox();
    await page.mouse.click(x + width / 2, y + height / 2); // anywhere in its row
    assert.match(await panel.innerText(), new RegExp(`logit = ${logit} .*The score of the digit 5, one of 10`, 's'));
    assert.equal(await panel.locator('tbody tr').count(), 64);
    await button(page, 'Close').click();
    await page.getByRole('button', { name: /^logits, 5: / }).press('Enter');
    await panel.waitFor();
    await page.keyboard.press('Escape');
    assert.match(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), /^logits, 5: /, 'the focus is where it was');
    await page.getByLabel('gradients', { exact: true }).check();
    await page.getByRole('button', { name: /^dL\/d logits.*, 5: / }).press('Enter');
    assert.match(await panel.innerText(), /dL\/d of logit = /);
    await page.waitForTimeout(500);
    const { hash } = new URL(page.url());
    assert.match(hash, /number=logits%3A5%3Agradient/);
    await opened({ fragment: hash }, async (other) => assert.match(await other.getByRole('complementary').innerText(), /dL\/d of logit = /));
  }));

test('on a phone the walk back brings what it has come to into sight', () =>
  opened(phone, async (page) => {
    await page.locator('#backwards').scrollIntoViewIfNeeded();
    await page.locator('#walk').scrollIntoViewIfNeeded();
    await page.evaluate(() => { const { y } = document.getElementById('walk').getBoundingClientRect(); scrollBy(0, y - innerHeight + 120); }); // the buttons are low
    for (let step = 0; step < 3; ++step) {
      await button(page, 'Step').click();
      await page.waitForTimeout(100);
      const [box, buttons] = [await page.locator('.node').boundingBox(), await button(page, 'Step').boundingBox()];
      assert.ok(box.y >= 0 && (box.y + box.height <= 845 || box.y < 200), `what is said is at ${box.y}, ${box.height} high`);
      assert.ok(buttons.y > 0 && buttons.y < 800, `the buttons are at ${buttons.y}`);
    }
  }));

test('a change of a range is said, once it has settled, and only of the same map', () =>
  opened({}, async (page) => {
    const foot = page.locator('figure').filter({ hasText: /^x_p E: / }).locator('.legend');
    await foot.scrollIntoViewIfNeeded();
    const before = /[\d.]+$/.exec((await foot.innerText()).trim())[0];
    await page.waitForTimeout(1000);
    assert.doesNotMatch((await page.locator('.legend').allTextContents()).join(), /\(was/, 'at the beginning nothing has changed');
    await button(page, 'the model').click();
    await page.waitForTimeout(200);
    assert.doesNotMatch(await foot.innerText(), /\(was/, 'not while it may still move');
    await page.waitForFunction((was) => [...document.querySelectorAll('#tokens .legend')].some((l) => l.innerText.includes(`(was ${was})`)), before);
    await page.locator('#backwards').scrollIntoViewIfNeeded();
    await page.locator('#walk').scrollIntoViewIfNeeded();
    for (let i = 0; i < 6; ++i) {
      await button(page, 'Step').click();
      await page.waitForTimeout(i < 5 ? 50 : 800);
    }
    assert.doesNotMatch(await page.locator('.node').innerText(), /\(was/, 'another node is no change');
  }));

test('a symbol of an equation that is pointed at, by pointer, keys or a tap, says what it is, and no other does', async () => {
  const tip = (page) => page.locator('#tokens .tip').first().innerText();
  const E = 'E: learned pictures, which turn a patch into a token. (P² C, D) = 49 × 64';
  await opened({}, async (page) => {
    const equation = page.getByRole('application', { name: /^Equation: z 0 is the class token/ });
    assert.equal(await equation.locator('..').getByTitle(/./).count(), 0);
    const symbol = equation.locator('[data-symbol="E"]').first();
    await symbol.hover();
    assert.equal(await tip(page), E);
    assert.equal(await page.locator('#tokens figure.named figcaption').innerText(), 'E: the filters, 64 pictures of 7 × 7', 'its map lights up');
    await equation.locator('[data-symbol="N"]').hover(); // within x_p's
    assert.equal(await tip(page), 'N: the number of patches. N = 16');
    await page.mouse.move(5, 300);
    assert.equal(await tip(page), '');
    await equation.focus();
    const said = [];
    for (let i = 0; i < 4; ++i) {
      await page.keyboard.press('ArrowRight');
      said.push(await tip(page));
    }
    assert.match(said.join('\n'), /^z0: the tokens before the first block. .* = 17 × 64\nxclass: .* = 64 numbers\nxp: a patch: .* = 49 numbers\nE: learned pictures/);
    await page.keyboard.press('ArrowLeft');
    assert.equal(await tip(page), said[2]);
    await page.keyboard.press('Escape');
    assert.equal(await tip(page), '');
  });
  await opened(phone, async (page) => {
    await page.locator('#tokens [data-symbol="E"]').first().tap();
    assert.equal(await tip(page), E);
    const { x, width } = await page.locator('#tokens .tip').first().boundingBox();
    assert.ok(x >= 0 && x + width <= 390, `${x}, ${width} wide`);
  });
});

test('all symbols of an equation, or of a shape, are named where that is asked for', () =>
  opened({}, async (page) => {
    const symbols = page.getByRole('button', { name: /^symbols: z 0 is the class token/ });
    await symbols.press('Enter');
    assert.match(await page.locator('#tokens dl').innerText(), /N\s+the number of patches/);
    await symbols.press('Enter');
    assert.equal(await page.locator('#tokens dl').count(), 0);
    await page.locator('#backwards').scrollIntoViewIfNeeded();
    await page.getByLabel('how far back').fill('4');
    await page.getByRole('button', { name: 'symbols: the shape (B, T, D)' }).click();
    assert.match(await page.locator('.node dl').innerText(), /^B\s+pictures at once, here 1\s+T\s+the number of tokens, N \+ 1. T = 17\s+D\s+numbers in a token. D = 64$/);
  }));

test('a word that is pressed is explained below its line, and the sentence stays whole', () =>
  opened({}, async (page) => {
    const paragraph = page.locator('#tokens p').first();
    const box = (locator) => locator.evaluate((element) => { const { top, bottom } = element.getBoundingClientRect(); return { top, bottom }; });
    const word = paragraph.getByRole('button', { name: 'patches' });
    await word.press('Enter');
    const meaning = paragraph.getByRole('note');
    assert.match(await meaning.innerText(), /^A patch is a small square of the picture\./);
    assert.doesNotMatch(await paragraph.textContent(), /[()]/);
    const [said, means] = [await box(word), await box(meaning)];
    assert.ok(means.top >= said.bottom - 3, JSON.stringify([said, means]));
    const comma = await paragraph.evaluate((p) => { // what follows the word
      const range = document.createRange();
      const text = [...p.childNodes].find((node) => node.nodeType === 3 && node.data.startsWith(', and each'));
      range.setStart(text, 0);
      range.setEnd(text, 5);
      return range.getBoundingClientRect().top;
    });
    assert.ok(Math.abs(comma - said.top) < 8, 'the comma is beside its word');
  }));

test('gradients are computed while something shows them, and no longer', () => {
  const before = () => { // counts the engine's backward passes
    window.backwards = 0;
    const { instantiate } = WebAssembly;
    WebAssembly.instantiate = async (...all) => {
      const { instance } = await instantiate(...all);
      const { explorer_backward: backward } = instance.exports;
      return { instance: { exports: { ...instance.exports, explorer_backward: (label) => { ++window.backwards; return backward(label); } } } };
    };
  };
  return opened({ before }, async (page) => {
    const passes = async (action) => {
      const was = await page.evaluate(() => window.backwards);
      await action();
      await page.waitForTimeout(150);
      return (await page.evaluate(() => window.backwards)) - was;
    };
    const gradients = page.getByLabel('gradients', { exact: true });
    const another = (digit) => () => button(page, `sample digit ${digit}`).click();
    assert.equal(await passes(another(1)), 0);
    assert.equal(await passes(() => gradients.check()), 1);
    assert.equal(await passes(another(2)), 1);
    await gradients.uncheck();
    assert.equal(await passes(another(4)), 0, 'the switch is off again');
    assert.equal(await passes(() => gradients.check()), 1, 'and of the new picture when it is on');
    const hand = (name) => page.getByLabel(/A model of your own/).setInputFiles({ name, mimeType: 'application/octet-stream', buffer: weights });
    assert.equal(await passes(() => hand('one.safetensors')), 1, 'and of a new model');
    await gradients.uncheck();
    assert.equal(await passes(() => hand('two.safetensors')), 0);
    await button(page, 'Take the tour').click();
    await page.getByLabel('Go to stop').selectOption('10'); // backwards
    await button(page, 'End the tour').click();
    await page.locator('#draw').scrollIntoViewIfNeeded();
    assert.equal(await passes(another(5)), 0, 'after the tour');
  });
});

test('training goes on when word of an earlier pause comes late', () => {
  const before = () => {
    const { set } = Object.getOwnPropertyDescriptor(Worker.prototype, 'onmessage');
    Object.defineProperty(Worker.prototype, 'onmessage', {
      set(hear) { set.call(this, (event) => (event.data.kind === 'paused' ? setTimeout(() => hear(event), 700) : hear(event))); },
    });
  };
  return opened({ before }, async (page) => {
    await button(page, 'one step').click();
    await button(page, 'Pause').click();
    await button(page, 'Train').click();
    await page.waitForTimeout(1200);
    assert.equal(await button(page, 'Pause').count(), 1);
    await button(page, 'Pause').click();
  });
});

test('settings that cannot be are refused beside the switch that asks for their model', () =>
  opened({}, async (page) => {
    await page.getByLabel('batch', { exact: true }).fill('0');
    await button(page, 'Start anew').click();
    await page.getByText(/batch: expected 1 to 512/).waitFor();
    await page.getByLabel('batch', { exact: true }).fill('16');
    await page.getByLabel('all pictures above show this model').check();
    await page.waitForFunction(() => document.querySelectorAll('#blocks .block[role=button]').length === 2);
    assert.equal(await page.getByText(/batch: expected/).count(), 0);
  }));

test('where the engine that trains breaks down, its worker is replaced by a fresh one, and the page goes on', () =>
  opened({ before: inWorkers(trapping('explorer_train', 8), 1) }, async (page) => {
    const error = page.locator('#learning [role=alert]');
    await button(page, 'Train').click();
    await error.waitFor();
    assert.match(await error.innerText(), /^The engine broke down: unreachable. What this model had learned is gone, and a fresh engine is ready\./);
    assert.equal(page.workers().length, 0, 'the broken one is gone');
    assert.equal(await button(page, 'Train').count(), 1, 'nothing is under way');
    await button(page, 'sample digit 7').click(); // meanwhile, reading goes on
    await page.waitForFunction(() => /reads\s+7/.test(document.querySelector('.guess').innerText));
    await page.getByLabel('all pictures above show this model').check();
    await button(page, 'ten steps').click();
    await page.waitForFunction(() => /^Step 10,/.test(document.querySelector('.now').innerText));
    assert.equal(await error.count(), 0);
    assert.equal(page.workers().length, 1);
  }));

test('where memory does not suffice, that is said, and a smaller model is trained', () =>
  opened({ before: inWorkers(confining(300)) }, async (page) => { // 19 MB
    const error = page.locator('#learning [role=alert]');
    for (const [name, value] of [['blocks L', '4'], ['patch P', '4']]) await page.getByLabel(name).selectOption(value);
    await page.getByLabel('batch', { exact: true }).fill('512');
    await button(page, 'ten steps').click();
    await error.waitFor();
    assert.match(await error.innerText(), /^(there is not enough memory for this|an array of shape .* takes [1-9][\d.]* [KM]B: there is not that much memory)/);
    for (const [name, value] of [['blocks L', '1'], ['patch P', '14']]) await page.getByLabel(name).selectOption(value);
    await page.getByLabel('batch', { exact: true }).fill('4');
    await button(page, 'Start anew').click();
    await button(page, 'ten steps').click();
    await page.waitForFunction(() => /^Step 10,/.test(document.querySelector('.now').innerText));
    assert.equal(await error.count(), 0);
  }));

test('where the engine that reads breaks down, a fresh one takes its place', () =>
  opened({ before: trapping('explorer_forward', 4) }, async (page) => {
    const error = page.getByRole('alert');
    const read = async (digit) => {
      await button(page, `sample digit ${digit}`).click();
      await page.waitForFunction((n) => document.querySelector('.guess').innerText.replace(/\s+/g, ' ').startsWith(`It reads ${n}`), digit);
    };
    await read(5);
    await read(6);
    assert.equal(await error.count(), 0);
    await read(7); // breaks, and is read by the fresh one
    assert.match(await error.innerText(), /^The engine broke down: unreachable\./);
    await read(8);
    assert.equal(await error.count(), 0, 'until something that was asked for succeeds');
    await page.getByLabel('gradients', { exact: true }).check();
    await button(page, 'ten steps').click();
    await page.waitForFunction(() => /^Step 10,/.test(document.querySelector('.now')?.innerText ?? ''));
  }));

test('a guess before training stands beside what it took', () =>
  opened({}, async (page) => {
    await page.getByLabel(/how many digits must it see/).fill('5000');
    await button(page, 'one step').click();
    await page.waitForFunction(() => document.querySelector('.now')?.innerText.includes('Step 1,'));
    assert.doesNotMatch(await page.locator('.now').innerText(), /NaN/);
    await button(page, 'until 90 %').click();
    await page.getByText(/You guessed 5,000 digits; it took \d\d,\d+ to read nine of ten/).waitFor();
  }));

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
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'no sideways scrolling');
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
    await page.waitForTimeout(100);
    assert.match(await answer(page), /It reads\s+1/);

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
    await page.waitForTimeout(100);
    for (const sign of [/^request: .*beside\.png/, /^console: complaint/, /^thrown: slip/]) {
      assert.ok(problems.some((p) => sign.test(p)), `${sign} in ${problems.join('; ')}`);
    }
  }));
