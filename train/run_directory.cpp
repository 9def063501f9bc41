#include "train/run_directory.hpp"

#include "core/error.hpp"
#include "core/safe_file.hpp"

#include <cerrno>
#include <cstring>
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
  fs::rename(file, kept);
}

}  // namespace

RunDirectory::RunDirectory(const fs::path& path, const std::string& config) : path_(path) {
  fs::path made;
  try {
    made = first_missing(path);
    fs::create_directories(path);
    for (const char* name : {"config.json", "metrics.jsonl", "model.safetensors", "report.html"}) {
      keep_previous(path / name);
    }
    write_file_safely((path / "config.json").string(), config);
    metrics_.open(path / "metrics.jsonl", std::ios::trunc);
    if (!metrics_)
      fail(Exit::failure, "{}: {}", (path / "metrics.jsonl").string(), std::strerror(errno));
  } catch (const fs::filesystem_error& error) {
    std::error_code ignored;
    if (!made.empty()) fs::remove_all(made, ignored);
    fail(Exit::failure, "the run directory {} cannot be made: {}", path.string(),
         error.code().message());
  } catch (const Error&) {
    std::error_code ignored;
    if (!made.empty()) fs::remove_all(made, ignored);
    throw;
  }
}

void RunDirectory::append_metrics(const std::string& line) {
  metrics_ << line << '\n' << std::flush;
  if (!metrics_) {
    fail(Exit::failure, "{}: cannot be written: {}", (path_ / "metrics.jsonl").string(),
         std::strerror(errno));
  }
}

std::string weights_file(const std::string& path) {
  return fs::is_directory(path) ? (fs::path(path) / "model.safetensors").string() : path;
}

}  // namespace vitruvian
