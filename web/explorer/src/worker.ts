// Trains one model, away from the page: an engine of its own, a message at a time.
import { Engine, type FaultRequest, type Model, type Trained } from './engine';

export type Asked =
  | { do: 'train'; steps: number } // as many as asked, or until 'pause'
  | { do: 'until'; accuracy: number }
  | { do: 'learn'; label: number } // one step on the page's picture
  | { do: 'pause' };
/** `turn` counts what was asked for: word of a pause after an earlier one is no news. */
export type Order =
  | (Asked & { turn: number })
  | { do: 'begin'; wasm: Uint8Array; settings: object; pixels: Uint8Array; fault: FaultRequest | null }
  | { do: 'look'; pixels: Uint8Array } // the page's picture is another
  | { do: 'fault'; fault: FaultRequest | null }; // a rule is broken, or mended

export interface Snapshot {
  kind: 'snapshot';
  trained: Trained | null; // null before the first step
  losses: number[]; // of the steps since the last snapshot
  probe: Float32Array; // what it says of the page's picture
  picture: { label: number; before: number } | null; // after a step on that very picture: what it said of the label before
  score: number | null; // accuracy on held-out digits, where it was asked anew
  parameters: Float32Array[]; // in the model's order
  similarity: Float32Array;
  speed: number; // images a second
}
export type Said = Snapshot | { kind: 'begun'; model: Model } | { kind: 'paused'; turn: number } | { kind: 'error'; sentence: string; broken: boolean }; // broken: this worker is of no use any more

const heldOut = 200;
const chunk = 200; // milliseconds between two snapshots
let engine: Engine;
let made = false; // there is a model
let turn = 0;
let running = false;
let next: ReturnType<typeof setTimeout> | undefined; // steps that are due
let goal: number | null = null; // an accuracy
let left = 0; // steps
let together = 1; // steps that the engine is asked for at once: it says of the last of them alone what it did
let scoredAt = 0;
let unscored = false; // the model changed since
let pixels: Uint8Array = new Uint8Array(784);

const say = (message: Said, transfer: Transferable[] = []) => postMessage(message, { transfer });

function probe(): Float32Array {
  engine.pixels().set(pixels);
  return engine.values(engine.forward().probabilities).slice();
}

function snapshot(trained: Trained | null, losses: number[], seconds: number, picture: Snapshot['picture'] = null): void {
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
  say({ kind: 'snapshot', trained, losses, probe: probe(), picture, score, parameters, similarity, speed },
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
      const asked = performance.now();
      const steps = Math.min(left, together);
      trained = engine.train(steps);
      losses.push(...trained.losses);
      left -= steps;
      const each = (performance.now() - asked) / steps;
      together = Math.max(1, Math.min(8, Math.floor(25 / each)));
    } while (left > 0 && performance.now() - begin < chunk);
    const seconds = (performance.now() - begin) / 1000;
    if (left <= 0) stop();
    snapshot(trained, losses, seconds);
    if (running) next = setTimeout(go);
    else say({ kind: 'paused', turn });
  });
}

function guarded(action: () => void): void {
  try {
    action();
  } catch (error) {
    stop();
    say({ kind: 'error', sentence: error instanceof Error ? error.message : String(error), broken: engine.broken });
  }
}

// One order after the other, also while the engine starts.
let orders: Promise<void> = Promise.resolve();
onmessage = ({ data }: MessageEvent<Order>) => { orders = orders.then(() => obey(data)); };

async function obey(data: Order): Promise<void> {
  if ('turn' in data) turn = data.turn;
  if (data.do === 'begin') {
    try {
      engine = await Engine.start(data.wasm as BufferSource);
    } catch (error) {
      say({ kind: 'error', sentence: `The engine did not start: ${error}`, broken: true });
      return;
    }
  }
  if (data.do !== 'begin' && !made) return; // why there is none has been said
  guarded(() => {
    switch (data.do) {
      case 'begin': {
        pixels = data.pixels;
        const model = engine.create(data.settings);
        made = true;
        engine.fault(data.fault);
        say({ kind: 'begun', model });
        snapshot(null, [], 0);
        break;
      }
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
        const { label } = data;
        const before = probe()[label];
        const begin = performance.now();
        const trained = engine.learn(label);
        snapshot(trained, trained.losses, (performance.now() - begin) / 1000, { label, before });
        say({ kind: 'paused', turn });
        break;
      }
      case 'pause':
        stop();
        break;
      case 'look':
        pixels = data.pixels;
        if (!running) snapshot(null, [], 0);
        break;
      case 'fault':
        engine.fault(data.fault);
        break;
    }
  });
}
