// The paper's equations as MathML. Whatever stands within is() is a symbol of symbols.ts; what stands within term() lights
// up together with the map that it names.

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
const is = (symbol: string, markup: string) => `<mrow data-symbol="${symbol}">${markup}</mrow>`;
const letter = (s: string) => is(s, mi(s));
const word = (s: string) => is(s, name(s));
const called = (s: string, below: string) => is(`${s}_${below}`, sub(s.length > 1 ? name(s) : mi(s), below.length > 1 ? name(below) : /\d/.test(below) ? mn(below) : mi(below)));
const call = (f: string, ...x: string[]) => row(f, mo('('), ...x, mo(')'));

const ell = letter('ℓ');
const before = term('z', is('z_ℓ−1', sub(mi('z'), row(ell, mo('−'), mn(1)))));
const prime = term('z_prime', is('z′_ℓ', both(mi('z'), ell, mo('′'))));
const after = term('z_next', is('z_ℓ', sub(mi('z'), ell)));
const LN = (x: string) => term('norm', call(word('LN'), x));
const MSA = (x: string) => term('msa', call(word('MSA'), x));
const MLP = (x: string) => term('mlp', call(word('MLP'), x));
const q = term('q', letter('q')), k = term('k', letter('k')), v = term('v', letter('v'));
const A = term('probs', letter('A'));
const patch = (i: string) => row(term('x_p', is('x_p', both(mi('x'), mi('p'), i))), term('E', letter('E')));
const scores = term('scores', over(row(q, sup(k, mo('⊤'))), root(called('D', 'h'))));
const head = (i: string) => is('SA', sub(name('SA'), i));
const hidden = row(LN(prime), called('W', '1'), mo('+'), called('b', '1'));
const logit = (i: string) => is('logit_i', sub(name('logit'), i));
const slope = is('∂ℒ/∂θ', over(row(mo('∂'), mi('ℒ')), row(mo('∂'), mi('θ'))));
const sum = (below: string) => `<munder><mo>∑</mo>${below}</munder>`;
const change = word('Δ');

export interface Equation { math: string; said: string; symbols: string[]; number: string } // symbols: of symbols.ts
const equation = (math: string, said: string, number = ''): Equation =>
  ({ math, said, symbols: [...new Set([...math.matchAll(/data-symbol="([^"]+)"/g)].map(([, symbol]) => symbol))], number });

export const equations: Record<string, Equation> = {
  patch: equation(row(term('patches', patch(letter('i')))), 'a patch times E', 'within Equation 1'),
  embed: equation(
    row(term('z_0', is('z_0', sub(mi('z'), mn(0)))), mo('='), mo('['), term('cls', called('x', 'class')), mo(';'),
        patch(mn(1)), mo(';'), patch(mn(2)), mo(';'), mo('⋯'), mo(';'), patch(letter('N')), mo(']'), mo('+'),
        term('pos', called('E', 'pos'))),
    'z 0 is the class token and the patches times E, one below the other, plus the positions', 'Equation 1'),
  attend: equation(row(prime, mo('='), MSA(LN(before)), mo('+'), before),
    'z prime of block l is MSA of LN of z l minus 1, plus z l minus 1', 'Equation 2'),
  mlp: equation(row(after, mo('='), MLP(LN(prime)), mo('+'), prime),
    'z of block l is MLP of LN of z prime, plus z prime', 'Equation 3'),
  pool: equation(row(term('y', letter('y')), mo('='), call(word('LN'), is('z_L', both(mi('z'), letter('L'), mn(0))))),
    'y is LN of the class token after the last block', 'Equation 4'),
  norm: equation(
    row(call(word('LN'), letter('x')), mo('='), over(row(letter('x'), mo('−'), letter('μ')), root(row(sup(letter('σ'), mn(2)), mo('+'), letter('ε')))),
        letter('γ'), mo('+'), letter('β')),
    'LN of x is x minus its mean, divided by the root of its variance plus epsilon, times gamma plus beta'),
  qkv: equation(row(mo('['), q, mo(','), k, mo(','), v, mo(']'), mo('='), LN(letter('z')), called('U', 'qkv')),
    'q, k and v are LN of z times U qkv', 'Equation 5'),
  score: equation(row(scores), 'q times k transposed, divided by the root of D h', 'within Equation 6'),
  softmax: equation(row(A, mo('='), call(word('softmax'), scores)), 'A is the softmax of q k transposed over the root of D h', 'Equation 6'),
  mix: equation(row(term('heads', word('SA')), mo('='), A, v), 'SA is A times v', 'Equation 7'),
  proj: equation(
    row(term('msa', word('MSA')), mo('='), mo('['), term('heads', head(mn(1)), mo(';'), mo('⋯'), mo(';'), head(letter('h'))), mo(']'), called('U', 'msa')),
    'MSA is the heads side by side, times U msa', 'Equation 8'),
  fc1: equation(hidden, 'LN of z prime times W 1 plus b 1'),
  gelu: equation(row(term('hidden', call(word('GELU'), letter('x'))), mo('='), letter('x'), letter('Φ'), mo('('), letter('x'), mo(')')),
    'GELU of x is x times the share of a normal distribution below x'),
  fc2: equation(row(term('mlp', word('MLP')), mo('='), term('hidden', call(word('GELU'), hidden)), called('W', '2'), mo('+'), called('b', '2')),
    'MLP is GELU of x W 1 plus b 1, times W 2 plus b 2'),
  head: equation(row(term('logits', word('logits')), mo('='), term('y', letter('y')), called('W', 'head'), mo('+'), called('b', 'head')),
    'the logits are y times W head plus b head'),
  answer: equation(
    row(is('p_i', sub(mi('p'), letter('i'))), mo('='), over(sup(letter('e'), logit(letter('i'))), row(sum(letter('j')), sup(letter('e'), logit(letter('j')))))),
    'p i is e to the logit i, divided by the sum of e to all logits'),
  loss: equation(row(letter('ℒ'), mo('='), mo('−'), word('log'), called('p', 'label')), 'the loss is minus the logarithm of the probability of the label'),
  promise: equation(row(change, letter('ℒ'), mo('≈'), sum(letter('θ')), change, letter('θ'), slope),
    'the change of the loss is about the sum, over all numbers theta, of the change of theta times the gradient of the loss by theta'),
  descent: equation(row(letter('θ'), mo('←'), letter('θ'), mo('−'), letter('η'), slope),
    'theta becomes theta minus eta times the gradient of the loss by theta'),
};
