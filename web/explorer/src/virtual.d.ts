declare module 'virtual:engine' {
  /** explorer.wasm, as gzip in base64. */
  export const wasm: string;
  /** The drawn digits' model, as gzip in base64. */
  export const weights: string;
}
