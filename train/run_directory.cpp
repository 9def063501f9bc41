#include "train/run_directory.hpp"

#include "core/error.hpp"
#include "core/regular_file.hpp"
#include "core/safe_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <cerrno>
#include <sstream>
#include <system_error>

namespace vitruvian {
namespace {

namespace fs = std::filesystem;

// The highest folder of `path` that does not exist yet: what has to be removed again if the run
// cannot begin.
fs::path first_missing(const fs::path& path) {
  fs::path missing;
  for (fs::path p = fs::absolute(path).lexically_normal(); !p.empty() && !fs::exists(p);
       p = p.parent_path()) {
    missing = p;
  }
  return missing;
}

void keep_previous(const fs::path& file) {
  if (!fs::exists(file)) return;
  fs::path kept = file;
  kept.replace_extension(".previous" + file.extension().string());
  if (fs::is_directory(kept)) fs::remove_all(kept);
  fs::rename(file, kept);
}

// Temporary files of a process that was killed: nobody else writes here, see lock().
void remove_leftovers(const fs::path& folder) {
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".tmp") leftovers.push_back(entry.path());
  }
  for (const fs::path& leftover : leftovers) fs::remove(leftover);
}

std::string read_text(const std::string& path) {
  const RegularFile file(path, Exit::checkpoint);
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read_at(0, text);
  return text;
}

}  // namespace

RunDirectory::RunDirectory(const fs::path& path, const std::string& config) : path_(path) {
  fs::path made;
  try {
    made = first_missing(path);
    fs::create_directories(path);
    lock();
    remove_leftovers(path);
    for (const char* name : {"config.json", "metrics.jsonl", "timing.jsonl", "model.safetensors",
                             "report.html", "checkpoints"}) {
      keep_previous(path / name);
    }
    fs::create_directory(path / "checkpoints");
    open_files();
    // Last: a folder with a config is a run that can be resumed.
    write_file_safely((path / "config.json").string(), config);
  } catch (const fs::filesystem_error& error) {
    std::error_code ignored;
    if (!made.empty()) fs::remove_all(made, ignored);
    if (lock_ >= 0) ::close(lock_);
    fail(Exit::failure, "the run directory {} cannot be made: {}", path.string(),
         error.code().message());
  } catch (const Error&) {
    std::error_code ignored;
    if (!made.empty()) fs::remove_all(made, ignored);
    if (lock_ >= 0) ::close(lock_);
    throw;
  }
}

RunDirectory::RunDirectory(const fs::path& path) : path_(path) {
  if (!fs::exists(path / "config.json")) {
    fail(Exit::checkpoint, "{}: no run to resume: it has no config.json", path.string());
  }
  try {
    lock();
    fs::create_directory(path / "checkpoints");
    remove_leftovers(path);
    remove_leftovers(path / "checkpoints");
    open_files();
  } catch (const fs::filesystem_error& error) {
    if (lock_ >= 0) ::close(lock_);
    fail(Exit::failure, "{}: {}", error.path1().string(), error.code().message());
  } catch (const Error&) {
    if (lock_ >= 0) ::close(lock_);
    throw;
  }
}

RunDirectory::~RunDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

// The folder itself is locked: no file of its own, and nothing to clean up after a kill.
void RunDirectory::lock() {
  do {
    lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  } while (lock_ < 0 && errno == EINTR);
  int result = lock_;
  while (lock_ >= 0 && (result = ::flock(lock_, LOCK_EX | LOCK_NB)) != 0 && errno == EINTR) {
  }
  if (result >= 0) return;
  if (lock_ >= 0 && errno == EWOULDBLOCK) {
    fail(Exit::failure, "{}: another trainer is at work in this directory", path_.string());
  }
  fail(Exit::failure, "{}: cannot be locked: {}", path_.string(),
       std::system_category().message(errno));
}

void RunDirectory::open_files() {
  metrics_ = AppendFile((path_ / "metrics.jsonl").string());
  timing_ = AppendFile((path_ / "timing.jsonl").string());
}

std::string RunDirectory::config() const { return read_text((path_ / "config.json").string()); }

void RunDirectory::rewind(std::uint64_t metrics_size, std::size_t epochs) {
  if (metrics_.size() < metrics_size) {
    fail(Exit::checkpoint, "{}: {} bytes, but the checkpoint was made when there were {}",
         (path_ / "metrics.jsonl").string(), metrics_.size(), metrics_size);
  }
  metrics_.cut(metrics_size);
  std::istringstream lines(read_text((path_ / "timing.jsonl").string()));
  std::uint64_t size = 0;
  for (std::string line; std::getline(lines, line) && !lines.eof(); size += line.size() + 1) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || json.value("epoch", epochs + 1) > epochs) break;
  }
  timing_.cut(size);
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

std::string weights_file(const std::string& path) {
  return fs::is_directory(path) ? (fs::path(path) / "model.safetensors").string() : path;
}

}  // namespace vitruvian
