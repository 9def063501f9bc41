#include "vitruvian/core/base/scope.hpp"

#include "vitruvian/core/base/error.hpp"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

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

// The path of module `name` inside this thread's. Each thread remembers those that it entered: such
// a path is found again without a lock, and without being put together.
const std::string* inner(std::string_view name) {
  using Inner = std::map<std::string, const std::string*, std::less<>>;
  thread_local std::unordered_map<const std::string*, Inner> known;
  Inner& modules = known[Context::here().path];
  const auto found = modules.find(name);
  if (found != modules.end()) return found->second;
  const std::string& outer = Scope::path();
  const std::string* const path =
      intern(outer.empty() ? std::string(name) : fmt::format("{}.{}", outer, name));
  return modules.emplace(name, path).first->second;
}

}  // namespace

Scope::Scope(std::string_view name) : Scoped(inner(name)) {}
Scope::Scope(std::string_view name, std::size_t index) : Scope(fmt::format("{}.{}", name, index)) {}

const std::string& Scope::top() {
  static const std::string& empty = *intern("");
  return empty;
}

std::string in_scope() { return Scope::path().empty() ? std::string() : " - in " + Scope::path(); }

}  // namespace vitruvian
