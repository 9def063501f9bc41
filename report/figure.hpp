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
/// The product of a shape's lengths, from axis `from` on.
inline std::size_t size_of(const std::vector<std::size_t>& shape, std::size_t from = 0) {
  std::size_t n = 1;
  for (std::size_t axis = from; axis < shape.size(); ++axis) n *= shape[axis];
  return n;
}
/// nlohmann's way to a value: nested lists. NaN and infinity are written as null.
template <class Json>
void to_json(Json& json, const Numbers& numbers) {
  if (numbers.shape.empty()) {
    json = numbers.values.at(0);
    return;
  }
  json = Json::array();
  const auto part = static_cast<std::ptrdiff_t>(size_of(numbers.shape, 1));
  for (auto at = numbers.values.begin(); at != numbers.values.end(); at += part) {
    json.push_back(Numbers{{numbers.shape.begin() + 1, numbers.shape.end()}, {at, at + part}});
  }
}

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

inline Figure::File json_file(const std::string& name, const std::string& json) {
  return {name + ".json", json + "\n"};
}
inline Figure::File npy_file(const std::string& name, const Numbers& numbers) {
  return {name + ".npy", npy_of(numbers)};
}

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
