#include "vitruvian/datasets/formats/folder.hpp"

#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/datasets/fetch/file.hpp"
#include "vitruvian/media/image.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <string_view>
#include <system_error>
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

// The folders in a directory, sorted by name.
std::vector<std::string> folders_in(const fs::path& directory) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    std::error_code loop;  // of links: no folder
    if (at->is_directory(loop) && !litter(at->path()))
      names.push_back(at->path().filename().string());
  }
  if (error) fail(Exit::data, "{}: {}", directory.string(), error.message());
  std::sort(names.begin(), names.end());
  return names;
}

// Everything in a folder and below that is no folder, sorted.
std::vector<std::string> files_below(const fs::path& directory) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code loop;  // of links: a file that cannot be read
    if (litter(at->path())) {
      at.disable_recursion_pending();
    } else if (!at->is_directory(loop)) {
      names.push_back(at->path().lexically_relative(directory).string());
    }
  }
  if (error) fail(Exit::data, "{}: {}", directory.string(), error.message());
  std::sort(names.begin(), names.end());
  return names;
}

// "a; b; c and 4 more".
std::string first_few(const std::vector<std::string>& all) {
  const std::size_t shown = std::min<std::size_t>(3, all.size());
  std::string text = fmt::format("{}", fmt::join(all.begin(), all.begin() + shown, "; "));
  if (all.size() > shown) text += fmt::format("; and {} more", all.size() - shown);
  return text;
}

std::vector<std::string> classes_in(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    fail(Exit::data, "{}: there is no such directory; expected one with a folder for each class",
         directory.string());
  }
  std::vector<std::string> found = folders_in(directory);
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

}  // namespace

struct FolderImages::Listing {
  std::vector<std::string> classes;
  std::vector<File> files;
  std::vector<std::string> empty;  // classes without a file
};

struct FolderImages::Check {
  std::vector<std::string> problems;  // a file's, or ""
  std::vector<std::string> checksums;
  std::vector<std::array<std::uint64_t, 2>>
      sums;  // of a channel's bytes and their squares, per file
};

FolderImages::Listing FolderImages::list(const fs::path& directory,
                                         const std::vector<std::string>& classes) {
  const std::vector<std::string> found = classes_in(directory);
  Listing listing;
  listing.classes = classes.empty() ? found : classes;
  for (const std::string& name : found) {
    const auto at = std::find(listing.classes.begin(), listing.classes.end(), name);
    if (at == listing.classes.end()) {
      fail(Exit::data, "{}: there is no class '{}' among the training pictures", directory.string(),
           name);
    }
    const auto label = static_cast<std::size_t>(at - listing.classes.begin());
    const std::vector<std::string> files = files_below(directory / name);
    if (files.empty()) listing.empty.push_back(name);
    for (const std::string& file : files) {
      listing.files.push_back({(fs::path(name) / file).string(), label});
    }
  }
  return listing;
}

Dataset FolderImages::about_of(const FolderOptions& options, const Listing& listing) {
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
  about.classes = listing.classes.size();
  about.class_names = listing.classes;
  return about;
}

FolderImages::FolderImages(const fs::path& directory, const FolderOptions& options,
                           const std::vector<std::string>& classes)
    : FolderImages(directory, options, list(directory, classes)) {}

FolderImages::FolderImages(const fs::path& directory, const FolderOptions& options, Listing listing)
    : Images(about_of(options, listing)),
      directory_(directory),
      options_(options),
      files_(std::move(listing.files)) {
  const Check result = check();
  std::vector<std::string> problems;
  std::vector<bool> used(about().classes);
  std::vector<File> good;
  const std::size_t channels = about().channels;
  std::vector<std::array<std::uint64_t, 2>> sums(channels);
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (!result.problems[i].empty()) {
      problems.push_back(result.problems[i]);
      continue;
    }
    used[files_[i].label] = true;
    good.push_back(files_[i]);
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t k = 0; k < 2; ++k) sums[c][k] += result.sums[i * channels + c][k];
    }
  }
  for (const std::string& name : listing.empty) {
    problems.push_back((directory / name).string() + ": a class without a picture");
  }
  if (!problems.empty() && !options.skip_bad) {
    fail(Exit::data, "{}: {} of {} cannot be used (--skip-bad leaves them out): {}",
         directory.string(), problems.size(), files_.size() + listing.empty.size(),
         first_few(problems));
  }
  if (good.empty()) {
    fail(Exit::data, "{}: there is no picture that can be used: {}", directory.string(),
         first_few(problems));
  }
  skipped_ = problems.size();
  if (skipped_ > 0) first_skipped_ = first_few(problems);

  if (Checksum::available()) {
    Checksum all;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (result.problems[i].empty())
        all.update(files_[i].path + '\0' + result.checksums[i] + '\n');
    }
    sha256_ = all.hex();
  }
  files_ = std::move(good);

  std::vector<double> mean, deviation;
  const double n = static_cast<double>(files_.size() * about().height * about().width);
  for (const auto& [sum, squares] : sums) {  // whole numbers: the order of summing is of no account
    mean.push_back(static_cast<double>(sum) / n / 255);
    const double variance =
        static_cast<double>(squares) / n / (255.0 * 255) - mean.back() * mean.back();
    deviation.push_back(std::max(std::sqrt(std::max(variance, 0.0)), 1.0 / 255));
  }
  set_statistics(std::move(mean), std::move(deviation));
}

FolderImages::Check FolderImages::check() const {
  const std::size_t channels = about().channels;
  const std::size_t plane = about().height * about().width;
  Check result;
  result.problems.resize(files_.size());
  result.checksums.resize(files_.size());
  result.sums.resize(files_.size() * channels);
  parallel_for(files_.size(), 1, [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint8_t> pixels(channels * plane);
    for (std::size_t i = begin; i < end; ++i) {
      try {
        read(i, {}, pixels.data());
        if (Checksum::available()) result.checksums[i] = checksum_of_file(file(i));
      } catch (const Error& error) {
        if (error.exit() != Exit::data) throw;
        result.problems[i] = error.what();
        continue;
      }
      for (std::size_t k = 0; k < pixels.size(); ++k) {
        auto& [sum, squares] = result.sums[i * channels + k / plane];
        sum += pixels[k];
        squares += std::uint64_t{pixels[k]} * pixels[k];
      }
    }
  });
  return result;
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
  to_planes(read_image(file(i).string(), fit, options_.max_pixels), out);
}

std::vector<std::string> folder_class_names(const fs::path& directory) {
  return classes_in(has_train_folder(directory) ? directory / "train" : directory);
}

bool has_train_folder(const fs::path& directory) {
  std::error_code ignored;
  return fs::is_directory(directory / "train", ignored);
}

fs::path test_folder(const fs::path& directory) {
  std::error_code ignored;
  for (const char* const name : {"test", "val"}) {
    if (fs::is_directory(directory / name, ignored)) return directory / name;
  }
  return {};
}

}  // namespace vitruvian
