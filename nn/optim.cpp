#include "vitruvian/nn/optim.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/core/kernels/gemm.hpp"
#include "vitruvian/core/kernels/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

void check(const char* optimizer, const char* name, double value, double below) {
  if (!(value >= 0 && value < below)) {
    fail("{}: {} is {}, not in [0, {})", optimizer, name, value, below);
  }
}

constexpr double infinity = std::numeric_limits<double>::infinity();

void check_rate(const char* optimizer, double lr) {
  if (!(lr >= 0 && lr <= static_cast<double>(std::numeric_limits<real>::max()))) {
    fail("{}: a learning rate of {} is not a finite number of at least 0", optimizer, lr);
  }
}

double decay_of(const NamedParameter& p, double weight_decay, const Roles& undecayed) {
  const bool spared = std::find(undecayed.begin(), undecayed.end(), p.role) != undecayed.end();
  return spared ? 0 : weight_decay;
}

// A gradient that was replaced in place may have any shape.
const Array& gradient_of(const NamedParameter& p) {
  const Array& g = *p.tensor.grad();
  if (g.shape() != p.tensor.shape()) {
    fail("optimizer: '{}' has shape {}, and its gradient {}", p.name, to_string(p.tensor.shape()),
         to_string(g.shape()));
  }
  return g;
}

// g + decay w: weight decay as the derivative of decay |w|^2 / 2.
Array decayed_gradient(const NamedParameter& p, double decay) {
  Array g = gradient_of(p);
  if (decay != 0) add_multiple(g, static_cast<real>(decay), p.tensor.value());
  return g;
}

void for_each_parameter(const std::vector<NamedParameter>& parameters,
                        const std::function<void(std::size_t)>& body) {
  parallel_for(parameters.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) body(i);
  });
}

Array& ensure(std::optional<Array>& moment, const Shape& shape) {
  if (!moment) moment = zeros(shape);
  return *moment;
}

void adam_step(const NamedParameter& p, const Array& g, Moments& s, double lr, double decay,
               double beta1, double beta2, double eps) {
  Array& m = ensure(s.m, p.tensor.shape());
  Array& v = ensure(s.v, p.tensor.shape());
  ++s.t;
  const WriteGuard w = p.tensor.mutable_value();
  kernels::adamw(w->data(), g.data(), m.data(), v.data(), g.size(),
                 {.lr = lr, .beta1 = beta1, .beta2 = beta2, .eps = eps, .decay = decay, .t = s.t});
}

template <class Decay>
double with_warmup(const char* schedule, std::size_t step, std::size_t steps, std::size_t warmup,
                   const Decay& decay) {
  for (const auto& [name, n] :
       {std::pair{"step", step}, std::pair{"steps", steps}, std::pair{"warmup", warmup}}) {
    const auto as_meant = static_cast<std::ptrdiff_t>(n);
    if (as_meant < 0) fail("{}: {} is {}, a negative number", schedule, name, as_meant);
  }
  if (step < warmup) return static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (step >= steps) return decay(1.0);
  return decay(static_cast<double>(step - warmup) / static_cast<double>(steps - warmup));
}

}  // namespace

Optimizer::Optimizer(std::vector<NamedParameter> parameters)
    : parameters_(std::move(parameters)), factors_(parameters_.size(), 1.0) {
  for (const NamedParameter& p : parameters_) {
    if (!state_.try_emplace(p.name).second) {
      fail("optimizer: two parameters are called '{}'", p.name);
    }
    if (!p.tensor) fail("optimizer: '{}' is absent", p.name);
    if (!p.tensor.is_leaf()) {
      fail("optimizer: '{}' is no parameter: '{}' made it", p.name, p.tensor.node().op);
    }
  }
}

void Optimizer::set_state(std::map<std::string, Moments> state) {
  if (state.size() != state_.size()) {
    fail("optimizer: a state of {} parameters for {}", state.size(), state_.size());
  }
  for (const NamedParameter& p : parameters_) {
    const auto entry = state.find(p.name);
    if (entry == state.end()) fail("optimizer: the state has no '{}'", p.name);
    for (const auto* moment : {&entry->second.m, &entry->second.v}) {
      if (*moment && (*moment)->shape() != p.tensor.shape()) {
        fail("optimizer: the state of '{}' has shape {}, not {}", p.name,
             to_string((*moment)->shape()), to_string(p.tensor.shape()));
      }
    }
  }
  state_ = std::move(state);
}

void Optimizer::set_rate_factors(const std::map<std::string, double>& factors) {
  for (const auto& [name, factor] : factors) {
    if (!state_.contains(name)) fail("optimizer: there is no parameter '{}'", name);
    check("optimizer", "a factor of the rate", factor, infinity);
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto found = factors.find(parameters_[i].name);
    factors_[i] = found == factors.end() ? 1 : found->second;
  }
}

SGD::SGD(std::vector<NamedParameter> parameters, SgdOptions options)
    : Optimizer(std::move(parameters)), options_(std::move(options)) {
  check("sgd", "momentum", options_.momentum, infinity);
  check("sgd", "weight decay", options_.weight_decay, infinity);
  if (options_.nesterov && options_.momentum == 0) fail("sgd: Nesterov needs a momentum");
}

void SGD::step(double lr) {
  check_rate("sgd", lr);
  const real momentum = static_cast<real>(options_.momentum);
  for (std::size_t i = 0; i < parameters().size(); ++i) {
    const NamedParameter& p = parameters()[i];
    if (p.tensor.grad() == nullptr) continue;
    Array g = decayed_gradient(p, decay_of(p, options_.weight_decay, options_.undecayed));
    Moments& s = moments(p);
    if (momentum != 0) {
      Array& m = ensure(s.m, p.tensor.shape());
      scale(m, momentum);
      add_in_place(m, g);
      if (options_.nesterov) {
        add_multiple(g, momentum, m);
      } else {
        g = m;
      }
    }
    ++s.t;
    const WriteGuard w = p.tensor.mutable_value();
    add_multiple(*w, static_cast<real>(-rate_of(i, lr)), g);
  }
}

Adam::Adam(std::vector<NamedParameter> parameters, AdamOptions options)
    : Optimizer(std::move(parameters)), options_(std::move(options)) {
  check("adam", "beta1", options_.beta1, 1);
  check("adam", "beta2", options_.beta2, 1);
  check("adam", "eps", options_.eps, infinity);
  check("adam", "weight decay", options_.weight_decay, infinity);
}

void Adam::step(double lr) {
  check_rate("adam", lr);
  for (std::size_t i = 0; i < parameters().size(); ++i) {
    const NamedParameter& p = parameters()[i];
    if (p.tensor.grad() == nullptr) continue;
    const Array g = decayed_gradient(p, decay_of(p, options_.weight_decay, options_.undecayed));
    adam_step(p, g, moments(p), rate_of(i, lr), 0, options_.beta1, options_.beta2, options_.eps);
  }
}

AdamW::AdamW(std::vector<NamedParameter> parameters, AdamWOptions options)
    : Optimizer(std::move(parameters)), options_(std::move(options)) {
  check("adamw", "beta1", options_.beta1, 1);
  check("adamw", "beta2", options_.beta2, 1);
  check("adamw", "eps", options_.eps, infinity);
  check("adamw", "weight decay", options_.weight_decay, infinity);
}

void AdamW::step(double lr) {
  check_rate("adamw", lr);
  // One loop over the parameters: most are too small to be worth a loop of their own.
  for_each_parameter(parameters(), [&](std::size_t i) {
    const NamedParameter& p = parameters()[i];
    if (p.tensor.grad() == nullptr) return;
    const double decay = decay_of(p, options_.weight_decay, options_.undecayed);
    adam_step(p, gradient_of(p), moments(p), rate_of(i, lr), decay, options_.beta1, options_.beta2,
              options_.eps);
  });
}

namespace {

// C = A B, or A B^T.
Array product(const Array& A, const Array& B, bool transposed = false) {
  const std::size_t m = A.shape()[0], k = A.shape()[1], n = B.shape()[transposed ? 0 : 1];
  Array C = empty({m, n});
  kernels::gemm<real>({.m = m,
                       .n = n,
                       .k = k,
                       .a = A.data(),
                       .lda = k,
                       .b = B.data(),
                       .ldb = B.shape()[1],
                       .trans_b = transposed,
                       .c = C.data(),
                       .ldc = n});
  return C;
}

Array transposed(const Array& x) {
  Array y = empty({x.shape()[1], x.shape()[0]});
  for (std::size_t i = 0; i < x.shape()[0]; ++i) {
    for (std::size_t j = 0; j < x.shape()[1]; ++j) y(j, i) = x(i, j);
  }
  return y;
}

bool inside_a_block(const NamedParameter& p) {
  return p.role == Role::weight && p.tensor.rank() == 2 &&
         p.name.find("blocks.") != std::string::npos;
}

std::size_t matrices_in(const NamedParameter& p) {
  return p.name.ends_with("attn.qkv.weight") && p.tensor.size(0) % 3 == 0 ? 3 : 1;
}

}  // namespace

Array orthogonalised(const Array& G) {
  if (G.dimension() != 2) fail("orthogonalised: a {} is no matrix", to_string(G.shape()));
  if (G.shape()[0] > G.shape()[1]) return transposed(orthogonalised(transposed(G)));
  constexpr real a = real(3.4445), b = real(-4.7750), c = real(2.0315);
  const double norm = std::sqrt(kernels::sum_of_squares(G.data(), G.size()));
  Array X = G;
  scale(X, static_cast<real>(1 / std::max(norm, 1e-7)));
  for (int step = 0; step < 5; ++step) {
    const Array A = product(X, X, true);
    Array B = product(A, A);
    scale(B, c);
    add_multiple(B, b, A);
    const Array Y = product(B, X);
    scale(X, a);
    add_in_place(X, Y);
  }
  return X;
}

Muon::Muon(std::vector<NamedParameter> parameters, MuonOptions options)
    : Optimizer(std::move(parameters)), options_(std::move(options)) {
  check("muon", "momentum", options_.momentum, 1);
  check("muon", "beta1", options_.beta1, 1);
  check("muon", "beta2", options_.beta2, 1);
  check("muon", "eps", options_.eps, infinity);
  check("muon", "weight decay", options_.weight_decay, infinity);
  if (std::none_of(this->parameters().begin(), this->parameters().end(), inside_a_block)) {
    fail(Exit::usage,
         "muon: no parameter is a matrix with \"blocks.\" in its name; AdamW takes any model");
  }
}

void Muon::step(double lr) {
  check_rate("muon", lr);
  const kernels::GemmPrecisionScope scope(kernels::GemmPrecision::float32);
  const real keep = static_cast<real>(options_.momentum);
  for_each_parameter(parameters(), [&](std::size_t i) {
    const NamedParameter& p = parameters()[i];
    if (p.tensor.grad() == nullptr) return;
    const Array& g = gradient_of(p);
    const double its = rate_of(i, lr);
    const double decay = decay_of(p, options_.weight_decay, options_.undecayed);
    Moments& s = moments(p);
    if (!inside_a_block(p)) {
      adam_step(p, g, s, its, decay, options_.beta1, options_.beta2, options_.eps);
      return;
    }
    ++s.t;
    Array& m = ensure(s.m, p.tensor.shape());
    scale(m, keep);
    add_multiple(m, 1 - keep, g);
    Array ahead = m;
    if (options_.nesterov) {
      scale(ahead, keep);
      add_multiple(ahead, 1 - keep, g);
    }
    const WriteGuard w = p.tensor.mutable_value();
    scale(*w, static_cast<real>(1 - its * decay));
    const std::size_t rows = g.shape()[0] / matrices_in(p), columns = g.shape()[1];
    const double rate = 0.2 * std::sqrt(static_cast<double>(std::max(rows, columns))) * its;
    for (std::size_t first = 0; first < g.shape()[0]; first += rows) {
      const auto at = static_cast<std::ptrdiff_t>(first * columns);
      Array one = empty({rows, columns});
      std::copy_n(ahead.begin() + at, one.size(), one.begin());
      const Array u = orthogonalised(one);
      std::transform(u.begin(), u.end(), w->begin() + at, w->begin() + at,
                     [rate](real x, real y) { return y - static_cast<real>(rate) * x; });
    }
  });
}

double clip_grad_norm(const std::vector<NamedParameter>& parameters, double max_norm) {
  if (!(max_norm > 0)) {
    fail("clip_grad_norm: a largest norm of {} is not above 0; infinity clips nothing", max_norm);
  }
  std::vector<double> squares(parameters.size(), 0);
  for_each_parameter(parameters, [&](std::size_t i) {
    if (const Array* g = parameters[i].tensor.grad()) {
      squares[i] = kernels::sum_of_squares(g->data(), g->size());
    }
  });
  const double norm = std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
  const double factor = max_norm / (norm + 1e-6);
  if (factor >= 1 || max_norm == infinity) return norm;
  for_each_parameter(parameters, [&](std::size_t i) {
    if (Array* const g = parameters[i].tensor.mutable_grad()) scale(*g, static_cast<real>(factor));
  });
  return norm;
}

double constant_schedule(std::size_t step, std::size_t steps, std::size_t warmup) {
  return with_warmup("constant_schedule", step, steps, warmup, [](double) { return 1.0; });
}

double linear_schedule(std::size_t step, std::size_t steps, std::size_t warmup) {
  return with_warmup("linear_schedule", step, steps, warmup, [](double p) { return 1 - p; });
}

// (1 + cos(pi p)) / 2 = cos^2(pi p / 2) = sin^2(pi (1 - p) / 2): the one, then the other, so that
// it ends at 0 and not near it.
double cosine_schedule(std::size_t step, std::size_t steps, std::size_t warmup) {
  return with_warmup("cosine_schedule", step, steps, warmup, [](double p) {
    constexpr double quarter = std::numbers::pi / 2;
    const double root = p < 0.5 ? portable_sine_cosine(quarter * p).cosine
                                : portable_sine_cosine(quarter * (1 - p)).sine;
    return root * root;
  });
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
