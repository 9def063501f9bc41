// Trains, away from the page: an engine of its own, a message at a time.
import { Engine, type Model, type Trained } from './engine';

export type Order =
  | { do: 'begin'; round: number; wasm: Uint8Array; settings: object; pixels: Uint8Array; label: number }
  | { do: 'train'; steps: number } // as many as asked, or until 'pause'
  | { do: 'until'; accuracy: number }
  | { do: 'learn'; label: number } // one step on the page's picture
  | { do: 'pause' }
  | { do: 'look'; pixels: Uint8Array; label: number }; // the page's picture is another

export interface Snapshot {
  kind: 'snapshot';
  trained: Trained | null; // null before the first step
  losses: number[]; // of the steps since the last snapshot
  probe: Float32Array; // what it says of the page's picture
  before: number | null; // the label's probability before a step on that very picture
  score: number | null; // accuracy on held-out digits, where it was asked anew
  parameters: Float32Array[]; // in the model's order
  similarity: Float32Array;
  memory: number;
  speed: number; // images a second
}
type Message = Snapshot | { kind: 'begun'; model: Model } | { kind: 'paused' } | { kind: 'error'; sentence: string };
/** `round` is that of the order to begin: what is still under way then is of the model before. */
export type Said = Message & { round: number };

const heldOut = 200;
const chunk = 90; // milliseconds between two snapshots
let engine: Engine;
let model: Model;
let round = 0;
let running = false;
let next: ReturnType<typeof setTimeout> | undefined; // steps that are due
let goal: number | null = null; // an accuracy
let left = 0; // steps
let scoredAt = 0;
let unscored = false; // the model changed since
let pixels: Uint8Array = new Uint8Array(784);

const say = (message: Message, transfer: Transferable[] = []) => postMessage({ ...message, round }, { transfer });

function probe(): Float32Array {
  engine.pixels().set(pixels);
  return engine.values(engine.forward().probabilities).slice();
}

function snapshot(trained: Trained | null, losses: number[], seconds: number, before: number | null = null): void {
  let score: number | null = null;
  unscored ||= trained !== null;
  if (unscored && (performance.now() - scoredAt > 1000 || !running || goal !== null)) {
    score = engine.score(heldOut).accuracy;
    scoredAt = performance.now();
    unscored = false;
  }
  const now = engine.weights();
  const parameters = now.parameters.map((p) => engine.values(p).slice());
  const similarity = engine.values(now.similarity).slice();
  const speed = trained && seconds > 0 ? (losses.length * trained.batch) / seconds : 0;
  if (goal !== null && score !== null && score >= goal) stop();
  say({ kind: 'snapshot', trained, losses, probe: probe(), before, score, parameters, similarity, memory: engine.memory, speed },
      [...parameters.map((p) => p.buffer), similarity.buffer]);
}

function stop(): void {
  clearTimeout(next);
  running = false;
  goal = null;
  left = 0;
}

// Steps for a moment, a snapshot, and again: between two, orders are heard.
function go(): void {
  if (!running) return;
  guarded(() => {
    const begin = performance.now();
    const losses: number[] = [];
    let trained: Trained | null = null;
    do {
      trained = engine.train(1);
      losses.push(...trained.losses);
      --left;
    } while (left > 0 && performance.now() - begin < chunk);
    const seconds = (performance.now() - begin) / 1000;
    if (left <= 0) stop();
    snapshot(trained, losses, seconds);
    if (running) next = setTimeout(go);
    else say({ kind: 'paused' });
  });
}

function guarded(action: () => void): void {
  try {
    action();
  } catch (error) {
    stop();
    say({ kind: 'error', sentence: error instanceof Error ? error.message : String(error) });
  }
}

// One order after the other, also while the engine starts.
let orders: Promise<void> = Promise.resolve();
onmessage = ({ data }: MessageEvent<Order>) => { orders = orders.then(() => obey(data)); };

async function obey(data: Order): Promise<void> {
  if (data.do === 'begin') {
    round = data.round;
    try {
      engine ??= await Engine.start(data.wasm as BufferSource);
    } catch (error) {
      say({ kind: 'error', sentence: `The engine did not start: ${error}` });
      return;
    }
  }
  guarded(() => {
    switch (data.do) {
      case 'begin':
        stop();
        pixels = data.pixels;
        model = engine.create(data.settings);
        unscored = true;
        say({ kind: 'begun', model });
        snapshot(null, [], 0);
        break;
      case 'train':
      case 'until': {
        const idle = !running;
        running = true;
        left = data.do === 'train' ? data.steps : Infinity;
        goal = data.do === 'until' ? data.accuracy : null;
        if (idle) go();
        break;
      }
      case 'learn': {
        stop();
        const before = probe()[data.label];
        const begin = performance.now();
        const trained = engine.learn(data.label);
        snapshot(trained, trained.losses, (performance.now() - begin) / 1000, before);
        say({ kind: 'paused' });
        break;
      }
      case 'pause':
        stop();
        break;
      case 'look':
        pixels = data.pixels;
        if (!running) snapshot(null, [], 0);
        break;
    }
  });
}
