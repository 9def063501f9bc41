#include "core/fault.hpp"

#include "core/error.hpp"

#include <utility>

namespace vitruvian {
namespace {
thread_local const Fault* active_fault = nullptr;
thread_local bool forgetting = false;
}  // namespace

Fault::Fault(std::string op, Kind kind, std::size_t input)
    : op_(std::move(op)),
      kind_(kind),
      input_(input),
      seen_(std::make_shared<std::unordered_set<const void*>>()) {
  if (active_fault != nullptr) fail("fault: '{}' is already broken", active_fault->op());
  active_fault = this;
}
Fault::~Fault() { active_fault = nullptr; }

const Fault* Fault::active() { return active_fault; }
bool Fault::forgets_unbroadcast() { return forgetting; }

Fault::Forgetting::Forgetting() { forgetting = true; }
Fault::Forgetting::~Forgetting() { forgetting = false; }

}  // namespace vitruvian
