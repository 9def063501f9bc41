// Exercise. Every gradient of your ViT (after every_parameter, middle)
//
// Now the tape pays: one walk back, and every parameter knows which way the loss falls. For a batch
// of images and their labels,
//
//   1. put every parameter onto a new tape, as a leaf,
//   2. run your ViT on the images, and the mean cross-entropy of its logits,
//   3. walk back from the loss,
//   4. and return the loss, and for each parameter's name its cotangent.
//
// The check compares each single number with differences: thousands of forward passes, one walk.
//
// Parts: walk_back unbroadcast linear own_linear softmax cross_entropy gelu layer_norm patches
// class_token attention attention_vjp split_heads own_mlp own_heads own_block own_vit

#include "lessons/exercises/parts.hpp"

using namespace vitruvian;

LossAndGradients own_gradients(const Parameters& parameters, const Tensor& images,
                               const std::vector<std::size_t>& labels, const VitSizes& sizes) {
  OwnTape tape;
  Weights w;
  // [gap]
  //| // Yours. for (const auto& [name, value] : parameters) goes through all; leaf(tape, value),
  //| // vit(w, images, sizes), cross_entropy(logits, labels), walk_back(tape, loss.place).
  //| return {};
  // [solution]
  for (const auto& [name, value] : parameters) w[name] = leaf(tape, value);
  const Var loss = cross_entropy(vit(w, images, sizes), labels);
  const std::vector<Tensor> bars = walk_back(tape, loss.place);
  LossAndGradients result;
  result.loss = loss.value().item();
  for (const auto& [name, parameter] : w) result.gradients[name] = bars[parameter.place];
  return result;
  // [end]
}

EXERCISE(own_gradients);

// [hint 1]
// `w` says for each name where on the tape its parameter lies. Fill it first: the ViT takes its
// parameters from there.
// [hint 2]
// walk_back returns the cotangents of all entries of the tape. Of those you want the ones at the
// places of the parameters: w.at(name).place.
// [hint 3]
// for (const auto& [name, value] : parameters) w[name] = leaf(tape, value); const Var loss =
// cross_entropy(vit(w, images, sizes), labels); bars = walk_back(tape, loss.place); loss is
// loss.value().item(), and gradients[name] = bars[w.at(name).place].
