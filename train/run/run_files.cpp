#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/json.hpp"
#include "vitruvian/train/run/run_directory.hpp"
#include "vitruvian/train/settings/settings.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <string_view>
#include <system_error>
#include <vector>

namespace vitruvian {

namespace {

namespace fs = std::filesystem;

constexpr const char* checkpoints = names_of_run.back();

constexpr std::uintmax_t largest_config = 1'000'000;

// What a folder's config.json says; null where there is none that could be a run's.
SortedJson config_in(const fs::path& folder) {
  std::error_code ignored;
  const fs::path config = folder / "config.json";
  if (!fs::is_regular_file(config, ignored) || fs::file_size(config, ignored) > largest_config) {
    return nullptr;
  }
  std::ifstream file(config);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return parse_json<SortedJson>(text, nullptr, false);
}

bool is_file_of_run(const std::string& name) {
  return std::find(names_of_run.begin(), names_of_run.end() - 1, name) != names_of_run.end() - 1;
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// last, last.previous, best, and epoch-0005.
bool is_checkpoint(const std::string& name) {
  constexpr std::string_view begin = "epoch-", end = ".safetensors";
  if (!name.ends_with(end)) return false;
  const std::string_view stem(name.data(), name.size() - end.size());
  return stem == "last" || stem == "last.previous" || stem == "best" ||
         (stem.starts_with(begin) && stem.size() >= begin.size() + 4 &&
          all_digits(stem.substr(begin.size())));
}

// "last.safetensors" of "last.safetensors.4711-0.tmp", which core/base/safe_file.cpp writes first,
// and "last.previous.safetensors" of keep_last's "last.previous.safetensors.tmp"; otherwise empty.
std::string target_of_temporary(const std::string& name) {
  constexpr std::string_view end = ".tmp";
  if (!name.ends_with(end)) return "";
  const std::string stem = name.substr(0, name.size() - end.size());
  if (stem == "last.previous.safetensors") return stem;
  const std::size_t dot = stem.rfind('.');
  const std::size_t dash = stem.rfind('-');
  if (dot == std::string::npos || dash == std::string::npos || dash < dot) return "";
  const std::string_view numbers(stem);
  const bool ours =
      all_digits(numbers.substr(dot + 1, dash - dot - 1)) && all_digits(numbers.substr(dash + 1));
  return ours ? stem.substr(0, dot) : "";
}

// Removes the files of a folder whose names `belongs` knows; all others stay.
void remove_files(const fs::path& folder, const std::function<bool(const std::string&)>& belongs) {
  if (!fs::is_directory(folder)) return;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if ((entry.is_symlink() || !entry.is_directory()) &&
        belongs(entry.path().filename().string())) {
      found.push_back(entry.path());
    }
  }
  for (const fs::path& file : found) fs::remove(file);
}

}  // namespace

void remove_leftovers(const fs::path& path) {
  remove_files(path,
               [](const std::string& name) { return is_file_of_run(target_of_temporary(name)); });
  remove_files(path / checkpoints,
               [](const std::string& name) { return is_checkpoint(target_of_temporary(name)); });
}

void remove_results(const fs::path& path) {
  remove_files(path / checkpoints, is_checkpoint);
  remove_files(
      path, [](const std::string& name) { return name != "config.json" && is_file_of_run(name); });
}

bool is_run(const fs::path& folder) {
  const SortedJson json = config_in(folder);
  return json.is_object() && json.contains(made_by);
}

std::string runs_in(const fs::path& folder) {
  std::vector<std::string> runs;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (is_run(at->path())) runs.push_back(at->path().filename().string());
  }
  std::sort(runs.begin(), runs.end());
  return runs.empty() ? "" : fmt::format("; it holds the runs {}", joined(runs));
}

std::string run_of(const std::string& path) {
  const fs::path whole(path);
  if (is_run(whole)) return path;
  std::error_code ignored;
  if (fs::is_directory(whole, ignored)) return "";
  fs::path folder = whole.has_parent_path() ? whole.parent_path() : fs::path(".");
  if (is_run(folder)) return folder.string();
  if (fs::weakly_canonical(folder, ignored).filename() != checkpoints) return "";
  folder = folder.has_parent_path() ? folder.parent_path() : fs::path(folder == "." ? ".." : ".");
  return is_run(folder) ? folder.string() : "";
}

void check_no_file_of_run(const std::string& file) {
  const std::string name = fs::path(file).filename().string();
  const std::string run = run_of(file);
  if (run.empty() || is_run(file) || !(is_file_of_run(name) || is_checkpoint(name))) return;
  fail(Exit::usage, "{}: it is the run's own, which is not written over: choose another name",
       file);
}

namespace {

// The file of weights in a folder that is no run, as `weights fetch` leaves one.
std::string only_weights_in(const std::string& folder) {
  constexpr std::array kinds{".safetensors", ".npz", ".pth", ".pt"};
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string kind = entry->path().extension().string();
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) {
      found.push_back(entry->path().string());
    }
  }
  if (error) fail(Exit::checkpoint, "{}: cannot be read: {}", folder, error.message());
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    fail(Exit::checkpoint, "{}: there is no file of weights in it{}", folder, runs_in(folder));
  }
  std::sort(found.begin(), found.end());
  fail(Exit::checkpoint, "{}: it holds several files of weights: {}; name one", folder,
       joined(found));
}

}  // namespace

std::string weights_file(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  const fs::path file = fs::path(path) / "model.safetensors";
  const fs::path best = fs::path(path) / checkpoints / "best.safetensors";
  // Another project's config is no run's, but one that nobody can read is a damaged one.
  if (config_in(path).is_discarded()) {
    fail(Exit::checkpoint, "{}: damaged: it is no JSON", (fs::path(path) / "config.json").string());
  }
  if (!fs::exists(file, ignored) && is_run(path)) {
    fail(Exit::checkpoint, "{}: an unfinished run: train --resume {} goes on with it{}", path,
         shell_word(path),
         fs::exists(best, ignored) ? fmt::format("; {} has its best weights so far", best.string())
                                   : "");
  }
  return fs::exists(file, ignored) ? file.string() : only_weights_in(path);
}

namespace {

[[noreturn]] void cannot(const std::string& path, const char* action) {
  fail(Exit::failure, "{}: cannot be {}: {}", path, action, std::system_category().message(errno));
}

template <class Call>
auto unless_interrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace

AppendFile::AppendFile(const std::string& path)
    : path_(path), descriptor_(unless_interrupted([&] {
        return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
      })) {
  if (descriptor_ < 0 && errno == ELOOP) {
    fail(Exit::failure, "{}: cannot be opened: it is a symbolic link; remove it", path_);
  }
  if (descriptor_ < 0) cannot(path_, "opened");
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) cannot(path_, "looked at");
  size_ = static_cast<std::uint64_t>(status.st_size);
}

AppendFile::~AppendFile() { ::close(descriptor_); }

void AppendFile::append(std::string_view line) {
  std::string bytes(line);
  bytes += '\n';
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ::ssize_t written =
        unless_interrupted([&] { return ::write(descriptor_, rest.data(), rest.size()); });
    if (written < 0) {
      const int error = errno;
      // Half a line is worse than none; if this fails as well, a resumed run cuts the file.
      (void)!::ftruncate(descriptor_, static_cast<::off_t>(size_));
      errno = error;
      cannot(path_, "written");
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  size_ += bytes.size();
}

void AppendFile::cut(std::uint64_t size) {
  if (size == size_) return;
  if (unless_interrupted([&] { return ::ftruncate(descriptor_, static_cast<::off_t>(size)); }) !=
      0) {
    cannot(path_, "cut");
  }
  size_ = size;
}

void AppendFile::sync() {
  if (unless_interrupted([&] { return ::fsync(descriptor_); }) != 0 && errno != EINVAL) {
    cannot(path_, "brought to the disk");
  }
}

}  // namespace vitruvian
