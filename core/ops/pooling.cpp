#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/ops/given.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// Square windows over the planes of (B, C, H, W).
struct Pool {
  std::size_t planes, H, W, size, stride, padding;
  std::size_t rows, columns;  // of the result
  Shape shape;                // of the result

  Pool(const char* op, const Shape& x, std::size_t side, std::size_t step, std::size_t border)
      : size(side), stride(step == 0 ? side : step), padding(border) {
    if (x.size() != 4) fail("{}: input {} is not (B, C, H, W)", op, to_string(x));
    for (const auto& [name, n] :
         {std::pair{"size", size}, std::pair{"stride", stride}, std::pair{"padding", padding}}) {
      const auto as_given = static_cast<std::ptrdiff_t>(n);
      if (as_given < 0) fail("{}: {} is {}, a negative number", op, name, as_given);
    }
    if (size == 0) fail("{}: a window of side 0", op);
    if (padding > size / 2) {
      fail("{}: a padding of {} is more than half of the window's {}", op, padding, size);
    }
    H = x[2], W = x[3], planes = x[0] * x[1];
    if (H == 0 || W == 0 || std::min(H, W) + 2 * padding < size) {
      fail("{}: a window of {} does not fit into images {} with padding {}", op, size, to_string(x),
           padding);
    }
    rows = (H + 2 * padding - size) / stride + 1;
    columns = (W + 2 * padding - size) / stride + 1;
    shape = {x[0], x[1], rows, columns};
  }

  // Calls window(place) for every window of every plane, and after each pixel(place, offset) of the
  // pixels in it: the place in the result and the offset in x.
  template <class Open, class Pixel>
  void walk(const Open& open, const Pixel& pixel) const {
    parallel_for(planes, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t place = begin * rows * columns; place < end * rows * columns; ++place) {
        const std::size_t plane = place / (rows * columns);
        const std::size_t top = place / columns % rows * stride;  // in the padded image
        const std::size_t left = place % columns * stride;
        open(place);
        for (std::size_t y = std::max(top, padding); y < std::min(top + size, padding + H); ++y) {
          for (std::size_t x = std::max(left, padding); x < std::min(left + size, padding + W);
               ++x) {
            pixel(place, (plane * H + y - padding) * W + x - padding);
          }
        }
      }
    });
  }
};

}  // namespace

// y = sum of the window / size^2                dx = g / size^2 to each pixel, from each window
Tensor avg_pool2d(const Tensor& x, std::size_t size, std::size_t stride, std::size_t padding) {
  given("avg_pool2d", "x", x);
  const Pool pool("avg_pool2d", x.shape(), size, stride, padding);
  const auto area = static_cast<real>(size * size);
  Array y = empty(pool.shape);
  std::vector<double> sums(y.size());
  pool.walk([](std::size_t) {},
            [&, from = x.value().data()](std::size_t place, std::size_t pixel) {
              sums[place] += static_cast<double>(from[pixel]);
            });
  for (std::size_t i = 0; i < sums.size(); ++i) y.data()[i] = static_cast<real>(sums[i]) / area;
  return record("avg_pool2d", std::move(y), {x}, [pool, area](const Node& n, const Array& g) {
    Array dx = zeros(n.in_shape(0));
    pool.walk(
        [](std::size_t) {},
        [&](std::size_t place, std::size_t pixel) { dx.data()[pixel] += g.data()[place] / area; });
    return cotangents(std::move(dx));
  });
}

// y = max of the window                         dx = g at the first pixel that has it, else 0
Tensor max_pool2d(const Tensor& x, std::size_t size, std::size_t stride, std::size_t padding) {
  given("max_pool2d", "x", x);
  const Pool pool("max_pool2d", x.shape(), size, stride, padding);
  Array y = full(pool.shape, -std::numeric_limits<real>::infinity());
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::vector<std::size_t> winner(y.size());
  pool.walk([&](std::size_t place) { winner[place] = none; },
            [&, from = x.value().data()](std::size_t place, std::size_t pixel) {
              const real v = from[pixel];
              if (winner[place] == none || v > y.data()[place] ||
                  (std::isnan(v) && !std::isnan(y.data()[place]))) {
                y.data()[place] = v;
                winner[place] = pixel;
              }
            });
  return record("max_pool2d", std::move(y), {x},
                [winner = std::move(winner)](const Node& n, const Array& g) {
                  Array dx = zeros(n.in_shape(0));
                  for (std::size_t i = 0; i < winner.size(); ++i) {
                    dx.data()[winner[i]] += g.data()[i];
                  }
                  return cotangents(std::move(dx));
                });
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
