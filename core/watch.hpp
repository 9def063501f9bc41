#pragma once

#include "vitruvian/core/fault.hpp"
#include "vitruvian/core/tensor.hpp"

#include <vector>

// Those who watch the engine: what it asks on its way (is this graph still true, did a rule keep
// its word), and what it shows to a Profile, an Anomaly, a Fault. Errors name the module that the
// thread's context names.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace watch {

/// What is done next concerns this node: errors and profiles name its module.
void enter(const Node& node);

/// What a walk begins with: the cotangents, or a one for each root that has one element. Throws
/// where a root depends on nothing that is learned, and where numbers or shapes do not fit.
std::vector<Array> seeds(const std::vector<Tensor>& roots, const std::vector<Array>& cotangents);
/// Throws where gradients are wanted of what has none.
void check_wanted(const std::vector<Tensor>& xs);
/// Whether a node's graph is there, and holds the values that the ops read.
void check_usable(const Node& node);

/// After an op: its time for a Profile, its numbers and its leaves' for an Anomaly.
void recorded(const Node& node, const std::vector<Tensor>& inputs);
/// The rule, wrapped in the mistake that a Fault asks for.
Vjp as_told(const char* op, Vjp vjp);
/// What the node's rule makes of g: a cotangent of each input's shape, or throws.
Cotangents apply_rule(const Node& node, Array& g);

}  // namespace watch
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
