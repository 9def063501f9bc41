// A lesson's program in the browser. lessons.js, which brings it, is loaded when one is first asked for.
import { unpacked } from '../explorer/src/packed';

/** What lessons.js hands over: the Worker's text, and files as gzip in base64. */
interface Packed {
  worker: string;
  wasm: string;
  models: Record<string, string>;
}
interface Engine {
  url: string;
  module: WebAssembly.Module;
  models: Record<string, Uint8Array>;
}
declare global {
  interface Window {
    vitruvianBook?: (packed: Packed) => void;
  }
}

export function script(source: string): Promise<void> {
  return new Promise((done, failed) => {
    const element = document.createElement('script');
    element.src = source;
    element.onload = () => done();
    element.onerror = () => failed(new Error(`${source} is not beside this page.`));
    document.head.append(element);
  });
}

let engine: Promise<Engine> | undefined;
async function load(): Promise<Engine> {
  let packed: Packed | undefined;
  window.vitruvianBook = (all) => (packed = all);
  await script('lessons.js');
  if (packed === undefined) throw new Error('lessons.js is not this book’s.');
  const models: Record<string, Uint8Array> = {};
  for (const [name, bytes] of Object.entries(packed.models)) models[name] = await unpacked(bytes);
  const module = await WebAssembly.compile(await unpacked(packed.wasm));
  return { url: URL.createObjectURL(new Blob([packed.worker], { type: 'text/javascript' })), module, models };
}

/** Runs words after words, each when the one before has ended. */
export class Program {
  private worker: Worker | undefined;
  private done: ((code: number) => void) | undefined;
  private stopped = false;
  constructor(private readonly said: (line: string) => void, private readonly complained: (error: string) => void) {}

  /** The program's exit code; -1 where it came to none, stopped or not even begun. */
  async run(words: string[]): Promise<number> {
    engine ??= load();
    const loaded = await engine.catch((error: Error) => this.complained(error.message));
    if (!loaded || this.stopped) return -1;
    const { url, module, models } = loaded;
    const first = this.worker === undefined;
    this.worker ??= new Worker(url);
    this.worker.onmessage = ({ data }) => {
      if (data.line !== undefined) this.said(data.line);
      if (data.error !== undefined) this.complained(data.error);
      if (data.code !== undefined) this.done?.(data.code);
    };
    this.worker.onerror = (event) => { this.complained(event.message); this.done?.(-1); };
    return new Promise((done) => {
      this.done = done;
      this.worker?.postMessage(first ? { module, models, words } : { words });
    });
  }

  stop(): void {
    this.stopped = true;
    this.worker?.terminate();
    this.done?.(-1);
  }
}
