// What the page looks like, for the documents: `npm run screenshots`, and look at them.
import { fileURLToPath } from 'node:url';
import { closeBrowser, withPage } from './chromium.mjs';
import { root } from './engine.mjs';

const file = (path) => fileURLToPath(new URL(path, root));
const wide = { width: 1440, height: 900 };
const narrow = { width: 390, height: 844 };

const shots = [
  ['wide-light', wide, 'light', '#digit=3&block=2&token=0', 'blocks'],
  ['wide-dark', wide, 'dark', '#digit=8&label=3&gradients=1', 'backwards'],
  ['narrow-light', narrow, 'light', '#digit=5', 'draw'],
  ['narrow-dark', narrow, 'dark', '#digit=8&tour=8', ''],
];
for (const [name, viewport, colorScheme, fragment, place] of shots) {
  await withPage(file('build-web/explorer.html'), { viewport, colorScheme, fragment, reducedMotion: 'reduce' }, async (page) => {
    await page.waitForFunction(() => performance.getEntriesByName('engine').length === 1);
    await page.waitForTimeout(500);
    for (let i = 0; i < 3 && place; ++i) { // sections above take their height as they are met
      await page.evaluate((id) => document.getElementById(id).scrollIntoView(), place);
      await page.waitForTimeout(300);
    }
    if (place === 'backwards') { // on its way
      const walk = page.getByLabel('how far back');
      await walk.fill('22');
      await walk.blur();
    }
    await page.screenshot({ path: file(`docs/figures/explorer-${name}.png`) });
  });
}
for (const [name, viewport, colorScheme, page_, place] of [
  ['wide-light', wide, 'light', 'chain_rule.html#turn=0.5,1.5,-0.5', '.turn'],
  ['narrow-dark', narrow, 'dark', 'attention_maps.html#turn=7,3', '.turn'],
  ['wide-dark', wide, 'dark', 'linear.html#turn=1,-1,0.5', '.turn'],
  ['narrow-light', narrow, 'light', 'exercises.html#relative_index', '#relative_index'],
]) {
  const [page, fragment] = page_.split('#');
  await withPage(file(`build-web/book/${page}`), { viewport, colorScheme, fragment: `#${fragment}`, reducedMotion: 'reduce' }, async (shown) => {
    await shown.waitForTimeout(1500);
    await shown.locator(place).evaluate((one) => one.scrollIntoView());
    await shown.waitForTimeout(500);
    await shown.screenshot({ path: file(`docs/figures/book-${name}.png`) });
  });
}
await closeBrowser();
