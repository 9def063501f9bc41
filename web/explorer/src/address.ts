import { decode, encode } from './fragment';
import { app } from './state.svelte';
import { leave, scrollTo, visit } from './tour';

// Keeps the address' fragment as the page is, and the page as a link says.

function follow(): void {
  const place = location.hash.slice(1);
  if (/^[a-z]+$/.test(place)) return scrollTo(place);
  const s = decode(location.hash);
  leave(); // a link says all that is seen: what it leaves out is as on the plain page, but for the picture
  if (s.sample !== undefined) app.sample = s.sample;
  if (s.strokes) app.strokes = s.strokes;
  app.centred = s.centred ?? true;
  app.lookNow();
  const { token = 0, block = 0, head = 0, scope = 'map', cell = null } = s;
  const shown = { token, block, head, scope, cell };
  Object.assign(app, shown);
  app.settle();
  if (s.stop !== undefined && s.stop !== null) {
    visit(s.stop);
    Object.assign(app, Object.fromEntries(Object.entries(shown).filter(([name]) => name in s)));
    app.settle();
  }
  if (s.label !== undefined) app.setLabel(s.label);
  app.showGradients(s.gradients ?? false);
  if (app.cell?.gradient) app.differentiate();
  const fault = s.fault ?? (s.stop === undefined ? null : app.fault);
  if (fault !== app.fault) app.setFault(fault); // in the end: what it says against one is read
}

let written = '';
let timer: ReturnType<typeof setTimeout> | undefined;

/** To be called in an effect: it reads all that is shared. */
export function keepAddress(): void {
  const now = encode(app);
  clearTimeout(timer);
  if (!app.ready || now === written) return;
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
