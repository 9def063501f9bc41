import type { Backward, Drawn, Engine, Forward, Kind, Model, Point, Tensor } from './engine';

// The one state of the page. What the engine says is replaced as a whole (version counts it): nobody
// keeps numbers of their own. What a teacher may want to send stands in the address' fragment.

export type Stroke = Point[];

class Explorer {
  engine: Engine | null = null;
  model = $state.raw<Model | null>(null);
  forward = $state.raw<Forward | null>(null);
  backward = $state.raw<Backward | null>(null);
  drawn = $state.raw<Drawn | null>(null);
  version = $state(0); // of forward and backward
  error = $state('');

  strokes = $state.raw<Stroke[]>([]);
  sample = $state.raw<{ kind: Kind; index: number } | null>({ kind: 'digit', index: 3 });
  centred = $state(true);

  patch = $state<number | null>(null); // whose row is lit
  block = $state(0);
  head = $state(0);
  query = $state(0); // the token that attends; 0 is the class token
  gradients = $state(false); // the pictures show dL/d(everything)
  label = $state(3); // the right answer
  term = $state(''); // the symbol that is pointed at

  empty = $derived(this.drawn?.empty === true && this.sample === null);

  /** An intermediate of the last forward pass, or of the last backward pass where gradients show. */
  tensor(name: string): Tensor | undefined {
    const tensors = this.gradients && this.backward ? this.backward.tensors : this.forward?.tensors;
    return tensors?.find((t) => t.name === name);
  }
  /** What pictures show of it: its values, or the derivatives of the loss by it. */
  shown(name: string): Float32Array | undefined {
    void this.version;
    const tensor = this.tensor(name);
    if (!tensor || !this.engine) return undefined;
    return this.gradients ? this.engine.gradient(tensor) : this.engine.values(tensor);
  }
  /** Its values, whatever is shown. */
  values(name: string): Float32Array | undefined {
    void this.version;
    const tensor = this.forward?.tensors.find((t) => t.name === name);
    return tensor && this.engine ? this.engine.values(tensor) : undefined;
  }
  parameter(name: string): Float32Array | undefined {
    const tensor = this.model?.parameters.find((t) => t.name === name);
    return tensor && this.engine ? this.engine.values(tensor) : undefined;
  }

  /** Reads what stands on the pad, once a frame however often it is asked. */
  read(): void {
    if (this.waiting || !this.engine) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.readNow();
    });
  }
  readNow(): void {
    this.try(() => {
      const engine = this.engine!;
      performance.mark('stroke');
      if (this.sample) {
        const { label } = engine.sample(this.sample.kind, this.sample.index);
        this.drawn = null;
        if (label !== null) this.label = label;
      } else {
        this.drawn = engine.draw({ strokes: this.strokes, pen: 0.05, centred: this.centred });
      }
      this.forward = engine.forward();
      this.backward = this.gradients ? engine.backward(this.label) : null;
      ++this.version;
    });
  }
  showGradients(on: boolean): void {
    this.gradients = on;
    this.try(() => {
      this.backward = on ? this.engine!.backward(this.label) : null;
      ++this.version;
    });
  }
  setLabel(label: number): void {
    this.label = label;
    if (this.gradients) this.showGradients(true);
  }

  /** Runs something of the engine's; what it refuses is said on the page. */
  try(action: () => void): void {
    try {
      action();
      this.error = '';
    } catch (error) {
      this.error = error instanceof Error ? error.message : String(error);
    }
  }

  private waiting = false;
}

export const app = new Explorer();
