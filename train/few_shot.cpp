#include "vitruvian/train/few_shot.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/core/base/safe_file.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/datasets/formats/folder.hpp"
#include "vitruvian/train/ridge.hpp"
#include "vitruvian/train/run/run_directory.hpp"
#include "vitruvian/train/step.hpp"
#include "vitruvian/train/training_data.hpp"
#include "vitruvian/train/weights.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// The images of a data set, of the size that the model takes.
TrainingData images_for(const FewShotOptions& o, const ViTConfig& model) {
  if (o.dataset == "folder") check_several_classes(o.data);
  TrainOptions t = default_options(o.dataset);
  const std::size_t K = o.dataset == "folder" ? folder_class_names(o.data).size() : t.model.K;
  t.data = o.data;
  t.train_size = o.train_size;
  t.test_size = o.test_size;
  t.skip_bad = o.skip_bad;
  t.model = model;
  t.model.K = K;
  t.image_size = model.H;
  return training_data(t);
}

// y of some images of a loader, (n, D): what the head would see, or both heads on average.
std::vector<double> features_of(const VisionTransformer& model, const Loader& images,
                                std::span<const std::size_t> some) {
  const NoGrad no_grad;
  const std::size_t D = model.config.D;
  std::vector<double> result(some.size() * D);
  const auto groups = shares(some, micro_batches_of(model.config.T(), some.size()));
  parallel_for(groups.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Tensor seen = model.features(micro_batch(images, groups[i]).images);
      const Array y = (model.config.distilled ? mean(seen, {1}) : seen).value();  // of both tokens
      const auto first = static_cast<std::size_t>(groups[i].data() - some.data());
      std::copy_n(y.data(), y.size(), result.data() + first * D);
    }
  });
  return result;
}

// For each seed `most` images of every class, one after the other: the first shot of each class,
// then the second, ..., so that fewer shots are the beginning.
std::vector<std::vector<std::size_t>> draws_of(const FewShotOptions& o, const Loader& images,
                                               std::size_t most) {
  const Dataset& about = images.images().about();
  std::vector<std::vector<std::size_t>> members(about.classes);
  for (std::size_t i = 0; i < images.size(); ++i) members[images.label(i)].push_back(i);
  for (std::size_t k = 0; k < about.classes; ++k) {
    if (members[k].size() >= most) continue;
    const std::string name =
        k < about.class_names.size() ? about.class_names[k] : std::to_string(k);
    fail(Exit::usage, "--shots {}: class '{}' has {} training images", most, name,
         members[k].size());
  }
  std::vector<std::vector<std::size_t>> draws;
  for (const std::uint64_t seed : o.seeds) {
    std::vector<std::size_t> drawn(most * about.classes);
    for (std::size_t k = 0; k < about.classes; ++k) {
      const auto order = Rng(seed).fork("few-shot", {k}).permutation(members[k].size());
      for (std::size_t i = 0; i < most; ++i) drawn[i * about.classes + k] = members[k][order[i]];
    }
    draws.push_back(std::move(drawn));
  }
  return draws;
}

// The share of rows (n, D) of which the largest of W x + b is at the label; the first of equals.
double accuracy_of(const LinearMap& head, std::span<const double> x, const Loader& images) {
  const std::size_t K = head.bias.size(), D = head.weight.size() / K, n = x.size() / D;
  std::vector<std::size_t> right(n);
  constexpr std::size_t chunk = 64;
  parallel_for(n, chunk, [&](std::size_t begin, std::size_t end) {
    std::vector<double> z(K);
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t k = 0; k < K; ++k) {
        z[k] = std::inner_product(&x[i * D], &x[i * D] + D, &head.weight[k * D], head.bias[k]);
      }
      const auto guess = std::max_element(z.begin(), z.end()) - z.begin();
      right[i] = static_cast<std::size_t>(guess) == images.label(i) ? 1 : 0;
    }
  });
  return static_cast<double>(std::accumulate(right.begin(), right.end(), std::size_t{0})) /
         static_cast<double>(n);
}

// The model with this head in the place of its own.
void save_with_head(const VisionTransformer& model, const LinearMap& head, const DataConfig& data,
                    const std::string& path) {
  ViTConfig config = model.config;
  config.head = Head::linear;
  config.K = head.bias.size();
  const VisionTransformer result = undrawn(config);
  std::map<std::string, Tensor> its;
  for (const NamedParameter& p : named_parameters(model)) its.emplace(p.name, p.tensor);
  for (const NamedParameter& p : named_parameters(result)) {
    if (!p.name.starts_with("head")) {
      p.tensor.mutable_value() = its.at(p.name).value();
    } else {  // a distilled model's answer is the mean of two: both are this one
      p.tensor.mutable_value() =
          array(p.tensor.shape(), p.name.ends_with(".weight") ? head.weight : head.bias);
    }
  }
  save_weights(result, data, path);
}

}  // namespace

FewShotResult few_shot(const FewShotOptions& options,
                       const std::function<void(const std::string&)>& note) {
  options.validate();
  if (!options.out.empty()) check_no_file_of_run(options.out);
  const TrainedModel trained = load_weights(weights_file(options.weights), options.request);
  for (const std::string& sentence : trained.notes) note(sentence);
  const ViTConfig& model = trained.model.config;
  const DataConfig seen = normalisation(trained, options.mean, options.std, options.weights, note);
  const TrainingData data = images_for(options, model);
  if (!data.images.note.empty()) note(data.images.note);
  const Loader train(data.images.train,
                     {.subset = data.indices.train, .mean = seen.mean, .std = seen.std});
  const Loader test(data.images.test,
                    {.subset = data.images.test_subset, .mean = seen.mean, .std = seen.std});

  const std::size_t most = *std::max_element(options.shots.begin(), options.shots.end());
  const auto draws = draws_of(options, train, most);
  if (!options.out.empty()) check_can_write(options.out);
  const std::vector<double> of_test = features_of(trained.model, test, natural_order(test.size()));
  FewShotResult result;
  const std::size_t K = data.images.train->about().classes;
  result.dataset = options.dataset;
  result.classes = K;
  result.features = model.D;
  result.test_images = test.size();
  for (const std::size_t shots : options.shots) result.rows.push_back({shots, {}});

  for (std::size_t draw = 0; draw < draws.size(); ++draw) {
    const std::vector<double> x = features_of(trained.model, train, draws[draw]);
    std::vector<double> y(draws[draw].size() * K, -1);
    for (std::size_t i = 0; i < draws[draw].size(); ++i) y[i * K + train.label(draws[draw][i])] = 1;
    for (FewShotResult::Row& row : result.rows) {
      const std::size_t n = row.shots * K;
      const LinearMap head = ridge_regression(std::span(x).first(n * model.D),
                                              std::span(y).first(n * K), n, options.ridge);
      row.accuracies.push_back(accuracy_of(head, of_test, test));
      if (draw != 0 || row.shots != most || options.out.empty()) continue;
      DataConfig kept = data_config_of(data);
      kept.mean = seen.mean;
      kept.std = seen.std;
      save_with_head(trained.model, head, kept, options.out);
    }
  }
  return result;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
