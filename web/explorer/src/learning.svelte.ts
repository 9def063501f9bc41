import { moduleBytes, trainedWeights } from './begin';
import type { FaultRequest, Model, Settings, Trained } from './engine';
import { app } from './state.svelte';
import type { Asked, Order, Said, Snapshot } from './worker';
import TrainingWorker from './worker?worker&inline';

// What the page knows of the model that learns in the worker.

export interface Point { images: number; loss: number; smooth: number }
export interface Scored { images: number; accuracy: number }

/** At most so many of a growing list, at even distances: when there are more, every other one goes. */
class Thinned<T> {
  all = $state.raw<T[]>([]);
  private stride = 1;
  private seen = 0;
  constructor(private readonly most: number) {}
  add(...items: T[]): void {
    let all = [...this.all, ...items.filter(() => this.seen++ % this.stride === 0)];
    while (all.length > this.most) {
      all = all.filter((_, i) => i % 2 === 0);
      this.stride *= 2;
    }
    this.all = all;
  }
  clear(): void {
    this.all = [];
    this.stride = 1;
    this.seen = 0;
  }
}

/** How many different ones there are to learn from. */
export const digits = 6000;
/** The rate that suits an optimizer and the other defaults. */
export const rates = { adamw: 0.003, adam: 0.003, sgd: 0.05 };
/** Only AdamW keeps weight decay apart from the gradient: in the others' gradient so much of it drowns the digits. */
const decays = { adamw: 0.05, adam: 0, sgd: 0 };

/** What can be set, and within which limits. */
export const limits = {
  batch: { name: 'Batch', low: 1, high: 512, whole: true },
  learning_rate: { name: 'Learning rate', low: 0, high: 10, whole: false },
  dropout: { name: 'Dropout', low: 0, high: 0.9, whole: false },
  seed: { name: 'Seed', low: 0, high: 999_999, whole: true },
};
type Limited = Record<keyof typeof limits, number | null>; // null: nothing is in the field
const refusal = (settings: Limited): string => {
  for (const [key, { name, low, high, whole }] of Object.entries(limits)) {
    const value = settings[key as keyof typeof limits];
    if (value === null || !(value >= low && value <= high) || (whole && !Number.isInteger(value))) {
      return `${name}: a ${whole ? 'whole ' : ''}number from ${low} to ${high.toLocaleString('en')}`;
    }
  }
  return '';
};
/** The learning rate rises over so many steps. */
export const warmup = 20;

class Learning {
  settings = $state<Required<Pick<Settings, 'P' | 'L' | 'h' | 'batch' | 'optimizer' | 'learning_rate' | 'dropout' | 'seed'>>>({
    P: 7, L: 2, h: 4, batch: 16, optimizer: 'adamw', learning_rate: rates.adamw, dropout: 0, seed: 1,
  });
  model = $state.raw<Model | null>(null);
  now = $state.raw<Snapshot | null>(null);
  step = $state(0);
  images = $state(0);
  readonly losses = new Thinned<Point>(300);
  readonly scores = new Thinned<Scored>(300);
  readonly probes = new Thinned<Float32Array>(240); // of the page's picture: its ten probabilities, a snapshot each
  trained = $state.raw<Trained | null>(null); // what the engine said of the last step
  told = $state.raw<{ before: number; after: number; label: number } | null>(null); // of a last step that was on the page's picture
  guess = $state<number | null>(null); // of the learner: images until nine of ten are read
  reached = $state<number | null>(null); // images until nine of ten were read
  accuracy = $state<number | null>(null); // of held-out digits
  smoothLoss = $state<number | null>(null);
  running = $state(false);
  error = $state('');
  refused = $state(''); // why these settings make no model; the one that there is goes on
  inside = $state(false); // the page shows this model
  began = $state.raw<object | null>(null); // the settings that it was made with

  private worker: Worker | null = null;
  private turn = 0; // of what was asked
  private looked: Uint8Array = new Uint8Array(); // the picture that the worker has
  private fault: FaultRequest | null = null; // the broken rule that it has
  private smooth = 0;

  /** What the last step did, and why: the loss of its own digits before and after. */
  last = $derived.by(() => {
    if (!this.trained) return null;
    const { before, after, promised } = this.trained.effect;
    const got = (after ?? NaN) - before;
    const why = app.fault ? 'The promise was made with a gradient that a broken rule made: do not trust it.'
      : this.trained.learning_rate === 0 ? 'A learning rate of 0 changes nothing.'
      : promised > 0 ? 'The update was uphill for these digits: the optimizer also follows the gradients of earlier steps.'
      : !(got < 0) ? 'The step was too long: on its way the gradient changed, and it went past the place where this loss is lowest.'
      : got / promised > 0.7 && got / promised < 1.4 ? 'Kept: each number moved a little against its gradient, and over so short a way the loss falls as the gradient says.'
      : `It fell, by ${got < promised ? 'more' : 'less'} than promised: the step was so long that the gradient changed on its way.`;
    return { before, after: after ?? NaN, promised, got, why };
  });
  changed = $derived(this.began !== null && JSON.stringify(this.began) !== JSON.stringify(this.settings));

  private send(order: Order): void { this.worker?.postMessage(order); }

  /** A new model, its parameters drawn by the seed. */
  begin(): Promise<void> {
    this.refused = refusal(this.settings);
    if (this.refused) return Promise.resolve();
    this.began = { ...this.settings };
    return (this.beginning = this.start());
  }
  private beginning: Promise<void> | null = null; // the worker has its orders when this is over
  private async start(): Promise<void> {
    const wasm = await moduleBytes();
    this.worker?.terminate(); // each model has a worker, and a memory, of its own
    const worker = (this.worker = new TrainingWorker());
    worker.onmessage = ({ data }: MessageEvent<Said>) => { if (worker === this.worker) this.hear(data); };
    worker.onerror = (event) => this.fail(event.message, true);
    this.error = '';
    this.running = false;
    this.step = this.images = this.smooth = 0;
    for (const list of [this.losses, this.scores, this.probes]) list.clear();
    this.accuracy = this.smoothLoss = this.reached = null;
    this.trained = this.told = null;
    this.now = null;
    this.looked = app.pixels;
    this.fault = app.fault;
    this.send({ do: 'begin', wasm, settings: { ...this.began!, images: digits, warmup, weight_decay: decays[this.settings.optimizer] }, pixels: app.pixels, fault: app.fault });
  }
  async run(order: Asked): Promise<void> {
    const turn = ++this.turn;
    if (this.began === null || this.error) {
      await this.begin();
      if (this.refused) return;
    } else {
      await this.beginning;
    }
    this.running = order.do !== 'pause';
    if (order.do !== 'learn') this.told = null;
    this.send({ ...order, turn });
  }
  /** The page's picture is another. */
  look(pixels: Uint8Array): void {
    // The page reads its picture anew at every snapshot: the same picture is no news, or it would go round for ever.
    if (!this.model || pixels.every((v, i) => v === this.looked[i])) return;
    this.looked = pixels;
    this.send({ do: 'look', pixels });
  }
  /** The page's rules are others: broken, or mended. */
  follow(fault: FaultRequest | null): void {
    if (!this.model || fault === this.fault) return;
    this.fault = fault;
    this.send({ do: 'fault', fault });
  }

  private hear(said: Said): void {
    if (said.kind === 'error') {
      this.fail(said.sentence, said.broken);
    } else if (said.kind === 'paused') {
      if (said.turn === this.turn) this.running = false;
    } else if (said.kind === 'begun') {
      this.model = said.model;
      if (this.inside) this.enter();
    } else {
      this.take(said);
    }
  }
  /** What went wrong is said; a worker that is broken goes at once. */
  private fail(sentence: string, broken: boolean): void {
    this.running = false;
    const what = sentence.replace(/\.$/, '');
    this.error = broken ? `${what}. What this model had learned is gone, and a fresh engine is ready` : what;
    if (this.now === null) { // there is none
      this.model = null;
      if (this.inside) void this.setInside(false);
    }
    if (!broken) return;
    this.worker?.terminate();
    this.worker = null;
  }
  private take(s: Snapshot): void {
    if (s.trained) {
      this.step = s.trained.step;
      const batch = s.trained.batch;
      const points = s.losses.map((loss, i) => {
        this.smooth = this.losses.all.length || i ? 0.95 * this.smooth + 0.05 * loss : loss;
        return { images: s.trained!.images - (s.losses.length - 1 - i) * batch, loss, smooth: this.smooth };
      });
      this.images = s.trained.images;
      this.smoothLoss = this.smooth;
      this.trained = s.trained;
      this.losses.add(...points);
      this.probes.add(s.probe);
    }
    if (s.score !== null) {
      this.scores.add({ images: this.images, accuracy: s.score });
      this.accuracy = s.score;
      if (s.score >= 0.9) this.reached ??= this.images;
    }
    if (s.picture) this.told = { ...s.picture, after: s.probe[s.picture.label] };
    this.now = s;
    if (this.inside) this.show(s);
  }

  /** The whole page shows the model that learns: the same sizes, and its numbers at every snapshot. */
  enter(): void {
    app.try(() => {
      app.showModel(app.engine!.create({ ...this.began, images: 10, batch: 1 }));
      if (this.now) this.show(this.now);
      else app.lookNow();
    });
  }
  private show(s: Snapshot): void {
    app.try(() => {
      const { engine, model } = app;
      if (model!.parameters.length !== s.parameters.length) return; // of the model before
      model!.parameters.forEach((p, i) => engine!.values(p).set(s.parameters[i]));
      app.model = engine!.weights();
      app.lookNow(false);
    }, false);
  }
  async setInside(on: boolean): Promise<void> {
    this.inside = on;
    if (on) {
      if (this.began === null || this.error) {
        await this.begin(); // enters when it has begun
        if (this.refused) this.inside = false;
      } else if (this.model) this.enter();
    } else {
      const weights = await trainedWeights();
      if (this.inside) return; // asked for again meanwhile
      app.try(() => {
        app.showModel(app.engine!.open(weights));
        app.lookNow();
      });
    }
  }
}

export const learning = new Learning();
