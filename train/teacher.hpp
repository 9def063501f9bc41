#pragma once

#include "vitruvian/train/data_config.hpp"
#include "vitruvian/train/learner.hpp"
#include "vitruvian/train/settings/options.hpp"
#include "vitruvian/vit/model.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

// Hard distillation (Touvron et al., "Training data-efficient image transformers", arXiv
// 2012.12877, equation 3): a student learns from the labels and, as much, from what a trained model
// says of the same images.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// A trained model that is asked and does not learn.
struct Teacher {
  VisionTransformer model;
  std::vector<double> mean, std;  // its own: (C)
  DataConfig images;              ///< how those are normalised that it is given
  std::string checksum;           ///< of its weights: CRC-32

  /// Images (B, C, H, W), normalised as the student takes them, as the teacher does: of its size
  /// (stretched as Pillow does it), channels (grey is repeated, colours become grey by ITU-R 601)
  /// and normalisation. Those that it would see so anyway are given back as they are.
  [[nodiscard]] Array as_it_takes(const Array& images) const;
  /// y_t: the class of each image by its largest logit, of equal ones the first. Nothing is
  /// recorded. Of several threads.
  [[nodiscard]] std::vector<std::size_t> say(const Tensor& images) const;
};

/// Opens `options.teacher` for images of this kind; what is to be known of the file `note` is told.
/// Throws as load_weights does, of a run that goes on with the way out (it may have been moved),
/// and (Exit::usage) where it has no head, or tells other classes apart.
Teacher open_teacher(const TrainOptions& options, const DataConfig& images,
                     const std::function<void(const std::string&)>& note);

/// What a run takes: with Z_s the logits of the student's class token and Z_d those of its
/// distillation token,
///   L = 1/2 CE(softmax(Z_s), y) + 1/2 CE(softmax(Z_d), y_t)                      (DeiT's Eq. 3)
/// where label smoothing and mixing are y's alone. Of a student without that token Z_d is Z_s.
/// Evaluations ask the student, not the teacher. Both must outlive it.
Learner learner_of(const VisionTransformer& student, const Teacher& teacher);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
