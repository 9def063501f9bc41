#include "vitruvian/train/run/run_directory.hpp"

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/json.hpp"

#include <algorithm>
#include <ctime>
#include <sstream>
#include <system_error>

namespace vitruvian {
namespace {

namespace fs = std::filesystem;

void check_above(const fs::path& path) {
  std::error_code ignored;
  const fs::path whole = fs::weakly_canonical(fs::absolute(path), ignored);
  for (fs::path above = whole.parent_path(); above != above.parent_path();
       above = above.parent_path()) {
    if (is_run(above)) {
      fail(Exit::usage, "{} lies inside the run {}: choose another folder (--out)", path.string(),
           above.string());
    }
  }
}

// Makes the folders that are missing, and adds them to `made`, the outermost first.
void make_folders(const fs::path& path, std::vector<fs::path>& made) {
  std::vector<fs::path> missing;
  for (fs::path p = fs::absolute(path).lexically_normal(); !p.empty() && !fs::exists(p);
       p = p.parent_path()) {
    if (p.has_filename()) missing.insert(missing.begin(), p);
  }
  for (const fs::path& folder : missing) {
    if (fs::create_directory(folder)) made.push_back(folder);
  }
}

// runs/digits-20261122-154501; of several in one second the later ones have -2, -3, ... Who makes
// the folder has the name.
fs::path make_dated(const fs::path& beginning) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 32> date{};
  std::strftime(date.data(), date.size(), "-%Y%m%d-%H%M%S", &local);
  for (std::size_t n = 1;; ++n) {
    fs::path path = beginning;
    path += date.data();
    if (n > 1) path += fmt::format("-{}", n);
    if (fs::create_directory(path)) return path;
  }
}

std::string read_text(const std::string& path) {
  constexpr std::uint64_t largest = 1'000'000'000;
  return RegularFile(path, Exit::checkpoint).text(largest, "a file of a run");
}

}  // namespace

void RunDirectory::check(const fs::path& path, bool overwrite) {
  check_above(path);
  std::error_code ignored;
  if (is_run(path)) {
    if (overwrite) return;
    fail(Exit::usage,
         "{} holds a run already: --resume {} goes on with it, --overwrite puts the new one in its "
         "place, another --out leaves it alone",
         path.string(), shell_word(path.string()));
  }
  fs::path there = path;  // or as much of it as there is
  while (!there.empty() && !fs::exists(there, ignored)) there = there.parent_path();
  if (!there.empty() && !fs::is_directory(there, ignored)) {
    fail(Exit::usage, "{} is a file: a run needs a folder (--out)", there.string());
  }
  for (const char* name : names_of_run) {
    if (fs::exists(fs::symlink_status(path / name, ignored))) {
      fail(Exit::usage, "{} is there already, and no run's: choose another folder (--out)",
           (path / name).string());
    }
  }
}

RunDirectory::RunDirectory(const fs::path& path, const std::string& config, NewRun how)
    : path_(path) {
  std::vector<fs::path> made;
  bool ours = false;
  const auto undo = [&] {
    try {
      if (ours) {
        remove_results(path_);
        fs::remove(path_ / "config.json");
        fs::remove(path_ / "checkpoints");
      }
    } catch (const fs::filesystem_error&) {  // the first error is the one to tell
    }
    std::error_code ignored;
    std::reverse(made.begin(), made.end());
    for (const fs::path& folder : made) fs::remove(folder, ignored);  // unless it is not empty
  };
  try {
    how.dated ? check_above(path) : check(path, how.overwrite);
    make_folders(how.dated ? path.parent_path() : path, made);
    if (how.dated) {
      path_ = make_dated(path);
      made.push_back(path_);
    }
    lock();
    check(path_, how.overwrite);
    const bool replaces = is_run(path_);
    ours = !replaces;
    remove_leftovers(path_);
    if (replaces) remove_results(path_);
    // First: a folder with a config is a run, and whatever is missing is made when it is resumed.
    write_config(config);
    fs::create_directory(path_ / "checkpoints");
    open_files();
  } catch (const fs::filesystem_error& error) {
    undo();
    fail(Exit::failure, "the run directory {} cannot be made: {}", path_.string(),
         error.code().message());
  } catch (const Error&) {
    undo();
    throw;
  }
}

RunDirectory::RunDirectory(const fs::path& path) : path_(path) {
  std::error_code ignored;
  if (!fs::exists(path / "config.json", ignored)) {
    fail(Exit::checkpoint, "{}: no run to resume: it has no config.json", path.string());
  }
  try {
    lock();
    fs::create_directory(path / "checkpoints");
    remove_leftovers(path);
    open_files();
  } catch (const fs::filesystem_error& error) {
    fail(Exit::failure, "{}: {}", error.path1().string(), error.code().message());
  }
}

void RunDirectory::lock() {
  lock_ = FolderLock(path_.string());
  if (!lock_.taken()) return;
  fail(Exit::failure, "{}: another trainer is at work in this directory", path_.string());
}

void RunDirectory::open_files() {
  metrics_.emplace((path_ / "metrics.jsonl").string());
  timing_.emplace((path_ / "timing.jsonl").string());
}

std::string RunDirectory::config() const { return read_text((path_ / "config.json").string()); }

void RunDirectory::write_config(const std::string& config) const {
  write_file_safely((path_ / "config.json").string(), config);
}

void RunDirectory::rewind(std::uint64_t metrics_size, std::size_t epochs) {
  if (metrics_->size() < metrics_size) {
    fail(Exit::checkpoint, "{}: {} bytes, but the checkpoint was made when there were {}",
         (path_ / "metrics.jsonl").string(), metrics_->size(), metrics_size);
  }
  metrics_->cut(metrics_size);
  std::istringstream lines(read_text((path_ / "timing.jsonl").string()));
  std::uint64_t size = 0;
  for (std::string line; std::getline(lines, line) && !lines.eof(); size += line.size() + 1) {
    const auto json = parse_json<SortedJson>(line, nullptr, false);
    if (!json.is_object() || json.value("epoch", epochs + 1) > epochs) break;
  }
  timing_->cut(size);
}

// By a second name for the same file, so that at no moment there is none. Where a file system has
// no such names, the last is renamed: then the previous one is there until the new one is.
void RunDirectory::keep_last() const {
  const std::string last = checkpoint("last");
  const std::string previous = checkpoint("last.previous");
  const std::string link = previous + ".tmp";
  std::error_code error;
  if (!fs::exists(last, error)) return;
  // A process that was killed here has done it already; renaming one of two names of a file to the
  // other would do nothing, and leave both.
  if (fs::equivalent(last, previous, error)) return;
  error.clear();
  fs::remove(link, error);
  if (!error) fs::create_hard_link(last, link, error);
  if (error) {
    fs::rename(last, previous, error);
  } else {
    fs::rename(link, previous, error);
  }
  if (!error) return;
  std::error_code ignored;
  fs::remove(link, ignored);
  fail(Exit::failure, "{}: cannot be replaced: {}", previous, error.message());
}

}  // namespace vitruvian
