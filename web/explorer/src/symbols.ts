// What the letters of equations and shapes stand for, in the paper's notation.
export const symbols: Record<string, string> = {
  // sizes
  B: 'pictures at once, here 1', C: 'colours of a pixel, here 1', H: 'rows of pixels, 28', W: 'columns of pixels, 28',
  P: 'the side of a patch in pixels', N: 'the number of patches', T: 'the number of tokens, N + 1', D: 'numbers in a token',
  L: 'the number of blocks', h: 'the number of heads', D_h: 'numbers in a head’s q, k or v: D / h', M: 'hidden units of an MLP', K: 'possible answers, 10',
  // the model
  x_p: 'a patch: its pixels in one row', i: 'which patch', E: 'learned pictures, which turn a patch into a token', x_class: 'the class token, learned', E_pos: 'the positions, learned',
  z: 'the tokens, a row each', z_0: 'the tokens before the first block', z_ℓ: 'the tokens after block ℓ', 'z′_ℓ': 'the tokens within block ℓ, after attention', z_L: 'the tokens after the last block; its row 0 is the class token',
  ℓ: 'the number of a block', LN: 'layer norm', MSA: 'what attention adds (multi-head self-attention)', MLP: 'what the two layers of hidden units add',
  x: 'any numbers that come in', μ: 'their mean', σ: 'their standard deviation', ε: 'a tiny number, against division by 0', γ: 'a learned scale', β: 'a learned shift',
  q: 'queries: what tokens ask', k: 'keys: what they answer to', v: 'values: what they give', U_qkv: 'learned matrices that make q, k and v',
  softmax: 'turns numbers into shares that add up to 1', A: 'attention: the share of each token, for each that asks', SA: 'what one head gathers (self-attention)', U_msa: 'the learned matrix that joins the heads',
  W_1: 'learned weights to the hidden units', b_1: 'their bias, learned', GELU: 'lets large numbers pass, stops negative ones', Φ: 'the share of a bell curve that lies below',
  W_2: 'learned weights back to the token', b_2: 'their bias, learned', y: 'the class token at the end, normalised',
  logits: 'ten scores, one a digit', W_head: 'learned weights, a row a digit', b_head: 'their bias, learned',
  p_i: 'the probability of digit i', logit_i: 'the score of digit i', e: 'Euler’s number, 2.72', j: 'every digit in turn',
  // learning
  ℒ: 'the loss; L in dL/dx', log: 'the natural logarithm', p_label: 'the probability of the right answer',
  θ: 'every number that learns', η: 'the learning rate', Δ: 'by how much it changes', '∂ℒ/∂θ': 'the gradient of the loss by θ, dL/dθ',
};
