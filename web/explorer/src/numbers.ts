// How numbers are written: two decimals, a real minus sign; the exact value where one asks for it.

export function text(x: number | null): string {
  if (x === null || Number.isNaN(x)) return 'NaN'; // the engine's JSON has null for it
  if (!Number.isFinite(x)) return x > 0 ? '∞' : '−∞';
  const size = Math.abs(x);
  if (size === 0) return '0';
  const digits = size >= 0.01 && size < 10000 ? x.toFixed(2) : x.toExponential(1);
  return digits.replace('e-', 'e−').replace('-', '−');
}

/** Four decimals: what a first step changes is little. */
export const fine = (x: number): string => (Number.isFinite(x) ? x.toFixed(4).replace('-', '−') : text(x));
export const signed = (x: number): string => (x > 0 ? '+' : '') + fine(x);

/** The shortest text that is this float32 and no other. */
export function exact(x: number): string {
  for (let digits = 1; digits <= 9; ++digits) {
    const short = x.toPrecision(digits);
    if (Math.fround(Number(short)) === Math.fround(x)) return String(Number(short)).replaceAll('-', '−');
  }
  return String(x).replaceAll('-', '−');
}

/** In one line: its spaces do not break. */
export const percent = (p: number): string =>
  p > 0 && p < 0.01 ? '<\u00a01\u00a0%' : p < 1 && p > 0.99 ? '>\u00a099\u00a0%' : `${Math.round(100 * p)}\u00a0%`;

export function norm(values: Float32Array): number {
  let squares = 0;
  for (let i = 0; i < values.length; ++i) squares += values[i] * values[i];
  return Math.sqrt(squares);
}

export function largest(values: Float32Array): number {
  let most = 0;
  for (let i = 0; i < values.length; ++i) most = Math.max(most, Math.abs(values[i]));
  return most;
}

/** The next of 1, 2, 5, 10, ... so that a scale stays while its numbers stir. */
export function niceRange(most: number): number {
  if (!(most > 0) || !Number.isFinite(most)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= most * (1 - 1e-9))!;
}

export const indexOfMost = (values: ArrayLike<number>): number => {
  let best = 0;
  for (let i = 1; i < values.length; ++i) if (values[i] > values[best]) best = i;
  return best;
};
