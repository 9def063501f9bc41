// The faces of kernels that add up over chunks, or round numbers once for all of them.
#include "vitruvian/core/kernels/kernels.hpp"

#include "vitruvian/core/base/rng.hpp"

#include <array>
#include <cmath>
#include <vector>

namespace vitruvian::kernels {

using detail::chunk_elements;
using detail::chunk_rows;

template <class T>
void sum_rows(const T* g, T* db, std::size_t rows, std::size_t n) {
  const auto body = table<T>().sum_rows;
  constexpr std::size_t columns = 64;
  const std::size_t chunk = rows * n > chunk_elements ? columns : std::max<std::size_t>(columns, n);
  parallel_for(n, chunk, [&](std::size_t begin, std::size_t end) {
    body(g + begin, db + begin, rows, n, end - begin);
  });
}

template <class T>
void layer_norm_vjp(const T* x, const T* w, const T* mean, const T* rstd, const T* g, T* dx, T* dw,
                    T* db, std::size_t rows, std::size_t n) {
  const auto body = table<T>().layer_norm_vjp;
  const std::size_t chunk = chunk_rows(n);
  const std::size_t chunks = (rows + chunk - 1) / chunk;
  // Chunk c adds into row c.
  std::vector<T> dw_parts(dw ? std::max<std::size_t>(1, chunks) * n : 0, T{0});
  std::vector<T> db_parts(db ? std::max<std::size_t>(1, chunks) * n : 0, T{0});
  parallel_for(rows, chunk, [&](std::size_t begin, std::size_t end) {
    const std::size_t part = begin / chunk * n;
    body(x + begin * n, w, mean + begin, rstd + begin, g + begin * n, dx ? dx + begin * n : nullptr,
         dw ? dw_parts.data() + part : nullptr, db ? db_parts.data() + part : nullptr, end - begin,
         n);
  });
  if (dw) sum_rows(dw_parts.data(), dw, chunks, n);
  if (db) sum_rows(db_parts.data(), db, chunks, n);
}

template <class T>
void adamw(T* w, const T* g, T* m, T* v, std::size_t n, const AdamWStep& step) {
  const auto t = static_cast<double>(step.t);
  // beta^t for 0 <= beta < 1 and t >= 1, by what every C library rounds alike.
  const auto power = [t](double beta) {
    return beta == 0 ? 0 : portable_exp(t * portable_log(beta));
  };
  const AdamWNumbers<T> numbers = {
      .keep = static_cast<T>(1 - step.lr * step.decay),
      .beta1 = static_cast<T>(step.beta1),
      .rest1 = static_cast<T>(1 - step.beta1),
      .beta2 = static_cast<T>(step.beta2),
      .rest2 = static_cast<T>(1 - step.beta2),
      .root2 = static_cast<T>(std::sqrt(1 - power(step.beta2))),
      .eps = static_cast<T>(step.eps),
      .rate = static_cast<T>(step.lr / (1 - power(step.beta1))),
  };
  const auto body = table<T>().adamw;
  parallel_for(n, chunk_elements, [&](std::size_t begin, std::size_t end) {
    body(w + begin, g + begin, m + begin, v + begin, end - begin, numbers);
  });
}

template <class T>
double sum_of_squares(const T* x, std::size_t n) {
  constexpr std::size_t most_chunks = 64;
  const std::size_t chunk = std::max(chunk_elements, (n + most_chunks - 1) / most_chunks);
  std::array<double, most_chunks> parts{};
  const auto body = table<T>().sum_of_squares;
  parallel_for(n, chunk, [&](std::size_t begin, std::size_t end) {
    parts[begin / chunk] = body(x + begin, end - begin);
  });
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

#define VITRUVIAN_INSTANTIATE(T)                                                             \
  template void sum_rows(const T*, T*, std::size_t, std::size_t);                            \
  template void layer_norm_vjp(const T*, const T*, const T*, const T*, const T*, T*, T*, T*, \
                               std::size_t, std::size_t);                                    \
  template void adamw(T*, const T*, T*, T*, std::size_t, const AdamWStep&);                  \
  template double sum_of_squares(const T*, std::size_t)

VITRUVIAN_INSTANTIATE(float);
VITRUVIAN_INSTANTIATE(double);
#undef VITRUVIAN_INSTANTIATE

}  // namespace vitruvian::kernels
