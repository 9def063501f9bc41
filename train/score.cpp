#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/train/masked.hpp"
#include "vitruvian/train/step.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

MicroBatch micro_batch(const Loader& data, std::span<const std::size_t> indices) {
  const Dataset& about = data.images().about();
  Array images = empty({indices.size(), about.channels, about.height, about.width});
  std::vector<std::size_t> labels = data.load_plain(indices, images.data());
  return {std::move(images), std::move(labels), Rng(0)};
}

Score score(const Learner& learner, const Loader& data, Predictions* predictions, Ranks& ranks,
            const std::function<bool()>& stop) {
  const std::vector<std::size_t> order = natural_order(data.size());
  const auto groups = shares(order, micro_batches_of(learner.tokens, order.size()));
  std::vector<double> losses(groups.size());
  std::vector<std::size_t> correct(groups.size());
  const std::size_t K = data.images().about().classes;
  if (predictions != nullptr) *predictions = {};
  if (!learner.classifies) predictions = nullptr;
  if (predictions != nullptr) {
    *predictions = {K, {}, std::vector<double>(data.size() * K)};
    for (const std::size_t i : order) predictions->labels.push_back(data.label(i));
  }
  const NoGrad no_grad;
  const std::size_t R = ranks.size();  // group i is rank i mod R's, carried by one thread of it
  const std::size_t own = (groups.size() + R - 1 - ranks.rank()) / R;
  parallel_for(own, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      if (stop && stop()) return;
      const std::size_t i = k * R + ranks.rank();
      MicroBatch group = micro_batch(data, groups[i]);
      group.first = groups[i].front();
      const std::vector<Question> asked = learner.ask(group, {});
      const Question& q = asked.front();
      if (predictions != nullptr && q.logits.size() != groups[i].size() * K) {
        fail("{}: its logits are {}, and the data has {} classes", learner.name,
             to_string(q.logits.shape()), K);
      }
      losses[i] = static_cast<double>(cross_entropy(q.logits, q.labels, 0, Reduction::sum).item());
      correct[i] = count_correct(q.logits.value(), q.labels);
      if (predictions == nullptr) continue;
      const Tensor p = softmax(q.logits);
      std::copy_n(p.value().data(), p.value().size(),
                  predictions->probabilities.data() + groups[i].front() * K);
    }
  });
  const auto owner = [R](std::size_t i) { return i % R; };
  exchange(ranks, losses, owner);
  exchange(ranks, correct, owner);
  if (predictions != nullptr) {
    std::vector<std::span<std::byte>> rows;
    for (const auto group : groups) {
      const auto all = std::span(predictions->probabilities);
      rows.push_back(std::as_writable_bytes(all.subspan(group.front() * K, group.size() * K)));
    }
    exchange_parts(ranks, rows, owner);
  }
  const auto n = static_cast<double>(data.size() * learner.rows);
  return {std::accumulate(losses.begin(), losses.end(), 0.0) / n,
          static_cast<double>(std::accumulate(correct.begin(), correct.end(), std::size_t{0})) / n};
}

double commonest_colour(const MaskedViT& model, const Loader& data) {
  const std::vector<std::size_t> order = natural_order(data.size());
  std::vector<std::size_t> counts(colours_of(model.vit.config.C));
  for (const auto group : shares(order, micro_batches_of(model.vit.config.T(), order.size()))) {
    MicroBatch part = micro_batch(data, group);
    part.first = group.front();
    for (const std::size_t colour : model.right(part, model.corruptions(part))) ++counts[colour];
  }
  const auto all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  return static_cast<double>(*std::max_element(counts.begin(), counts.end())) /
         static_cast<double>(all);
}

Predictions predict_all(const Learner& learner, const Loader& data, Ranks& ranks) {
  Predictions result;
  score(learner, data, &result, ranks);
  return result;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
