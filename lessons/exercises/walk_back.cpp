// Exercise. A tape of your own (after tape, middle)
//
// Here your own Vision Transformer begins: this is the engine under it. Each entry of the tape
// holds
//
//   value     a tensor
//   inputs    the places of the entries that it was computed from; all of them lie earlier
//   back      given dx of this entry, the cotangents of its inputs, in their order; a leaf has none
//
// The loss is the entry at the place `loss`, one number: its cotangent is 1. Walk the tape
// backwards and return the cotangents of all entries, each at its place and of its value's shape.
// What the loss does not depend on has the cotangent zero. An entry that was used several times
// hears from all its users: what they say is added.

#include "lessons/exercises/parts.hpp"

using namespace vitruvian;

std::vector<Tensor> own_walk_back(const OwnTape& tape, std::size_t loss) {
  // [gap]
  //| // Yours: eight lines or so. full(shape, 1) and zeros(shape) make an array;
  //| // `if (!tape[i].back)` tells an entry without a way back.
  //| return {};
  // [solution]
  std::vector<Tensor> bars;
  for (const Recorded& entry : tape) bars.emplace_back(zeros(entry.value.shape()));
  bars[loss] = full(tape[loss].value.shape(), 1);
  for (std::size_t i = loss + 1; i-- > 0;) {
    if (!tape[i].back) continue;
    const std::vector<Tensor> shares = tape[i].back(bars[i]);
    for (std::size_t n = 0; n < shares.size(); ++n) {
      Tensor& bar = bars[tape[i].inputs[n]];
      bar = bar + shares[n];
    }
  }
  return bars;
  // [end]
}

EXERCISE(own_walk_back);

// [hint 1]
// Inputs lie earlier than what was computed from them. So whoever goes from the last entry to the
// first meets every entry after all its users: no sorting is needed.
// [hint 2]
// Begin with zeros for all, and 1 for the loss. At each entry, from the loss down to 0, ask
// back(bar) for the shares of its inputs, and add each share to what its input has heard so far.
// [hint 3]
// for (std::size_t i = loss + 1; i-- > 0;) { if (!tape[i].back) continue; auto shares =
// tape[i].back(bars[i]); then for each n: Tensor& bar = bars[tape[i].inputs[n]]; bar = bar +
// shares[n]; }
