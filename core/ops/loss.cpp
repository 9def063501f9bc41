#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/ops/rows.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// The mean of no losses is 0 / 0, as PyTorch's.
Array reduced(Array losses, Reduction reduction) {
  if (reduction == Reduction::none) return losses;
  double sum = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) sum += double{losses.data()[i]};
  if (reduction == Reduction::mean) sum /= static_cast<double>(losses.size());
  return scalar(static_cast<real>(sum));
}

// The cotangent of loss i of n, given that of the reduced loss.
real cotangent_of(const Array& g, std::size_t i, std::size_t n, Reduction reduction) {
  if (reduction == Reduction::none) return g.data()[i];
  return reduction == Reduction::sum ? *g.data() : *g.data() / static_cast<real>(n);
}

void check_rank(const char* op, const char* name, const Tensor& x) {
  given(op, name, x);
  if (x.rank() != 2) fail("{}: {} {} is not (B, K)", op, name, to_string(x.shape()));
}

void check_labels(const char* op, const char* name, const Tensor& x, const Indices& labels,
                  std::optional<std::ptrdiff_t> ignored = {}) {
  check_rank(op, name, x);
  if (labels.shape() != Shape{x.size(0)}) {
    fail("{}: {} {} needs {} labels, not {}", op, name, to_string(x.shape()), x.size(0),
         labels.shape().size() == 1 ? std::to_string(labels.size()) : to_string(labels.shape()));
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels.values()[i] >= x.size(1) && labels[i] != ignored) {
      fail("{}: label {} at index {} is not in [0, {})", op, labels[i], i, x.size(1));
    }
  }
}

void check_smoothing(double e) {
  if (!(e >= 0 && e <= 1)) fail("cross_entropy: label smoothing {} is not in [0, 1]", e);
}

// The losses of rows, from their slopes, d(loss of a row) / d(its elements). A row has one loss: of
// bce_with_logits it is an element.
//   dx = slope g, where g is that of the row
Tensor losses_of(const char* op, const Tensor& x, Array losses, Array slope, Reduction reduction) {
  auto vjp = [rows = losses.size(), slope = std::move(slope), reduction](const Node&,
                                                                         const Array& g) {
    Array dx = empty(slope.shape());
    const std::size_t n = slope.size() / std::max<std::size_t>(1, rows);
    for (std::size_t row = 0; row < rows; ++row) {
      const real g_row = cotangent_of(g, row, rows, reduction);
      for (std::size_t i = row * n; i < (row + 1) * n; ++i) {
        dx.data()[i] = slope.data()[i] * g_row;
      }
    }
    return cotangents(std::move(dx));
  };
  return record(op, reduced(std::move(losses), reduction), {x}, std::move(vjp));
}

// For both kinds of target: `Target` is what the kernel takes.
template <class Target>
Tensor cross_entropy_of(const Tensor& logits, const Target* targets, double e,
                        Reduction reduction) {
  const std::size_t B = logits.size(0);
  const std::size_t K = logits.size(1);
  Array losses = empty({B});
  Array slope = empty({B, K});
  kernels::cross_entropy(data_of(logits), targets, e, losses.data(), slope.data(), B, K);
  return losses_of("cross_entropy", logits, std::move(losses), std::move(slope), reduction);
}

}  // namespace

// loss = -sum_k t_k log softmax(x)_k,  t = (1 - e) target + e / K
//   dx = g (softmax(x) sum(t) - t)
Tensor cross_entropy(const Tensor& logits, const Indices& labels, double label_smoothing,
                     Reduction reduction) {
  check_labels("cross_entropy", "logits", logits, labels);
  check_smoothing(label_smoothing);
  if (Composed::active()) {
    return composed::cross_entropy(logits, labels, label_smoothing, reduction);
  }
  return cross_entropy_of(logits, labels.values().data(), label_smoothing, reduction);
}

template <std::same_as<Array> Targets>
Tensor cross_entropy(const Tensor& logits, const Targets& targets, double label_smoothing,
                     Reduction reduction) {
  check_rank("cross_entropy", "logits", logits);
  check_smoothing(label_smoothing);
  if (targets.shape() != logits.shape()) {
    fail("cross_entropy: targets {} but logits {}", to_string(targets.shape()),
         to_string(logits.shape()));
  }
  if (Composed::active() && logits.size(1) != 0) {
    return composed::cross_entropy(logits, targets, label_smoothing, reduction);
  }
  return cross_entropy_of(logits, targets.data(), label_smoothing, reduction);
}

template Tensor cross_entropy(const Tensor&, const Array&, double, Reduction);

// With the target t of a row as above and c_k = w_k t_k, 0 in rows left out:
//   loss = -sum_k c_k log p_k, p = softmax(x)             dx = g (p sum(c) - c)
// and the mean is the sum over the sum of w_label of the rows that count.
Tensor cross_entropy(const Tensor& logits, const Indices& labels,
                     const CrossEntropyOptions& options) {
  check_labels("cross_entropy", "logits", logits, labels, options.ignore_index);
  check_smoothing(options.label_smoothing);
  const std::size_t B = logits.size(0);
  const std::size_t K = logits.size(1);
  const real* const w = data_of(options.weights);
  if (w != nullptr && options.weights.shape() != Shape{K}) {
    fail("cross_entropy: weights {} but logits {}", to_string(options.weights.shape()),
         to_string(logits.shape()));
  }
  const double e = options.label_smoothing;
  const auto weight = [w](std::size_t k) { return w == nullptr ? 1.0 : static_cast<double>(w[k]); };
  Array losses = zeros({B});
  Array slope = empty({B, K});  // log p, then d(loss of a row) / d(its logits)
  kernels::log_softmax(data_of(logits), slope.data(), B, K);
  double counted = 0;
  std::vector<bool> left_out(B);
  std::vector<double> c(K);
  for (std::size_t b = 0; b < B; ++b) {
    real* const row = slope.data() + b * K;
    const bool ignored = labels[b] == options.ignore_index;
    left_out[b] = ignored;
    double sum_c = 0;
    double loss = 0;
    for (std::size_t k = 0; k < K; ++k) {
      const double one_hot = k == labels.values()[b] ? 1 - e : 0;
      c[k] = ignored ? 0 : weight(k) * (one_hot + e / static_cast<double>(K));
      sum_c += c[k];
      if (c[k] != 0) loss -= c[k] * static_cast<double>(row[k]);  // not 0 times -inf
    }
    if (!ignored) counted += weight(labels.values()[b]);
    losses.data()[b] = static_cast<real>(loss);
    for (std::size_t k = 0; k < K; ++k) {
      const double p = std::exp(static_cast<double>(row[k]));
      row[k] = static_cast<real>(p * sum_c - c[k]);
    }
  }
  const bool each = options.reduction == Reduction::none;
  const double divisor = options.reduction == Reduction::mean ? counted : 1;
  auto vjp = [B, K, each, divisor, left_out, slope = std::move(slope)](const Node&,
                                                                       const Array& g) {
    Array dx = zeros({B, K});
    for (std::size_t i = 0; i < dx.size(); ++i) {
      if (left_out[i / K]) continue;  // not 0 / 0 where no row counts
      const auto g_b = static_cast<double>(g.data()[each ? i / K : 0]);
      dx.data()[i] = static_cast<real>(static_cast<double>(slope.data()[i]) * g_b / divisor);
    }
    return cotangents(std::move(dx));
  };
  Array value = reduced(std::move(losses), each ? Reduction::none : Reduction::sum);
  if (!each) *value.data() = static_cast<real>(static_cast<double>(*value.data()) / divisor);
  return record("cross_entropy", std::move(value), {logits}, std::move(vjp));
}

// loss = -x[label]                                      dx = -g at the label, 0 elsewhere
Tensor nll_loss(const Tensor& log_probabilities, const Indices& indices, Reduction reduction) {
  check_labels("nll_loss", "log_probabilities", log_probabilities, indices);
  if (Composed::active()) return composed::nll_loss(log_probabilities, indices, reduction);
  const std::vector<std::size_t>& labels = indices.values();
  const std::size_t K = log_probabilities.size(1);
  Array losses = empty({labels.size()});
  for (std::size_t b = 0; b < labels.size(); ++b) {
    losses.data()[b] = -data_of(log_probabilities)[b * K + labels[b]];
  }
  auto vjp = [labels, K, reduction](const Node& n, const Array& g) {
    Array dx = zeros(n.in_shape(0));
    for (std::size_t b = 0; b < labels.size(); ++b) {
      dx.data()[b * K + labels[b]] = -cotangent_of(g, b, labels.size(), reduction);
    }
    return cotangents(std::move(dx));
  };
  return record("nll_loss", reduced(std::move(losses), reduction), {log_probabilities},
                std::move(vjp));
}

// loss = -t log p - (1 - t) log(1 - p), p = 1 / (1 + e^-x),
//      = |x| (t where x < 0, else 1 - t) + log(1 + e^-|x|)              dx = g (p - t)
Tensor bce_with_logits(const Tensor& logits, const Array& targets, Reduction reduction) {
  given("bce_with_logits", "logits", logits);
  if (targets.shape() != logits.shape()) {
    fail("bce_with_logits: targets {} but logits {}", to_string(targets.shape()),
         to_string(logits.shape()));
  }
  Array losses = empty(logits.shape());
  Array slope = empty(logits.shape());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const real x = data_of(logits)[i];
    const real t = targets.data()[i];
    const real missed = x < 0 ? t : 1 - t;  // what x is weighted with; 0 inf is no loss
    losses.data()[i] =
        (missed == 0 ? 0 : std::abs(x) * missed) + std::log1p(std::exp(-std::abs(x)));
    slope.data()[i] = 1 / (1 + std::exp(-x)) - t;
  }
  return losses_of("bce_with_logits", logits, std::move(losses), std::move(slope), reduction);
}

// loss = (a - b)^2                                      da = 2 g (a - b)      db = -da
Tensor mse_loss(const Tensor& a, const Tensor& b, Reduction reduction) {
  given("mse_loss", "a", a);
  given("mse_loss", "b", b);
  if (a.shape() != b.shape()) {
    fail("mse_loss: shapes {} and {} differ", to_string(a.shape()), to_string(b.shape()));
  }
  if (Composed::active()) return composed::mse_loss(a, b, reduction);
  Array losses = empty(a.shape());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const real difference = data_of(a)[i] - data_of(b)[i];
    losses.data()[i] = difference * difference;
  }
  auto vjp = [reduction](const Node& n, const Array& g) {
    Array da = empty(n.in_shape(0));
    Array db = empty(n.in_shape(1));
    for (std::size_t i = 0; i < da.size(); ++i) {
      const real difference = data_of(n, 0)[i] - data_of(n, 1)[i];
      da.data()[i] = 2 * difference * cotangent_of(g, i, da.size(), reduction);
      db.data()[i] = -da.data()[i];
    }
    return cotangents(std::move(da), std::move(db));
  };
  return record("mse_loss", reduced(std::move(losses), reduction), {a, b}, vjp);
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
