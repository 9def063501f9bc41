#pragma once

#include "datasets/loader.hpp"
#include "train/predictions.hpp"

#include <string>
#include <vector>

// The parts of a report that show what a model says of images.

namespace vitruvian {

/// The confusion matrix with each class's accuracy, or, where it has more than
/// `most_classes_shown`, its worst pairs; as HTML.
std::string html_confusion(const Predictions& predictions, const std::vector<std::string>& names);

/// Images with the probabilities of the likeliest classes, side by side; as HTML. Large pictures
/// are made smaller, and those of other than 1 or 3 channels left out.
std::string html_predictions(const Predictions& predictions, const Loader& images,
                             const std::vector<std::size_t>& indices);

}  // namespace vitruvian
