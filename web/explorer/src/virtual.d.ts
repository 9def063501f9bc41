declare module 'virtual:first' {
  import type { Forward, Model } from './engine';
  /** What the engine said of one digit when the page was built; `at` counts float32 numbers. */
  export const first: { model: Model; forward: Forward; pixels: string; numbers: string };
}
