#pragma once

#include "vitruvian/core/base/json.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace vitruvian::web {

/// What a C function returns: the JSON that `say` makes, or {"error": sentence} of what it throws.
/// Valid until the next call.
const char* answer(const std::function<Json()>& say);
/// A request's JSON; throws a sentence where it is none, or no object.
Json parsed(const char* request);
/// A field of a request, or what it is where nobody says. Throws, naming the field, where it has
/// another type.
template <class T>
T field(const Json& request, const char* name, T otherwise);
/// Throws, naming it, for a field that is not among `known`.
void check_fields(const Json& request, const std::vector<std::string>& known);

inline std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

/// {"name", "symbols", "shape", "at"}, with "gradient" where there is one. (float32 alone.)
template <class A>
Json tensor(const std::string& name, const std::string& symbols, const A& value,
            const A* gradient = nullptr) {
  Json json{{"name", name}, {"symbols", symbols}};
  json["shape"] = std::vector<std::size_t>(value.shape().begin(), value.shape().end());
  json["at"] = address(value.data());
  if (gradient != nullptr) json["gradient"] = address(gradient->data());
  return json;
}

}  // namespace vitruvian::web
