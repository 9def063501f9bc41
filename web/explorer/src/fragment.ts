// The page's state in its address' fragment, so that a teacher can send a link:
// #digit=3&token=6&block=2&head=1&gradients=1. What says nothing, or nonsense, is left as it is.
import type { FaultKind, Kind } from './engine';
import { faultKinds } from './faults';
import type { Scope, Stroke } from './state.svelte';

export interface Shared {
  sample: { kind: Kind; index: number } | null;
  strokes: Stroke[];
  centred: boolean;
  token: number;
  block: number;
  head: number;
  gradients: boolean;
  label: number;
  fault: { op: string; kind: FaultKind; input: number } | null;
  cell: { name: string; index: number; gradient?: boolean } | null;
  scope: Scope;
  stop: number | null;
}

const kinds: Kind[] = ['digit', 'thick', 'thin', 'shifted', 'letter', 'noise'];
const scopes: Scope[] = ['map', 'layer', 'model'];

// A coordinate is two digits of base 36: 0 to 1295.
const fine = 1295;
const two = (v: number) => Math.round(v * fine).toString(36).padStart(2, '0');
const most = 20_000; // letters of a drawing
/** A long drawing leaves out points that lie near the one before, until the address holds it. */
function ink(strokes: Stroke[]): string {
  for (let near = 0; ; near = 2 * near || 2 / fine) {
    const text = strokes.map((stroke) => {
      let [last] = stroke;
      const kept = stroke.filter((p, i) => {
        const far = i === 0 || i === stroke.length - 1 || Math.hypot(p[0] - last[0], p[1] - last[1]) >= near;
        if (far) last = p;
        return far;
      });
      return kept.map(([x, y]) => two(x) + two(y)).join('');
    }).join('.');
    if (text.length <= most) return text;
    if (near > 2) return text.slice(0, text.lastIndexOf('.', most));
  }
}
function inked(text: string): Stroke[] | null {
  if (text.length > most || !/^((([0-9a-z]{4})+)(\.([0-9a-z]{4})+)*)?$/.test(text)) return null;
  return text.split('.').filter(Boolean).map((stroke) =>
    (stroke.match(/.{4}/g) ?? []).map((p) => [parseInt(p.slice(0, 2), 36) / fine, parseInt(p.slice(2), 36) / fine]));
}

export function encode(s: Shared): string {
  const f = new URLSearchParams();
  if (s.sample) f.set(s.sample.kind, String(s.sample.index));
  else f.set('ink', ink(s.strokes));
  if (!s.centred) f.set('centred', '0');
  if (s.token) f.set('token', String(s.token));
  if (s.block) f.set('block', String(s.block + 1));
  if (s.head) f.set('head', String(s.head + 1));
  if (s.gradients) f.set('gradients', '1');
  f.set('label', String(s.label));
  if (s.fault) f.set('fault', `${s.fault.op}.${s.fault.kind}.${s.fault.input}`);
  if (s.cell) f.set('number', `${s.cell.name}:${s.cell.index}${s.cell.gradient ? ':gradient' : ''}`);
  if (s.scope !== 'map') f.set('scope', s.scope);
  if (s.stop !== null) f.set('tour', String(s.stop + 1));
  return f.toString();
}

export function decode(fragment: string): Partial<Shared> {
  const f = new URLSearchParams(fragment.replace(/^#/, ''));
  const s: Partial<Shared> = {};
  const whole = (name: string, low: number, high: number): number | undefined => {
    const text = f.get(name);
    return text !== null && /^\d{1,9}$/.test(text) && +text >= low && +text <= high ? +text : undefined;
  };
  const put = <K extends keyof Shared>(key: K, value: Shared[K] | undefined) => { if (value !== undefined) s[key] = value; };
  for (const kind of kinds) {
    const index = whole(kind, 0, 9999);
    if (index !== undefined) s.sample = { kind, index };
  }
  const strokes = f.get('ink');
  if (strokes !== null && inked(strokes)) {
    s.sample = null;
    s.strokes = inked(strokes)!;
  }
  const flag = (name: string) => { const n = whole(name, 0, 1); return n === undefined ? undefined : n === 1; };
  put('centred', flag('centred'));
  put('token', whole('token', 0, 196));
  const block = whole('block', 1, 4), head = whole('head', 1, 64), stop = whole('tour', 1, 99);
  if (block) s.block = block - 1;
  if (head) s.head = head - 1;
  put('gradients', flag('gradients'));
  put('label', whole('label', 0, 9));
  const fault = /^([a-z_]{1,20})\.([a-z_]+)\.(\d)$/.exec(f.get('fault') ?? '');
  if (fault && faultKinds.includes(fault[2] as FaultKind)) s.fault = { op: fault[1], kind: fault[2] as FaultKind, input: +fault[3] };
  const number = /^([a-z0-9_.]{1,60}):(\d{1,6})(:gradient)?$/.exec(f.get('number') ?? '');
  if (number) s.cell = { name: number[1], index: +number[2], ...(number[3] && { gradient: true }) };
  const scope = f.get('scope') as Scope;
  if (scopes.includes(scope)) s.scope = scope;
  if (stop) s.stop = stop - 1;
  return s;
}
