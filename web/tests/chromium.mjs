// A file, opened in Debian's Chromium as by a double click, and watched: what it asks of a network,
// and what it complains of, are `problems`.
import { chromium } from 'playwright-core';
import { pathToFileURL } from 'node:url';

/**
 * Gives `use` the page, its problems and the browser's context; closes the browser whatever happens.
 * `options` are the context's; besides, a `fragment` for the address, and a script to run `before` the page's.
 */
export async function withPage(path, { fragment = '', before, ...options }, use) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  try {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const problems = [];
    const address = pathToFileURL(path).href;
    if (before) await page.addInitScript(before);
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) problems.push(`console: ${message.text()}`);
    });
    page.on('pageerror', (error) => problems.push(`thrown: ${error.message}`));
    context.on('request', (request) => {
      const url = request.url();
      if (url.split('#')[0] !== address && !/^(blob|data):/.test(url)) problems.push(`request: ${url}`);
    });
    await page.goto(address + fragment);
    await use(page, problems, context);
  } finally {
    await browser.close();
  }
}
