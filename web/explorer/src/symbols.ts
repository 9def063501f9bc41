// What the letters of equations and shapes stand for, in the paper's notation: what each is, and its shape in sizes.
import type { Config } from './engine';

export const symbols: Record<string, string | [says: string, shape: string]> = {
  // sizes
  B: 'pictures at once, here 1', C: 'colours of a pixel', H: 'rows of pixels', W: 'columns of pixels',
  P: 'the side of a patch in pixels', N: 'the number of patches', T: 'the number of tokens, N + 1', D: 'numbers in a token',
  L: 'the number of blocks', h: 'the number of heads', D_h: 'numbers in a head’s q, k or v: D / h', M: 'hidden units of an MLP', K: 'possible answers',
  // the model
  x_p: ['a patch: its pixels in one row', 'P² C'], i: 'which one, counted from the first', E: ['learned pictures, which turn a patch into a token', 'P² C, D'],
  x_class: ['the class token, learned', 'D'], E_pos: ['the positions, learned', 'T, D'],
  z: ['the tokens, a row each', 'T, D'], z_0: ['the tokens before the first block', 'T, D'], 'z_ℓ−1': ['the tokens as they come into block ℓ', 'T, D'],
  z_ℓ: ['the tokens after block ℓ', 'T, D'], 'z′_ℓ': ['the tokens within block ℓ, after attention', 'T, D'], z_L: ['the class token after the last block: row 0 of its tokens', 'D'],
  ℓ: 'the number of a block', LN: 'layer norm', MSA: ['what attention adds (multi-head self-attention)', 'T, D'], MLP: ['what the two layers of hidden units add', 'T, D'],
  x: 'any numbers that come in', μ: 'their mean', σ: 'their standard deviation', ε: 'a tiny number, against division by 0', γ: ['a learned scale', 'D'], β: ['a learned shift', 'D'],
  q: ['queries: what tokens ask', 'T, D_h'], k: ['keys: what they answer to', 'T, D_h'], v: ['values: what they give', 'T, D_h'],
  U_qkv: ['learned matrices that make q, k and v of a head', 'D, 3 D_h'],
  softmax: 'turns numbers into shares that add up to 1', A: ['attention: the share of each token, for each that asks', 'T, T'], SA: ['what one head gathers (self-attention)', 'T, D_h'],
  U_msa: ['the learned matrix that joins the heads', 'D, D'],
  W_1: ['learned weights to the hidden units', 'D, M'], b_1: ['their bias, learned', 'M'], GELU: 'lets large numbers pass, stops negative ones', Φ: 'the share of a bell curve that lies below',
  W_2: ['learned weights back to the token', 'M, D'], b_2: ['their bias, learned', 'D'], y: ['the class token at the end, normalised', 'D'],
  logits: ['ten scores, one a digit', 'K'], W_head: ['learned weights, D for each digit', 'D, K'], b_head: ['their bias, learned', 'K'],
  p_i: 'the probability of digit i', logit_i: 'the score of digit i', e: 'Euler’s number, 2.72', j: 'every digit in turn',
  // learning
  ℒ: 'the loss; L in dL/dx', log: 'the natural logarithm', p_label: 'the probability of the right answer',
  θ: 'every number that learns', η: 'the learning rate', Δ: 'by how much it changes', '∂ℒ/∂θ': 'the gradient of the loss by θ, dL/dθ',
};

/** How many "3 D_h" or "P² C" are. */
const product = (size: string, config: Config): number =>
  size.split(' ').reduce((n, part) => {
    const value = Number(part) || config[part.replace('²', '') as keyof Config];
    return n * (part.endsWith('²') ? value ** 2 : value);
  }, 1);

/** What a symbol is, with the numbers of the model on the page: "queries: what tokens ask. (T, D_h) = 17 × 16". */
export function meaning(symbol: string, config: Config | null): string {
  const [says, shape] = [symbols[symbol]].flat();
  if (!config) return says;
  if (shape) return `${says}. (${shape}) = ${shape.split(', ').map((size) => product(size, config)).join(' × ')}${shape.includes(',') ? '' : ' numbers'}`;
  return symbol in config ? `${says}. ${symbol} = ${config[symbol as keyof Config]}` : says;
}
