#include "vitruvian/train/run/profiled.hpp"

#include "vitruvian/core/parallel.hpp"
#include "vitruvian/core/pool.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// y = x, again and again, and back.
double seconds_of_chain(std::size_t length) {
  const auto begin = std::chrono::steady_clock::now();
  {
    const Tensor x(scalar(1), true);
    Tensor y = x;
    for (std::size_t i = 0; i < length; ++i) {
      y = record("same", Array(y.value()), {y},
                 [](const Node&, Array& g) { return cotangents(std::move(g)); });
    }
    y.backward();
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

double seconds_a_node() {
  constexpr std::size_t length = 2000;
  double best = seconds_of_chain(length);
  for (int i = 0; i < 10; ++i) best = std::min(best, seconds_of_chain(length));
  return best / static_cast<double>(length);
}

ProfileReport profiled(const std::function<void()>& step) {
  const OneThread one;
  ProfileReport report;
  reset_pool_peak();
  report.bytes_before = pool_bytes();
  {
    const Profile profile;
    step();
    report.ops = profile.ops();
    report.paths = profile.paths();
    report.others = profile.others();
  }
  report.peak_bytes = pool_peak_bytes();
  report.node_seconds = seconds_a_node();
  return report;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
