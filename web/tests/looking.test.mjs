// The page that is looked into: what is drawn, what opens, what goes back.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { allowed, closeBrowser, counting, trapping, workOf } from './chromium.mjs';
import { weights } from './engine.mjs';
import { answer, button, median, opened, phone, reads, soon, stroke, trained } from './explorer.mjs';

after(closeBrowser);

/** Keys, one after the other. */
const type = async (page, ...keys) => { for (const key of keys) await page.keyboard.press(key); };

/** What fingers do on the pad: [event, which finger, x, y], in parts of its side. */
const fingers = (page, all) =>
  page.locator('.pad canvas').evaluate((pad, all) => {
    const { left, top, width, height } = pad.getBoundingClientRect();
    pad.setPointerCapture = () => {};
    for (const [type, pointerId, x, y] of all) {
      pad.dispatchEvent(new PointerEvent(type, { pointerId, button: 0, clientX: left + x * width, clientY: top + y * height, bubbles: true }));
    }
  }, all);

test('drawing: by mouse, by keys, undone and cleared; every stroke is shown within 16 ms, its gradients within 40', (t) =>
  opened({}, async (page) => {
    await button(page, 'Clear').click();
    await soon(async () => assert.equal(await answer(page), 'Nothing is drawn yet.'));
    assert.equal(await page.locator('#draw td.number').count(), 0, 'no bars for an empty pad');
    await stroke(page, [[0.3, 0.2], [0.7, 0.2], [0.45, 0.85]]);
    await reads(page, 7);
    assert.match(await page.locator('#draw').innerText(), /Resized × \d/);
    await page.getByLabel('centre it').uncheck();
    await soon(async () => assert.match(await page.locator('#draw').innerText(), /As drawn/));
    await page.getByLabel('centre it').check();
    await stroke(page, [[0.3, 0.5], [0.7, 0.5]]);
    await button(page, 'Undo').click();
    await reads(page, 7);

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
    await reads(page, 1);

    // What Clear or a sample took away, Undo brings back.
    await button(page, 'Clear').click();
    await soon(async () => assert.equal(await answer(page), 'Nothing is drawn yet.'));
    for (const section of ['blocks', 'answer', 'backwards']) assert.match(await page.locator(`#${section}`).textContent(), /Nothing is drawn: this is what it says of blank paper/);
    await button(page, 'Undo').click();
    await reads(page, 1);
    await button(page, 'sample digit 5').click();
    await reads(page, 5);
    await button(page, 'Undo').click();
    await reads(page, 1);
    await button(page, 'Undo').click();
    assert.equal(await button(page, 'Undo').getAttribute('aria-disabled'), 'true');
  }));

test('a second finger, or a palm, leaves the stroke of the first alone', () =>
  opened({}, async (page) => {
    await button(page, 'Clear').click();
    const strokes = () => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get('ink'));
    await fingers(page, [
      ['pointerdown', 1, 0, 0], ['pointerdown', 2, 1, 1], ['pointermove', 2, 1, 0.5], ['pointerup', 2, 1, 0.5],
      ['pointermove', 1, 0, 1], ['pointerup', 1, 0, 1], ['pointermove', 1, 1, 1],
    ]);
    await soon(async () => assert.equal(await strokes(), '000000zz'));
  }));

test('a drawing of any length stays in the address', () =>
  opened({}, async (page) => {
    await button(page, 'Clear').click();
    const moves = Array.from({ length: 7000 }, (_, i) => ['pointermove', 1, 0.5 + 0.01 * Math.sin(i), 0.1 + (0.8 * i) / 7000]);
    await fingers(page, [['pointerdown', 1, 0.5, 0.1], ...moves, ['pointerup', 1, 0.5, 0.9]]);
    await page.waitForFunction(() => /It reads/.test(document.querySelector('.guess').innerText));
    await page.waitForTimeout(500); // and stands in the address
    const said = await answer(page);
    const { length } = await page.evaluate(() => location.hash);
    assert.ok(length > 5000 && length < 20_200, `${length} letters`);
    await page.reload();
    await page.waitForFunction(() => performance.getEntriesByName('engine').length === 1);
    await page.waitForFunction((text) => document.querySelector('.guess').innerText.slice(0, 12) === text, said.slice(0, 12));
  }));

test('three depths of zoom: a block, its head, one number with the terms of its sum', () =>
  opened({}, async (page) => {
    await page.getByRole('button', { name: /^block 3 / }).press('Enter');
    assert.equal(await page.locator('.which').innerText(), 'Block 3 of 4');
    await button(page, 'head 2').click();
    const scores = page.getByRole('application', { name: /^scores/ });
    await scores.focus();
    await type(page, 'ArrowRight', 'ArrowDown', 'ArrowRight');
    const said = await page.locator('.said').innerText();
    assert.match(said, /^head 2 · patch 1, 1 → patch 1, 1: −?[\d.]+/);
    await page.keyboard.press('Enter');
    const panel = page.getByRole('complementary', { name: 'One number, taken apart' });
    const value = /: (−?[\d.]+) /.exec(said)[1];
    assert.ok((await panel.innerText()).includes(`= ${value}`), await panel.innerText());
    assert.equal(await panel.locator('tbody tr').count(), 16);
    assert.match(await panel.innerText(), new RegExp(`÷ √16: ${value}`));
    await type(page, 'Enter', 'Tab', 'Tab'); // again: into the panel, to its terms, and back to the same number
    assert.match(await page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText), /^Equation: q times k/);
    await page.keyboard.press('Tab');
    assert.match(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), /^symbols: q times k/);
    await type(page, 'Tab', 'Tab');
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
    await type(page, 'ArrowRight', 'ArrowRight', 'Enter');
    assert.match(await page.locator('#attention + p').innerText(), /^Patch 1, 2 asks/);
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
      assert.match(await node.innerText(), /^\S+ \(.*?\)(, in block \d)?\. (?!The norm)\S/, 'a sentence a step');
      assert.match(await node.innerText(), /^(?!blocks)|^blocks\.(?:0\..*in block 1|1\..*in block 2|2\..*in block 3|3\..*in block 4)\./);
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
      await type(page, 'ArrowRight', 'ArrowRight');
      const [, value] = /: (−?[\d.e−]+) \(/.exec(await node.locator('.said').innerText());
      await page.keyboard.press('Enter');
      assert.equal(title.exec(await panel.innerText())?.[1], value, await panel.innerText());
      await page.keyboard.press('Escape');
    }
    await page.getByLabel('gradients', { exact: true }).check();
    await page.getByText('dL/d E, 64 pictures of 7 × 7').waitFor();
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
    await page.waitForURL(/number=logits%3A5%3Agradient/);
    const { hash } = new URL(page.url());
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

test('gradients are computed while something shows them, and no longer', () =>
  opened({ before: counting('explorer_backward') }, async (page) => {
    const passes = async (expected, action, why) => {
      const count = () => page.evaluate(() => window.calls);
      const was = await count();
      await action();
      await soon(async () => assert.ok((await count()) - was >= expected, why));
      await page.waitForTimeout(150); // and no more
      assert.equal((await count()) - was, expected, why);
    };
    const gradients = page.getByLabel('gradients', { exact: true });
    const another = (digit) => () => button(page, `sample digit ${digit}`).click();
    await passes(0, another(1));
    await passes(1, () => gradients.check());
    await passes(1, another(2));
    await gradients.uncheck();
    await passes(0, another(4), 'the switch is off again');
    await passes(1, () => gradients.check(), 'and of the new picture when it is on');
    const hand = (name) => page.getByLabel(/A model of your own/).setInputFiles({ name, mimeType: 'application/octet-stream', buffer: weights });
    await passes(1, () => hand('one.safetensors'), 'and of a new model');
    await gradients.uncheck();
    await passes(0, () => hand('two.safetensors'));
    await button(page, 'Take the tour').click();
    await page.getByLabel('Go to stop').selectOption('10'); // backwards
    await button(page, 'End the tour').click();
    await page.locator('#draw').scrollIntoViewIfNeeded();
    await passes(0, another(5), 'after the tour');
  }));

test('where the engine that reads breaks down, a fresh one takes its place', () =>
  opened({ before: trapping('explorer_forward', 4) }, async (page) => {
    const error = page.getByRole('alert');
    const read = async (digit) => {
      await button(page, `sample digit ${digit}`).click();
      await reads(page, digit);
    };
    await read(5);
    await read(6);
    assert.equal(await error.count(), 0);
    await read(7); // breaks, and is read by the fresh one
    assert.match(await error.innerText(), /^The engine broke down: unreachable\./);
    await read(8);
    assert.equal(await error.count(), 0, 'until something that was asked for succeeds');
    await page.getByLabel('gradients', { exact: true }).check();
    await trained(page, 'ten steps', 10);
  }));
