#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/datasets/loader.hpp"
#include "vitruvian/report/inspect.hpp"
#include "vitruvian/train/data_config.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

namespace vitruvian {
namespace {

// The last number in a file's name, if there is one: "epoch-0003" is of epoch 3.
std::optional<std::uint64_t> number_in(const std::string& name) {
  const std::size_t end = name.find_last_of("0123456789");
  if (end == std::string::npos) return {};
  const std::size_t before = name.find_last_not_of("0123456789", end);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return std::stoull(name.substr(begin, std::min<std::size_t>(end + 1 - begin, 18)));
}

}  // namespace

void InspectOptions::validate() const {
  if (weights.empty() && strip.empty())
    fail(Exit::usage, "which weights? --weights FILE or --strip RUN names them");
  if (out.empty()) fail(Exit::usage, "which folder shall the figures go to?");
  if (count == 0) fail(Exit::usage, "--images must be at least 1");
  if (every == 0) fail(Exit::usage, "--every must be at least 1");
  if (max_pixels == 0) fail(Exit::usage, "--max-pixels must be at least 1");
  if (!images.empty() && !dataset.empty()) {
    fail(Exit::usage, "either pictures or a data set, not both");
  }
  check_normalisation(mean, std);
}

std::vector<std::string> checkpoints_of(const std::string& folder, std::size_t every) {
  namespace fs = std::filesystem;
  fs::path where = folder;
  std::error_code code;
  if (fs::is_directory(where / "checkpoints", code)) where /= "checkpoints";
  std::vector<std::pair<std::uint64_t, std::string>> found;
  for (fs::directory_iterator entry(where, code), end; !code && entry != end;
       entry.increment(code)) {
    if (entry->path().extension() != ".safetensors") continue;
    const auto number = number_in(entry->path().stem().string());
    if (number) found.emplace_back(*number, entry->path().string());
  }
  if (code) fail(exit_for(code, Exit::data), "{}: {}", where.string(), code.message());
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i % every == 0 || i + 1 == found.size()) paths.push_back(found[i].second);
  }
  return paths;
}

std::vector<std::size_t> classes_in_turn(const Loader& images, std::size_t count) {
  std::map<std::size_t, std::size_t> of_class;
  std::vector<std::size_t> turn;
  for (std::size_t i = 0; i < images.size(); ++i) turn.push_back(of_class[images.label(i)]++);
  std::vector<std::size_t> order = natural_order(images.size());
  std::stable_sort(order.begin(), order.end(),
                   [&turn](std::size_t i, std::size_t j) { return turn[i] < turn[j]; });
  order.resize(std::min(count, order.size()));
  return order;
}

}  // namespace vitruvian
