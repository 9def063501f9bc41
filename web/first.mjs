// What the page shows before its engine runs: what the engine says of one digit, asked when the page
// is built. Only what the first screens need.
import { startEngine, weights } from './tests/engine.mjs';

const needed = /^(images|z_0|y|logits|blocks\.\d+\.(attn\.probs|msa|z_prime|mlp|z))$/;

export async function firstPicture() {
  const engine = await startEngine();
  const model = engine.open(weights);
  engine.sample('digit', 3);
  const forward = engine.forward();
  const numbers = [];
  const kept = (tensor) => {
    const at = numbers.length;
    numbers.push(...engine.values(tensor));
    return { ...tensor, at };
  };
  const first = {
    model: { ...model, parameters: [], similarity: kept(model.similarity) },
    forward: {
      tensors: forward.tensors.filter(({ name }) => needed.test(name)).map(kept),
      probabilities: kept(forward.probabilities),
      guess: forward.guess,
      lens: kept(forward.lens),
      rollout: kept(forward.rollout),
    },
    pixels: Buffer.from(engine.pixels()).toString('base64'),
  };
  return { ...first, numbers: Buffer.from(Float32Array.from(numbers).buffer).toString('base64') };
}
