// A file, opened in Debian's Chromium as by a double click, and watched: what it asks of a network,
// and what it complains of, are `problems`. It is the Chromium that has no window of its own, which opens a page in half
// the time; CHROMIUM names another.
import { chromium } from 'playwright-core';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

export const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** A module whose one function, `t`, traps. */
const trap = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 116, 0, 0, 10, 5, 1, 3, 0, 0, 11];
/** A script after which a function of the engine that is started is another, which may `call` it. */
const replacing = (name, other) => `
  const { instantiate } = WebAssembly;
  WebAssembly.instantiate = async (...all) => {
    const { instance } = await instantiate(...all);
    const { ${name}: call } = instance.exports;
    return { instance: { exports: { ...instance.exports, ${name}: ${other} } } };
  };`;
/** A script after which the engine that is started traps at its n-th call of a function, once. */
export const trapping = (name, n) => `{
  let calls = 0;
  const { t } = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(${JSON.stringify(trap)}))).exports;
  ${replacing(name, `(...args) => (++calls === ${n} ? t() : call(...args))`)}
}`;
/** A script that counts the calls of a function of the engine in window.calls. */
export const counting = (name) => `{
  window.calls = 0;
  ${replacing(name, '(...args) => (++window.calls, call(...args))')}
}`;
/** A script after which the engine's memory is so many pages of 64 KB, and no more: what its module says of it is changed. */
export const confining = (pages) => `{
  const { instantiate } = WebAssembly;
  const limit = (bytes) => {
    const read = (at) => { let n = 0, shift = 0, b; do { b = bytes[at++]; n += (b & 127) * 2 ** shift; shift += 7; } while (b & 128); return [n, at]; };
    for (let at = 8; at < bytes.length; ) {
      const id = bytes[at];
      const [size, from] = read(at + 1);
      if (id === 5) { // one memory, its flags, its least pages, its most
        for (let field = from + 2, end; field < from + size; field = end) {
          [, end] = read(field);
          for (let i = field, n = ${pages}; i < end; ++i, n = Math.floor(n / 128)) bytes[i] = (n % 128) | (i + 1 < end ? 128 : 0);
        }
        return bytes;
      }
      at = from + size;
    }
  };
  WebAssembly.instantiate = (bytes, ...all) => instantiate(limit(new Uint8Array(bytes)), ...all);
}`;
/** A script that puts another before those of the page's first workers: they share a Blob, but each has an address of its own. */
export const inWorkers = (script, workers = Infinity) => `{
  let left = ${workers};
  const { createObjectURL } = URL;
  URL.createObjectURL = (blob) => createObjectURL(/javascript/.test(blob.type) && left-- > 0 ? new Blob([${JSON.stringify(script)}, blob], { type: blob.type }) : blob);
}`;

/**
 * What a page may take, in milliseconds on a quiet machine. A busy one takes several times as long for the same, so that a
 * test asks for a quarter of the speed, and `npm run bench` for all of it.
 */
export const allowed = (ms) => (process.env.VITRUVIAN_BENCH ? ms : 4 * ms);

let browser; // of all pages: to start one takes longer than most of what is done in it
/** Ends it: while it runs, so does the script that opened it. */
export const closeBrowser = async () => { await (await browser)?.close(); browser = undefined; };

/**
 * Gives `use` the page, its problems and its context; closes these whatever happens.
 * `options` are the context's; besides, a `fragment` for the address, and a script to run `before` the page's.
 */
export async function withPage(path, { fragment = '', before, ...options }, use) {
  browser ??= chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell', args: ['--no-sandbox'] });
  const context = await (await browser).newContext(options);
  try {
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
    await context.close();
  }
}

/** What the page's own thread did while `action` ran: its tasks in order, and all events of the trace. */
async function traceOf(page, action, categories = []) {
  const browser = page.context().browser();
  await browser.startTracing(page, { categories: ['toplevel', '__metadata', ...categories] });
  await action();
  const { traceEvents: events } = JSON.parse(String(await browser.stopTracing()));
  const { pid, tid } = events.find((e) => e.name === 'thread_name' && e.args.name === 'CrRendererMain');
  const tasks = events.filter((e) => e.pid === pid && e.tid === tid && e.name === 'ThreadControllerImpl::RunTask' && e.tdur !== undefined)
    .sort((a, b) => a.ts - b.ts);
  return { tasks, events };
}

/**
 * What the page's own thread works while `action` runs, in milliseconds of the processor's time: other programs may hold
 * the page up, and that is not its fault. `longest` is the most that it works without a pause and without a frame, `wall`
 * how long that took by the clock, `tasks` how many there were, `total` all of it.
 */
export async function workOf(page, action) {
  const { tasks } = await traceOf(page, action);
  const most = { longest: 0, wall: 0, tasks: tasks.length, total: tasks.reduce((sum, { tdur }) => sum + tdur / 1000, 0) };
  let work = 0, from = 0, until = -Infinity;
  for (const task of tasks) {
    if (task.ts - until > 1000) [work, from] = [0, task.ts]; // a pause of a millisecond
    work += task.tdur / 1000;
    until = task.ts + task.dur;
    if (work > most.longest) [most.longest, most.wall] = [work, (until - from) / 1000];
    if (/SendBeginMainFrame/.test(task.args.src_func ?? '')) [work, from] = [0, until]; // a frame
  }
  return most;
}

/** When the page's first contentful paint was, in milliseconds: by the clock, as its visitor saw it. */
export const paintedAfter = async (page) => {
  await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length === 1);
  return page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
};
/** What the page's own thread works until its first contentful paint, opened anew: in milliseconds of the processor's time. */
export async function workToPaint(page) {
  const { tasks, events } = await traceOf(page, async () => { await page.reload(); await paintedAfter(page); }, ['loading']);
  const painted = events.find((e) => e.name === 'firstContentfulPaint').ts;
  return tasks.filter(({ ts }) => ts <= painted).reduce((sum, { tdur }) => sum + tdur / 1000, 0);
}

/**
 * What the page and its one worker keep once garbage is gone: `bytes` of objects, of what stands for the document, and of
 * buffers (the engines' memories are not among them); `nodes` of the document, and `listeners`. And, where /proc says so,
 * what the page's process takes for itself by now, all in all, with garbage and the engines: `megabytes`.
 */
export async function keptBy(page) {
  const browser = await page.context().browser().newBrowserCDPSession();
  const { processInfo } = await browser.send('SystemInfo.getProcessInfo');
  const takes = ({ id }) => {
    const file = `/proc/${id}/smaps_rollup`;
    return existsSync(file) ? [...readFileSync(file, 'utf8').matchAll(/^Private_(?:Clean|Dirty): +(\d+) kB/gm)].reduce((sum, [, kb]) => sum + kb / 1000, 0) : 0;
  };
  const megabytes = Math.max(...processInfo.filter(({ type }) => type === 'renderer').map(takes));
  const session = await page.context().newCDPSession(page);
  const worker = new Promise((found) => session.once('Target.attachedToTarget', ({ sessionId }) => found(sessionId)));
  await session.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: false, flatten: false });
  const sessionId = await worker;
  const answers = new Map();
  session.on('Target.receivedMessageFromTarget', ({ message }) => { const { id, result } = JSON.parse(message); answers.get(id)?.(result); });
  let id = 0;
  const ofWorker = (method) => new Promise((answered) => {
    answers.set(++id, answered);
    void session.send('Target.sendMessageToTarget', { sessionId, message: JSON.stringify({ id, method }) });
  });
  const bytes = {};
  for (const [who, ask] of Object.entries({ page: (method) => session.send(method), worker: ofWorker })) {
    for (let i = 0; i < 2; ++i) await ask('HeapProfiler.collectGarbage'); // what the first lets go of, the second finds
    const { usedSize, embedderHeapUsedSize, backingStorageSize } = await ask('Runtime.getHeapUsage');
    bytes[who] = usedSize + embedderHeapUsedSize + backingStorageSize;
  }
  const { nodes, jsEventListeners: listeners } = await session.send('Memory.getDOMCounters');
  await session.detach();
  await browser.detach();
  return { bytes, nodes, listeners, megabytes };
}
