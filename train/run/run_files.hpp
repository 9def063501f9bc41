#pragma once

#include <array>
#include <filesystem>
#include <string>

// What a run consists of, and how its folder is told from others.

namespace vitruvian {

/// The names in a run's folder, the folder of checkpoints last. No other is ever written, replaced
/// or removed there.
inline constexpr std::array<const char*, 6> names_of_run{"config.json",  "metrics.jsonl",
                                                         "timing.jsonl", "model.safetensors",
                                                         "report.html",  "checkpoints"};

/// Whether a folder holds a run: a config.json that says what made it.
bool is_run(const std::filesystem::path& folder);

/// The folder of the run that a path names: a run's folder, or the one that a file of weights lies
/// in, as RUN/model.safetensors and RUN/checkpoints/best.safetensors do. Empty where there is none.
std::string run_of(const std::string& path);

/// `path` itself, or model.safetensors in it when it is a folder. Throws (Exit::checkpoint) for a
/// run that has none yet, naming what it has.
std::string weights_file(const std::string& path);

/// Removes what a killed process left half-written (core/safe_file.cpp): only whoever has the
/// folder for itself may. Throws std::filesystem::filesystem_error.
void remove_leftovers(const std::filesystem::path& run);
/// Removes a run but for its config.json, without which it would be none. Throws alike.
void remove_results(const std::filesystem::path& run);

}  // namespace vitruvian
