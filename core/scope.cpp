#include "core/scope.hpp"

#include "core/error.hpp"

#include <fmt/format.h>

#include <functional>
#include <map>
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

}  // namespace

// A module of this thread's paths. Each thread has a tree of its own: a path that was entered once
// is found again without a lock, and without being put together.
struct Scope::Module {
  const std::string* path;
  std::map<std::string, Module, std::less<>> inner = {};
};

Scope::Module*& Scope::current() {
  thread_local Module top{intern("")};
  thread_local Module* here = &top;
  return here;
}

Scope::Scope(std::string_view name) : outer_(current()) {
  auto found = outer_->inner.find(name);
  if (found == outer_->inner.end()) {
    const std::string& path = *outer_->path;
    std::string whole = path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
    found = outer_->inner.emplace(name, Module{intern(std::move(whole))}).first;
  }
  current() = &found->second;
}
Scope::Scope(std::string_view name, std::size_t index) : Scope(fmt::format("{}.{}", name, index)) {}
Scope::~Scope() { current() = outer_; }

const std::string& Scope::path() { return *current()->path; }

std::string in_scope() { return Scope::path().empty() ? std::string() : " - in " + Scope::path(); }

}  // namespace vitruvian
