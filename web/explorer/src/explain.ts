import type { Config, Tensor } from './engine';
export interface Factor { a: number; b: number; where: string }
export interface Explanation {
  name: string; symbol: string; equation: string; sentence: string; a: string; b: string;
  factors: Factor[]; after: { label: string; value: number }[]; value: number;
}
export interface Reader {
  config: Config;
  tensor(name: string): Tensor | undefined;
  values(name: string): Float32Array | undefined;
  parameter(name: string): Float32Array | undefined;
}
export function explain(_reader: Reader, _name: string, _index: number): Explanation | null { return null; }
