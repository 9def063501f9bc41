#include "vitruvian/train/teacher.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/resample.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/train/run/run_directory.hpp"
#include "vitruvian/train/step.hpp"
#include "vitruvian/train/weights.hpp"

#include <algorithm>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

using Plane = std::vector<double>;  // of H x W, row by row

// One axis after the other: columns, then rows.
Plane resized(const Plane& plane, std::size_t H, std::size_t W, std::size_t to_H,
              std::size_t to_W) {
  if (H == to_H && W == to_W) return plane;
  const Plane narrow = along_axis(plane, antialiased(Filter::bilinear, W, to_W, 0, to_W), H, W, 1);
  return along_axis(narrow, antialiased(Filter::bilinear, H, to_H, 0, to_H), 1, H, to_W);
}

// An image's planes with another number of channels.
std::vector<Plane> with_channels(std::vector<Plane> planes, std::size_t C) {
  if (planes.size() == C) return planes;
  if (planes.size() == 1) return std::vector<Plane>(C, planes[0]);
  Plane grey(planes[0].size());
  for (std::size_t i = 0; i < grey.size(); ++i) {
    grey[i] = 0.299 * planes[0][i] + 0.587 * planes[1][i] + 0.114 * planes[2][i];
  }
  return {std::move(grey)};
}

}  // namespace

Array Teacher::as_it_takes(const Array& x) const {
  const ViTConfig& c = model.config;
  const std::size_t B = x.shape()[0], C = x.shape()[1], H = x.shape()[2], W = x.shape()[3];
  const bool seen_alike = mean == images.mean && std == images.std;
  if (seen_alike && C == c.C && H == c.H && W == c.W) return x;
  Array result = empty({B, c.C, c.H, c.W});
  for (std::size_t b = 0; b < B; ++b) {
    std::vector<Plane> planes(C, Plane(H * W));  // pixels in [0, 1]
    for (std::size_t channel = 0; channel < C; ++channel) {
      const real* const from = x.data() + (b * C + channel) * H * W;
      for (std::size_t i = 0; i < H * W; ++i) {
        planes[channel][i] =
            static_cast<double>(from[i]) * images.std[channel] + images.mean[channel];
      }
    }
    planes = with_channels(std::move(planes), c.C);
    for (std::size_t channel = 0; channel < c.C; ++channel) {
      const Plane plane = resized(planes[channel], H, W, c.H, c.W);
      real* const to = result.data() + (b * c.C + channel) * c.H * c.W;
      for (std::size_t i = 0; i < plane.size(); ++i) {
        to[i] = static_cast<real>((plane[i] - mean[channel]) / std[channel]);
      }
    }
  }
  return result;
}

std::vector<std::size_t> Teacher::say(const Tensor& x) const {
  const NoGrad no_grad;
  const Array logits = under("teacher", model, Tensor(as_it_takes(x.value()))).value();
  const std::size_t K = logits.shape()[1];
  std::vector<std::size_t> result;
  for (std::size_t b = 0; b < logits.shape()[0]; ++b) {
    const real* const row = logits.data() + b * K;
    result.push_back(static_cast<std::size_t>(std::max_element(row, row + K) - row));
  }
  return result;
}

namespace {

TrainedModel weights_of(const TrainOptions& options) {
  try {
    return load_weights(weights_file(options.teacher));
  } catch (const Error& error) {
    if (!options.resume) throw;
    fail(error.exit(), "{}; {} learned from it: --teacher FILE says where it is now", error.what(),
         options.out);
  }
}

}  // namespace

Teacher open_teacher(const TrainOptions& options, const DataConfig& images,
                     const std::function<void(const std::string&)>& note) {
  const std::string& path = options.teacher;
  TrainedModel trained = weights_of(options);
  const ViTConfig& c = trained.model.config;
  const std::size_t C = images.mean.size();
  if (c.head == Head::none) {
    fail(Exit::usage, "--teacher {}: it has no head, and names no classes to learn", path);
  }
  if (c.K != options.model.K) {
    fail(Exit::usage,
         "--teacher {}: it tells {} classes apart, and the images of {} have {}: what it says of "
         "them is no answer",
         path, c.K, images.dataset, options.model.K);
  }
  const std::vector<std::string> its = trained.data.class_names(c.K);
  const std::vector<std::string> ours = images.class_names(c.K);
  if (!its.empty() && !ours.empty() && its != ours) {
    fail(Exit::usage, "--teacher {}: its classes have other names than those of {}", path,
         images.dataset);
  }
  if (c.C != C && (std::max(c.C, C) != 3 || std::min(c.C, C) != 1)) {
    fail(Exit::usage, "--teacher {}: it takes {}, and the images have {}", path,
         counted(c.C, "channel"), C);
  }
  for (const std::string& sentence : trained.notes) note("teacher: " + sentence);
  const DataConfig its_images = normalisation(trained, {}, {}, path, note);
  std::string checksum = fmt::format("{:08x}", checksum_of(named_parameters(trained.model)));
  return {std::move(trained.model), its_images.mean, its_images.std, images, std::move(checksum)};
}

Learner learner_of(const VisionTransformer& student, const Teacher& teacher) {
  Learner learner(student);
  learner.name += ", with a teacher";
  learner.questions = [&student, &teacher](const MicroBatch& part, const Pass& pass) {
    if (pass.rng == nullptr) {
      return std::vector<Question>{{student(part.images, pass), part.labels, part.targets}};
    }
    BothLogits both;
    if (student.config.distilled) {
      both = student.both_logits(part.images, pass);
    } else {
      both.of_class = both.of_distillation = student(part.images, pass);
    }
    // 1/2 CE(Z_s, y) + 1/2 CE(Z_d, y_t)
    return std::vector<Question>{
        {both.of_class, part.labels, part.targets, 0.5},
        {both.of_distillation, teacher.say(part.images), {}, 0.5, /*smoothed=*/false}};
  };
  return learner;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
