#include "core/scope.hpp"

#include "core/error.hpp"

#include <fmt/format.h>

#include <mutex>
#include <unordered_set>

namespace vitruvian {
namespace {

// Nodes keep a pointer to their path, so paths live as long as the program. There are as many as
// there are modules in the largest model.
const std::string* intern(std::string path) {
  static std::mutex mutex;
  static std::unordered_set<std::string> paths;
  const std::scoped_lock lock(mutex);
  return &*paths.insert(std::move(path)).first;
}

const std::string*& current() {
  static const std::string* const top = intern("");
  thread_local const std::string* path = top;
  return path;
}

const std::string* enter(std::string_view name) {
  const std::string* outer = current();
  current() = intern(outer->empty() ? std::string(name) : fmt::format("{}.{}", *outer, name));
  return outer;
}

}  // namespace

Scope::Scope(std::string_view name) : previous_(enter(name)) {}
Scope::Scope(std::string_view name, std::size_t index)
    : previous_(enter(fmt::format("{}.{}", name, index))) {}
Scope::~Scope() { current() = previous_; }

const std::string& Scope::path() { return *current(); }

std::string in_scope() { return Scope::path().empty() ? std::string() : " - in " + Scope::path(); }

}  // namespace vitruvian
