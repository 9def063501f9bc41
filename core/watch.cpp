#include "vitruvian/core/watch.hpp"

#include "vitruvian/core/anomaly.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/profile.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace watch {
namespace {

void check_returned(const Node& node, const Cotangents& gs) {
  if (gs.size() != node.inputs.size()) {
    fail("backward: the rule of '{}' returned {} cotangents for {} inputs", node.op, gs.size(),
         node.inputs.size());
  }
  for (std::size_t i = 0; i < gs.size(); ++i) {
    if (gs[i] && node.has(i) && gs[i]->shape() != node.in_shape(i)) {
      fail("backward: the rule of '{}' returned a cotangent of shape {} for input {} of shape {}",
           node.op, to_string(gs[i]->shape()), i, to_string(node.in_shape(i)));
    }
  }
}

// For Anomaly: throws when an array of `node` holds what is no number.
void check_finite(const Node& node, const Array& a, const std::string& where) {
  Finding finding{node.op, *node.path, "", where, 0, a.size(), 0, {}};
  finding.axis0 = a.dimension() == 0 ? 1 : a.shape()[0];
  const std::size_t row = finding.axis0 == 0 ? 1 : a.size() / finding.axis0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const real x = a.data()[i];
    if (std::isfinite(x)) continue;
    if (finding.count++ == 0) finding.kind = std::isnan(x) ? "NaN" : "infinity";
    if (finding.rows.size() < 8 && (finding.rows.empty() || finding.rows.back() != i / row)) {
      finding.rows.push_back(i / row);
    }
  }
  if (finding.count > 0) throw NotFinite(std::move(finding));
}

}  // namespace

void enter(const Node& node) { Context::here().path = node.path; }

std::vector<Array> seeds(const std::vector<Tensor>& roots, const std::vector<Array>& cotangents) {
  if (!cotangents.empty() && cotangents.size() != roots.size()) {
    fail("backward: {} cotangents for {} results", cotangents.size(), roots.size());
  }
  std::vector<Array> result = cotangents;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const Node& root = roots[i].node("backward");
    enter(root);
    if (!root.requires_grad && root.unrecorded) {
      fail("backward: '{}' was computed under NoGrad, which records nothing; compute it without",
           root.op);
    }
    if (!root.requires_grad) {
      fail(
          "backward: '{}' does not depend on anything that requires a gradient, as "
          "Tensor(value, true) does",
          root.op);
    }
    const Shape& shape = root.value.shape();
    if (cotangents.empty() && root.value.size() != 1) {
      fail(
          "backward: a result of shape {} needs a cotangent of that shape; or take its sum() or "
          "mean() first",
          to_string(shape));
    }
    if (cotangents.empty()) result.push_back(full(shape, real{1}));
    if (result[i].shape() != shape) {
      fail("backward: cotangent {} for a result of shape {}", to_string(result[i].shape()),
           to_string(shape));
    }
  }
  return result;
}

void check_wanted(const std::vector<Tensor>& xs) {
  for (const Tensor& x : xs) {
    if (!x.requires_grad())
      fail("grad: an x of shape {} requires no gradient", to_string(x.shape()));
  }
}

void check_usable(const Node& node) {
  if (node.freed) {
    fail(
        "backward: the graph below '{}' was freed by an earlier backward; pass retain_graph to "
        "the first one",
        node.op);
  }
  if (!node.vjp) return;
  if (node.version != 0) {
    fail(
        "backward: the result of '{}' was changed after it was computed; change a copy of it "
        "(detach) instead",
        node.op);
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.has(i)) continue;
    const Node& input = *node.inputs[i].node;
    if (input.version != node.inputs[i].version) {
      fail(
          "backward: input {} of '{}' was changed between forward and backward; compute the result "
          "again after a change, or change a copy (detach)",
          i, node.op);
    }
    if (input.writers != 0) {
      fail("backward: input {} of '{}' is still being changed; end its mutable_value() first", i,
           node.op);
    }
  }
}

void recorded(const Node& node, const std::vector<Tensor>& inputs) {
  if (Profile* const profile = Profile::active()) {
    profile->recorded(node.op, *node.path, node.value.size() * sizeof(real), &node);
  }
  if (!Anomaly::active()) return;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] && inputs[i].is_leaf()) {
      check_finite(node, inputs[i].value(), "input " + std::to_string(i));
    }
  }
  check_finite(node, node.value, "the value");
}

Vjp as_told(const char* op, Vjp vjp) {
  const Fault* const fault = Fault::active();
  if (fault == nullptr || fault->op() != op) return vjp;
  return [vjp = std::move(vjp), kind = fault->kind(), i = fault->input()](const Node& node,
                                                                          Array& g) {
    const Scoped<&Context::forgets_unbroadcast> forgets(kind == Fault::Kind::forget_unbroadcast);
    Cotangents gs = vjp(node, g);
    const auto times = [](std::optional<Array>& a, real factor) {
      if (a) scale(*a, factor);
    };
    const bool of_input = kind == Fault::Kind::flip_sign || kind == Fault::Kind::drop_cotangent;
    if (of_input && i >= gs.size()) {
      fail("fault: '{}' has {} inputs, and none is input {}", node.op, gs.size(), i);
    }
    if (kind == Fault::Kind::flip_sign) times(gs[i], real{-1});
    if (kind == Fault::Kind::drop_cotangent) times(gs[i], real{0});
    if (kind == Fault::Kind::skip_accumulation) {
      for (std::size_t k = 0; k < gs.size(); ++k) {
        if (node.has(k) && !BackwardPass::first_at(node.inputs[k].node.get()))
          times(gs[k], real{0});
      }
    }
    return gs;
  };
}

Cotangents apply_rule(const Node& node, Array& g) {
  Profile::mark("tape");
  Cotangents gs = node.vjp(node, g);
  if (Profile* const profile = Profile::active()) profile->went_back(node.op, *node.path, &node);
  check_returned(node, gs);
  for (std::size_t i = 0; i < gs.size() && Anomaly::active(); ++i) {
    if (gs[i]) check_finite(node, *gs[i], "the gradient of input " + std::to_string(i));
  }
  return gs;
}

}  // namespace watch
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
