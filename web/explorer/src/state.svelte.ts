import { flushSync } from 'svelte';
import type { Backward, Config, Drawn, Engine, FaultRequest, Forward, Kind, Model, Point, Tensor } from './engine';
import { largest, niceRange } from './numbers';

// The one state of the page. What the engine says is replaced as a whole, and `version` counts it:
// nobody keeps numbers of their own. What a teacher may want to send stands in the address'
// fragment (fragment.ts).

export type Stroke = Point[];
export type Scope = 'map' | 'layer' | 'model';
export interface Cell { name: string; index: number; gradient?: boolean } // gradient: the loss by it is what was asked for

/** Where the numbers of a tensor lie: the engine, or what was recorded of it for the first picture. */
export interface Numbers {
  values(tensor: Tensor): Float32Array;
  gradient(tensor: Tensor): Float32Array | undefined;
}

export const pen = 0.045; // of the pad's side

class Explorer {
  engine: Engine | null = null;
  numbers: Numbers | null = null;
  ready = $state(false); // the engine runs
  model = $state.raw<Model | null>(null);
  own = $state(''); // the file that it came from, where it is not the page's
  forward = $state.raw<Forward | null>(null);
  backward = $state.raw<Backward | null>(null);
  drawn = $state.raw<Drawn | null>(null);
  pixels = $state.raw<Uint8Array>(new Uint8Array(784)); // what the model reads
  version = $state(0);
  error = $state('');

  strokes = $state.raw<Stroke[]>([]);
  sample = $state.raw<{ kind: Kind; index: number } | null>({ kind: 'digit', index: 3 });
  centred = $state(true);

  token = $state(0); // chosen: its row is lit and it asks in attention; 0 is the class token
  hovered = $state<number | null>(null); // the token that is pointed at, for as long
  block = $state(0);
  head = $state(0);
  gradients = $state(false); // the pictures show dL/d(everything)
  label = $state(3); // the right answer
  fault = $state.raw<FaultRequest | null>(null);
  walked = $state(0); // how many nodes the walk back has come to; 0 is the loss
  scope = $state<Scope>('map');
  revealed = $state(false); // where the class token looks, after the guess
  cell = $state.raw<Cell | null>(null); // the number that is taken apart
  term = $state(''); // the symbol that is pointed at
  stop = $state<number | null>(null); // of the tour

  lit = $derived(this.hovered ?? this.token);
  config = $derived<Config | null>(this.model?.config ?? null);
  empty = $derived(this.sample === null && (this.drawn?.empty ?? true));

  /** What pictures show of it: its values, or the gradient of the loss by it. */
  shown(name: string): Float32Array | undefined {
    return this.gradients ? this.gradientOf(name) : this.values(name);
  }
  values(name: string): Float32Array | undefined {
    return this.read(this.forward?.tensors.find((t) => t.name === name));
  }
  gradientOf(name: string, among = this.backward?.tensors): Float32Array | undefined {
    void this.version;
    const tensor = among?.find((t) => t.name === name);
    return tensor && this.numbers?.gradient(tensor);
  }
  parameter(name: string): Float32Array | undefined {
    return this.read(this.model?.parameters.find((t) => t.name === name));
  }
  /** A parameter, or the gradient by it, as `shown`. */
  shownParameter(name: string): Float32Array | undefined {
    return this.gradients ? this.gradientOf(name, this.backward?.parameters) : this.parameter(name);
  }
  /** The numbers of a tensor that an answer gave: of probabilities, lens, rollout, saliency. */
  read(tensor: Tensor | undefined): Float32Array | undefined {
    void this.version;
    return tensor && this.numbers ? this.numbers.values(tensor) : undefined;
  }

  /** How far the colours of a map of signed numbers reach, within the chosen scope. */
  range(name: string): number {
    const layer = /^blocks\.\d+\./.exec(name)?.[0] ?? name;
    const counts = (other: string) =>
      other === name || (this.scope === 'layer' ? other.startsWith(layer) : this.scope === 'model');
    let most = 0;
    for (const { name: other } of this.forward?.tensors ?? []) {
      if (!counts(other) || (other !== name && /probs|images|x_p/.test(other))) continue;
      most = Math.max(most, this.largest(other));
    }
    return niceRange(most);
  }
  private largest(name: string): number {
    const key = `${this.version} ${this.gradients}`;
    if (key !== this.maximaOf) {
      this.maxima.clear();
      this.maximaOf = key;
    }
    let most = this.maxima.get(name);
    if (most === undefined) this.maxima.set(name, (most = largest(this.shown(name) ?? new Float32Array())));
    return most;
  }
  private maxima = new Map<string, number>();
  private maximaOf = '';

  /** Takes a number apart, or the gradient by it; where it is open already, the keys go on in the panel. */
  open(name: string, index: number, gradient = this.gradients): void {
    const { cell } = this;
    if (cell?.name === name && cell.index === index && (cell.gradient ?? false) === gradient) {
      document.getElementById('taken-apart')?.focus({ preventScroll: true });
      return;
    }
    this.cell = gradient ? { name, index, gradient } : { name, index };
    this.update();
  }

  /** Reads what stands on the pad, once a frame however often it is asked. */
  look(): void {
    if (this.waiting || !this.engine) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      const begin = performance.now();
      this.lookNow();
      flushSync();
      const { port1, port2 } = new MessageChannel(); // comes round when the frame is painted
      port1.onmessage = () => {
        port1.close();
        if (performance.getEntriesByName('redraw').length > 500) performance.clearMeasures('redraw');
        performance.measure('redraw', { start: begin, end: performance.now() });
      };
      port2.postMessage(null);
    });
  }
  lookNow(asked = true): void {
    this.try(() => {
      const engine = this.engine!;
      if (this.sample) {
        const { label } = engine.sample(this.sample.kind, this.sample.index);
        this.drawn = null;
        if (label !== null && this.chosen !== this.sample) this.label = label;
        this.chosen = this.sample;
      } else {
        this.drawn = engine.draw({ strokes: this.strokes, pen, centred: this.centred });
      }
      this.pixels = engine.pixels().slice();
      this.pass();
    }, asked);
  }
  private chosen: object | null = null; // the sample whose label was taken over

  /** Forward, and backward where something shows it. */
  private pass(backward = this.backwardShows): void {
    this.forward = this.engine!.forward();
    this.stale = !backward;
    if (backward) this.backward = this.engine!.backward(this.label);
    ++this.version;
  }
  private get backwardShows(): boolean { return this.backwardSeen || this.gradients || this.cell?.gradient === true; }
  private backwardSeen = false;
  private stale = true; // nothing shows gradients: the last ones stand, unseen
  /** The section that shows gradients says so while it is on the screen. */
  setBackwardSeen(on: boolean): void {
    this.backwardSeen = on;
    this.update();
  }
  /** Gradients of what is there, whether anything shows them yet or not. */
  differentiate(): void {
    if (this.stale && this.engine) this.try(() => this.pass(true), false);
  }
  private update(): void {
    if (this.backwardShows) this.differentiate();
  }
  showGradients(on: boolean): void {
    if (on) this.differentiate();
    this.gradients = on;
  }
  setLabel(label: number): void {
    this.label = label;
    this.stale = true;
    this.update();
  }
  setFault(fault: FaultRequest | null): void {
    this.try(() => {
      this.engine!.fault(fault);
      this.fault = fault;
      this.pass();
    });
  }
  /** Another model: its weights changed, or it is another one altogether. */
  showModel(model: Model): void {
    this.model = model;
    this.cell = null;
    this.settle();
  }
  /** What is chosen is there: other models have other sizes. */
  settle(): void {
    const { L, h, T } = this.config!;
    if (this.block >= L) this.block = L - 1;
    if (this.head >= h) this.head = 0;
    if (this.token >= T) this.token = 0;
    const tensor = this.forward?.tensors.find(({ name }) => name === this.cell?.name);
    if (this.cell && !(this.cell.index < (tensor?.shape.reduce((n, d) => n * d, 1) ?? 0))) this.cell = null;
  }

  choose(kind: Kind, index: number): void {
    this.sample = { kind, index };
    this.look();
  }
  draw(strokes: Stroke[]): void {
    this.sample = null;
    this.strokes = strokes;
    this.look();
  }

  /** Runs something of the engine's; what it refuses is said on the page, until something that was asked for succeeds. */
  try(action: () => void, asked = true): void {
    if (!this.engine) return; // a fresh one is on its way
    try {
      action();
      if (asked) this.error = '';
    } catch (error) {
      this.error = error instanceof Error ? error.message : String(error);
      if (this.engine?.broken) this.replace?.();
    }
  }
  replace: (() => void) | null = null; // gives it a fresh engine (begin.ts)

  private waiting = false;
}

export const app = new Explorer();

