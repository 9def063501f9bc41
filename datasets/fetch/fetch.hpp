#pragma once

#include "vitruvian/datasets/fetch/catalogue.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace vitruvian {

struct FetchOptions {
  std::filesystem::path directory = "data";
  std::vector<std::string> mirrors{};  ///< instead of the data set's own
  std::filesystem::path from_file{};   ///< a file, or a folder of them, that is there already
  double stall_seconds = 30;           ///< a mirror that sends nothing for so long is left,
  double lowest_bytes_a_second = 500;  ///< or no more than this
  /// Told what happens: a line for people.
  std::function<void(const std::string& line)> say{};
  /// Told how far a file is; `total` is 0 where it is not known.
  std::function<void(const std::string& file, std::uint64_t bytes, std::uint64_t total)> progress{};

  /// Throws (Exit::usage) for a mirror that is no http or https address.
  void validate() const;
};

/// Brings a data set's files to `directory`: those that are there and right are left alone, a
/// partial one (name.part) is continued, each is checked against its published sum before it gets
/// its name, archives are unpacked. Throws (Exit::data) when no mirror gives the right bytes, in a
/// sentence that says which files to put where; (Exit::failure) when something cannot be written.
/// Where another process fetches into the same folder, it says so and waits for it to end.
void fetch(const PublicDataset& dataset, const FetchOptions& options);

enum class FileState { good, missing, wrong, unknown };
struct FileReport {
  std::filesystem::path path;
  FileState state = FileState::missing;
  std::string note{};  ///< what was expected and found, or ""
};

/// Compares a data set's files in `directory` with their sums: those of an archive that was
/// unpacked with the published ones, or with the SHA256SUMS that fetching wrote. `unknown` are
/// files for which there is neither.
std::vector<FileReport> verify(const PublicDataset& dataset,
                               const std::filesystem::path& directory);

}  // namespace vitruvian
