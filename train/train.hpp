#pragma once

#include "vitruvian/core/array.hpp"
#include "vitruvian/datasets/images.hpp"
#include "vitruvian/train/learner.hpp"
#include "vitruvian/train/report.hpp"
#include "vitruvian/train/settings/options.hpp"
#include "vitruvian/train/trainer.hpp"
#include "vitruvian/train/training_data.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

// What `vitruvian train` does, for a program's own model and data:
//
//   const Net net(Rng(1));                       // anything with visit and operator()
//   TrainOptions options;
//   options.epochs = 20;
//   options.out = "runs/moons";
//   options.resume = std::filesystem::exists(options.out);
//   Progress progress;
//   train(options, net, {images_of(moons(1000, 1)), images_of(moons(200, 2))}, progress,
//         write_report);                        // of report/report.hpp; or nothing

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// One example of a data set: numbers (C, H, W) as the model takes them, and its class.
struct Sample {
  Array image;
  std::size_t label = 0;
};

/// A data set of the program's own. Pictures of 8 bits, which can be augmented, are better handed
/// over as `MemoryImages`, or as an `Images` of one's own.
struct OwnDataset {
  std::string name;                  ///< "moons"
  Shape shape;                       ///< (C, H, W) of every sample
  std::vector<std::string> classes;  ///< their names: there are as many as labels
  std::size_t size = 0;              ///< samples
  std::function<Sample(std::size_t)>
      sample;  ///< sample i < size, always the same; of several threads
};

/// Reads each sample once, on all threads, for its class and the checksum by which a resumed run
/// knows its data. Throws (Exit::data), naming the sample, for another shape than was said, a class
/// that is not there, or a number that is NaN or infinite.
std::shared_ptr<const Images> images_of(OwnDataset data);

/// Trains `learner` as `vitruvian train` trains a ViT: with threads, a run directory, checkpoints,
/// and `resume`; to the same bytes for any number of threads and interruptions. Of the
/// options, those about the built-in data sets and their model are unused, and refused where they
/// would be missed. When it returns the learner has the weights of model.safetensors: the last, or
/// the best or averaged ones, as the options say. Throws as the other `train`, and (Exit::usage)
/// for a learner whose parameters or logits cannot be right.
RunResult train(const TrainOptions& options, const Learner& learner, const ImageSplit& images,
                Observer& observer, const AtEnd& at_end = {}, Ranks& ranks = one_rank());

/// The checks of `vitruvian train --sanity`; the learner's weights stay as they were.
std::vector<SanityCheck> sanity(const TrainOptions& options, const Learner& learner,
                                const TrainingData& data);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
