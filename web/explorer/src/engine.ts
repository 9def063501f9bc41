// The library, compiled to WebAssembly: what web/engine/explorer.h declares, with types. It runs in
// the page, in the worker that trains, and in the tests under node. Numbers are read where they lie:
// a view is valid until the next call of the function that gave its tensor.

/** A tensor in the engine's memory: row-major float32. */
export interface Tensor {
  name: string;
  symbols: string; // of its shape: "(B, h, T, T)"
  shape: number[];
  at: number;
  gradient?: number; // where the derivatives of the loss by it are
}
export interface Config {
  C: number; H: number; W: number; P: number; D: number; L: number; h: number; M: number; K: number;
  N: number; T: number; D_h: number; eps: number; dropout: number;
}
export interface Model {
  config: Config;
  mean: number[];
  std: number[];
  count: number; // of learned numbers
  step: number; // training steps taken
  parameters: Tensor[];
  similarity: Tensor; // (gh, gw, gh, gw)
}
export interface Settings {
  P?: number; D?: number; L?: number; h?: number; M?: number; dropout?: number; seed?: number;
  images?: number; batch?: number; optimizer?: 'adamw' | 'adam' | 'sgd'; learning_rate?: number;
  weight_decay?: number; warmup?: number;
}
export type Point = [x: number, y: number];
export interface Drawing { strokes: Point[][]; pen?: number; centred?: boolean }
export interface Drawn { pixels: number; uncentred: number; empty: boolean; scale: number; shift: [number, number] }
export type Kind = 'digit' | 'thick' | 'thin' | 'shifted' | 'letter' | 'noise';
export interface Sample { pixels: number; label: number | null }
export interface Forward { tensors: Tensor[]; probabilities: Tensor; guess: number; lens: Tensor; rollout: Tensor }
export interface Backward {
  loss: number;
  tensors: Tensor[];
  parameters: Tensor[];
  walk: { name: string; op: string; norm: number }[]; // in the order in which cotangents are complete
  saliency: Tensor;
  gradient_rollout: Tensor;
}
export type FaultKind = 'flip_sign' | 'drop_cotangent' | 'skip_accumulation' | 'forget_unbroadcast';
export interface FaultRequest { op: string; kind: FaultKind; input: number }
export interface Check {
  name: string; passed: boolean; relative_error: number; tolerance: number;
  index: number; analytic: number; numeric: number; checked: number;
}
export interface Change { name: string; value: number; gradient: number; update: number }
/** Of the last step's own images: their loss before it and after it (null: not finite), and what the gradient promised of the difference. */
export interface Effect { before: number; after: number | null; promised: number }
export interface Trained {
  step: number; images: number; losses: number[]; correct: number[]; learning_rate: number;
  grad_norm: number; batch: number; effect: Effect; changes: Change[];
}
export interface Score { loss: number; accuracy: number; images: number }

/** What the engine refused, in its own words; or that it broke down. */
export class EngineError extends Error {}

interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  [name: string]: unknown;
}

export class Engine {
  private constructor(private readonly exports: Exports) {}
  private trap = '';
  /** It trapped: its memory may be half changed, so it answers no more, and a fresh one must take its place. */
  get broken(): boolean { return this.trap !== ''; }

  /** Starts an engine of its own, with its own memory and model. */
  static async start(wasm: BufferSource): Promise<Engine> {
    let memory: WebAssembly.Memory;
    const bytes = () => new DataView(memory.buffer);
    const zeros = (a: number, b: number) => { bytes().setUint32(a, 0, true); bytes().setUint32(b, 0, true); return 0; };
    const { instance } = await WebAssembly.instantiate(wasm, {
      env: { emscripten_notify_memory_growth() {} },
      wasi_snapshot_preview1: {
        // There is no environment, and no process to leave.
        environ_sizes_get: zeros,
        environ_get: () => 0,
        clock_time_get(_clock: number, _precision: bigint, at: number) {
          bytes().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
          return 0;
        },
        proc_exit(code: number) { throw new EngineError(`the engine stopped with code ${code}`); },
      },
    });
    const exports = instance.exports as unknown as Exports;
    memory = exports.memory;
    exports._initialize();
    return new Engine(exports);
  }

  open(safetensors: Uint8Array): Model {
    return this.handed(safetensors, (at) => this.call('open', at, safetensors.length));
  }
  create(settings: Settings): Model { return this.ask('create', settings); }
  weights(): Model { return this.call('weights'); }
  draw(drawing: Drawing): Drawn { return this.ask('draw', drawing); }
  sample(kind: Kind, index = 0, seed = 1): Sample { return this.ask('sample', { kind, index, seed }); }
  /** The 28 x 28 bytes that are read next: 0 paper, 255 ink. */
  pixels(): Uint8Array { return this.bytes(this.run('explorer_pixels'), 784); }
  bytes(at: number, length: number): Uint8Array { return new Uint8Array(this.exports.memory.buffer, at, length); }
  forward(): Forward { return this.call('forward'); }
  backward(label: number): Backward { return this.call('backward', label); }
  /** Breaks a rule of the tape, or mends it (null). */
  fault(request: FaultRequest | null): { ops: { op: string; inputs: number }[] } { return this.ask('fault', request ?? {}); }
  check(parameter: string, label: number, entries = 2, seed = 1): Check {
    return this.ask('check', { parameter, label, entries, seed });
  }
  train(steps: number): Trained { return this.call('train', steps); }
  /** One step on the picture that is there. */
  learn(label: number): Trained { return this.call('learn', label); }
  score(images: number): Score { return this.call('score', images); }

  /** A view of a tensor's numbers. */
  values(tensor: Tensor): Float32Array { return this.floats(tensor.at, tensor); }
  /** A view of the derivatives by it; none before a backward. */
  gradient(tensor: Tensor): Float32Array | undefined {
    return tensor.gradient === undefined ? undefined : this.floats(tensor.gradient, tensor);
  }
  /** Bytes that the engine's memory takes. */
  get memory(): number { return this.exports.memory.buffer.byteLength; }

  private floats(at: number, { shape }: Tensor): Float32Array {
    return new Float32Array(this.exports.memory.buffer, at, shape.reduce((n, d) => n * d, 1));
  }

  private ask<T>(name: string, request: object): T {
    return this.handed(new TextEncoder().encode(JSON.stringify(request) + '\0'), (at) => this.call(name, at));
  }

  /** Bytes in the engine's memory, for as long as a call takes. */
  private handed<T>(bytes: Uint8Array, call: (at: number) => T): T {
    const at = this.run('malloc', bytes.length);
    if (at === 0) throw new EngineError('there is not enough memory for this');
    this.bytes(at, bytes.length).set(bytes);
    try {
      return call(at);
    } finally {
      if (!this.broken) this.run('free', at);
    }
  }

  /** What the engine refuses is an answer: what a function throws is a trap. */
  private run(name: string, ...args: number[]): number {
    if (this.broken) throw new EngineError(this.trap);
    try {
      return (this.exports[name] as (...args: number[]) => number)(...args);
    } catch (error) {
      this.trap = `The engine broke down: ${error instanceof Error ? error.message : error}.`;
      throw new EngineError(this.trap);
    }
  }

  private call<T>(name: string, ...args: number[]): T {
    const at = this.run(`explorer_${name}`, ...args);
    const memory = new Uint8Array(this.exports.memory.buffer);
    const answer = JSON.parse(new TextDecoder().decode(memory.subarray(at, memory.indexOf(0, at))));
    if (answer.error !== undefined) throw new EngineError(answer.error);
    return answer;
  }
}
