#pragma once

#include "vitruvian/charts/chart.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace vitruvian {

/// Numbers with a shape, in either precision's stead.
struct Numbers {
  std::vector<std::size_t> shape;
  std::vector<double> values;  ///< row-major
};
/// The bytes of a .npy file, version 1.0, '<f8': what numpy.load reads.
std::string npy_of(const Numbers& numbers);
/// Nested lists; NaN and infinity become null.
std::string json_of(const Numbers& numbers);
std::string json_list(const std::vector<double>& values);
std::string json_number(double value);
/// A path or a name, in quotes.
std::string json_string(const std::string& text);

/// A drawing, and the numbers it shows.
struct Figure {
  struct File {
    std::string name, content;
  };
  std::string name;   ///< of its files: "rollout"
  std::string title;  ///< "Attention rollout"
  std::string text;   ///< what is seen and how it was computed, in sentences
  Drawing drawing{};  ///< none for what is text alone
  std::vector<File> files = {};
  std::optional<Image> small = {};  ///< for a terminal
  std::string words = {};           ///< for a terminal, and for the page where there is no drawing
};

/// The figure as a part of a page, with links to its files where these lie beside the page; empty
/// where there is nothing to see.
std::string html_figure(const Figure& figure, bool links);

/// The folder that figures go to, with a page that shows them all.
class FigureFolder {
 public:
  /// Makes the folder, and its parents, and sees whether files can be made in it. Throws
  /// (Exit::failure), naming the path and the reason. A folder that was made and never written to
  /// is gone again with the object.
  explicit FigureFolder(std::filesystem::path path);
  ~FigureFolder();
  FigureFolder(const FigureFolder&) = delete;
  FigureFolder& operator=(const FigureFolder&) = delete;

  /// Writes every figure as NAME.svg and its files, each safely, and index.html when all are there.
  /// Returns the names of what was written.
  std::vector<std::string> write(const std::string& title, const std::string& subtitle,
                                 const std::vector<Figure>& figures);

 private:
  std::filesystem::path path_, made_;
};

}  // namespace vitruvian
