#pragma once

#include "vitruvian/core/base/safe_file.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

// What a run consists of, and how its folder is told from others.

namespace vitruvian {

/// The names in a run's folder, the folder of checkpoints last. No other is ever written, replaced
/// or removed there.
inline constexpr std::array<const char*, 6> names_of_run{"config.json",  "metrics.jsonl",
                                                         "timing.jsonl", "model.safetensors",
                                                         "report.html",  "checkpoints"};

/// Whether a folder holds a run: a config.json that says what made it.
bool is_run(const std::filesystem::path& folder);

/// Where a folder is none, but holds runs as `--seeds` leaves them: a sentence's end that names
/// them, "; it holds the runs seed-1, seed-2". Empty where it holds none.
std::string runs_in(const std::filesystem::path& folder);

/// The folder of the run that a path names: a run's folder, or the one that a file of weights lies
/// in, as RUN/model.safetensors and RUN/checkpoints/best.safetensors do. Empty where there is none.
std::string run_of(const std::string& path);

/// Throws (Exit::usage) where a file that is to be written is one of a run's own.
void check_no_file_of_run(const std::string& file);

/// `path` itself; of a folder model.safetensors in it, or the only file of weights there. Throws
/// (Exit::checkpoint) for a run that has none yet, and for a folder with none or several, naming
/// what it has.
std::string weights_file(const std::string& path);

/// Removes what a killed process left half-written (core/base/safe_file.cpp): only whoever has the
/// folder for itself may. Throws std::filesystem::filesystem_error.
void remove_leftovers(const std::filesystem::path& run);
/// Removes a run but for its config.json, without which it would be none. Throws alike.
void remove_results(const std::filesystem::path& run);

/// A file of lines that grows: each is written whole, or the file is cut back to what it was.
/// Everything throws (Exit::failure) naming the path and the reason.
class AppendFile {
 public:
  /// Opens, or makes, a file; a symbolic link in its place is refused.
  explicit AppendFile(const std::string& path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void append(std::string_view line);
  /// Forgets what is beyond `size`.
  void cut(std::uint64_t size);
  /// Brings what was appended to the disk.
  void sync();
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  std::string path_;
  int descriptor_;
  std::uint64_t size_ = 0;
};

/// How the folder of a new run is made.
struct NewRun {
  bool overwrite = false;  ///< the run that is there already gives way
  bool dated = false;      ///< the path is the beginning of a name; the date and time follow
};

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
/// These, and what a killed process left of them (core/base/safe_file.cpp), are all that it ever
/// writes, replaces or removes: whatever else lies in the folder is somebody else's. While it
/// lives, no other process can open it, where the file system knows locks: two trainers in a folder
/// would spoil each other's run. Everything throws naming the path and the reason.
class RunDirectory {
 public:
  /// Makes the folder, and its parents, and writes config.json. Throws as `check` does, and
  /// (Exit::failure) when it cannot be done; what was made for it is gone again then.
  RunDirectory(const std::filesystem::path& path, const std::string& config, NewRun how = {});
  /// Opens the folder of a run that is to go on, and removes what a killed process left half-done.
  /// Throws (Exit::checkpoint) when there is no run.
  explicit RunDirectory(const std::filesystem::path& path);
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  /// Throws (Exit::usage) where a new run may not go: into the folder of another, unless that may
  /// be overwritten; inside one; or where foreign files have the names of a run's.
  static void check(const std::filesystem::path& path, bool overwrite);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string config() const;
  void write_config(const std::string& config) const;

  void append_metrics(const std::string& line) { metrics_->append(line); }
  void append_timing(const std::string& line) { timing_->append(line); }
  [[nodiscard]] std::uint64_t metrics_size() const { return metrics_->size(); }
  /// What a checkpoint says of the metrics must be on the disk before the checkpoint is.
  void sync_metrics() { metrics_->sync(); }
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
  std::optional<AppendFile> metrics_, timing_;
  FolderLock lock_;
};

}  // namespace vitruvian
