// The paper's equations as MathML, in its symbols. What stands within term() lights up together with
// the map that it names.

const mi = (s: string) => `<mi>${s}</mi>`;
const mo = (s: string) => `<mo>${s}</mo>`;
const mn = (s: string | number) => `<mn>${s}</mn>`;
const name = (s: string) => `<mi mathvariant="normal">${s}</mi>`;
const row = (...parts: string[]) => `<mrow>${parts.join('')}</mrow>`;
const sub = (a: string, b: string) => `<msub>${row(a)}${row(b)}</msub>`;
const sup = (a: string, b: string) => `<msup>${row(a)}${row(b)}</msup>`;
const both = (a: string, b: string, c: string) => `<msubsup>${row(a)}${row(b)}${row(c)}</msubsup>`;
const over = (a: string, b: string) => `<mfrac>${row(a)}${row(b)}</mfrac>`;
const root = (a: string) => `<msqrt>${row(a)}</msqrt>`;
const term = (id: string, ...parts: string[]) => `<mrow class="term" data-term="${id}">${parts.join('')}</mrow>`;
const call = (f: string, ...x: string[]) => row(f, mo('('), ...x, mo(')'));

const ell = mi('ℓ');
const before = term('z', sub(mi('z'), row(ell, mo('−'), mn(1))));
const prime = term('z_prime', both(mi('z'), ell, mo('′')));
const after = term('z_next', sub(mi('z'), ell));
const LN = (x: string) => term('norm', call(name('LN'), x));
const MSA = (x: string) => term('msa', call(name('MSA'), x));
const MLP = (x: string) => term('mlp', call(name('MLP'), x));
const q = term('q', mi('q')), k = term('k', mi('k')), v = term('v', mi('v'));
const A = term('probs', mi('A'));
const patch = (i: string) => row(term('x_p', both(mi('x'), mi('p'), i)), term('E', mi('E')));

export interface Equation { math: string; said: string; symbols: string[]; number: string } // symbols: of symbols.ts
const equation = (math: string, said: string, symbols: string, number = ''): Equation => ({ math, said, symbols: symbols.split(' '), number });

export const equations: Record<string, Equation> = {
  patch: equation(row(term('patches', patch(mi('i')))), 'a patch times E', 'x_p i E', 'within Equation 1'),
  embed: equation(
    row(term('z_0', sub(mi('z'), mn(0))), mo('='), mo('['), term('cls', sub(mi('x'), name('class'))), mo(';'),
        patch(mn(1)), mo(';'), patch(mn(2)), mo(';'), mo('⋯'), mo(';'), patch(mi('N')), mo(']'), mo('+'),
        term('pos', sub(mi('E'), name('pos')))),
    'z 0 is the class token and the patches times E, one below the other, plus the positions', 'z_0 x_class x_p E N E_pos', 'Equation 1'),
  attend: equation(row(prime, mo('='), MSA(LN(before)), mo('+'), before),
    'z prime of block l is MSA of LN of z l minus 1, plus z l minus 1', 'z′_ℓ MSA LN z_ℓ ℓ', 'Equation 2'),
  mlp: equation(row(after, mo('='), MLP(LN(prime)), mo('+'), prime),
    'z of block l is MLP of LN of z prime, plus z prime', 'z_ℓ MLP LN z′_ℓ ℓ', 'Equation 3'),
  pool: equation(row(term('y', mi('y')), mo('='), call(name('LN'), both(mi('z'), mi('L'), mn(0)))),
    'y is LN of the class token after the last block', 'y LN z_L L', 'Equation 4'),
  norm: equation(
    row(call(name('LN'), mi('x')), mo('='), over(row(mi('x'), mo('−'), mi('μ')), root(row(sup(mi('σ'), mn(2)), mo('+'), mi('ε')))),
        mi('γ'), mo('+'), mi('β')),
    'LN of x is x minus its mean, divided by the root of its variance plus epsilon, times gamma plus beta', 'LN x μ σ ε γ β'),
  qkv: equation(row(mo('['), q, mo(','), k, mo(','), v, mo(']'), mo('='), LN(mi('z')), sub(mi('U'), name('qkv'))),
    'q, k and v are LN of z times U qkv', 'q k v LN z U_qkv', 'Equation 5'),
  score: equation(row(term('scores', over(row(q, sup(k, mo('⊤'))), root(sub(mi('D'), mi('h')))))),
    'q times k transposed, divided by the root of D h', 'q k D_h', 'within Equation 6'),
  softmax: equation(row(A, mo('='), call(name('softmax'), term('scores', over(row(q, sup(k, mo('⊤'))), root(sub(mi('D'), mi('h'))))))),
    'A is the softmax of q k transposed over the root of D h', 'A softmax q k D_h', 'Equation 6'),
  mix: equation(row(term('heads', name('SA')), mo('='), A, v), 'SA is A times v', 'SA A v', 'Equation 7'),
  proj: equation(
    row(term('msa', name('MSA')), mo('='), mo('['), term('heads', sub(name('SA'), mn(1)), mo(';'), mo('⋯'), mo(';'), sub(name('SA'), mi('h'))), mo(']'), sub(mi('U'), name('msa'))),
    'MSA is the heads side by side, times U msa', 'MSA SA h U_msa', 'Equation 8'),
  fc1: equation(row(LN(prime), sub(mi('W'), mn(1)), mo('+'), sub(mi('b'), mn(1))), 'LN of z prime times W 1 plus b 1', 'LN z′_ℓ ℓ W_1 b_1'),
  gelu: equation(row(term('hidden', call(name('GELU'), mi('x'))), mo('='), mi('x'), mi('Φ'), mo('('), mi('x'), mo(')')),
    'GELU of x is x times the share of a normal distribution below x', 'GELU x Φ'),
  fc2: equation(row(term('mlp', name('MLP')), mo('='), term('hidden', call(name('GELU'), row(LN(prime), sub(mi('W'), mn(1)), mo('+'), sub(mi('b'), mn(1))))),
        sub(mi('W'), mn(2)), mo('+'), sub(mi('b'), mn(2))),
    'MLP is GELU of x W 1 plus b 1, times W 2 plus b 2', 'MLP GELU LN z′_ℓ ℓ W_1 b_1 W_2 b_2'),
  head: equation(row(term('logits', name('logits')), mo('='), term('y', mi('y')), sub(mi('W'), name('head')), mo('+'), sub(mi('b'), name('head'))),
    'the logits are y times W head plus b head', 'logits y W_head b_head'),
  answer: equation(
    row(sub(mi('p'), mi('i')), mo('='), over(sup(mi('e'), sub(name('logit'), mi('i'))), row('<munder><mo>∑</mo><mi>j</mi></munder>', sup(mi('e'), sub(name('logit'), mi('j')))))),
    'p i is e to the logit i, divided by the sum of e to all logits', 'p_i e logit_i j'),
  loss: equation(row(mi('ℒ'), mo('='), mo('−'), name('log'), sub(mi('p'), name('label'))), 'the loss is minus the logarithm of the probability of the label', 'ℒ log p_label'),
  promise: equation(row(mo('Δ'), mi('ℒ'), mo('≈'), '<munder><mo>∑</mo><mi>θ</mi></munder>', mo('Δ'), mi('θ'), over(row(mo('∂'), mi('ℒ')), row(mo('∂'), mi('θ')))),
    'the change of the loss is about the sum, over all numbers theta, of the change of theta times the gradient of the loss by theta', 'Δ ℒ θ ∂ℒ/∂θ'),
  descent: equation(row(mi('θ'), mo('←'), mi('θ'), mo('−'), mi('η'), over(row(mo('∂'), mi('ℒ')), row(mo('∂'), mi('θ')))),
    'theta becomes theta minus eta times the gradient of the loss by theta', 'θ η ∂ℒ/∂θ'),
};
