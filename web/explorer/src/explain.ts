// The third zoom: one number of any map, and the sum that made it, with the engine's own operands.
import type { Config, Tensor } from './engine';
import { tokenName } from './layout';
import { text } from './numbers';

/** One term of a sum, a times b. */
export interface Factor { a: number; b: number; where: string }
export interface Explanation {
  symbol: string;
  equation: string; // of equations.ts
  sentence: string;
  a: string; // what the factors are
  b: string; // empty where only a is added
  factors: Factor[];
  after: { label: string; value: number }[]; // what follows the sum; the last is the number itself
  value: number; // the engine's
}
export interface Reader {
  config: Config;
  tensor(name: string): Tensor | undefined;
  values(name: string): Float32Array | undefined;
  parameter(name: string): Float32Array | undefined;
}

const sumOf = (factors: Factor[]) => factors.reduce((sum, { a, b }) => sum + a * b, 0);

export function explain(reader: Reader, name: string, index: number): Explanation | null {
  const { D, h, M, T, D_h, P, H, W, L, K, C, eps } = reader.config;
  const value = reader.values(name)?.[index];
  const block = /^blocks\.(\d+)\.(.*)$/.exec(name);
  const stage = block ? block[2] : name;
  const prefix = block ? `blocks.${block[1]}.` : '';
  const came = block && +block[1] > 0 ? `blocks.${+block[1] - 1}.z` : 'z_0'; // z of the block before
  if (value === undefined) return null;

  // Two numbers are enough for what is made of rows; (B, h, T, n) has a head before them.
  const shape = reader.tensor(name)!.shape;
  const n = shape[shape.length - 1];
  const [row, col] = [Math.floor(index / n), index % n];
  const token = (t: number) => tokenName(t, reader.config);
  const the = (t: number) => (t === 0 ? 'the class token' : token(t));
  const missing = (what: string): never => { throw new Error(`no numbers of ${what}`); };
  const values = (what: string) => reader.values(what) ?? missing(what);
  const weights = (what: string) => reader.parameter(what) ?? missing(what);
  const rowOf = (numbers: Float32Array, r: number, width: number) => numbers.subarray(r * width, (r + 1) * width);
  const dot = (a: Float32Array, b: (i: number) => number, where: (i: number) => string): Factor[] =>
    Array.from(a, (x, i) => ({ a: x, b: b(i), where: where(i) }));
  const number = (i: number) => `number ${i + 1}`;

  /** x W + b: one row of x with one row of the weight, which is kept transposed. */
  const linear = (x: string, r: number, width: number, weight: string, out: number, a: string, where = number) => {
    const w = rowOf(weights(`${weight}.weight`), out, width);
    const factors = dot(rowOf(values(x), r, width), (i) => w[i], where);
    const bias = reader.parameter(`${weight}.bias`)?.[out];
    return { a, b: 'weight', factors, after: bias === undefined ? [] : [{ label: `+ bias ${text(bias)}`, value: sumOf(factors) + bias }] };
  };
  const add = (a: [string, string], b: [string, string]) => ({
    a: 'added', b: '', after: [],
    factors: [a, b].map(([what, where]) => ({ a: values(what)[index], b: 1, where })),
  });
  /** (x - mean) / sqrt(var + eps) gamma + beta, Equation 4's LN: the variance is that of all D numbers. */
  const norm = (x: string, r: number, parameter: string) => {
    const of = rowOf(values(x), r, D);
    const mean = of.reduce((s, v) => s + v, 0) / D;
    const deviation = Math.sqrt(of.reduce((s, v) => s + (v - mean) ** 2, 0) / D + eps);
    const gamma = weights(`${parameter}.weight`)[col], beta = weights(`${parameter}.bias`)[col];
    const centred = of[col] - mean;
    return {
      a: 'x', b: '', factors: [{ a: of[col], b: 1, where: number(col) }],
      after: [
        { label: `− mean ${text(mean)}`, value: centred },
        { label: `÷ root of variance + ε, ${text(deviation)}`, value: centred / deviation },
        { label: `× γ ${text(gamma)}`, value: (centred / deviation) * gamma },
        { label: `+ β ${text(beta)}`, value: (centred / deviation) * gamma + beta },
      ],
    };
  };

  const [head, asks] = [Math.floor(row / T), row % T]; // of (B, h, T, n)
  const inHead = (what: string) => rowOf(values(`${prefix}attn.${what}`), head * T + asks, what === 'scores' || what === 'probs' ? T : D_h);

  const made = ((): Omit<Explanation, 'value'> | null => {
    switch (stage) {
      case 'patch_embed.x_p': {
        const [channel, y, x] = [Math.floor(col / (P * P)), Math.floor(col / P) % P, col % P];
        const across = W / P;
        const pixel = (channel * H + Math.floor(row / across) * P + y) * W + (row % across) * P + x;
        return { symbol: 'x_p', equation: 'patch', sentence: `Pixel ${y + 1}, ${x + 1} of ${token(row + 1)}: its ink, shifted and scaled as all training pixels were.`,
                 a: 'pixel', b: '', factors: [{ a: values('images')[pixel], b: 1, where: `row ${y + 1}, column ${x + 1}` }], after: [] };
      }
      case 'patches':
        return { symbol: 'x_p E', equation: 'patch', sentence: `How much ${token(row + 1)} looks like picture ${col + 1} of E.`,
                 ...linear('patch_embed.x_p', row, C * P * P, 'patch_embed.proj', col, 'pixels of x_p', (i) => `pixel ${(Math.floor(i / P) % P) + 1}, ${(i % P) + 1}`) };
      case 'z_0': {
        const content = row === 0 ? weights('cls_token')[col] : values('patches')[(row - 1) * D + col];
        return { symbol: 'z_0', equation: 'embed', sentence: `Number ${col + 1} of ${the(row)} before the first block: what it is, plus where it is.`,
                 a: 'added', b: '', after: [], factors: [{ a: content, b: 1, where: row === 0 ? 'x_class' : 'x_p E' }, { a: weights('pos_embed')[index], b: 1, where: 'E_pos' }] };
      }
      case 'norm1':
      case 'norm2':
        return { symbol: 'LN', equation: 'norm', sentence: `Number ${col + 1} of ${the(row)}, brought to the common scale.`,
                 ...norm(stage === 'norm1' ? came : `${prefix}z_prime`, row, prefix + stage) };
      case 'attn.q':
      case 'attn.k':
      case 'attn.v': {
        const part = 'qkv'.indexOf(stage[5]);
        const does = ['asks', 'answers to', 'gives'][part];
        return { symbol: stage[5], equation: 'qkv', sentence: `One of the ${D_h} numbers of what ${the(asks)} ${does} in head ${head + 1}.`,
                 ...linear(`${prefix}norm1`, asks, D, `${prefix}attn.qkv`, (part * h + head) * D_h + col, `LN(z) of ${the(asks)}`) };
      }
      case 'attn.scores': {
        const k = rowOf(values(`${prefix}attn.k`), head * T + col, D_h);
        const factors = dot(inHead('q'), (i) => k[i], number);
        return { symbol: 'q·k / √D_h', equation: 'score', sentence: `How well the question of ${the(asks)} fits what ${the(col)} answers to, in head ${head + 1}.`,
                 a: `q of ${the(asks)}`, b: `k of ${the(col)}`, factors, after: [{ label: `÷ √${D_h}`, value: sumOf(factors) / Math.sqrt(D_h) }] };
      }
      case 'attn.probs': {
        const scores = inHead('scores');
        const most = Math.max(...scores);
        const factors = dot(scores.map((s) => Math.exp(s - most)), () => 1, token);
        return { symbol: 'A', equation: 'softmax', sentence: `The share of its attention that ${the(asks)} gives to ${the(col)}, in head ${head + 1}.`,
                 a: 'e to (score − the largest score)', b: '', factors, after: [{ label: `this one, ${text(factors[col].a)}, ÷ the sum`, value: factors[col].a / sumOf(factors) }] };
      }
      case 'attn.heads': {
        const [of, d] = [Math.floor(col / D_h), col % D_h];
        const shares = rowOf(values(`${prefix}attn.probs`), of * T + row, T);
        const v = values(`${prefix}attn.v`);
        return { symbol: 'A v', equation: 'mix', sentence: `What ${the(row)} gathers in head ${of + 1}: the values of all tokens, mixed by its shares.`,
                 a: 'share', b: 'v', factors: dot(shares, (t) => v[(of * T + t) * D_h + d], token), after: [] };
      }
      case 'msa':
        return { symbol: 'MSA', equation: 'proj', sentence: `What attention adds to number ${col + 1} of ${the(row)}.`,
                 ...linear(`${prefix}attn.heads`, row, D, `${prefix}attn.proj`, col, 'heads, side by side') };
      case 'z_prime':
        return { symbol: "z'", equation: 'attend', sentence: `The stream after attention: nothing is replaced, only added.`, ...add([`${prefix}msa`, 'MSA'], [came, 'z before']) };
      case 'mlp.fc1':
        return { symbol: 'x W_1 + b_1', equation: 'fc1', sentence: `How much hidden unit ${col + 1} finds what it waits for in ${the(row)}.`,
                 ...linear(`${prefix}norm2`, row, D, `${prefix}mlp.fc1`, col, `LN(z') of ${the(row)}`) };
      case 'mlp.hidden': {
        const x = values(`${prefix}mlp.fc1`)[index];
        return { symbol: 'GELU', equation: 'gelu', sentence: `Hidden unit ${col + 1} of ${M}: ${x > 0 ? 'it found it, and speaks' : 'it did not find it, and is nearly silent'}.`,
                 a: 'x', b: 'Φ(x), the share of a bell curve below x', factors: [{ a: x, b: x === 0 ? 0.5 : value / x, where: `unit ${col + 1}` }], after: [] };
      }
      case 'mlp':
        return { symbol: 'MLP', equation: 'fc2', sentence: `What the MLP adds to number ${col + 1} of ${the(row)}.`,
                 ...linear(`${prefix}mlp.hidden`, row, M, `${prefix}mlp.fc2`, col, 'hidden units') };
      case 'z':
        return { symbol: 'z', equation: 'mlp', sentence: `The stream after block ${+block![1] + 1} of ${L}.`, ...add([`${prefix}mlp`, 'MLP'], [`${prefix}z_prime`, "z'"]) };
      case 'y':
        return { symbol: 'y', equation: 'pool', sentence: `The class token after the last block, on the common scale: all that the answer is made of.`, ...norm(`blocks.${L - 1}.z`, 0, 'norm') };
      case 'logits':
        return { symbol: 'logit', equation: 'head', sentence: `The score of the digit ${col}, one of ${K}.`, ...linear('y', 0, D, 'head', col, 'y') };
      default:
        return null; // the pixels are not made of anything
    }
  })();
  return made && { ...made, value };
}
