#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace vitruvian {

/// The folder of one run: config.json, metrics.jsonl (a line an epoch) and model.safetensors. Files
/// of an earlier run in the same folder are kept, once, as *.previous.
class RunDirectory {
 public:
  /// Makes the folder, and its parents, and writes config.json. Throws when that cannot be done,
  /// naming the path and the reason; a folder that was made for it is gone again then.
  RunDirectory(const std::filesystem::path& path, const std::string& config);

  /// Appends one line to metrics.jsonl. Throws when it cannot be written.
  void append_metrics(const std::string& line);

  [[nodiscard]] std::string weights_path() const { return (path_ / "model.safetensors").string(); }

 private:
  std::filesystem::path path_;
  std::ofstream metrics_;
};

/// `path` itself, or model.safetensors in it when it is a folder.
std::string weights_file(const std::string& path);

}  // namespace vitruvian
