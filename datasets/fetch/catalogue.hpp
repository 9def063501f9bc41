#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Where the public data sets are, and what their files must be.

namespace vitruvian {

/// A file, by name and by what it must hold. Sums are hexadecimal; empty where none is published.
struct KnownFile {
  std::string name;
  std::uint64_t bytes = 0;  ///< 0 where it is not known
  std::string sha256{}, md5{};
};

struct PublicDataset {
  std::string name;
  std::string about;                 ///< a line for people
  std::string folder;                ///< below the data directory: where its reader looks
  std::vector<std::string> mirrors;  ///< URLs that end in '/', the best first
  std::vector<KnownFile> files;      ///< what is fetched
  /// What an archive among the files holds below `folder`; empty where the files are read as they
  /// are.
  std::vector<KnownFile> unpacked{};

  [[nodiscard]] bool is_archive() const { return !unpacked.empty(); }
};

/// The data sets that can be fetched. cifar100-coarse is cifar100.
const std::vector<PublicDataset>& public_datasets();
/// Throws (Exit::usage), with the nearest that there is, for a name that cannot be fetched.
const PublicDataset& public_dataset(const std::string& name);

}  // namespace vitruvian
