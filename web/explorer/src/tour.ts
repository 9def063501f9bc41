import { learning } from './learning.svelte';
import { signed, text } from './numbers';
import { app } from './state.svelte';

// The guided tour: each stop sets the page and says what to look at, in two sentences.

export interface Stop {
  title: string;
  place: string; // the id that is scrolled to
  shows?: string; // the id of what is spoken of, which is in sight at the stop
  set?: () => void; // what differs from the plain page
  text: () => string;
}

const tokens = () => app.config?.T ?? 17;
const patch = () => Math.min(7, tokens() - 1);
const other = () => (app.forward?.guess === 8 ? 3 : 8); // than what it reads

export const stops: Stop[] = [
  { title: 'A digit is numbers', place: 'draw', shows: 'pad',
    text: () => `Here is a digit, and beside or below it what the model gets of it: 28 × 28 numbers, nothing more. It reads ${app.forward?.guess}; draw over it whenever you like, everything on this page follows.` },
  { title: 'Cut into patches', place: 'tokens', shows: 'patches', set: () => { app.token = patch(); },
    text: () => 'A Transformer reads rows, as a language model reads words, so the picture is cut into squares. One patch is lit: its pixels are one row of x_p, and its row is lit in every picture below.' },
  { title: 'A patch becomes a token', place: 'embed', shows: 'products', set: () => { app.token = patch(); },
    text: () => 'Each patch is compared with the learned pictures E; how well it matches each of them are the numbers of its token. The class token goes on top, a row for the whole picture, and the answer will be read from it.' },
  { title: 'Where was the patch?', place: 'positions', set: () => { app.token = patch(); },
    text: () => 'A learned position is added to every token, or the model could not tell a 6 from its shuffled patches. In these small maps blue says that two positions were learned to be alike.' },
  { title: 'The stream', place: 'blocks', shows: 'flow',
    text: () => 'The class token runs straight down; each block adds an update from attention and one from its MLP, drawn as wide as they are large. The ten bars say what it would answer if the model ended there: watch it make up its mind.' },
  { title: 'Ask, answer, give', place: 'qkv', shows: 'qkv-maps',
    text: () => 'From every token three small rows are made: q, what it asks; k, what it answers to; v, what it has to give. Point at a row: it is the same token in all three.' },
  { title: 'One number, taken apart', place: 'scores', shows: 'score-map', set: () => { app.cell = { name: 'blocks.0.attn.scores', index: Math.min(6, tokens() - 1) }; },
    text: () => 'This score says how well the class token’s question fits one patch: multiply q and k number by number, add up, divide by √D_h. Most numbers in the coloured maps open like this, with Enter, a click or two taps.' },
  { title: 'Who attends to whom', place: 'attention', shows: 'heads', set: () => { app.block = Math.min(1, (app.config?.L ?? 1) - 1); app.revealed = true; },
    text: () => `This is block ${app.block + 1}. The darker a patch, the more of its value the class token takes; each head looks at other places, and the shares of each add up to 100 %. Press a patch to see whom that patch attends to.` },
  { title: 'Work alone', place: 'mlp', shows: 'hidden',
    text: () => 'Then each token passes the MLP by itself: hidden units that wait for a pattern stay near 0 until it comes. What they add goes back to the stream.' },
  { title: 'The answer', place: 'answer', shows: 'logits',
    text: () => `Ten logits, one a digit, become shares that add up to 100 %: the model says ${app.forward?.guess}. The logit lens below shows after which block it knew.` },
  { title: 'Suppose it were wrong', place: 'backwards', shows: 'walk', set: () => { suppose(other()); app.differentiate(); },
    text: () => `Say the right answer is ${other()}: the loss is ${app.backward ? text(app.backward.loss) : ''}, and the gradient says how it changes when a number rises: to lower it, each would move the other way. It is computed from the answer back to the pixels; press Play to watch.` },
  { title: 'Is the gradient true?', place: 'check', shows: 'broken', set: () => { app.differentiate(); app.setFault({ op: 'matmul', kind: 'flip_sign', input: 1 }); },
    text: () => 'One rule is broken now: the gradient of a matrix product has the wrong sign, and the check, which nudges numbers and looks, turns red. Press “Mend it”, and it is green again.' },
  { title: 'Why a step helps', place: 'learning', shows: 'effect', set: () => { if (!learning.trained && !learning.running) void learning.run({ do: 'train', steps: 1 }); },
    text: () => {
      const { last, step, trained } = learning;
      const promise = last ? `The gradient promised the loss of ${learning.told ? 'your picture' : `these ${trained!.batch} digits`} about ${signed(last.promised)}; it got ${signed(last.got)}. ${last.why}` : '';
      return `Another model, which ${step > 1 ? `began with nothing, took its step ${step}` : 'knows nothing, took one step'}: each number moved a little against its gradient. ${promise} Press “one step” for more.`;
    } },
  { title: 'Learning', place: 'learning', shows: 'train',
    text: () => 'Now press Train: step by step, from random numbers, the loss falls. Within half a minute it reads nine of ten, and you can look inside while it learns.' },
];

/** What a stop changes, as the learner had it before the tour. */
type Own = Pick<typeof app, 'token' | 'block' | 'head' | 'gradients' | 'fault' | 'cell' | 'walked' | 'revealed'>;
let own: Own | null = null;
/** The right answer while a stop supposes another: given back unless it was chosen anew. */
let supposed: { label: number; was: number; sample: typeof app.sample } | null = null;

function suppose(label: number): void {
  supposed = { label, was: app.label, sample: app.sample };
  app.setLabel(label);
}
function put({ token, block, head, gradients, fault, cell, walked, revealed }: Own): void {
  Object.assign(app, { token, block, head, cell, walked, revealed });
  app.hovered = null;
  app.settle();
  app.showGradients(gradients);
  if (app.fault !== fault) app.setFault(fault);
  if (supposed && app.label === supposed.label && app.sample === supposed.sample) app.setLabel(supposed.was);
  supposed = null;
}

/** Goes to a stop, from whatever the page shows; the drawing stays. */
export function visit(index: number): void {
  const stop = stops[index];
  if (!stop) return;
  own ??= { token: app.token, block: app.block, head: app.head, gradients: app.gradients, fault: app.fault, cell: app.cell, walked: app.walked, revealed: app.revealed };
  put({ token: 0, block: 0, head: 0, gradients: false, fault: null, cell: null, walked: 0, revealed: own.revealed });
  if (app.empty) app.choose('digit', 3);
  app.stop = index;
  stop.set?.();
  requestAnimationFrame(() => scrollTo(stop.place, stop.shows));
}

/** Ends the tour: the page is as the learner had it. */
export function leave(): void {
  app.stop = null;
  if (own) put(own);
  own = null;
}

/** Scrolls to a place, so that what it `shows` is in sight too, between the bar on top and the panels below. */
export function scrollTo(place: string, shows = place): void {
  const page = document.documentElement;
  page.classList.add('whole'); // sections on the way take their height: where they end is known
  clearTimeout(arriving);
  arriving = setTimeout(() => page.classList.remove('whole'), 1500);
  const box = (id: string) => document.getElementById(id)?.getBoundingClientRect();
  const from = box(place);
  const target = box(shows) ?? from;
  if (!from || !target) return;
  const high = (what: string) => document.querySelector<HTMLElement>(what)?.offsetHeight ?? 0;
  const [above, below] = [high('nav') + 12, high('.dock')];
  const { top } = target.bottom - from.top <= innerHeight - above - below ? from : target;
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  window.scrollBy({ top: top - above, behavior: still ? 'auto' : 'smooth' });
}
let arriving: ReturnType<typeof setTimeout> | undefined;
