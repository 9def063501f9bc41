#include "web/engine/answer.hpp"

#include "vitruvian/core/base/error.hpp"

#include <cmath>
#include <new>

namespace vitruvian::web {

const char* answer(const std::function<Json()>& say) {
  static std::string text;
  const auto sentence = [](const std::string& what) { return dump_json(Json{{"error", what}}); };
  try {
    text = dump_json(say());
  } catch (const std::bad_alloc&) {
    text = sentence("there is not enough memory for this");
  } catch (const std::exception& error) {
    text = sentence(error.what());
  }
  return text.c_str();
}

Json parsed(const char* request) {
  Json json = parse_json(request == nullptr ? "" : request, nullptr, false);
  if (!json.is_object()) fail("the request is no JSON object");
  return json;
}

template <class T>
T field(const Json& request, const char* name, T otherwise) {
  const auto found = request.find(name);
  if (found == request.end()) return otherwise;
  if constexpr (std::is_same_v<T, std::string>) {
    if (found->is_string()) return found->get<T>();
    fail("{}: expected a text, got {}", name, dump_json(*found));
  } else if constexpr (std::is_same_v<T, bool>) {
    if (found->is_boolean()) return found->get<T>();
    fail("{}: expected true or false, got {}", name, dump_json(*found));
  } else if constexpr (std::is_integral_v<T>) {
    // A page's numbers are doubles: 64 may come as 64.0.
    const double x = found->is_number() ? found->get<double>() : -1;
    if (x >= 0 && x < 9e15 && x == std::floor(x)) return static_cast<T>(x);
    fail("{}: expected a whole number of at least 0, got {}", name, dump_json(*found));
  } else {
    if (found->is_number() && std::isfinite(found->get<double>())) return found->get<T>();
    fail("{}: expected a number, got {}", name, dump_json(*found));
  }
}
template std::string field(const Json&, const char*, std::string);
template bool field(const Json&, const char*, bool);
template std::uint64_t field(const Json&, const char*, std::uint64_t);
template double field(const Json&, const char*, double);

void check_fields(const Json& request, const std::vector<std::string>& known) {
  for (const auto& [name, value] : request.items()) index_of(name, known, "setting");
}

}  // namespace vitruvian::web
