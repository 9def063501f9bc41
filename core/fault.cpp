#include "vitruvian/core/fault.hpp"

#include "vitruvian/core/error.hpp"

#include <utility>

namespace vitruvian {
namespace {

const Fault* alone(const Fault* fault) {
  if (Fault::active() != nullptr) fail("fault: '{}' is already broken", Fault::active()->op());
  return fault;
}

}  // namespace

Fault::Fault(std::string op, Kind kind, std::size_t input)
    : op_(std::move(op)), kind_(kind), input_(input), active_(alone(this)) {}

}  // namespace vitruvian
