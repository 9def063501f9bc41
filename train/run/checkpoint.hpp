#pragma once

#include "vitruvian/nn/optim.hpp"
#include "vitruvian/train/run/checkpoint_file.hpp"

#include <string>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// Handles on what a run changes from step to step, beside its RunState.
struct RunArrays {
  std::vector<NamedParameter> model;
  Optimizer* optimizer = nullptr;
  std::vector<NamedParameter> ema;  ///< empty where there is none
};

/// Writes both as a checkpoint. Throws as write_checkpoint does.
void save_checkpoint(const std::string& path, RunState state, const RunArrays& arrays);
/// Fills the arrays from a file that was read. Throws (Exit::checkpoint), naming the file, when it
/// has not exactly their tensors, before any is changed.
void restore(const CheckpointFile& file, const RunArrays& arrays);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
