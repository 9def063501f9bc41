// The faces of the row kernels: cut the work into chunks of fixed size and hand each to the body.
#include "vitruvian/core/kernels/kernels.hpp"

#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/kernels/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace vitruvian::kernels {
namespace {

// Elements a chunk: some 10 microseconds of work.
constexpr std::size_t chunk_elements = 32768;

std::size_t chunk_rows(std::size_t n) {
  return std::max<std::size_t>(1, chunk_elements / std::max<std::size_t>(1, n));
}

template <class T>
void over_elements(typename Table<T>::Map body, const T* x, T* y, std::size_t n) {
  parallel_for(n, chunk_elements, [&](std::size_t begin, std::size_t end) {
    body(x + begin, y + begin, end - begin);
  });
}

template <class T>
void over_elements(typename Table<T>::MapVjp body, const T* x, const T* g, T* dx, std::size_t n) {
  parallel_for(n, chunk_elements, [&](std::size_t begin, std::size_t end) {
    body(x + begin, g + begin, dx + begin, end - begin);
  });
}

template <class T>
void over_rows(typename Table<T>::Rows body, const T* x, T* y, std::size_t rows, std::size_t n) {
  parallel_for(rows, chunk_rows(n), [&](std::size_t begin, std::size_t end) {
    body(x + begin * n, y + begin * n, end - begin, n);
  });
}

template <class T>
void over_rows(typename Table<T>::RowsVjp body, const T* y, const T* g, T* dx, std::size_t rows,
               std::size_t n) {
  parallel_for(rows, chunk_rows(n), [&](std::size_t begin, std::size_t end) {
    body(y + begin * n, g + begin * n, dx + begin * n, end - begin, n);
  });
}

template <class T>
void cross_entropy(const T* x, const std::size_t* labels, const T* targets, double smoothing,
                   T* loss, T* dx, std::size_t rows, std::size_t n) {
  const auto body = table<T>().cross_entropy;
  parallel_for(rows, chunk_rows(n), [&](std::size_t begin, std::size_t end) {
    body(x + begin * n, labels ? labels + begin : nullptr, targets ? targets + begin * n : nullptr,
         smoothing, loss + begin, dx + begin * n, end - begin, n);
  });
}

}  // namespace

template <class T>
void exp(const T* x, T* y, std::size_t n) {
  over_elements<T>(table<T>().exp, x, y, n);
}
template <class T>
void log(const T* x, T* y, std::size_t n) {
  over_elements<T>(table<T>().log, x, y, n);
}
template <class T>
void erf(const T* x, T* y, std::size_t n) {
  over_elements<T>(table<T>().erf, x, y, n);
}
template <class T>
void tanh(const T* x, T* y, std::size_t n) {
  over_elements<T>(table<T>().tanh, x, y, n);
}

template <class T>
void softmax(const T* x, T* y, std::size_t rows, std::size_t n) {
  over_rows<T>(table<T>().softmax, x, y, rows, n);
}
template <class T>
void softmax_vjp(const T* y, const T* g, T* dx, std::size_t rows, std::size_t n) {
  over_rows<T>(table<T>().softmax_vjp, y, g, dx, rows, n);
}
template <class T>
void log_softmax(const T* x, T* y, std::size_t rows, std::size_t n) {
  over_rows<T>(table<T>().log_softmax, x, y, rows, n);
}
template <class T>
void log_softmax_vjp(const T* y, const T* g, T* dx, std::size_t rows, std::size_t n) {
  over_rows<T>(table<T>().log_softmax_vjp, y, g, dx, rows, n);
}

template <class T>
void layer_norm(const T* x, const T* w, const T* b, double eps, T* y, T* mean, T* rstd,
                std::size_t rows, std::size_t n) {
  const auto body = table<T>().layer_norm;
  parallel_for(rows, chunk_rows(n), [&](std::size_t begin, std::size_t end) {
    body(x + begin * n, w, b, eps, y + begin * n, mean + begin, rstd + begin, end - begin, n);
  });
}
template <class T>
void layer_norm_vjp(const T* x, const T* w, const T* mean, const T* rstd, const T* g, T* dx, T* dw,
                    T* db, std::size_t rows, std::size_t n) {
  const auto body = table<T>().layer_norm_vjp;
  const std::size_t chunk = chunk_rows(n);
  const std::size_t chunks = (rows + chunk - 1) / chunk;
  // Chunk c adds into row c; the first partial sum is then the sum of all.
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
void gelu(const T* x, T* y, std::size_t n) {
  over_elements<T>(table<T>().gelu, x, y, n);
}
template <class T>
void gelu_vjp(const T* x, const T* g, T* dx, std::size_t n) {
  over_elements<T>(table<T>().gelu_vjp, x, g, dx, n);
}
template <class T>
void gelu_tanh(const T* x, T* y, std::size_t n) {
  over_elements<T>(table<T>().gelu_tanh, x, y, n);
}
template <class T>
void gelu_tanh_vjp(const T* x, const T* g, T* dx, std::size_t n) {
  over_elements<T>(table<T>().gelu_tanh_vjp, x, g, dx, n);
}

template <class T>
void bias_gelu(T* y, const T* b, T* slope, std::size_t rows, std::size_t n) {
  const auto body = table<T>().bias_gelu;
  parallel_for(rows, chunk_rows(n), [&](std::size_t begin, std::size_t end) {
    body(y + begin * n, b, slope ? slope + begin * n : nullptr, end - begin, n);
  });
}

template <class T>
void multiply(T* y, const T* x, std::size_t n) {
  const auto body = table<T>().multiply;
  parallel_for(n, chunk_elements, [&](std::size_t begin, std::size_t end) {
    body(y + begin, x + begin, end - begin);
  });
}
template <class T>
void accumulate(T* y, const T* x, std::size_t n) {
  const auto body = table<T>().accumulate;
  parallel_for(n, chunk_elements, [&](std::size_t begin, std::size_t end) {
    body(y + begin, x + begin, end - begin);
  });
}

template <class T>
void add_bias(T* y, const T* b, std::size_t rows, std::size_t n) {
  const auto body = table<T>().add_bias;
  parallel_for(rows, chunk_rows(n),
               [&](std::size_t begin, std::size_t end) { body(y + begin * n, b, end - begin, n); });
}

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
void cross_entropy(const T* x, const std::size_t* labels, double smoothing, T* loss, T* dx,
                   std::size_t rows, std::size_t n) {
  cross_entropy<T>(x, labels, nullptr, smoothing, loss, dx, rows, n);
}
template <class T>
void cross_entropy(const T* x, const T* targets, double smoothing, T* loss, T* dx, std::size_t rows,
                   std::size_t n) {
  cross_entropy<T>(x, nullptr, targets, smoothing, loss, dx, rows, n);
}

template <class T>
void adamw(T* w, const T* g, T* m, T* v, std::size_t n, const AdamWStep& step) {
  const auto t = static_cast<double>(step.t);
  const AdamWNumbers<T> numbers = {
      .keep = static_cast<T>(1 - step.lr * step.decay),
      .beta1 = static_cast<T>(step.beta1),
      .rest1 = static_cast<T>(1 - step.beta1),
      .beta2 = static_cast<T>(step.beta2),
      .rest2 = static_cast<T>(1 - step.beta2),
      .root2 = static_cast<T>(std::sqrt(1 - std::pow(step.beta2, t))),
      .eps = static_cast<T>(step.eps),
      .rate = static_cast<T>(step.lr / (1 - std::pow(step.beta1, t))),
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
  template void exp(const T*, T*, std::size_t);                                              \
  template void log(const T*, T*, std::size_t);                                              \
  template void erf(const T*, T*, std::size_t);                                              \
  template void tanh(const T*, T*, std::size_t);                                             \
  template void softmax(const T*, T*, std::size_t, std::size_t);                             \
  template void softmax_vjp(const T*, const T*, T*, std::size_t, std::size_t);               \
  template void log_softmax(const T*, T*, std::size_t, std::size_t);                         \
  template void log_softmax_vjp(const T*, const T*, T*, std::size_t, std::size_t);           \
  template void layer_norm(const T*, const T*, const T*, double, T*, T*, T*, std::size_t,    \
                           std::size_t);                                                     \
  template void layer_norm_vjp(const T*, const T*, const T*, const T*, const T*, T*, T*, T*, \
                               std::size_t, std::size_t);                                    \
  template void gelu(const T*, T*, std::size_t);                                             \
  template void gelu_vjp(const T*, const T*, T*, std::size_t);                               \
  template void gelu_tanh(const T*, T*, std::size_t);                                        \
  template void gelu_tanh_vjp(const T*, const T*, T*, std::size_t);                          \
  template void bias_gelu(T*, const T*, T*, std::size_t, std::size_t);                       \
  template void multiply(T*, const T*, std::size_t);                                         \
  template void accumulate(T*, const T*, std::size_t);                                       \
  template void add_bias(T*, const T*, std::size_t, std::size_t);                            \
  template void sum_rows(const T*, T*, std::size_t, std::size_t);                            \
  template void cross_entropy(const T*, const std::size_t*, double, T*, T*, std::size_t,     \
                              std::size_t);                                                  \
  template void cross_entropy(const T*, const T*, double, T*, T*, std::size_t, std::size_t); \
  template void adamw(T*, const T*, T*, T*, std::size_t, const AdamWStep&);                  \
  template double sum_of_squares(const T*, std::size_t)

VITRUVIAN_INSTANTIATE(float);
VITRUVIAN_INSTANTIATE(double);

}  // namespace vitruvian::kernels
