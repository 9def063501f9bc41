// The explorer's page for its tests: opened from the disk, and used as people use it.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { withPage } from './chromium.mjs';
import { root } from './engine.mjs';

export const path = fileURLToPath(new URL('build-web/explorer.html', root));
export const desktop = { viewport: { width: 1440, height: 900 } };
export const phone = { viewport: { width: 390, height: 844 }, hasTouch: true };
const still = { reducedMotion: 'reduce' }; // nothing to wait for

/** A page whose engine runs, that in the end complained of nothing and asked for nothing. */
export const opened = (options, use) =>
  withPage(path, { ...desktop, ...still, ...options }, async (page, problems, context) => {
    await page.waitForFunction(() => performance.getEntriesByName('engine').length === 1);
    await use(page, context);
    assert.deepEqual(problems, []);
  });
export const button = (page, name) => page.getByRole('button', { name, exact: true });
export const answer = (page) => page.locator('.guess').innerText();
/** An assertion that soon holds: what is pressed is seen with a later frame, and a busy machine takes its time for that. */
export async function soon(check) {
  for (const until = Date.now() + 10_000; ; await new Promise((done) => setTimeout(done, 20))) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > until) throw error;
    }
  }
}
export const reads = (page, digit) => soon(async () => assert.match(await answer(page), new RegExp(`^It reads\\s+${digit}`)));
/** Presses a button of those that train, and waits for the step that it leads to. */
export async function trained(page, name, step) {
  await button(page, name).click();
  await page.waitForFunction((n) => document.querySelector('.now')?.innerText.startsWith(`Step ${n},`), step);
}
export const median = (all) => [...all].sort((a, b) => a - b)[all.length >> 1];

/** Scrolls there, and again while sections that come into sight on the way take their true heights. */
export async function scrolledTo(page, place) {
  for (let still = 0; still < 3;) {
    const top = await page.locator(place).evaluate((section) => {
      section.scrollIntoView();
      return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(section.getBoundingClientRect().top))));
    });
    still = Math.abs(top) < 200 ? still + 1 : 0;
  }
}

export async function stroke(page, points) {
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
