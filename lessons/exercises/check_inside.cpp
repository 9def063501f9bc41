// The checks of exercises on what a model assumes, on other sizes, and on looking inside.

#include "lessons/exercises/judge.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {
namespace {

void convolution_matrix(Judge& judge) {
  const auto yours = judge.yours<Tensor(const std::vector<double>&, std::size_t)>();
  struct Case {
    std::vector<double> w;
    std::size_t n;
  };
  for (const Case& c :
       {Case{{2}, 2}, Case{{1, 2, 3}, 4}, Case{{1, 2, 3, 4, 5}, 7}, Case{{1, 2, 3, 4, 5}, 2}}) {
    judge.in_case(fmt::format("m = {}, n = {}", c.w.size(), c.n), [&] {
      const std::ptrdiff_t n = static_cast<std::ptrdiff_t>(c.n), m = std::ssize(c.w);
      const auto filled = [&](std::ptrdiff_t middle, bool turned, bool around) {
        Array A = zeros({c.n, c.n});
        for (std::ptrdiff_t i = 0; i < n; ++i) {
          for (std::ptrdiff_t j = 0; j < m; ++j) {
            std::ptrdiff_t k = i + j - middle;
            if (around) k = (k % n + n) % n;
            if (k < 0 || k >= n) continue;
            A(i, k) += c.w[static_cast<std::size_t>(turned ? m - 1 - j : j)];
          }
        }
        return Tensor(A);
      };
      const std::ptrdiff_t middle = (m - 1) / 2;
      judge.compare(
          "A", yours(c.w, c.n), filled(middle, false, false), "the equation says",
          {{"The kernel is turned round: here w_j meets x_{i+j−c}.", filled(middle, true, false)},
           {"The kernel begins at i; its middle should stand there.", filled(0, false, false)},
           {"It goes on at the other end; beyond the ends is zero.", filled(middle, false, true)}});
    });
  }
}

// Row by row as a product with a matrix of hat functions: another way than the exercise's.
Array hats(std::size_t n, std::size_t m, bool aligned) {
  Array w = zeros({m, n});
  for (std::size_t i = 0; i < m; ++i) {
    const double at = static_cast<double>(i), N = static_cast<double>(n),
                 M = static_cast<double>(m);
    const double y =
        aligned ? at * (N - 1) / (M - 1) : std::clamp((at + 0.5) * N / M - 0.5, 0.0, N - 1);
    for (std::size_t j = 0; j < n; ++j) {
      w(i, j) = std::max(0.0, 1 - std::abs(y - static_cast<double>(j)));
    }
  }
  return w;
}

void resize_positions(Judge& judge) {
  const auto yours = judge.yours<Tensor(const Tensor&, std::size_t, std::size_t)>();
  struct Case {
    std::size_t n, m, D;
  };
  const Case cases[] = {{2, 3, 1}, {3, 3, 2}, {3, 5, 2}, {5, 2, 2}, {4, 7, 3}};
  std::uint64_t seed = 1;
  for (const Case& c : cases) {
    const Tensor x = normal({1, 1 + c.n * c.n, c.D}, seed++);
    judge.in_case(fmt::format("{0} x {0} to {1} x {1}, D = {2}", c.n, c.m, c.D), [&] {
      const Tensor token = slice(x, 1, 0, 1);
      const auto n = static_cast<std::ptrdiff_t>(c.n), m = static_cast<std::ptrdiff_t>(c.m);
      // (D, n, n), resized on both sides to (D, m, m).
      const Tensor picture = permute(reshape(slice(x, 1, 1, slice_end), {n, n, -1}), {2, 0, 1});
      const auto joined = [&](const Tensor& resized) {
        const Tensor rows = reshape(permute(resized, {1, 2, 0}), {1, m * m, -1});
        return concat({token, rows}, 1);
      };
      const auto with = [&](const Tensor& hat) {
        return matmul(matmul(hat, picture), transpose(hat));
      };
      const Tensor hat = hats(c.n, c.m, true);
      Array nearest = hat.value();
      for (double& w : nearest) w = w > 0.5 ? 1 : 0;
      const Tensor right = joined(with(hat));
      Array without = right.value();
      for (std::size_t d = 0; d < c.D; ++d) without(0, 0, d) = 0;
      judge.compare(
          "positions", yours(x, c.n, c.m), right, "the equation says",
          {{"The class token's row is empty: it is copied as it is.", without},
           {"Corners do not stay corners here: that is the other convention, in which a pixel is a "
            "square and the grid is scaled by n / m.",
            joined(with(hats(c.n, c.m, false)))},
           {"Rows and columns are exchanged.", joined(transpose(with(hat)))},
           {"That is the nearest neighbour: mix the four around the point.",
            joined(with(nearest))}});
    });
  }
}

void rollout(Judge& judge) {
  const auto yours = judge.yours<Tensor(const std::vector<Tensor>&)>();
  struct Case {
    std::size_t L, h, T;
  };
  const Case cases[] = {{1, 1, 3}, {1, 2, 3}, {2, 1, 3}, {3, 4, 5}};
  std::uint64_t seed = 1;
  for (const Case& c : cases) {
    std::vector<Tensor> maps;
    for (std::size_t l = 0; l < c.L; ++l) {
      maps.push_back(softmax(normal({c.h, c.T, c.T}, seed++) * 2));
    }
    judge.in_case(
        fmt::format("{}, attention ({}, {}, {})", counted(c.L, "layer"), c.h, c.T, c.T), [&] {
          Array eye = zeros({c.T, c.T});
          for (std::size_t t = 0; t < c.T; ++t) eye(t, t) = 1;
          // Row i of R, one vector carried down from the last layer: eᵢᵀ Â_L ⋯ Â₁.
          const auto carried = [&](double identity, double divisor, bool reversed) {
            Array R = eye;
            for (std::size_t i = 0; i < c.T; ++i) {
              for (std::size_t step = 0; step < c.L; ++step) {
                const Array& A = maps[reversed ? step : c.L - 1 - step].value();
                std::vector<double> row(c.T, 0);
                for (std::size_t s = 0; s < c.T; ++s)
                  for (std::size_t t = 0; t < c.T; ++t) {
                    double mean = 0;
                    for (std::size_t head = 0; head < c.h; ++head) mean += A(head, s, t);
                    mean /= static_cast<double>(c.h);
                    row[t] += R(i, s) * (mean + identity * eye(s, t)) / divisor;
                  }
                for (std::size_t t = 0; t < c.T; ++t) R(i, t) = row[t];
              }
            }
            return R;
          };
          judge.compare("R", yours(maps), carried(1, 2, false), "the equation says",
                        {{"The identity is missing: every token also keeps its own state.",
                          carried(0, 1, false)},
                         {"The layers are multiplied in the wrong order: later ones from the left.",
                          carried(1, 2, true)},
                         {"The halving is missing: rows have to sum to 1.", carried(1, 1, false)}});
        });
  }
}

void relative_index(Judge& judge) {
  const auto yours = judge.yours<std::vector<std::size_t>(std::size_t)>();
  for (const std::size_t g : {1, 2, 3, 4}) {
    judge.in_case(fmt::format("g = {}", g), [&] {
      // Each pair's offset is looked up in the list of all of them.
      const auto list = [&](int slip) {
        std::vector<std::pair<int, int>> offsets;
        const int reach = static_cast<int>(g) - 1;
        for (int a = -reach; a <= reach; ++a) {
          for (int b = -reach; b <= reach; ++b) offsets.emplace_back(a, b);
        }
        std::vector<std::size_t> index;
        for (std::size_t i = 0; i < g * g; ++i) {
          for (std::size_t j = 0; j < g * g; ++j) {
            int y = static_cast<int>(i / g) - static_cast<int>(j / g);
            int x = static_cast<int>(i % g) - static_cast<int>(j % g);
            if (slip == 1) y = -y, x = -x;
            if (slip == 2) std::swap(y, x);
            const auto at = std::find(offsets.begin(), offsets.end(), std::pair(y, x));
            index.push_back(static_cast<std::size_t>(at - offsets.begin()));
          }
        }
        return index;
      };
      judge.compare_indices(
          "the numbers", yours(g), list(0),
          {{"The offset is turned round: i's place minus j's.", list(1)},
           {"Rows and columns are exchanged: raster order runs along the rows.", list(2)}});
    });
  }
}

}  // namespace

std::vector<NamedCheck> inside_checks() {
  return {{"convolution_matrix", convolution_matrix},
          {"resize_positions", resize_positions},
          {"relative_index", relative_index},
          {"rollout", rollout}};
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
