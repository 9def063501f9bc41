// What a page of the book can do beside being read: run its lesson, turn its numbers, be searched. Without it every page
// is whole.
import { hash } from './hash';
import { Program, script } from './program';

const article = document.querySelector<HTMLElement>('article[data-lesson]');
const element = <K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Record<string, string>, ...children: (Node | string)[]): HTMLElementTagNameMap[K] => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

/** What an event's HTML becomes here: equations and code as the page has set them, where it has. */
function dressed(html: string): HTMLElement {
  const event = element('section', { class: 'event' });
  event.innerHTML = html;
  for (const equation of event.querySelectorAll<HTMLElement>('.equation[data-tex]')) {
    const set = document.querySelector(`.equation[data-tex="${CSS.escape(equation.dataset.tex ?? '')}"]`);
    if (set !== null) equation.replaceWith(set.cloneNode(true));
  }
  for (const code of event.querySelectorAll('pre code')) {
    const set = [...document.querySelectorAll('pre code')].find((other) => other.textContent === code.textContent);
    if (set !== undefined) code.replaceWith(set.cloneNode(true));
  }
  return event;
}

/** Run, with a seed and a mistake; the events take the place of the page's as they come, and what is new is marked. */
function runnable(page: HTMLElement): void {
  const name = page.dataset.lesson ?? '';
  const breaks: [string, string][] = JSON.parse(page.dataset.breaks ?? '[]');
  const printed = [...page.querySelectorAll<HTMLElement>(':scope > .event')];
  const seed = element('input', { type: 'number', min: '0', max: '999', value: '1', id: 'seed' });
  const mistake = element('select', { id: 'mistake' }, element('option', { value: '' }, 'none: as it is right'));
  for (const [word, what] of breaks) mistake.append(element('option', { value: word }, `${word}: ${what}`));
  const run = element('button', { type: 'submit', class: 'main' }, 'Run');
  const stop = element('button', { type: 'button', disabled: '' }, 'Stop');
  const status = element('output', { class: 'soft' }, 'The page shows what seed 1 says.');
  const form = element('form', { class: 'run', 'aria-label': 'Run this lesson' }, run, stop,
    element('label', {}, 'seed ', seed), ...(breaks.length > 0 ? [element('label', {}, 'mistake on purpose ', mistake)] : []), status);
  printed[0].after(form);

  let program: Program | undefined;
  stop.onclick = () => program?.stop();
  form.onsubmit = async (event) => {
    event.preventDefault();
    if (run.getAttribute('aria-disabled') === 'true') return;
    const current = [...page.querySelectorAll<HTMLElement>(':scope > .event')];
    current.forEach((shown, k) => { if (k < printed.length) shown.replaceWith(printed[k]); else shown.remove(); });
    for (const shown of printed) shown.classList.remove('changed', 'gone');
    let count = 0, changed = 0;
    const began = performance.now();
    const seconds = () => ((performance.now() - began) / 1000).toFixed(1);
    const errors: string[] = [];
    const last = () => page.querySelector<HTMLElement>(':scope > .event:last-of-type');
    const mine = new Program((line) => {
      const before = printed[count];
      if (before === undefined || hash(line) !== before.dataset.line) {
        const now = dressed(line);
        now.classList.add('changed');
        queueMicrotask(reachable);
        ++changed;
        if (before === undefined) last()?.after(now); else before.replaceWith(now);
      }
      ++count;
      status.textContent = `Running: ${count} of ${printed.length} parts, ${seconds()} s.`;
    }, (error) => errors.push(error));
    program = mine;
    run.setAttribute('aria-disabled', 'true'); // and keeps the focus
    stop.disabled = false;
    status.textContent = 'Starting its program.';
    const words = [name, '--html', '--no-input', '--seed', String(seed.valueAsNumber || 0)];
    if (mistake.value !== '') words.push('--break', mistake.value);
    const code = await mine.run(words);
    run.setAttribute('aria-disabled', 'false');
    if (document.activeElement === stop) run.focus();
    stop.disabled = true;
    if (code >= 0) for (const rest of printed.slice(count)) rest.classList.add('gone');
    const marks = changed === 0 ? 'All is as the page had it' : `${changed} of ${count} parts differ from what the page had, and are marked`;
    status.textContent = errors.length > 0 ? errors.join(' ')
      : code < 0 ? `Stopped after ${seconds()} s; ${marks}.`
      : code === 1 && mistake.value !== '' ? `A check noticed the mistake. ${marks}. (${seconds()} s)`
      : `Done in ${seconds()} s. ${marks}.`;
    if (mistake.value !== '' && code === 1) page.querySelector('.wrong')?.scrollIntoView({ block: 'center' });
  };
  const asked = new URLSearchParams(location.hash.slice(1));
  if (asked.has('break') || asked.has('seed')) { // a teacher's link
    const [asSeed, asMistake] = [asked.get('seed') ?? '1', asked.get('break') ?? ''];
    seed.value = asSeed;
    mistake.value = asMistake;
    if (asMistake !== '' && mistake.value !== asMistake) status.textContent = `The link asks for a mistake “${asMistake}”, which this lesson does not have.`;
    else if (!seed.checkValidity() || seed.value === '') status.textContent = `The link asks for a seed “${asSeed}”: whole numbers from 0 to 999 are seeds.`;
    else form.requestSubmit();
    if (mistake.selectedIndex < 0) mistake.selectedIndex = 0;
  }
  form.addEventListener('change', () => history.replaceState(null, '', `#seed=${seed.value}${mistake.value === '' ? '' : `&break=${mistake.value}`}`));
}

/** Sliders that redraw what stands below them. */
function turnable(place: HTMLElement): void {
  const name = place.dataset.turn ?? '';
  const shown = place.querySelector<HTMLElement>('.shown');
  const inputs = [...place.querySelectorAll<HTMLInputElement>('input[type=range]')];
  const status = place.querySelector<HTMLElement>('output.status');
  if (shown === null || status === null) return;
  let lines: string[] = [];
  let wanted: string | undefined;
  let busy = false;
  const program = new Program((line) => lines.push(line), (error) => { status.textContent = error; });
  const draw = async (): Promise<void> => {
    wanted = inputs.map((input) => input.value).join(',');
    if (busy) return;
    busy = true;
    while (wanted !== undefined) {
      const values: string = wanted;
      wanted = undefined;
      lines = [];
      const began = performance.now();
      if (status.textContent === '') status.textContent = 'Starting its program.';
      if (await program.run([name, '--html', '--no-input', '--play', values]) !== 0) break;
      shown.style.minHeight = `${shown.offsetHeight}px`; // nothing jumps while a picture is decoded
      shown.replaceChildren(...lines.slice(1).map(dressed));
      performance.measure('turn', { start: began });
      status.textContent = '';
    }
    busy = false;
  };
  for (const input of inputs) {
    const output = input.parentElement?.querySelector('output');
    input.disabled = false;
    input.oninput = () => {
      if (output) output.textContent = input.value;
      void draw();
      history.replaceState(null, '', `#turn=${inputs.map((i) => i.value).join(',')}`);
    };
  }
  const asked = new URLSearchParams(location.hash.slice(1)).get('turn')?.split(',');
  if (asked?.length === inputs.length && asked.every((value) => value !== '' && Number.isFinite(Number(value)))) {
    inputs.forEach((input, i) => { input.value = asked[i]; input.dispatchEvent(new Event('input')); });
    place.scrollIntoView();
  }
}

/** Every word of the question, anywhere in a section; titles count more. */
function searchable(form: HTMLFormElement): void {
  type Section = [page: string, anchor: string, title: string, text: string];
  const input = form.querySelector('input');
  const results = form.querySelector('ol');
  const status = form.querySelector('[role=status]'); // for those who do not see the results come
  if (input === null || results === null || status === null) return;
  form.hidden = false;
  const most = 12;
  let index: Promise<Section[]> | undefined;
  const search = async (): Promise<void> => {
    index ??= script('search.js').then(() => (window as unknown as { bookSections: Section[] }).bookSections);
    const sections = await index.catch(() => undefined);
    if (sections === undefined) {
      index = undefined; // it may come at the next key
      status.textContent = 'What to search in could not be loaded.';
      return;
    }
    const words = input.value.toLowerCase().split(/\s+/).filter((word) => word !== '');
    const points = ([, , title, text]: Section): number => words.every((word) => `${title} ${text}`.toLowerCase().includes(word))
      ? 1 + 10 * words.filter((word) => title.toLowerCase().includes(word)).length + (title.toLowerCase() === words.join(' ') ? 5 : 0) : 0; // what the glossary explains, first
    const found = words.length === 0 ? [] : sections.map((section) => ({ section, points: points(section) }))
      .filter((one) => one.points > 0).sort((a, b) => b.points - a.points);
    status.textContent = words.length === 0 ? '' : `${found.length} ${found.length === 1 ? 'section has' : 'sections have'} all of these words${found.length > most ? `; the first ${most} are listed` : ''}.`;
    results.replaceChildren(...found.slice(0, most).map(({ section: [page, anchor, title, text] }) => {
      const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 40);
      return element('li', {}, element('a', { href: `${page}#${anchor}` }, title), element('span', { class: 'soft' }, ` … ${text.slice(at, at + 110).replace(at > 0 ? /^\S* / : '', '').replace(/ \S*$/, '')} …`));
    }));
    if (found.length === 0 && words.length > 0) results.replaceChildren(element('li', {}, 'Nothing has all of these words.'));
  };
  input.oninput = () => void search();
  form.onsubmit = (event) => { event.preventDefault(); results.querySelector('a')?.click(); };
  addEventListener('click', (event) => { if (!form.contains(event.target as Node)) results.replaceChildren(); });
}

/** What was read and solved, kept in this browser as the lines `lesson NAME` and `exercise NAME`. */
const progress = {
  title: 'Vitruvian progress 1', // the first line of the file that `lesson progress` reads and writes, too
  good: (line: string) => /^(lesson|exercise) [a-z0-9_]{1,64}$/.test(line),
  get: () => new Set((localStorage.getItem('vitruvian-progress') ?? '').split('\n').filter(progress.good)),
  add(lines: Iterable<string>): void {
    localStorage.setItem('vitruvian-progress', [...progress.get(), ...lines].filter((line, i, all) => all.indexOf(line) === i).join('\n'));
  },
  text: () => [progress.title, ...progress.get()].join('\n') + '\n',
  /** The lines of a file's text, or why it is none of ours. */
  read(text: string): string[] | string {
    const [first, ...lines] = text.replaceAll('\r\n', '\n').replace(/\n$/, '').split('\n');
    const wrong = first === progress.title ? lines.findIndex((line) => !progress.good(line)) : -2;
    return wrong === -1 ? lines
      : `Line ${Math.max(wrong, -1) + 2} is not of a progress file, whose first line is “${progress.title}” and each further one “lesson NAME” or “exercise NAME”.`;
  },
};

/** Marks what was done; offers, on the first page, to save it as a file and to load one. */
function remembered(): void {
  const old: unknown = JSON.parse(localStorage.getItem('vitruvian-read') ?? '[]'); // before there were files
  if (Array.isArray(old)) progress.add(old.map((name) => `lesson ${name}`).filter(progress.good));
  localStorage.removeItem('vitruvian-read');

  const place = document.querySelector<HTMLElement>('.progress');
  const show = (): void => {
    const done = progress.get();
    for (const item of document.querySelectorAll<HTMLElement>('[data-entry]')) item.classList.toggle('read', done.has(item.dataset.entry ?? ''));
    const of = (kind: string) => `${document.querySelectorAll(`[data-entry^="${kind} "].read`).length} of ${document.querySelectorAll(`[data-entry^="${kind} "]`).length}`;
    const count = place?.querySelector('.count');
    if (count) count.textContent = `${of('lesson')} lessons read to their end, ${of('exercise')} exercises solved, as this browser knows.`;
  };
  show();
  if (place !== null) {
    const said = place.querySelector('output'), input = place.querySelector('input');
    place.hidden = false;
    place.querySelector<HTMLButtonElement>('.save')?.addEventListener('click', () => {
      const url = URL.createObjectURL(new Blob([progress.text()], { type: 'text/plain' }));
      element('a', { href: url, download: 'vitruvian-progress.txt' }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    });
    input?.addEventListener('change', async () => {
      const file = input.files?.[0];
      if (file === undefined || said === null) return;
      const before = progress.get().size;
      const lines = file.size > 65536 ? 'More than 65536 bytes are no progress file.' : progress.read(await file.text());
      if (typeof lines !== 'string') progress.add(lines);
      said.textContent = typeof lines === 'string' ? `${file.name}: ${lines}` : `${file.name}: ${progress.get().size - before} are new here.`;
      input.value = ''; // the same file can be chosen again
      show();
    });
  }
  const end = article?.querySelector('footer');
  if (!article || !end) return;
  new IntersectionObserver((seen) => {
    if (seen.some((one) => one.isIntersecting)) progress.add([`lesson ${article.dataset.lesson}`]);
  }).observe(end);
}

/** What scrolls by itself can be reached by keys. */
function reachable(): void {
  for (const wide of document.querySelectorAll<HTMLElement>('pre, .wide, .equation, figure')) {
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0; else wide.removeAttribute('tabindex');
  }
}

if (article !== null) runnable(article);
for (const place of document.querySelectorAll<HTMLElement>('[data-turn]')) turnable(place);
for (const form of document.querySelectorAll<HTMLFormElement>('form.search')) searchable(form);
try { remembered(); } catch { /* a browser that keeps nothing */ }
reachable();
addEventListener('load', reachable);
addEventListener('resize', reachable);
addEventListener('hashchange', () => { if (/#(turn|seed|break)=/.test(location.hash)) location.reload(); }); // another link to this page
addEventListener('beforeprint', () => { for (const folded of document.querySelectorAll('details')) folded.open = true; });
