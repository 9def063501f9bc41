declare module 'virtual:engine' {
  import type { Forward, Model } from './engine';
  /** explorer.wasm, as gzip in base64. */
  export const wasm: string;
  /** The drawn digits' model, as gzip in base64. */
  export const weights: string;
  /** What the engine said of one digit when the page was built; `at` counts float32 numbers. */
  export const first: { model: Model; forward: Forward; pixels: string; numbers: string };
}
