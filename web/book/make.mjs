// Writes build-web/book/: every lesson as a page, from what its program says (build-web/wasm/lessons.wasm, run here by
// node), with contents, glossary, exercises, search, and the programs themselves for the pages to run.
import { build } from 'esbuild';
import hljs from 'highlight.js/lib/core';
import cpp from 'highlight.js/lib/languages/cpp';
import katex from 'katex';
import MarkdownIt from 'markdown-it';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { models, root, runLesson } from './lessons.mjs';
import { notes, unsaid } from './paper.mjs';

hljs.registerLanguage('cpp', cpp);
const read = (path) => readFileSync(new URL(path, root), 'utf8');
const out = new URL('build-web/book/', root);
const pages = new URL('build-web/pages/', root);
const write = (name, text) => writeFileSync(new URL(name, out), text);
const escaped = (text) => text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
const unescaped = (html) => html.replace(/&(amp|lt|gt|quot|#39|#10);/g, (_, name) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", '#10': '\n' })[name]);
const text = (html) => unescaped(html.replace(/<(script|style)[^]*?<\/\1>/g, '').replace(/<[^>]*>/g, ' ')).replace(/\s+/g, ' ').trim();

const bundled = async (entry, more = {}) => (await build({
  entryPoints: [new URL(entry, import.meta.url).pathname], bundle: true, minify: true, write: false, format: 'iife', target: 'es2022', ...more,
})).outputFiles[0].text;
const { hash } = await import(`data:text/javascript,${encodeURIComponent(await bundled('hash.ts', { format: 'esm' }))}`);

// --- the course ----------------------------------------------------------------------------------

const parts = [];
for (const line of read('lessons/course/contents.txt').split('\n')) {
  if (line.startsWith('  ')) parts.at(-1).lessons.push(line.trim().split(' ')[0]);
  else if (line !== '' && !line.startsWith('#')) parts.push({ title: line, lessons: [] });
}
const names = parts.flatMap(({ lessons }) => lessons);
const number = new Map(names.map((name, i) => [name, i]));
const numbered = (prose) => prose.replace(/#([a-z_]+)/g, (all, name) => number.get(name) ?? all);

const exercises = read('lessons/exercises/contents.txt').trim().split('\n').filter((line) => !line.startsWith('#'))
  .map((name, i) => {
    const lines = read(`lessons/exercises/${name}.cpp`).split('\n');
    const [, title, lesson, level] = lines[0].match(/\/\/ Exercise\. (.+) \(after (\w+), (easy|middle|hard)\)/);
    const end = lines.findIndex((line, k) => k > 0 && !line.startsWith('//'));
    const hintsAt = lines.findIndex((line) => line.startsWith('// [hint 1]'));
    const task = lines.slice(1, end).map((line) => line.replace(/^\/\/ ?/, '')).join('\n').replace(/^\n+|\n+$/g, '');
    const hints = lines.slice(hintsAt).join('\n').split(/^\/\/ \[hint \d\]$/m).slice(1)
      .map((hint) => hint.replace(/^\/\/ ?/gm, ' ').replace(/\s+/g, ' ').trim());
    const body = lines.slice(end, hintsAt);
    const pick = (kept) => {
      let part = '';
      return body.filter((line) => {
        const marker = line.match(/^\s*\/\/ \[(gap|solution|end)\]$/);
        if (marker) part = marker[1];
        return !marker && (part === '' || part === 'end' || part === kept) && !/^(#include|using|EXERCISE)/.test(line);
      }).map((line) => line.replace(/\/\/\| ?/, '')).join('\n').trim();
    };
    return { number: i + 1, name, title, lesson, level, task, hints, gap: pick('gap'), solution: pick('solution') };
  });

const words = [];
for (const line of read('lessons/course/glossary.txt').split('\n')) {
  const head = line.match(/^([^#\s].*): ([a-z_]+)$/);
  if (head) words.push({ names: head[1].split(', '), lesson: head[2] });
  else if (line.startsWith('  ')) words.at(-1).meaning = numbered(line.trim());
}
words.sort((a, b) => a.names[0].toLowerCase().localeCompare(b.names[0].toLowerCase()));
const anchor = (word) => word.toLowerCase().replace(/[^a-z0-9 ]/g, '').replaceAll(' ', '-');

// --- what a page is made of ----------------------------------------------------------------------

const highlighted = (code) => hljs.highlight(code, { language: 'cpp' }).value;
const formula = (tex) => katex.renderToString(tex, { displayMode: true, output: 'mathml', strict: 'error' });

/** A drawing without the rules of its style that nothing in it has the classes for: half of a small one. */
function trimmed(svg) {
  const classes = new Set(['chart', ...[...svg.matchAll(/class="([^"]*)"/g)].flatMap(([, words]) => words.split(' '))]);
  const used = (selector) => (selector.match(/\.[a-z]\w*/g) ?? []).every((name) => classes.has(name.slice(1)));
  return svg.replace(/<style>([^]*?)<\/style>/, (_, style) => `<style>${style.replace(/([^{}]+)(\{[^{}]*\})/g, (rule, selectors, body) => {
    const [, before, list] = selectors.match(/^(\s*(?:@media[^.]*)?)([^]*)$/);
    const kept = list.split(',').filter(used);
    return kept.length > 0 ? before.trimStart() + kept.join(',').trim() + body : before.trim();
  })}</style>`);
}

/** An image's attributes: with its size, so that nothing moves when it comes. */
const sized = (file, svg) => `src="${file}" ${svg.match(/width="\d+" height="\d+"/)[0]} loading="lazy"`;

/** An event's HTML with its equations and code set, and its figures in files; `slides` gathers those. */
let figures = 0;
const slides = [];
function dressed(name, html) {
  if (/<div class="equation"(?![^]*<\/div>)/.test(html)) throw new Error(`${name}: an equation is torn: ${html}`);
  return html
    .replace(/<div class="equation" data-tex="([^"]*)"><span>[^]*?<\/span>/g, (all, tex) => `<div class="equation" data-tex="${tex}">${formula(unescaped(tex))}`)
    .replace(/<pre><code>([^]*?)<\/code>/g, (_, code) => `<pre><code>${highlighted(unescaped(code))}</code>`)
    .replace(/src="data:image\/svg\+xml;base64,([^"]*)"/g, (_, base64) => {
      const file = `${name}-${++figures}.svg`;
      const kept = new URL(`docs/lessons/figures/${file}`, root); // the same, with packed pictures
      const drawn = trimmed((existsSync(kept) ? readFileSync(kept) : Buffer.from(base64, 'base64')).toString());
      write(`figures/${file}`, drawn);
      return sized(`figures/${file}`, drawn);
    })
    .replace(/<figure><img (.*?)><figcaption>(.*?)<\/figcaption>/g, (_, image, caption) => {
      slides.push({ name: image.match(/figures\/(.*)\.svg/)[1], image, caption });
      return `<figure id="figure-${figures}"><img ${image}><figcaption>${caption}</figcaption>`;
    });
}

const places = '<a href="index.html">Vitruvian</a> <a href="glossary.html">Glossary</a> <a href="exercises.html">Exercises</a> <a href="explorer.html">Explorer</a> <a href="teachers.html">For teachers</a>';
const page = ({ title, main, description }) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${escaped(description)}">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="book.css">
<title>${escaped(title)}</title>
</head>
<body>
<header><a class="skip" href="#main">To the text</a><nav aria-label="Book">${places.replace(`>${title}<`, ` aria-current="page">${title}<`)}</nav>
<form class="search" role="search" hidden><label>Search <input type="search" autocomplete="off"></label><span class="unseen" role="status"></span><ol></ol></form></header>
<main id="main">
${main}
</main>
<script src="book.js" defer></script>
</body>
</html>
`;

async function turn(name, { question, sliders }) {
  const at = sliders.map(({ start }) => start).join(',');
  const { lines, code } = await runLesson([name, '--html', '--no-input', '--play', at]);
  if (code !== 0) throw new Error(`${name} --play ${at}: ${lines.join('\n')}`);
  const inputs = sliders.map((slider) => `<label><span>${escaped(slider.name)}</span> <input type="range" min="${slider.from}" max="${slider.to}" step="${slider.step}" value="${slider.start}" disabled> <output>${slider.start}</output></label>`);
  return `<section class="turn" data-turn="${name}" aria-label="Numbers to turn"><h2 id="turn">Turn it</h2><p class="question">${escaped(question)}</p>
<div class="sliders">${inputs.join('\n')}</div><output class="status soft"></output>
<div class="shown" aria-live="polite">${lines.slice(1).map((line) => dressed(`${name}-turn`, line)).join('\n')}</div></section>`;
}

// --- the pages -----------------------------------------------------------------------------------

rmSync(out, { recursive: true, force: true });
mkdirSync(new URL('figures/', out), { recursive: true });
mkdirSync(pages, { recursive: true });

const sections = []; // for search: page, anchor, title, text
const lessons = new Map();
for (const name of names) {
  figures = 0;
  const told = await runLesson([name, '--html', '--no-input', '--seed', '1', '--forms', '/']);
  if (told.code !== 0) throw new Error(`${name}: ${told.lines.slice(-3).join('\n')}`);
  writeFileSync(new URL(`${name}.md`, pages), told.file('/page.md')); // for a test: the terminal's page
  const { lines } = await runLesson([name, '--describe', '--json']);
  const facts = JSON.parse(lines.at(-1));
  const { marked, list } = notes();
  const events = told.lines.map((line) => `<section class="event" data-line="${hash(line)}">${marked(dressed(name, line))}</section>`);
  const sliders = facts.sliders.length > 0 ? await turn(name, facts) : '';
  const closing = events.pop();
  const breaks = facts.breaks.map((one) => [one.name, one.what]);
  const title = text(told.lines[0].match(/<h1>(.*?)<\/h1>/)[1]).replace(/^Lesson \d+/, '$&.');
  lessons.set(name, { question: facts.question, title: title.replace(/^Lesson \d+\. /, ''), minutes: told.lines[0].match(/About (\d+) minutes/)[1], turn: sliders });
  let heading = ['', title];
  let gathered = [];
  const flush = () => { if (gathered.length > 0) sections.push([`${name}.html`, heading[0], heading[1], gathered.join(' ')]); gathered = []; };
  for (const line of told.lines.slice(1, -1)) {
    const head = line.match(/^<h2 id="([^"]*)">(.*)<\/h2>$/);
    if (head) { flush(); heading = [head[1], `${title}: ${text(head[2])}`]; } else gathered.push(text(line.replace(/<details class="checks[^]*?<\/details>/g, '')));
  }
  flush();
  write(`${name}.html`, page({
    title, description: `${title}: a lesson of Vitruvian, whose program runs on this page.`,
    main: `<article data-lesson="${name}" data-breaks="${escaped(JSON.stringify(breaks))}">\n${events.join('\n')}\n${sliders}\n${list()}\n${closing}\n</article>`,
  }));
}

if (unsaid().length > 0) throw new Error(`web/book/paper.mjs has notes on what no lesson says: ${unsaid().join('; ')}`);
const markdown = new MarkdownIt();
for (const { names: [word, ...others], meaning } of words) sections.push(['glossary.html', anchor(word), word, [...others, meaning].join(' ')]);
write('glossary.html', page({
  title: 'Glossary', description: 'The field’s words, and the lesson that explains each.',
  main: `<h1>Glossary</h1><dl>${words.map(({ names: [word, ...others], lesson, meaning }) =>
    `<dt id="${anchor(word)}">${escaped(word)}${others.length > 0 ? ` <span class="soft">also ${escaped(others.join(', '))}</span>` : ''}</dt>
<dd>${escaped(meaning)} <a href="${lesson}.html">Lesson ${number.get(lesson)}. ${escaped(lessons.get(lesson).title)}</a></dd>`).join('\n')}</dl>`,
}));

// --- exercises -------------------------------------------------------------------------------------

/** The picture of what an exercise asks: its own, in pictures/; or the figure of its lesson whose caption begins so, by default the first. */
const pictures = {
  cross_entropy: 'The loss while the right class', gelu: 'The slopes.', patches: 'The same as a sequence', sine_cosine: 'Sine-cosine', parameter_count: 'Where they sit',
  momentum: 'The paths from', one_batch: 'The loss of 200 steps', label_smoothing: 'L against the lead', own_training: 'The loss of each step',
  convolution_matrix: 'The pixels that one place', rollout: 'Rollout: where',
};
function picture({ name, lesson }) {
  const file = name === 'own_heads' ? 'split_heads' : name;
  const own = new URL(`web/book/pictures/${file}.svg`, root);
  if (existsSync(own)) {
    const drawn = readFileSync(own, 'utf8');
    write(`figures/exercise-${file}.svg`, drawn);
    return `<figure><img ${sized(`figures/exercise-${file}.svg`, drawn)} alt="${escaped(unescaped(drawn.match(/<desc>([^]*?)<\/desc>/)[1]))}"><figcaption>${drawn.match(/<title>(.*?)<\/title>/)[1]}</figcaption></figure>`;
  }
  const found = slides.find((one) => one.name.replace(/-\d+$/, '') === lesson && one.caption.startsWith(pictures[name] ?? ''));
  if (found === undefined) throw new Error(`exercise ${name}: no figure of ${lesson} begins with "${pictures[name]}" (web/book/make.mjs)`);
  return `<figure><img ${found.image}><figcaption>${found.caption} <a href="${lesson}.html#figure-${found.name.match(/\d+$/)}">In lesson ${number.get(lesson)}</a></figcaption></figure>`;
}
const linked = (name) => `[${exercises.find((e) => e.name === name).title}](#${name})`;
const escapes = (text) => text.replace(/`[^`]*`|[_*]/g, (found) => (found.startsWith('`') ? found : `\\${found}`));
/** A paragraph of a task: its formulas, which are indented, stay in their lines; another exercise is a link. */
function paragraph(text) {
  if (/^ {2,}(?!\d\.|- )/.test(text)) return `<pre>${escaped(text.replace(/^ {2}/gm, ''))}</pre>`;
  if (text.startsWith('Parts: ')) return `It uses your answers to: ${text.slice(7).split(/\s+/).map(linked).join(', ')}.`;
  return escapes(text).replace(/exercise ([a-z\\_]+)/g, (all, name) => {
    const other = exercises.find((e) => e.name === name.replaceAll('\\', ''));
    return other ? `exercise [${other.number}](#${other.name})` : all;
  });
}
const task = (text) => new MarkdownIt({ html: true }).render(text.split('\n\n').map(paragraph).join('\n\n'));
/** Each inside the one before: they open one by one. */
const hints = (all, i = 0) => (i === all.length ? ''
  : `<details><summary>Hint ${i + 1} of ${all.length}</summary><p>${escaped(all[i])}</p>${hints(all, i + 1)}</details>`);
const practice = (e) => `<section class="exercise" id="${e.name}" data-entry="exercise ${e.name}"><h2>Exercise ${e.number}. ${escaped(e.title)}</h2>
<p class="soft">After <a href="${e.lesson}.html">lesson ${number.get(e.lesson)}</a>; ${e.level}.</p>
${task(e.task)}
${picture(e)}
<figure class="code"><figcaption>what is yours to fill in</figcaption><pre><code>${highlighted(e.gap)}</code></pre></figure>
<p>In the terminal: <code>build/bin/lesson exercise ${e.name}</code> puts the file into your folder, <code>build/bin/lesson check ${e.name} --watch</code> judges it whenever you save.</p>
${hints(e.hints)}
<details><summary>The solution</summary><p>What you find yourself, you keep. The hints above lead there.</p>
<details><summary>Show it all the same</summary><figure class="code"><pre><code>${highlighted(e.solution)}</code></pre></figure></details></details></section>`;
for (const e of exercises) sections.push(['exercises.html', e.name, `Exercise ${e.number}. ${e.title}`, e.task]);
write('exercises.html', page({
  title: 'Exercises', description: 'Exercises of the course, with hints and solutions; programs check them.',
  main: `<h1>Exercises</h1><p>${exercises.length} gaps to fill, most of them a line or two; together they make a Vision Transformer of your own. Here is what each asks. They are done on your machine, where a program compiles your answer, compares it with numbers, and says which mistake it was.</p>${exercises.map(practice).join('\n')}`,
}));

const listed = ({ title, lessons: own }) => `<section><h2>${escaped(title)}</h2><ol class="contents">${own.map((name) => `<li data-entry="lesson ${name}" value="${number.get(name)}"><a href="${name}.html">${escaped(lessons.get(name).title)}</a> <span class="soft">${lessons.get(name).minutes} min${exercises.filter((e) => e.lesson === name).map((e) => `, <a data-entry="exercise ${e.name}" href="exercises.html#${e.name}">exercise ${e.number}</a>`).join('')}</span></li>`).join('\n')}</ol></section>`;
const living = names.map((name) => lessons.get(name).turn).find((html) => html !== '') ?? '';
write('index.html', page({
  title: 'Vitruvian: how a Vision Transformer really works', description: 'A course whose pages run: from a derivative to a trained Vision Transformer, every equation as code, every derivative checked.',
  main: `<h1>How a Vision Transformer really works</h1>
<p class="lead">${names.length} lessons, from a derivative to a model that reads handwritten digits. Every equation of the paper stands beside the code that is it, every derivative is found twice, by a rule and by nudging, and every page runs: its numbers come from its program, here in your browser.</p>
<p><a class="begin" href="${names[0]}.html">Begin: ${escaped(lessons.get(names[0]).title)}</a></p>
${living.replace('<h2 id="turn">Turn it</h2>', '')}
${parts.map(listed).join('\n')}
<section class="progress" hidden><h2>What you have read</h2>
<p class="count"></p>
<p><button type="button" class="save">Save it as a file</button> <label class="load">Load a file <input type="file" accept=".txt,text/plain"></label></p>
<output class="soft"></output>
<p>The file joins browsers, and your terminal: <code>build/bin/lesson progress FILE</code> takes it over, <code>build/bin/lesson progress &gt;FILE</code> writes one. Nothing is lost: what either has, both have.</p></section>`,
}));

// --- for teachers ----------------------------------------------------------------------------------

const controls = names.filter((name) => lessons.get(name).turn !== '');
const table = `<div class="wide"><table><thead><tr><th>lesson</th><th>what turning its sliders answers</th></tr></thead><tbody>${controls.map((name) =>
  `<tr><td>${number.get(name)}. ${escaped(lessons.get(name).title)}</td><td><a href="${name}.html#turn">${escaped(lessons.get(name).question)}</a></td></tr>`).join('\n')}</tbody></table></div>`;
write('teachers.html', page({
  title: 'For teachers', description: 'Goals, times, paths through the course, slides, and links to a moment of it.',
  main: `<article>${markdown.render(read('web/book/teachers.md').replace(/`([a-z_]+\.html[^`]*)`/g, '[`$1`]($1)').replace(/#([a-z_]+)/g, (all, name) => (number.has(name) ? `[${number.get(name)}. ${lessons.get(name).title}](${name}.html)` : all)))}${table}</article>`,
}));
// The explorer lies beside the book's folder, or, on the web, in this file's place.
write('explorer.html', '<!doctype html><html lang="en"><meta charset="utf-8"><title>Explorer</title><link rel="icon" href="data:,"><script>location.replace("../explorer.html" + location.hash)</script><p><a href="../explorer.html">The explorer</a></p></html>');

const shown = slides.filter(({ name }) => !name.includes('-turn-'));
const slide = ({ name: file, image, caption }, i) => {
  const [, name, place] = file.match(/(.*)-(\d+)/);
  return `<section class="slide" id="${file}"><h2>${caption}</h2><img ${image}>
<p><span class="soft">${i + 1} of ${shown.length}</span> <a href="${name}.html#figure-${place}">Lesson ${number.get(name)}. ${escaped(lessons.get(name).title)}</a>${lessons.get(name).turn === '' ? '' : ` <a href="${name}.html#turn">its sliders</a>`}</p></section>`;
};
write('slides.html', page({
  title: 'Slides', description: 'Each figure of the course on a page of its own, to project or to print.',
  main: `<h1>Slides</h1><p>Each figure of the course, with the lesson that explains it: a screen each, or printed a page each. The address of one, such as <a href="#softmax-1">slides.html#softmax-1</a>, can be sent.</p>
<ol class="lessons">${names.filter((name) => shown.some((one) => one.name === `${name}-1`)).map((name) => `<li value="${number.get(name)}"><a href="#${name}-1">${escaped(lessons.get(name).title)}</a></li>`).join('\n')}</ol>
${shown.map(slide).join('\n')}`,
}));

write('search.js', `window.bookSections=${JSON.stringify(sections)};`);
write('book.css', read('web/explorer/src/theme.css') + read('web/book/book.css'));
write('book.js', await bundled('book.ts'));
const packed = (path) => gzipSync(readFileSync(new URL(path, root)), { level: 9 }).toString('base64');
write('lessons.js', `vitruvianBook(${JSON.stringify({
  worker: `${read('build-web/wasm/lessons.js')}\n${await bundled('worker.ts')}`,
  wasm: packed('build-web/wasm/lessons.wasm'),
  models: Object.fromEntries(models.map((name) => [name, packed(`models/${name}.safetensors`)])),
})});`);
