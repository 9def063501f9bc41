// The explorer and the book in Debian's Firefox, where it is installed: driven by WebDriver BiDi, which needs nothing but
// a socket.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import WebSocket from 'ws';
import { inWorkers, trapping } from './chromium.mjs';

const root = new URL('../../', import.meta.url);
const firefox = process.env.FIREFOX ?? '/usr/bin/firefox-esr';
const skip = existsSync(firefox) ? false : 'there is no Firefox';

/** Gives `use` two functions: `open` a file of build-web, and `say`, which evaluates there. Nothing may be complained of. `before`: a script ahead of the page's. */
async function withFirefox(use, before = '') {
  const profile = mkdtempSync(join(tmpdir(), 'firefox-'));
  const browser = spawn(firefox, ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0'],
    { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, HOME: profile } });
  let socket;
  try {
    const address = await new Promise((found, failed) => {
      let text = '';
      browser.stderr.on('data', (more) => {
        text += more;
        const listening = text.match(/WebDriver BiDi listening on (ws:\S+)/);
        if (listening) found(listening[1]);
      });
      setTimeout(() => failed(new Error(`Firefox does not listen: ${text}`)), 60_000).unref();
    });
    socket = new WebSocket(`${address}/session`);
    await new Promise((opened) => socket.once('open', opened));
    const waiting = new Map(), complaints = [];
    let count = 0;
    socket.on('message', (data) => {
      const message = JSON.parse(data);
      if (message.id) waiting.get(message.id)(message);
      else if (message.method === 'log.entryAdded' && ['error', 'warn'].includes(message.params.level)) complaints.push(message.params.text);
    });
    const call = (method, params = {}) => new Promise((done, failed) => {
      waiting.set(++count, (answer) => (answer.type === 'error' ? failed(new Error(answer.message)) : done(answer.result)));
      socket.send(JSON.stringify({ id: count, method, params }));
    });
    await call('session.new', { capabilities: {} });
    await call('session.subscribe', { events: ['log.entryAdded'] });
    await call('script.addPreloadScript', { functionDeclaration: `() => { ${before} }` });
    const { context } = (await call('browsingContext.getTree')).contexts[0];
    const open = (name) => call('browsingContext.navigate', { context, url: new URL(`build-web/${name}`, root).href, wait: 'complete' });
    const say = async (expression) => {
      const { type, result, exceptionDetails } = await call('script.evaluate', { expression: `(async () => { ${expression} })()`, target: { context }, awaitPromise: true });
      if (type === 'exception') throw new Error(exceptionDetails.text);
      return result.value;
    };
    await use(open, say);
    assert.deepEqual(complaints, []);
  } finally {
    socket?.close();
    browser.kill('SIGKILL');
    await new Promise((ended) => browser.once('exit', ended));
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
const until = (condition, seconds = 20) =>
  `for (let i = 0; i < ${seconds * 20} && !(${condition}); ++i) await new Promise((done) => setTimeout(done, 50));`;

test('the explorer reads and learns in Firefox', { skip }, () =>
  withFirefox(async (open, say) => {
    await open('explorer.html');
    await say(until("performance.getEntriesByName('engine').length === 1"));
    assert.match(await say("return document.querySelector('.guess').innerText;"), /It reads\s+3/);
    assert.match(await say(`document.querySelector('[aria-label="sample digit 7"]').click(); ${until("/reads\\s+7/.test(document.querySelector('.guess').innerText)")}
      return document.querySelector('.guess').innerText;`), /It reads\s+7/);
    const text = await say(`document.getElementById('learning').scrollIntoView();
      const button = () => [...document.querySelectorAll('#learning button')].find((one) => one.innerText === 'ten steps');
      ${until('button() && !button().disabled')} button().click();
      ${until("/Step 10,/.test(document.getElementById('learning').innerText)")}
      return document.getElementById('learning').innerText;`);
    assert.match(text, /Step 10,/);
    const tip = await say(`const equation = document.querySelector('#tokens .math');
      equation.focus();
      for (let i = 0; i < 4; ++i) equation.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
      ${until("document.querySelector('#tokens .tip').innerText")} return document.querySelector('#tokens .tip').innerText;`);
    assert.match(tip, /^E: learned pictures, which turn a patch into a token/);
  }));

test('where the engine that trains breaks down in Firefox, a fresh one goes on', { skip }, () =>
  withFirefox(async (open, say) => {
    await open('explorer.html');
    await say(until("performance.getEntriesByName('engine').length === 1"));
    const text = await say(`document.getElementById('learning').scrollIntoView();
      const press = (name) => [...document.querySelectorAll('#train button')].find((one) => one.textContent === name).click();
      const said = () => document.querySelector('#learning [role=alert]')?.textContent ?? '';
      press('Train'); ${until('said()')}
      const broken = said();
      press('ten steps'); ${until("/^Step 10,/.test(document.querySelector('.now').textContent)")}
      return broken + ' / ' + said() + ' / ' + document.querySelector('.now').textContent;`);
    assert.match(text, /^The engine broke down: unreachable executed. .* \/  \/ Step 10,/);
  }, inWorkers(trapping('explorer_train', 8), 1)));

test('a lesson of the book runs, and its numbers turn, in Firefox', { skip }, () =>
  withFirefox(async (open, say) => {
    await open('book/softmax.html');
    const said = await say(`[...document.querySelectorAll('button')].find((one) => one.innerText === 'Run').click();
      const status = () => document.querySelector('.run output').textContent;
      ${until('/Done|noticed|Stopped/.test(status())')} return status();`);
    assert.match(said, /Done in .* All is as the page had it/);
    assert.ok(await say(`const shown = document.querySelector('.turn .shown'), before = shown.innerHTML;
      const slider = document.querySelector('.turn input[type=range]');
      slider.value = 0.3; slider.dispatchEvent(new Event('input'));
      ${until('shown.innerHTML !== before')} return shown.innerHTML !== before;`));
  }));
