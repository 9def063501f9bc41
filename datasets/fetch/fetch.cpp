#include "vitruvian/datasets/fetch/fetch.hpp"

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/safe_file.hpp"
#include "vitruvian/datasets/fetch/file.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

namespace vitruvian {
namespace {

namespace fs = std::filesystem;

const char* const sums_file = "SHA256SUMS";

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::uint64_t bytes_of(const fs::path& path) {
  std::error_code error;
  const std::uint64_t size = fs::file_size(path, error);
  return error ? 0 : size;
}

bool has_sum(const KnownFile& file) { return !file.sha256.empty() || !file.md5.empty(); }

// What is wrong with a file, or "".
std::string difference(const KnownFile& known, const fs::path& path) {
  if (known.bytes != 0 && bytes_of(path) != known.bytes) {
    return fmt::format("expected {} bytes, found {}", known.bytes, bytes_of(path));
  }
  if (!has_sum(known)) return "";
  const bool sha = !known.sha256.empty();
  const std::string& expected = sha ? known.sha256 : known.md5;
  const std::string found = checksum_of_file(path, sha ? ChecksumKind::sha256 : ChecksumKind::md5);
  if (found.starts_with(expected)) return "";
  return fmt::format("expected {} {}, found {}", sha ? "SHA-256" : "MD5", expected, found);
}

// Archives lie in the data directory itself: the folder is what they unpack to.
fs::path place_of(const PublicDataset& dataset, const fs::path& directory) {
  return dataset.is_archive() ? directory : directory / dataset.folder;
}

class Fetch {
 public:
  Fetch(const PublicDataset& dataset, const FetchOptions& options)
      : dataset_(dataset), options_(options), place_(place_of(dataset, options.directory)) {}

  void run() {
    if (!can_sum()) {
      fail(Exit::failure, "this build cannot check what it fetches: it was made without OpenSSL");
    }
    for (const std::string& mirror : options_.mirrors) check_address(mirror);
    fs::create_directories(place_);
    FolderLock lock(place_.string());
    if (lock.taken()) {
      say("another fetch is at work in {}: waiting for it to end", place_.string());
      lock.wait();
    }
    if (dataset_.is_archive() && unpacked_is_good()) {
      return say("{} is there and right", (options_.directory / dataset_.folder).string());
    }
    for (const KnownFile& file : dataset_.files) bring(file);
    if (dataset_.is_archive()) unpack();
  }

 private:
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    if (options_.say) options_.say(fmt::format(format, std::forward<Args>(args)...));
  }

  void bring(const KnownFile& file) {
    const fs::path target = place_ / file.name;
    if (is_there(target)) {
      const std::string wrong = difference(file, target);
      if (wrong.empty()) return say_right(file, target, "is there and");
      say("{} is damaged ({}) and will be replaced", target.string(), wrong);
    }
    if (!options_.from_file.empty()) {
      take_from_file(file, target);
    } else {
      take_from_mirrors(file, target);
    }
    say_right(file, target, "is");
  }

  void say_right(const KnownFile& file, const fs::path& target, const char* is) const {
    if (has_sum(file)) return say("{} {} right", target.string(), is);
    say("{} is there; no sum of it is published: its SHA-256 is {}", target.string(),
        checksum_of_file(target));
  }

  void take_from_file(const KnownFile& file, const fs::path& target) const {
    std::error_code error;
    const bool folder = fs::is_directory(options_.from_file, error);
    const fs::path source = folder ? options_.from_file / file.name : options_.from_file;
    if (!is_there(source)) fail(Exit::data, "{}: there is no such file", source.string());
    if (!folder && dataset_.files.size() > 1) {
      fail(Exit::usage, "{} consists of {} files; --from-file takes the folder that holds them",
           dataset_.name, dataset_.files.size());
    }
    const std::string wrong = difference(file, source);
    if (!wrong.empty()) fail(Exit::data, "{}: {}", source.string(), wrong);
    const RegularFile given(source.string(), Exit::data);
    ByteStream bytes(given);
    write_bytes(target, [&bytes] { return bytes.next(); });
  }

  void take_from_mirrors(const KnownFile& file, const fs::path& target) {
    std::vector<std::string> reasons;
    if (!can_download()) {
      reasons.emplace_back("this build cannot download: it was made without libcurl");
    } else {
      for (std::string mirror : options_.mirrors.empty() ? dataset_.mirrors : options_.mirrors) {
        if (!mirror.ends_with('/')) mirror += '/';
        say("{}", without_password(mirror + file.name));
        const std::string reason = take_from(mirror + file.name, file, target);
        if (reason.empty()) return;
        say("  {}", reason);
        reasons.push_back(without_password(mirror) + ": " + reason);
      }
    }
    fail(Exit::data,
         "{}: {} could not be fetched ({}); put {} into {}, or name a place with --mirror URL or "
         "--from-file PATH",
         dataset_.name, file.name, joined(reasons, "; "), joined(names_in(dataset_.files)),
         place_.string());
  }

  // "" when the file is there, else why it is not. A download that breaks off is continued as long
  // as it gets on by a hundredth of the file each time; one that cannot be continued, or whose sum
  // is wrong, is begun again once.
  std::string take_from(const std::string& url, const KnownFile& file,
                        const fs::path& target) const {
    const fs::path part = target.string() + ".part";
    std::error_code none;
    if (fs::is_symlink(part, none)) {
      fail(Exit::failure, "{}: it is a symbolic link, which is not followed; remove it",
           part.string());
    }
    DownloadOptions how{.stall_seconds = options_.stall_seconds,
                        .lowest_bytes_a_second = options_.lowest_bytes_a_second,
                        .max_bytes = file.bytes != 0 ? file.bytes : file.at_most};
    if (options_.progress) {
      how.progress = [&](std::uint64_t bytes) { options_.progress(file.name, bytes, file.bytes); };
    }
    const auto given_up = [&part](const std::string& why) {
      if (bytes_of(part) == 0) fs::remove(part);
      return why;
    };
    int fresh_starts = 0;
    int idle = 0;
    while (true) {
      const std::uint64_t before = bytes_of(part);
      DownloadResult result{DownloadEnd::complete};
      if (before == 0 || before != file.bytes) result = download(url, part, how);
      std::string reason = result.message;
      if (result.end == DownloadEnd::complete && is_there(part)) {
        reason = difference(file, part);
        if (reason.empty()) {
          fs::rename(part, target);
          return "";
        }
      }
      if (result.end == DownloadEnd::interrupted) {
        idle = bytes_of(part) >= before + 1 + file.bytes / 100 ? 0 : idle + 1;
        if (idle == 2) return given_up(reason);
        continue;
      }
      // A part that is wrong, or cannot be continued, is of no use.
      if (result.end != DownloadEnd::refused || bytes_of(part) > how.max_bytes) fs::remove(part);
      if (result.end == DownloadEnd::refused || before == 0 || fresh_starts++ == 1) {
        return given_up(reason);
      }
    }
  }

  [[nodiscard]] bool unpacked_is_good() const {
    const auto reports = verify(dataset_, options_.directory);
    return std::all_of(reports.begin(), reports.end(),
                       [](const FileReport& r) { return r.state == FileState::good; });
  }

  void unpack() const {
    const fs::path archive = place_ / dataset_.files.front().name;
    const fs::path scratch = options_.directory / (dataset_.folder + ".part");
    fs::remove_all(scratch);
    fs::create_directories(scratch);
    try {
      unpack_into(archive, scratch);
    } catch (...) {
      std::error_code ignored;
      fs::remove_all(scratch, ignored);
      throw;
    }
    fs::remove_all(scratch);
    say("{} is unpacked", (options_.directory / dataset_.folder).string());
  }

  void unpack_into(const fs::path& archive, const fs::path& scratch) const {
    std::uint64_t bytes = 1U << 20U;  // for what else is in it
    for (const KnownFile& file : dataset_.unpacked) bytes += file.bytes;
    unpack_tar(archive, scratch, bytes);
    std::string sums;
    for (const KnownFile& file : dataset_.unpacked) {
      const fs::path path = scratch / dataset_.folder / file.name;
      if (!is_there(path)) {
        fail(Exit::data, "{}: there is no {}/{} in it", archive.string(), dataset_.folder,
             file.name);
      }
      if (bytes_of(path) != file.bytes) {
        fail(Exit::data, "{}: {}: expected {} bytes, found {}", archive.string(), file.name,
             file.bytes, bytes_of(path));
      }
      sums += checksum_of_file(path) + "  " + file.name + "\n";
    }
    const fs::path place = options_.directory / dataset_.folder;
    fs::create_directories(place);
    for (const KnownFile& file : dataset_.unpacked) {
      fs::rename(scratch / dataset_.folder / file.name, place / file.name);
    }
    write_file_safely((place / sums_file).string(), sums);
  }

  const PublicDataset& dataset_;
  const FetchOptions& options_;
  fs::path place_;
};

// The lines of a SHA256SUMS: name to sum.
std::map<std::string, std::string> written_sums(const fs::path& path) {
  std::map<std::string, std::string> sums;
  std::ifstream file(path);
  for (std::string sum, name; sums.size() < 1000 && file >> sum >> name;) sums[name] = sum;
  return sums;
}

}  // namespace

void fetch(const PublicDataset& dataset, const FetchOptions& options) {
  try {
    Fetch(dataset, options).run();
  } catch (const fs::filesystem_error& error) {  // a folder that cannot be made, and the like
    fail(Exit::failure, "{}: cannot be made, moved or removed: {}", error.path1().string(),
         error.code().message());
  }
}

std::vector<FileReport> verify(const PublicDataset& dataset, const fs::path& directory) {
  const std::vector<KnownFile>& files = dataset.is_archive() ? dataset.unpacked : dataset.files;
  // Where `fetch` puts them, or just there, if any is: the trainer looks at both too.
  const fs::path own = directory / dataset.folder;
  const bool just_there =
      !fs::is_directory(own) && std::any_of(files.begin(), files.end(), [&](const KnownFile& file) {
        return is_there(directory / file.name);
      });
  const fs::path place = just_there ? directory : own;
  const auto sums = written_sums(place / sums_file);
  std::vector<FileReport> reports;
  for (KnownFile file : files) {
    FileReport report{place / file.name};
    if (!has_sum(file)) {
      const auto written = sums.find(file.name);
      if (written != sums.end()) file.sha256 = written->second;
    }
    if (is_there(report.path)) {
      if (!has_sum(file)) {
        report.state = FileState::unknown;
        report.note = "no sum is known of it";
      } else {
        report.note = difference(file, report.path);
        report.state = report.note.empty() ? FileState::good : FileState::wrong;
      }
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace vitruvian
