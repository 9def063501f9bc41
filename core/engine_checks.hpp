#pragma once

#include "vitruvian/core/fault.hpp"
#include "vitruvian/core/tensor.hpp"

#include <span>

// What the engine asks on its way: is this graph still true, did a rule keep its word, what do
// those who watch want to see. Errors name the module that the thread's context names.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace engine {

/// Whether y can be differentiated: something in it is learned, it has one element where there is
/// no cotangent, and the cotangent's shape where there is one.
void check_root(const Tensor& y, const Array* cotangent);
/// Whether a node's graph is there, and holds the values that the ops read.
void check_usable(const Node& node);
/// Whether a rule returned a cotangent of each input's shape.
void check_returned(const Node& node, const Cotangents& gs);

/// Wraps a rule in the mistake that the active Fault asks for: it changes what the rule returns.
Vjp broken(Vjp vjp, const Fault& fault);

/// For Anomaly, of what an op computed and of what its rule did: throws a NotFinite.
void check_recorded(const Node& node, std::span<const Tensor> inputs);
void check_went_back(const Node& node, const Cotangents& gs);

}  // namespace engine
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
