// Exercise. Your ViT learns to read (after digits, hard)
//
// One step of training, number `step` of plan.steps (the first is 0):
//
//   1. the gradients of the batch, of all parameters: state[name].w is the parameter `name`;
//   2. clipped, all together, to the length plan.max_norm;
//   3. the learning rate of this step: plan.rates.eta times the schedule's factor;
//   4. a step of AdamW for each parameter. Its weight decay is for matrices only: for names that
//      end in "weight" and stand not in a layer norm (is_matrix says so), λ is 0 for all others.
//
// Return the loss, as it was before the step. The check then trains with it, on 40,000 drawn
// digits, which takes half a minute. It must read 95 of 100 digits that it has never seen. What it
// learned is written beside this file: `vitruvian predict` and the explorer can read it, and it is
// yours.
//
// Parts: walk_back unbroadcast linear own_linear softmax cross_entropy gelu layer_norm patches
// class_token attention attention_vjp split_heads own_mlp own_heads own_block own_vit own_gradients
// adamw schedule clipping

#include "lessons/exercises/parts.hpp"

using namespace vitruvian;

static bool is_matrix(const std::string& name) {
  return name.ends_with("weight") && name.find("norm") == std::string::npos;
}

double own_training_step(TrainingState& state, const Tensor& images,
                         const std::vector<std::size_t>& labels, std::size_t step,
                         const TrainingPlan& plan) {
  // [gap]
  //| // Yours: gradients, clip, warmup_cosine, adamw_step; see parts.hpp. `clip` changes a
  //| // std::vector<Array>; t.value() is the array of a Tensor, Tensor(array) the way back.
  //| static_cast<void>(is_matrix);
  //| return 0;
  // [solution]
  Parameters parameters;
  for (const auto& [name, of_one] : state) parameters[name] = of_one.w;
  const LossAndGradients batch = gradients(parameters, images, labels, plan.sizes);

  std::vector<Array> clipped;
  for (const auto& [name, g] : batch.gradients) clipped.push_back(g.value());
  clip(clipped, plan.max_norm);

  AdamWRates rates = plan.rates;
  rates.eta *= warmup_cosine(step, plan.steps, plan.warmup);
  std::size_t i = 0;
  for (auto& [name, of_one] : state) {  // in the order of their names, as batch.gradients
    rates.lambda = is_matrix(name) ? plan.rates.lambda : 0;
    of_one = adamw_step(of_one, Tensor(clipped[i++]), rates);
  }
  return batch.loss;
  // [end]
}

EXERCISE(own_training_step);

// [hint 1]
// Four calls, in the order of the task. Both maps are sorted by name: going through one and then
// through the other meets the parameters in the same order.
// [hint 2]
// For `clip`, collect the gradients' arrays in one vector: clipped.push_back(g.value()). It changes
// them in place. The rates of this step are a copy of plan.rates with another eta.
// [hint 3]
// rates.eta = plan.rates.eta * warmup_cosine(step, plan.steps, plan.warmup); for each parameter:
// rates.lambda = is_matrix(name) ? plan.rates.lambda : 0; of_one = adamw_step(of_one,
// Tensor(clipped[i++]), rates);
