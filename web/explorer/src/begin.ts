import { first } from 'virtual:first';
import { Engine } from './engine';
import type { Tensor } from './engine';
import { followAddress } from './address';
import { learning } from './learning.svelte';
import { bytesOf, unpacked } from './packed';
import { app } from './state.svelte';

// First what was recorded of the engine when the page was built, at once; then the engine itself.

/** A file that stands at the page's end: once all of the page is read. */
async function unpack(id: 'wasm' | 'weights'): Promise<Uint8Array> {
  if (document.readyState === 'loading') await new Promise((read) => document.addEventListener('DOMContentLoaded', read));
  return unpacked(document.getElementById(id)!.textContent);
}

export function showFirst(): void {
  const numbers = new Float32Array(bytesOf(first.numbers).buffer);
  app.numbers = {
    values: ({ at, shape }: Tensor) => numbers.subarray(at, at + shape.reduce((n, d) => n * d, 1)),
    gradient: () => undefined,
  };
  app.pixels = bytesOf(first.pixels);
  app.model = first.model;
  app.forward = first.forward;
}

let bytes: Uint8Array | undefined;
/** The module itself, for a worker that starts an engine of its own. */
export const moduleBytes = async (): Promise<Uint8Array> => (bytes ??= await unpack('wasm'));
let own: Uint8Array | undefined; // a file's, in place of those that came with the page
export const trainedWeights = async (): Promise<Uint8Array> => own ?? unpack('weights');

/** From now on the page shows the model of this file, which `vitruvian train`, or the last exercise of your own ViT, has written. */
export async function openFile(file: File): Promise<void> {
  const most = 100; // MB: the page's own has one
  try {
    if (file.size > most * 1e6) throw new Error(`${Math.round(file.size / 1e6)} MB are more than the ${most} of any model that this page shows`);
    show(new Uint8Array(await file.arrayBuffer()), file.name);
  } catch (error) {
    app.error = `${file.name}: ${error instanceof Error ? error.message : error}`;
  }
}
/** Back to the model that came with the page. */
export const closeFile = async (): Promise<void> => show(await unpack('weights'), '');

function show(bytes: Uint8Array, name: string): void {
  app.try(() => {
    const model = app.engine!.open(bytes);
    learning.inside = false;
    own = name === '' ? undefined : bytes;
    app.own = name;
    app.showModel(model);
    app.lookNow();
  });
  app.error = app.error.replace(/^the weights:/, `${name}:`);
}

export async function begin(): Promise<void> {
  try {
    // A frame for the first picture, before the module keeps the thread busy.
    await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
    await start();
    app.lookNow();
    followAddress();
    performance.mark('engine');
    app.replace = () => void replaceEngine();
  } catch (error) {
    refuse(error);
  }
}

async function start(): Promise<void> {
  const [module, trained] = await Promise.all([moduleBytes(), trainedWeights()]);
  const engine = await Engine.start(module as BufferSource);
  app.model = engine.open(trained);
  app.engine = app.numbers = engine;
  app.ready = true;
}
const refuse = (error: unknown) => { app.error = `The engine did not start: ${error instanceof Error ? error.message : error}`; };

/** A fresh engine for one that broke down, and what is on the page goes into it. */
async function replaceEngine(): Promise<void> {
  app.engine = null; // what it said last stays in sight
  app.ready = false;
  const { error, fault, replace } = app;
  app.replace = null; // where the same breaks the fresh one, that waits until something else is asked for
  try {
    await start();
    if (fault) app.engine!.fault(fault);
    if (learning.inside) learning.enter();
    else app.showModel(app.model!);
    app.lookNow(false);
    app.error = error;
  } catch (failure) {
    refuse(failure);
  }
  app.replace = replace;
}
