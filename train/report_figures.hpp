#pragma once

#include "datasets/loader.hpp"
#include "train/html_report.hpp"
#include "vit/model.hpp"

#include <string>
#include <vector>

namespace vitruvian::inline VITRUVIAN_PRECISION {

/// What a report shows of the inside of a model, seen on the first few of the images: filters,
/// positions, attention, rollout, norms. Where the run directory keeps the weights of epochs
/// (--save-every), also the positions from epoch to epoch.
std::vector<ReportFigure> report_figures(const VisionTransformer& model, const Loader& images,
                                         const std::string& directory);

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
