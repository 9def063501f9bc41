#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

// Where the public data sets are, and what their files must be.

namespace vitruvian {

/// A file, by name and by what it must hold. Sums are hexadecimal; empty where none is published,
/// and of SHA-256 perhaps only its first digits, as PyTorch has them in its files' names.
struct KnownFile {
  std::string name;
  std::uint64_t bytes = 0;  ///< 0 where it is not known
  std::string sha256{}, md5{};
  std::uint64_t at_most = 256U << 20U;  ///< bytes, where they are not known
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

struct FetchOptions {
  std::filesystem::path directory = "data";
  std::vector<std::string> mirrors{};  ///< instead of the data set's own
  std::filesystem::path from_file{};   ///< a file, or a folder of them, that is there already
  long stall_seconds = 30;             ///< a mirror that sends no more for so long is left
  long lowest_bytes_a_second = 500;    ///< than this
  /// Told what happens: a line for people.
  std::function<void(const std::string& line)> say{};
  /// Told how far a file is; `total` is 0 where it is not known.
  std::function<void(const std::string& file, std::uint64_t bytes, std::uint64_t total)> progress{};
};

/// Brings a data set's files to `directory`: those that are there and right are left alone, a
/// partial one (name.part) is continued, each is checked against its published sum before it gets
/// its name, archives are unpacked. Throws (Exit::data) when no mirror gives the right bytes, in a
/// sentence that says which files to put where; (Exit::failure) when something cannot be written;
/// (Exit::usage) for a mirror that is no http or https address. Where another process fetches into
/// the same folder, it says so and waits for it to end.
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

// --- one file

struct DownloadOptions {
  long stall_seconds = 30;           ///< give up when no more arrives for so long
  long lowest_bytes_a_second = 500;  ///< than this
  std::uint64_t max_bytes = 0;       ///< a file that grows beyond it is cut off; 0: it may
  std::function<void(std::uint64_t bytes)> progress{};  ///< told some times a second what is there
};

enum class DownloadEnd {
  complete,       ///< as the server says: the checksum decides
  interrupted,    ///< cut, stalled or never begun; what is there can be continued
  cannot_resume,  ///< the server does not continue what is there
  refused         ///< no such file, too large, a bad address
};

struct DownloadResult {
  DownloadEnd end = DownloadEnd::refused;
  std::string message{};  ///< what went wrong, in one line
};

/// Whether this build has libcurl.
bool can_download();

/// Throws (Exit::usage) for a URL that is neither http nor https.
void check_address(const std::string& url);

/// Downloads `url` (http or https, and redirects to such, five at most) to `path`, continuing what
/// is there, in this process: who ends it ends the download. Throws as `check_address` does, and
/// (Exit::failure) where `path` cannot be written or is a symbolic link.
DownloadResult download(const std::string& url, const std::filesystem::path& path,
                        const DownloadOptions& options);

/// An address as it may be shown: without the name and the password before its host.
std::string without_password(const std::string& url);

}  // namespace vitruvian
