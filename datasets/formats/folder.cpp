#include "vitruvian/datasets/formats/folder.hpp"

#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/datasets/fetch/file.hpp"
#include "vitruvian/media/image.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace vitruvian {
namespace {

namespace fs = std::filesystem;

// What operating systems leave in folders that people look at.
bool litter(const fs::path& path) {
  std::string name = path.filename().string();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const auto names = {
      "thumbs.db", "ehthumbs.db", "ehthumbs_vista.db", "desktop.ini", "icon\r",
      "__macosx",  "@eadir",      "$recycle.bin",      "lost+found",  "system volume information"};
  return name.starts_with('.') || std::find(names.begin(), names.end(), name) != names.end();
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = console::first_of(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

// What is in a directory and no litter, by names below it, sorted: its folders, or, with
// `fs::recursive_directory_iterator`, all files below.
template <class Iterator>
std::vector<std::string> names_in(const fs::path& directory) {
  constexpr bool below = std::is_same_v<Iterator, fs::recursive_directory_iterator>;
  std::error_code error;
  std::vector<std::string> names;
  for (Iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    std::error_code loop;  // of links: a file that cannot be read
    if (litter(at->path())) {
      if constexpr (below) at.disable_recursion_pending();
    } else if (at->is_directory(loop) != below) {
      names.push_back(at->path().lexically_relative(directory).string());
    }
  }
  if (error) fail(Exit::data, "{}: {}", directory.string(), error.message());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> classes_in(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    fail(Exit::data, "{}: {}; expected one with a folder for each class", directory.string(),
         fs::exists(directory, error) ? "a file, and no directory" : "there is no such directory");
  }
  std::vector<std::string> found = names_in<fs::directory_iterator>(directory);
  if (found.empty()) {
    fail(Exit::data, "{}: expected a folder for each class, found none", directory.string());
  }
  for (const std::string& name : found) {
    if (is_utf8(name)) continue;
    fail(Exit::data, "{}: this class cannot be kept with a model: its folder's name is not UTF-8",
         (directory / name).string());
  }
  return found;
}

Dataset about_of(const FolderOptions& options) {
  if (options.height == 0 || options.width == 0 || options.height > 4096 || options.width > 4096 ||
      (options.channels != 1 && options.channels != 3)) {
    fail(Exit::usage, "pictures of {} x {} x {} cannot be made of a folder's", options.height,
         options.width, options.channels);
  }
  Dataset about;
  about.name = "folder";
  about.channels = options.channels;
  about.height = options.height;
  about.width = options.width;
  return about;
}

}  // namespace

FolderImages::FolderImages(const fs::path& directory, const FolderOptions& options,
                           const std::vector<std::string>& classes)
    : Images(about_of(options)), directory_(directory), options_(options) {
  const std::vector<std::string> found = classes_in(directory);
  about_.class_names = classes.empty() ? found : classes;
  about_.classes = about_.class_names.size();
  std::vector<std::string> empty;
  for (const std::string& name : found) {
    const auto at = std::find(about_.class_names.begin(), about_.class_names.end(), name);
    if (at == about_.class_names.end()) {
      fail(Exit::data, "{}: there is no class '{}' among the training pictures", directory.string(),
           name);
    }
    const std::vector<std::string> files =
        names_in<fs::recursive_directory_iterator>(directory / name);
    if (files.empty()) empty.push_back((directory / name).string() + ": a class without a picture");
    for (const std::string& file : files) {
      files_.push_back({(fs::path(name) / file).string(),
                        static_cast<std::size_t>(at - about_.class_names.begin())});
    }
  }
  const std::size_t listed = files_.size() + empty.size();
  std::vector<std::string> problems = look_at_all();
  problems.insert(problems.end(), empty.begin(), empty.end());
  if (!problems.empty() && !options.skip_bad) {
    fail(Exit::data, "{}: {} of {} cannot be used (--skip-bad leaves them out): {}",
         directory.string(), problems.size(), listed, some_of(problems, "; "));
  }
  if (files_.empty()) {
    fail(Exit::data, "{}: there is no picture that can be used: {}", directory.string(),
         some_of(problems, "; "));
  }
  if (!problems.empty())
    note_ = fmt::format("{} left out: {}", problems.size(), some_of(problems, "; "));
}

std::vector<std::string> FolderImages::look_at_all() {
  const std::size_t channels = about().channels;
  const std::size_t plane = about().height * about().width;
  // Of each channel's bytes and their squares: whole numbers, whose order of summing is of no
  // account.
  using Sums = std::vector<std::array<std::uint64_t, 2>>;
  struct Seen {
    std::string problem, checksum;
    Sums sums;
  };
  std::vector<Seen> all(files_.size());
  parallel_for(files_.size(), 1, [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint8_t> pixels(channels * plane);
    for (std::size_t i = begin; i < end; ++i) {
      all[i].sums.resize(channels);
      try {
        read(i, {}, pixels.data());
        if (can_sum()) all[i].checksum = checksum_of_file(file(i));
      } catch (const Error& error) {
        if (error.exit() != Exit::data) throw;
        all[i].problem = error.what();
        continue;
      }
      for (std::size_t k = 0; k < pixels.size(); ++k) {
        auto& [sum, squares] = all[i].sums[k / plane];
        sum += pixels[k];
        squares += std::uint64_t{pixels[k]} * pixels[k];
      }
    }
  });

  std::vector<std::string> problems;
  std::vector<File> good;
  std::string lines;  // of what is good, for the checksum
  Sums sums(channels);
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (!all[i].problem.empty()) {
      problems.push_back(all[i].problem);
      continue;
    }
    good.push_back(files_[i]);
    lines += files_[i].path + '\0' + all[i].checksum + '\n';
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t k = 0; k < 2; ++k) sums[c][k] += all[i].sums[c][k];
    }
  }
  files_ = std::move(good);
  if (can_sum()) sha256_ = checksum_of(lines);
  const double n = static_cast<double>(files_.size() * plane);
  for (const auto& [sum, squares] : sums) {
    const double mean = static_cast<double>(sum) / n / 255;
    const double variance = static_cast<double>(squares) / n / (255.0 * 255) - mean * mean;
    about_.mean.push_back(mean);
    about_.std.push_back(std::max(std::sqrt(std::max(variance, 0.0)), 1.0 / 255));
  }
  return problems;
}

std::size_t FolderImages::label(std::size_t i) const {
  if (i >= size()) fail("{}: there is no image {} among {}", directory_.string(), i, size());
  return files_[i].label;
}

fs::path FolderImages::file(std::size_t i) const {
  if (i >= size()) fail("{}: there is no image {} among {}", directory_.string(), i, size());
  return directory_ / files_[i].path;
}

void FolderImages::read(std::size_t i, const ChooseBox& choose, std::uint8_t* out) const {
  const Fit fit{.height = options_.height,
                .width = options_.width,
                .channels = options_.channels,
                .part = choose};
  to_planes(read_image(file(i).string(), fit), out);
}

FolderParts folder_parts(const fs::path& directory) {
  std::error_code ignored;
  if (!fs::is_directory(directory / "train", ignored)) return {directory, {}};
  for (const char* const name : {"test", "val", "valid", "validation"}) {
    if (fs::is_directory(directory / name, ignored)) return {directory / "train", directory / name};
  }
  return {directory / "train", {}};
}

std::vector<std::string> files_below(const fs::path& directory) {
  std::vector<std::string> paths;
  for (const std::string& name : names_in<fs::recursive_directory_iterator>(directory)) {
    paths.push_back((directory / name).string());
  }
  return paths;
}

std::vector<std::string> folder_class_names(const fs::path& directory) {
  return classes_in(folder_parts(directory).train);
}

void check_several_classes(const fs::path& directory) {
  const std::vector<std::string> names = folder_class_names(directory);
  if (names.size() > 1) return;
  const fs::path only = folder_parts(directory).train / names[0];
  const bool holds_folders = !names_in<fs::directory_iterator>(only).empty();
  fail(Exit::data, "{}: one class alone, '{}', of which nothing can be learned{}",
       directory.string(), names[0],
       holds_folders ? "; it holds folders itself: --data " + only.string() + "?" : "");
}

}  // namespace vitruvian
