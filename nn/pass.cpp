#include "vitruvian/nn/pass.hpp"

#include "vitruvian/core/base/error.hpp"

#include <algorithm>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

void Trace::add(std::string_view name, std::string_view symbols, const Tensor& tensor) {
  const std::string& path = Scope::path();
  std::string full = path.empty() ? std::string(name) : path + '.' + std::string(name);
  entries_.push_back({std::move(full), std::string(symbols), tensor});
}

const Trace::Entry* Trace::find(std::string_view name) const {
  const auto entry = std::find_if(entries_.rbegin(), entries_.rend(),
                                  [name](const Entry& e) { return e.name == name; });
  return entry == entries_.rend() ? nullptr : &*entry;
}

const Tensor& Trace::at(std::string_view name) const {
  if (const Entry* const entry = find(name)) return entry->tensor;
  const bool steps_seen = std::any_of(entries_.begin(), entries_.end(), [](const Entry& e) {
    return std::string_view(e.name).ends_with("probs");
  });
  if (!steps_seen && (name.ends_with(".probs") || name.ends_with(".scores"))) {
    fail("trace: '{}' is a step inside a fused op: while a `Composed` lives, ops show their steps",
         name);
  }
  const std::string near = closest_match(name, names_in(entries_));
  fail("trace: nothing is called '{}'{}", name,
       near.empty() ? "" : fmt::format("; the nearest is '{}'", near));
}

Rng Pass::stream(std::string_view name) const {
  if (rng == nullptr) fail("pass: it has no generator, so no stream: ask `pass.rng != nullptr`");
  return unused(rng->fork(Scope::path() + std::string(name)));
}

Rng Pass::unused(const Rng& stream) const {
  const std::uint64_t before = uses.of_key[stream.key()]++;
  return before == 0 ? stream : stream.fork("again", {before});
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
