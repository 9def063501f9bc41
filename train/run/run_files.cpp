#include "vitruvian/train/run/run_files.hpp"

#include "vitruvian/core/error.hpp"
#include "vitruvian/train/settings/settings.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string_view>
#include <system_error>
#include <vector>

namespace vitruvian {
namespace {

namespace fs = std::filesystem;

constexpr const char* checkpoints = names_of_run.back();

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

// "last.safetensors" of "last.safetensors.4711-0.tmp", which core/safe_file.cpp writes first, and
// "last.previous.safetensors" of keep_last's "last.previous.safetensors.tmp"; otherwise empty.
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
  std::error_code ignored;
  const fs::path config = folder / "config.json";
  constexpr std::uintmax_t largest = 1'000'000;
  if (!fs::is_regular_file(config, ignored) || fs::file_size(config, ignored) > largest) {
    return false;
  }
  std::ifstream file(config);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  return json.is_object() && json.contains(made_by);
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

std::string weights_file(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  const fs::path file = fs::path(path) / "model.safetensors";
  const fs::path best = fs::path(path) / checkpoints / "best.safetensors";
  if (!fs::exists(file, ignored) && is_run(path)) {
    fail(Exit::checkpoint, "{}: an unfinished run: train --resume {} goes on with it{}", path, path,
         fs::exists(best, ignored) ? fmt::format("; {} has its best weights so far", best.string())
                                   : "");
  }
  return file.string();
}

}  // namespace vitruvian
