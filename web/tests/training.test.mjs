// The page that trains: what is learnt, what is said of it, and what it leaves alone.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { allowed, closeBrowser, confining, inWorkers, keptBy, trapping, workOf } from './chromium.mjs';
import { startEngine } from './engine.mjs';
import { button, opened, phone, reads, scrolledTo, soon, trained } from './explorer.mjs';

after(closeBrowser);

test('to look inside at once does not stop the training', () =>
  opened(phone, async (page) => {
    await button(page, 'Train').click();
    await page.getByLabel('all pictures above show this model').check();
    await page.waitForFunction(() => Number(/Step (\d+)/.exec(document.querySelector('.now')?.innerText ?? '')?.[1]) > 300);
    await page.waitForFunction(() => document.querySelectorAll('#blocks .block[role=button]').length === 2);
    await button(page, 'Pause').click();
    await button(page, 'Train').waitFor();
  }));

test('learning: 90 % within half a minute, one step, one image, a look inside', (t) =>
  opened({}, async (page) => {
    await scrolledTo(page, '#learning');
    const began = Date.now();
    await button(page, 'until 90 %').click();
    await page.waitForFunction(() => /Step [1-9].*reads 9\d\s%/s.test(document.querySelector('.now')?.innerText ?? ''), null, { timeout: 30000 });
    t.diagnostic(`90 % in ${(Date.now() - began) / 1000} s`);

    await button(page, 'Train').waitFor();
    const step = async () => Number(/Step (\d+)/.exec(await page.locator('.now').innerText())[1]);
    const before = await step();
    await trained(page, 'one step', before + 1);
    await trained(page, 'ten steps', before + 11);
    await button(page, 'the right answer is 8').click();
    await button(page, 'one image: yours, as a 8').click();
    const told = page.getByText(/The last step saw your picture, as a 8/);
    await told.waitFor();
    const [from, to, got] = /loss went ([\d.]+) → ([\d.]+)\. .* it got ([−+][\d.]+)\. .* a probability of/s.exec(await told.innerText()).slice(1).map((x) => Number(x.replace('−', '-')));
    assert.ok(to < from, await told.innerText());
    assert.ok(Math.abs(to - from - got) < 2e-4, await told.innerText());

    const own = await page.locator('#answer td.number').allTextContents();
    await page.getByLabel('all pictures above show this model').check();
    await page.waitForFunction(() => document.querySelectorAll('#blocks .block[role=button]').length === 2);
    assert.notDeepEqual(await page.locator('#answer td.number').allTextContents(), own);
    const probe = await page.locator('#learning td.number').allTextContents();
    assert.deepEqual((await page.locator('#answer td.number').allTextContents()).slice(10), probe, 'the page and the worker say the same of the picture');
    await page.getByLabel('all pictures above show this model').uncheck();
    await page.waitForFunction(() => document.querySelectorAll('#blocks .block[role=button]').length === 4);
    assert.deepEqual(await page.locator('#answer td.number').allTextContents(), own);

    await page.getByLabel('batch', { exact: true }).fill('0');
    await button(page, 'Start anew').click();
    await page.getByText('Batch: a whole number from 1 to 512.').waitFor();
    await page.getByLabel('batch', { exact: true }).fill('16');
    // The other optimizers, each with the rate and the weight decay that suit it, learn as well.
    for (const [name, rate] of [['adam', '0.003'], ['sgd', '0.05']]) {
      await page.getByLabel('optimizer', { exact: true }).selectOption(name);
      assert.equal(await page.getByLabel('learning rate', { exact: true }).inputValue(), rate);
      await button(page, 'Start anew').click();
      await button(page, 'until 90 %').click();
      await page.waitForFunction(() => /Step [1-9].*reads 9\d\s%/s.test(document.querySelector('.now')?.innerText ?? ''), null, { timeout: 30000 });
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
    await page.waitForTimeout(600); // long enough for what was on its way
    await soon(async () => assert.match(await page.locator('.now').innerText(), /^Step 0, 0 images \(epoch\s+0\)\./));
    assert.equal(await page.locator('.strip').count(), 0);
    assert.match(await page.locator('#learning svg[role=img]').getAttribute('aria-label'), /the loss is not measured, and held-out digits were not read yet/);
    assert.equal(await page.locator('#learning path.right').getAttribute('d'), '', 'no accuracy before it is measured');

    await trained(page, 'ten steps', 10);
    const shown = async () => (await page.locator('#answer td.number').allTextContents()).slice(10);
    const own = await shown();
    await inside.check();
    await page.waitForFunction((was) => document.querySelectorAll('#answer td.number')[13].textContent !== was, own[3]);
    await inside.evaluate((box) => { box.click(); box.click(); });
    await page.waitForTimeout(600);
    await soon(async () => assert.deepEqual(await shown(), await page.locator('#learning td.number').allTextContents()));

    const orders = await page.evaluate(() => window.orders);
    await page.waitForTimeout(500);
    assert.equal(await page.evaluate(() => window.orders), orders, 'nothing is sent while nothing happens');
    await button(page, 'sample digit 7').click();
    await soon(async () => assert.ok((await page.evaluate(() => window.orders)) > orders));
    await page.waitForTimeout(300);
    assert.equal(await page.evaluate(() => window.orders), orders + 1, 'another picture is sent once');
    await soon(async () => assert.deepEqual(await shown(), await page.locator('#learning td.number').allTextContents()));
  });
});

test('why a step lowered the loss: its own digits before and after it, beside what the gradient promised', () =>
  opened({}, async (page) => {
    const engine = await startEngine();
    engine.create({ images: 6000, weight_decay: 0.05 });
    const fine = (x) => x.toFixed(4).replace('-', '−');
    for (let step = 1; step <= 3; ++step) {
      const { effect, batch } = engine.train(1);
      await trained(page, 'one step', step);
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
      await trained(page, 'ten steps', steps);
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
    await trained(page, 'Start anew', 0); // broken from the beginning
    assert.notEqual(await same(10), sound);
    engine.fault(null);
    await button(page, 'Mend the rule').click();
    await same(20);
    assert.equal(await warning.count(), 0);
  }));

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
    const refused = page.locator('#learning [role=alert]');
    for (const [field, value, sentence] of [
      ['batch', '0', 'Batch: a whole number from 1 to 512.'], ['batch', '', 'Batch: a whole number from 1 to 512.'],
      ['learning rate', '-1', 'Learning rate: a number from 0 to 10.'], ['dropout', '1', 'Dropout: a number from 0 to 0.9.'],
      ['seed', '1.5', 'Seed: a whole number from 0 to 999,999.']]) {
      const input = page.getByLabel(field, { exact: true });
      const before = await input.inputValue();
      await input.fill(value);
      await button(page, 'one step').click();
      await refused.waitFor();
      assert.equal(await refused.innerText(), sentence);
      assert.equal(await page.locator('.now').count(), 0, 'there is no model');
      await page.getByLabel('all pictures above show this model').click();
      assert.equal(await page.getByLabel('all pictures above show this model').isChecked(), false);
      await input.fill(before);
    }
    await page.getByLabel('all pictures above show this model').check();
    await page.waitForFunction(() => document.querySelectorAll('#blocks .block[role=button]').length === 2);
    assert.equal(await refused.count(), 0);
    await trained(page, 'one step', 1);
    await page.getByLabel('batch', { exact: true }).fill('');
    await button(page, 'Start anew').click();
    assert.equal(await refused.innerText(), 'Batch: a whole number from 1 to 512.');
    assert.match(await page.locator('.now').innerText(), /^Step 1,/); // the model that there is goes on
    await trained(page, 'one step', 2);
  }));

test('by keys alone: a button that was pressed keeps the focus, or hands it on', () =>
  opened({}, async (page) => {
    const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? '');
    await button(page, 'one step').focus();
    for (let step = 1; step <= 2; ++step) {
      await page.keyboard.press('Enter');
      await page.waitForFunction((n) => new RegExp(`^Step ${n},`).test(document.querySelector('.now')?.innerText ?? ''), step);
      await page.waitForFunction(() => document.activeElement?.getAttribute('aria-disabled') === 'false');
      assert.equal(await focused(), 'one step');
    }
    await button(page, 'Train').press('Space');
    await button(page, 'Pause').waitFor();
    assert.equal(await focused(), 'Pause');
    await page.keyboard.press('Space');
    await button(page, 'Train').waitFor();

    await page.locator('#backwards').scrollIntoViewIfNeeded(); // gradients are computed where they are seen
    await button(page, 'Break it').press('Enter');
    assert.equal(await focused(), 'Mend it');
    await button(page, 'Mend the rule').press('Enter');
    assert.equal(await focused(), 'Train');
    await button(page, 'Just show it').press('Enter');
    await page.waitForFunction(() => document.activeElement?.closest('#heads') !== null);
    await page.locator('#walk').getByRole('button', { name: 'Back' }).press('Enter');
    assert.equal(await focused(), 'Back');
  }));

test('where the engine that trains breaks down, its worker is replaced by a fresh one, and the page goes on', () =>
  opened({ before: inWorkers(trapping('explorer_train', 8), 1) }, async (page) => {
    const error = page.locator('#learning [role=alert]');
    await button(page, 'Train').click();
    await error.waitFor();
    assert.match(await error.innerText(), /^The engine broke down: unreachable\. What this model had learned is gone, and a fresh engine is ready\. Change a setting/);
    assert.equal(page.workers().length, 0, 'the broken one is gone');
    assert.equal(await button(page, 'Train').count(), 1, 'nothing is under way');
    await button(page, 'sample digit 7').click(); // meanwhile, reading goes on
    await reads(page, 7);
    await page.getByLabel('all pictures above show this model').check();
    await trained(page, 'ten steps', 10);
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
    await trained(page, 'ten steps', 10);
    assert.equal(await error.count(), 0);
  }));

test('a guess before training stands beside what it took', () =>
  opened({}, async (page) => {
    await page.getByLabel(/how many digits must it see/).fill('5000');
    await trained(page, 'one step', 1);
    assert.doesNotMatch(await page.locator('.now').innerText(), /NaN/);
    await button(page, 'until 90 %').click();
    await page.getByText(/You guessed 5,000 digits; it took \d\d,\d+ to read nine of ten/).waitFor();
  }));
