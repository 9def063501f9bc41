#pragma once

#include "vitruvian/datasets/images.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// A directory for each class, of pictures in any depth below it, as torchvision's ImageFolder has
// it: the classes are the sorted names, which must be UTF-8. What operating systems leave behind
// does not count: names that begin with a dot, Thumbs.db, desktop.ini, __MACOSX and the like.

namespace vitruvian {

struct FolderOptions {
  std::size_t height = 64, width = 64, channels = 3;
  bool skip_bad = false;  ///< leave out what cannot be used, and count it
};

/// The pictures of such a directory, decoded when they are asked for: memory holds their names
/// only.
class FolderImages : public Images {
 public:
  /// Decodes every picture once, on all threads: for what cannot be used, mean and std, and the
  /// checksum. Throws (Exit::data), naming and counting them, for files that are no pictures, are
  /// damaged or too large, and for classes without a picture; with `skip_bad` they are left out.
  /// `classes` fixes the classes and their order (those of the training pictures).
  FolderImages(const std::filesystem::path& directory, const FolderOptions& options,
               const std::vector<std::string>& classes = {});

  [[nodiscard]] std::size_t size() const override { return files_.size(); }
  [[nodiscard]] std::size_t label(std::size_t i) const override;
  void read(std::size_t i, const ChooseBox& choose, std::uint8_t* out) const override;
  [[nodiscard]] bool slow() const override { return true; }
  [[nodiscard]] std::string checksum() const override { return sha256_; }

  /// The path of picture i.
  [[nodiscard]] std::filesystem::path file(std::size_t i) const;
  /// How many files and classes were left out, and the first few by name; empty where none were.
  [[nodiscard]] const std::string& note() const { return note_; }

 private:
  struct File {
    std::string path;  // below the directory
    std::size_t label;
  };
  // Keeps the files that can be used, takes their statistics and checksum, and says what is wrong
  // with the others.
  std::vector<std::string> look_at_all();

  std::filesystem::path directory_;
  FolderOptions options_;
  std::vector<File> files_;
  std::string note_, sha256_;
};

/// The paths of all files below a directory, whatever they are, but for what operating systems
/// leave behind; sorted. Throws (Exit::data) where it cannot be read.
std::vector<std::string> files_below(const std::filesystem::path& directory);

/// The names of a folder's classes, without a look at its pictures. Throws (Exit::data) where there
/// are none.
std::vector<std::string> folder_class_names(const std::filesystem::path& directory);

/// Throws (Exit::data) where there is one class alone, of which nothing can be learned, and names
/// the folder below where that is what was meant.
void check_several_classes(const std::filesystem::path& directory);

/// Where a folder's pictures lie: in its folders train/ and test/ (or val/, valid/, validation/);
/// where there is no train/, all in itself. `test` is empty where they do not lie apart.
struct FolderParts {
  std::filesystem::path train, test;
};
FolderParts folder_parts(const std::filesystem::path& directory);

}  // namespace vitruvian
