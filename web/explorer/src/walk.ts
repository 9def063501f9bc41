// What each node of the walk back does with the gradient that it is given: a sentence each, by the
// chain rule. engine.test.mjs holds what they claim against the engine's gradients.

const ofBlock: Record<string, string> = {
  mlp: 'A sum hands its gradient on as it is: this one is that of z.',
  'mlp.hidden': 'The MLP’s gradient, times W_2: each hidden unit answers for what it added to every number.',
  'mlp.fc1': 'Times the slope of GELU: where a unit was silent, next to nothing passes.',
  norm2: 'Times W_1: back from the hidden units to the numbers of each token.',
  z_prime: 'Two ways meet here and add up: straight down the stream, and back through the MLP and its layer norm.',
  msa: 'A sum hands its gradient on as it is: this one is that of z′.',
  'attn.heads': 'Times U_msa: each head answers for its part of the update.',
  'attn.probs': 'Each share answers for the value that it let through: the heads’ gradient, times v.',
  'attn.scores': 'Back through softmax: a share rises only where others fall, so every row adds up to 0.',
  'attn.v': 'Every token’s value collects from all that took of it, by the shares that they took.',
  'attn.k': 'The scores’ gradient, times the queries, divided by √D_h.',
  'attn.q': 'The scores’ gradient, times the keys, divided by √D_h.',
  norm1: 'What came back through q, k and v, each times its learned matrix, adds up.',
};
const others: Record<string, string> = {
  logits: 'Of softmax and loss together: the probability of each digit, minus 1 at the right one.',
  y: 'The logits’ gradient, times the head: each number of y answers for what it gave to the ten logits.',
  z_0: 'Two ways meet here and add up: straight down the stream, and back through the first attention and its layer norm.',
  patches: 'A sum hands its gradient on as it is: these are the rows of z_0 below the class token.',
  'patch_embed.x_p': 'Times E: back from the numbers of a token to the pixels of its patch.',
  images: 'The same numbers, put back where the patches were cut out: which ink would change the loss.',
};

/** What the walk has done when it comes to this node of a model of L blocks. */
export function backTo(name: string, L: number): string {
  const block = /^blocks\.(\d+)\.(.*)$/.exec(name);
  if (!block) return others[name] ?? '';
  if (block[2] !== 'z') return ofBlock[block[2]] ?? '';
  return +block[1] === L - 1
    ? 'Back through the layer norm. Only the class token was read, so only its row has a gradient; all others are 0.'
    : `Two ways meet here and add up: straight down the stream, and back through the attention of block ${+block[1] + 2} and its layer norm.`;
}
