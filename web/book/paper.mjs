// Notes at a page's foot: where in the paper stands what a lesson names, and where other papers are.

export const paper = 'Dosovitskiy et al., <cite>An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale</cite>, ICLR 2021, <a href="https://arxiv.org/abs/2010.11929">arXiv 2010.11929</a>';

const sections = {
  '3': 'Method', '3.1': 'Vision Transformer (ViT)', '3.2': 'Fine-tuning and Higher Resolution',
  '4.1': 'Setup', '4.2': 'Comparison to State of the Art', '4.3': 'Pre-training Data Requirements',
  '4.5': 'Inspecting Vision Transformer', '4.6': 'Self-supervision',
  A: 'Multihead Self-attention', 'B.1': 'Training', 'B.1.1': 'Fine-tuning', C: 'Additional Results',
  D: 'Additional Analyses', 'D.4': 'Positional Embedding', 'D.8': 'Attention Maps',
};
/** Where the numbered things of the paper stand. */
const places = {
  'Equation 1': '3.1', 'Equation 2': '3.1', 'Equation 3': '3.1', 'Equation 4': '3.1',
  'Equation 5': 'A', 'Equation 6': 'A', 'Equation 7': 'A', 'Equation 8': 'A',
  'Table 1': '4.1', 'Table 2': '4.2', 'Table 3': 'B.1', 'Table 4': 'B.1.1', 'Table 5': 'C',
  'Figure 1': '3', 'Figure 3': '4.3', 'Figure 7': '4.5',
};
/** What lessons say of the paper without a number: the words, and their section. */
const said = [
  ['two layers with a GELU non-linearity', '3.1'], ['The ViT assumes much less, says the paper', '3.1'],
  ['In a ViT, says the paper', '3.1'], ['It pre-trains at 224 pixels and fine-tunes at 384', '3.2'],
  ['The paper drops after every dense layer', 'B.1'], ['As the paper reads it', '4.2'],
];
const used = new Set();

/** The section of "Equation 5", of "Section 4.6", of "Appendix D.4". */
function sectionOf(kind, number) {
  const section = /section|appendix/i.test(kind) ? number : places[`${kind} ${number}`];
  if (!(section in sections)) throw new Error(`web/book/paper.mjs does not know where ${kind} ${number} of the paper stands`);
  return section;
}

const numbered = /(arXiv [\d.]+, )?\b(Equation|Table|Figure|[Ss]ection|[Aa]ppendix)(s?) ((?:[A-D]|\d)(?:\.\d+)*)(?:( to | and )(\d))?/g;
const elsewhere = /(arXiv )?\b(\d{4}\.\d{5})\b/g;

/** The notes of one page, one for each section, and a function that sets their marks, letters, into an event's HTML. */
export function notes() {
  const all = new Map(); // a section: the numbered things of it that are named
  const letter = (section) => String.fromCharCode(97 + [...all.keys()].indexOf(section));
  const mark = (section, things = []) => {
    const first = !all.has(section);
    if (first) all.set(section, new Set());
    for (const thing of things) all.get(section).add(thing);
    const name = letter(section);
    return `<sup class="note"><a ${first ? `id="mark-${name}" ` : ''}href="#note-${name}" aria-label="Note ${name}">${name}</a></sup>`;
  };
  const prose = (text) => {
    for (const [words, section] of said) {
      if (text.includes(words)) {
        used.add(words);
        text = text.replace(words, `${words}${mark(section)}`);
      }
    }
    return text.replace(numbered, (whole, other, kind, many, from, link, to) => {
      if (other) return whole; // another paper's
      const numbers = to === undefined ? [from] : link === ' and ' ? [from, to] : Array.from({ length: to - from + 1 }, (_, i) => String(+from + i));
      const found = numbers.map((number) => sectionOf(kind, number));
      return whole + [...new Set(found)].map((section) => mark(section,
        /section|appendix/i.test(kind) ? [] : numbers.filter((_, i) => found[i] === section).map((number) => `${kind} ${number}`))).join('');
    }).replace(elsewhere, '<a href="https://arxiv.org/abs/$2">$1$2</a>');
  };
  /** Text alone: not in code, headings, equations, links, nor in what stands between < and >. */
  const marked = (html) => {
    if (/^<(h\d|figure class="code"|pre|footer)/.test(html)) return html;
    const number = html.match(/<b>\((\d)(?:, (\d|in part))?\)<\/b>/);
    if (html.startsWith('<div class="equation"')) {
      return number === null ? html : html.replace(number[0], number[0].replace('</b>', `${mark(sectionOf('Equation', number[1]), [`Equation ${number[1]}`])}</b>`));
    }
    return html.split(/(<code>.*?<\/code>|<pre[^]*?<\/pre>|<summary>.*?<\/summary>|<h\d.*?<\/h\d>|<[^>]*>)/)
      .map((part) => (part.startsWith('<') ? part : prose(part))).join('');
  };
  const list = () => (all.size === 0 ? '' : `<section class="notes" aria-labelledby="notes"><h2 id="notes">Notes</h2>
<p>To the paper: ${paper}.</p>
<ol type="a">${[...all].map(([section, things]) => `<li id="note-${letter(section)}">${/^\d/.test(section) ? 'Section' : 'Appendix'} ${section}, “${sections[section]}”${things.size > 0 ? ` (${[...things].sort().join(', ')})` : ''}. <a href="#mark-${letter(section)}" aria-label="Back to the text">↩</a></li>`).join('\n')}</ol></section>`);
  return { marked, list };
}

/** What no page has said: a sentence of `said` that has changed in its lesson. */
export const unsaid = () => said.map(([words]) => words).filter((words) => !used.has(words));
