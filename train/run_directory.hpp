#pragma once

#include "train/append_file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace vitruvian {

/// The folder of one run:
///   config.json                        all settings, and what made the run
///   metrics.jsonl                      lines of steps and epochs; nothing that a clock decides
///   timing.jsonl                       a line an epoch: what the clock says
///   checkpoints/last.safetensors       what a resumed run goes on from; the one before it is kept
///                                      as last.previous.safetensors
///   checkpoints/best.safetensors       the weights that did best so far
///   checkpoints/epoch-0005.safetensors those of an epoch, where somebody wants them
///   model.safetensors                  the weights at the end
///   report.html                        what became of it
/// While it lives, no other process can open it: two trainers in a folder would spoil each other's
/// run. Everything throws naming the path and the reason.
class RunDirectory {
 public:
  /// Makes the folder, and its parents, and writes config.json. Files of an earlier run in it are
  /// kept, once, as *.previous. Throws (Exit::failure) when that cannot be done; a folder that was
  /// made for it is gone again then.
  RunDirectory(const std::filesystem::path& path, const std::string& config);
  /// Opens the folder of a run that is to go on, and removes what a killed process left half-done.
  /// Throws (Exit::checkpoint) when there is no run.
  explicit RunDirectory(const std::filesystem::path& path);
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  [[nodiscard]] std::string config() const;

  void append_metrics(const std::string& line) { metrics_.append(line); }
  void append_timing(const std::string& line) { timing_.append(line); }
  [[nodiscard]] std::uint64_t metrics_size() const { return metrics_.size(); }
  /// What a checkpoint says of the metrics must be on the disk before the checkpoint is.
  void sync_metrics() { metrics_.sync(); }
  /// Forgets the lines that a killed process wrote after its last checkpoint: metrics beyond a
  /// size, timings of epochs beyond one. Throws (Exit::checkpoint) when metrics.jsonl is shorter.
  void rewind(std::uint64_t metrics_size, std::size_t epochs);

  [[nodiscard]] std::string weights_path() const { return (path_ / "model.safetensors").string(); }
  [[nodiscard]] std::string checkpoint(const std::string& name) const {
    return (path_ / "checkpoints" / (name + ".safetensors")).string();
  }
  /// Makes the last checkpoint the previous one too: from here on there is always one of them.
  void keep_last() const;

 private:
  void lock();
  void open_files();

  std::filesystem::path path_;
  AppendFile metrics_, timing_;
  int lock_ = -1;
};

/// `path` itself, or model.safetensors in it when it is a folder.
std::string weights_file(const std::string& path);

}  // namespace vitruvian
