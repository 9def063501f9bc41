// How numbers are written: two decimals, a real minus sign; the exact value where one asks for it.

export function text(x: number): string {
  if (Number.isNaN(x)) return 'NaN';
  const size = Math.abs(x);
  const digits = size === 0 || (size >= 0.01 && size < 10000) ? x.toFixed(2) : x.toExponential(1);
  return (digits === '-0.00' ? '0.00' : digits).replace('-', '−').replace('e-', 'e−');
}

/** The shortest text that is this float32 and no other. */
export function exact(x: number): string {
  for (let digits = 1; digits <= 9; ++digits) {
    const short = x.toPrecision(digits);
    if (Math.fround(Number(short)) === Math.fround(x)) return String(Number(short)).replace('-', '−');
  }
  return String(x).replace('-', '−');
}

export const percent = (p: number): string => (p > 0 && p < 0.01 ? '< 1 %' : `${Math.round(100 * p)} %`);

export function norm(values: Float32Array): number {
  let squares = 0;
  for (const v of values) squares += v * v;
  return Math.sqrt(squares);
}

export function largest(values: Float32Array): number {
  let most = 0;
  for (const v of values) if (Math.abs(v) > most) most = Math.abs(v);
  return most;
}
