#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/ops/rows.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// -1 arrives as a number beyond all others.
void check_not_negative(const char* op,
                        std::initializer_list<std::pair<const char*, std::size_t>> numbers) {
  for (const auto& [name, n] : numbers) {
    const auto as_given = static_cast<std::ptrdiff_t>(n);
    if (as_given < 0) fail("{}: {} is {}, a negative number", op, name, as_given);
  }
}

// How many places a window has along one axis.
std::size_t places(const char* op, const char* axis, std::size_t length, std::size_t window,
                   std::size_t stride, std::size_t padding) {
  check_not_negative(op, {{"window", window}, {"stride", stride}, {"padding", padding}});
  if (window == 0 || stride == 0) {
    fail("{}: window {} and stride {} along the {} must be at least 1", op, window, stride, axis);
  }
  if (padding > (std::numeric_limits<std::size_t>::max() - length) / 2) {
    fail("{}: a padding of {} along the {} is too large", op, padding, axis);
  }
  if (length + 2 * padding < window) {
    fail("{}: a window of {} does not fit into the image's {} of {} with padding {}", op, window,
         axis, length, padding);
  }
  return (length + 2 * padding - window) / stride + 1;
}

// The sizes of an image and of the grid of its patches.
struct Grid {
  Window window;
  std::size_t B, C, H, W;
  std::size_t rows, columns;  // of the grid
  Grid(const char* op, const Shape& x, const Window& w) : window(w) {
    if (x.size() != 4) fail("{}: input {} is not (B, C, H, W)", op, to_string(x));
    B = x[0], C = x[1], H = x[2], W = x[3];
    rows = places(op, "height", H, w.height, w.stride_y, w.padding_y);
    columns = places(op, "width", W, w.width, w.stride_x, w.padding_x);
  }
  [[nodiscard]] std::size_t N() const { return rows * columns; }
  [[nodiscard]] std::size_t features() const { return C * window.height * window.width; }
};

// Calls `visit(pixels, patch, n)` for every run of n neighbours that lie both in an image (from
// offset `pixels` of x) and in its patches (B, N, features) (from offset `patch`). What a patch
// holds beyond its runs is padding. Images run in parallel, each on one thread: what `visit` writes
// must belong to its image.
template <class Visit>
void for_each_run(const Grid& grid, const Visit& visit) {
  const Window& w = grid.window;
  parallel_for(grid.B, 1, [&](std::size_t b, std::size_t /* b + 1 */) {
    std::size_t patch = b * grid.N() * grid.features();
    for (std::size_t place = 0; place < grid.N(); ++place) {
      // In the padded image; the image itself begins at (padding_y, padding_x).
      const std::size_t top = place / grid.columns * w.stride_y;
      const std::size_t left = place % grid.columns * w.stride_x;
      const std::size_t begin = std::max(left, w.padding_x);
      const std::size_t end = std::min(left + w.width, w.padding_x + grid.W);
      for (std::size_t c = b * grid.C; c < (b + 1) * grid.C; ++c) {
        for (std::size_t y = top; y < top + w.height; ++y, patch += w.width) {
          if (y < w.padding_y || y >= w.padding_y + grid.H || begin >= end) continue;
          visit((c * grid.H + y - w.padding_y) * grid.W + begin - w.padding_x, patch + begin - left,
                end - begin);
        }
      }
    }
  });
}

Array unfolded(const Array& x, const Grid& grid) {
  Array patches = zeros({grid.B, grid.N(), grid.features()});
  for_each_run(grid, [from = x.data(), to = patches.data()](std::size_t pixels, std::size_t patch,
                                                            std::size_t n) {
    std::copy_n(from + pixels, n, to + patch);
  });
  return patches;
}

// The adjoint: every pixel gets the sum of what the patches hold of it.
Array folded(const Array& patches, const Grid& grid) {
  Array x = zeros({grid.B, grid.C, grid.H, grid.W});
  for_each_run(grid, [from = patches.data(), to = x.data()](std::size_t pixels, std::size_t patch,
                                                            std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) to[pixels + i] += from[patch + i];
  });
  return x;
}

void check_conv(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (weight.rank() != 4) {
    fail("conv2d: weight {} is not (O, C, kh, kw)", to_string(weight.shape()));
  }
  if (x.rank() != 4) fail("conv2d: input {} is not (B, C, H, W)", to_string(x.shape()));
  if (x.size(1) != weight.size(1)) {
    fail("conv2d: input {} has {} channels but weight {} takes {}", to_string(x.shape()), x.size(1),
         to_string(weight.shape()), weight.size(1));
  }
  if (bias && bias.shape() != Shape{weight.size(0)}) {
    fail("conv2d: bias {} but weight {} gives {} channels", to_string(bias.shape()),
         to_string(weight.shape()), weight.size(0));
  }
}

// Square windows over the planes of (B, C, H, W), each as an image of its own.
Grid pools(const char* op, const Tensor& images, std::size_t size, std::size_t stride,
           std::size_t padding) {
  const Shape& x = given(op, "x", images).shape();
  if (x.size() != 4) fail("{}: input {} is not (B, C, H, W)", op, to_string(x));
  check_not_negative(op, {{"size", size}, {"stride", stride}, {"padding", padding}});
  if (size == 0) fail("{}: a window of side 0", op);
  if (padding > size / 2) {
    fail("{}: a padding of {} is more than half of the window's {}", op, padding, size);
  }
  if (x[2] == 0 || x[3] == 0 || std::min(x[2], x[3]) + 2 * padding < size) {
    fail("{}: a window of {} does not fit into images {} with padding {}", op, size, to_string(x),
         padding);
  }
  const std::size_t step = stride == 0 ? size : stride;
  return {op, {x[0] * x[1], 1, x[2], x[3]}, {size, size, step, step, padding, padding}};
}

}  // namespace

// y_{b,n,(c,i,j)} = x_{b,c,sy+i-p,sx+j-p}, zero outside, place n = (y, x)          dx = fold(g)
Tensor unfold(const Tensor& x, const Window& window) {
  given("unfold", "x", x);
  const Grid grid("unfold", x.shape(), window);
  return record("unfold", unfolded(x.value(), grid), {x},
                [grid](const Node&, const Array& g) { return cotangents(folded(g, grid)); });
}

// With P = unfold(x) (B, N, F), F = C kh kw, and the weight as a matrix W (O, F), for each image:
//   y = W P^T + b      dx = fold(g^T W)      dW = sum over images of g P      db = sum of g
// P is kh kw / stride^2 times the image, so it is unfolded again on the way back, not kept.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Stride& stride,
              std::size_t padding) {
  given("conv2d", "x", x);
  given("conv2d", "weight", weight);
  check_conv(x, weight, bias);
  const Grid grid("conv2d", x.shape(),
                  {weight.size(2), weight.size(3), stride.y, stride.x, padding, padding});
  if (Composed::active()) return composed::conv2d(x, weight, bias, stride, padding);
  const std::size_t O = weight.size(0);
  const std::size_t N = grid.N();
  const std::size_t F = grid.features();
  Array y = empty({grid.B, O, grid.rows, grid.columns});
  const Array patches = unfolded(x.value(), grid);
  multiply({data_of(weight), O, F}, Matrix{patches.data(), N, F}.t(), y.data(), 0, grid.B, 0,
           N * F);
  if (bias) {
    for (std::size_t row = 0; row < grid.B * O; ++row) {
      const real b = data_of(bias)[row % O];
      std::for_each_n(y.data() + row * N, N, [b](real& v) { v += b; });
    }
  }

  auto vjp = [grid, O, N, F](const Node& n, const Array& g) {
    std::optional<Array> dx;
    std::optional<Array> dw;
    std::optional<Array> db;
    if (n.needs(0)) {
      Array dp = empty({grid.B, N, F});
      multiply(Matrix{g.data(), O, N}.t(), {data_of(n, 1), O, F}, dp.data(), 0, grid.B, O * N);
      dx = folded(dp, grid);
    }
    if (n.needs(1)) {
      dw = zeros(n.in_shape(1));
      const Array p = unfolded(n.in(0), grid);
      for (std::size_t b = 0; b < grid.B; ++b) {
        multiply({g.data() + b * O * N, O, N}, {p.data() + b * N * F, N, F}, dw->data(), 1);
      }
    }
    if (n.needs(2)) {
      db = empty(n.in_shape(2));
      for (std::size_t o = 0; o < O; ++o) {
        double sum = 0;
        for (std::size_t row = o; row < grid.B * O; row += O) {
          sum = std::accumulate(g.data() + row * N, g.data() + (row + 1) * N, sum);
        }
        db->data()[o] = static_cast<real>(sum);
      }
    }
    return cotangents(std::move(dx), std::move(dw), std::move(db));
  };
  return record("conv2d", std::move(y), {x, weight, bias}, vjp);
}

// y = sum of the window / size^2                dx = g / size^2 to each pixel, from each window
Tensor avg_pool2d(const Tensor& x, std::size_t size, std::size_t stride, std::size_t padding) {
  const Grid grid = pools("avg_pool2d", x, size, stride, padding);
  const std::size_t area = size * size;
  Array y = empty({x.size(0), x.size(1), grid.rows, grid.columns});
  std::vector<double> sums(y.size());
  for_each_run(grid, [&, from = data_of(x)](std::size_t pixels, std::size_t patch, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) sums[patch / area] += static_cast<double>(from[pixels + i]);
  });
  for (std::size_t i = 0; i < sums.size(); ++i) {
    y.data()[i] = static_cast<real>(sums[i]) / static_cast<real>(area);
  }
  return record("avg_pool2d", std::move(y), {x}, [grid, area](const Node& node, const Array& g) {
    Array dx = zeros(node.in_shape(0));
    for_each_run(grid, [&](std::size_t pixels, std::size_t patch, std::size_t n) {
      const real share = g.data()[patch / area] / static_cast<real>(area);
      for (std::size_t i = 0; i < n; ++i) dx.data()[pixels + i] += share;
    });
    return cotangents(std::move(dx));
  });
}

// y = max of the window                         dx = g at the first pixel that has it, else 0
Tensor max_pool2d(const Tensor& x, std::size_t size, std::size_t stride, std::size_t padding) {
  const Grid grid = pools("max_pool2d", x, size, stride, padding);
  Array y = empty({x.size(0), x.size(1), grid.rows, grid.columns});
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::vector<std::size_t> winner(y.size(), none);
  for_each_run(grid, [&, from = data_of(x)](std::size_t pixels, std::size_t patch, std::size_t n) {
    const std::size_t place = patch / (size * size);
    for (std::size_t i = pixels; i < pixels + n; ++i) {
      real& most = y.data()[place];
      if (winner[place] == none || from[i] > most || (std::isnan(from[i]) && !std::isnan(most))) {
        most = from[i];
        winner[place] = i;
      }
    }
  });
  return record("max_pool2d", std::move(y), {x},
                [winner = std::move(winner)](const Node& n, const Array& g) {
                  Array dx = zeros(n.in_shape(0));
                  for (std::size_t i = 0; i < winner.size(); ++i)
                    dx.data()[winner[i]] += g.data()[i];
                  return cotangents(std::move(dx));
                });
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
