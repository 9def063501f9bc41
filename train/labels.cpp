#include "vitruvian/train/labels.hpp"

#include "vitruvian/core/error.hpp"
#include "vitruvian/core/regular_file.hpp"

#include <sstream>

namespace vitruvian {

std::vector<std::string> read_labels(const std::string& path, std::size_t K) {
  constexpr std::uint64_t largest = 16U << 20U;
  const RegularFile file(path, Exit::data);
  if (file.size() > largest)
    fail(Exit::data, "{}: {} bytes are no list of names", path, file.size());
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read_at(0, text);
  std::vector<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    for (char& c : line) {
      if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    }
    names.push_back(line);
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  if (names.size() != K) {
    fail(Exit::data, "{}: {} lines, but the model has {} classes", path, names.size(), K);
  }
  return names;
}

}  // namespace vitruvian
