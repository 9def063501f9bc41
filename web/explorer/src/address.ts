import { decode, encode } from './fragment';
import { app } from './state.svelte';
import { scrollTo, visit } from './tour';

// Keeps the address' fragment as the page is, and the page as a link says.

function follow(): void {
  const s = decode(location.hash);
  if (s.sample !== undefined) app.sample = s.sample;
  if (s.strokes) app.strokes = s.strokes;
  if (s.centred !== undefined) app.centred = s.centred;
  app.lookNow();
  if (s.stop !== undefined && s.stop !== null) visit(s.stop);
  if (s.label !== undefined) app.setLabel(s.label);
  const { T, L, h } = app.config!;
  if (s.token !== undefined && s.token < T) app.token = s.token;
  if (s.block !== undefined && s.block < L) app.block = s.block;
  if (s.head !== undefined && s.head < h) app.head = s.head;
  if (s.scope) app.scope = s.scope;
  if (s.fault) app.setFault(s.fault);
  if (s.cell) app.open(s.cell.name, s.cell.index, s.cell.gradient);
  if (s.gradients) app.showGradients(true);
  const place = location.hash.slice(1);
  if (/^[a-z]+$/.test(place)) scrollTo(place);
}

let written = '';
let timer: ReturnType<typeof setTimeout> | undefined;

/** To be called in an effect: it reads all that is shared. */
export function keepAddress(): void {
  const now = encode(app);
  if (!app.ready || now === written) return;
  clearTimeout(timer);
  timer = setTimeout(() => {
    written = now;
    history.replaceState(null, '', `#${now}`);
  }, 300);
}

export function followAddress(): void {
  if (location.hash.length > 1) follow();
  addEventListener('hashchange', () => {
    if (location.hash.slice(1) !== written) follow();
  });
}
