#include "core/composed.hpp"
#include "core/error.hpp"
#include "core/kernels/kernels.hpp"
#include "core/ops.hpp"
#include "core/ops/rows.hpp"

#include <utility>

namespace vitruvian::inline VITRUVIAN_PRECISION {
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
  if (x.rank() != 2) fail("{}: {} {} is not (B, K)", op, name, to_string(x.shape()));
}

void check_labels(const char* op, const char* name, const Tensor& x,
                  const std::vector<std::size_t>& labels) {
  check_rank(op, name, x);
  if (labels.size() != x.size(0)) {
    fail("{}: {} {} needs {} labels, not {}", op, name, to_string(x.shape()), x.size(0),
         labels.size());
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= x.size(1)) {
      fail("{}: label {} at index {} is not in [0, {})", op, labels[i], i, x.size(1));
    }
  }
}

void check_smoothing(double e) {
  if (!(e >= 0 && e <= 1)) fail("cross_entropy: label smoothing {} is not in [0, 1]", e);
}

// For both kinds of target: `Target` is what the kernel takes.
template <class Target>
Tensor cross_entropy_of(const Tensor& logits, const Target* targets, double e,
                        Reduction reduction) {
  const std::size_t B = logits.size(0);
  const std::size_t K = logits.size(1);
  Array losses = empty({B});
  Array slope = empty({B, K});  // d(loss of a row) / d(its logits)
  kernels::cross_entropy(data_of(logits), targets, e, losses.data(), slope.data(), B, K);
  auto vjp = [B, K, reduction, slope = std::move(slope)](const Node&, const Array& g) {
    Array dx = empty({B, K});
    for (std::size_t b = 0; b < B; ++b) {
      const real g_b = cotangent_of(g, b, B, reduction);
      for (std::size_t i = b * K; i < (b + 1) * K; ++i) dx.data()[i] = slope.data()[i] * g_b;
    }
    return cotangents(std::move(dx));
  };
  return record("cross_entropy", reduced(std::move(losses), reduction), {logits}, std::move(vjp));
}

}  // namespace

// loss = -sum_k t_k log softmax(x)_k,  t = (1 - e) target + e / K
//   dx = g (softmax(x) sum(t) - t)
Tensor cross_entropy(const Tensor& logits, const std::vector<std::size_t>& labels,
                     double label_smoothing, Reduction reduction) {
  check_labels("cross_entropy", "logits", logits, labels);
  check_smoothing(label_smoothing);
  if (Composed::active()) {
    return composed::cross_entropy(logits, labels, label_smoothing, reduction);
  }
  return cross_entropy_of(logits, labels.data(), label_smoothing, reduction);
}

Tensor cross_entropy(const Tensor& logits, const Array& targets, double label_smoothing,
                     Reduction reduction) {
  check_rank("cross_entropy", "logits", logits);
  check_smoothing(label_smoothing);
  if (targets.shape() != logits.shape()) {
    fail("cross_entropy: targets {} but logits {}", to_string(targets.shape()),
         to_string(logits.shape()));
  }
  if (Composed::active()) {
    return composed::cross_entropy(logits, targets, label_smoothing, reduction);
  }
  return cross_entropy_of(logits, targets.data(), label_smoothing, reduction);
}

// loss = -x[label]                                      dx = -g at the label, 0 elsewhere
Tensor nll_loss(const Tensor& log_probabilities, const std::vector<std::size_t>& labels,
                Reduction reduction) {
  check_labels("nll_loss", "log_probabilities", log_probabilities, labels);
  if (Composed::active()) return composed::nll_loss(log_probabilities, labels, reduction);
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

// loss = (a - b)^2                                      da = 2 g (a - b)      db = -da
Tensor mse_loss(const Tensor& a, const Tensor& b, Reduction reduction) {
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

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
