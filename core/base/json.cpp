#include "vitruvian/core/base/json.hpp"

namespace vitruvian {

template <class Kind>
Kind parse_json(std::string_view text, const typename Kind::parser_callback_t& check, bool throws) {
  return Kind::parse(text, check, throws);
}

template <class Kind>
std::string dump_json(const Kind& json, int indent) {
  return json.dump(indent, ' ', false, Kind::error_handler_t::replace);
}

template Json parse_json(std::string_view, const Json::parser_callback_t&, bool);
template SortedJson parse_json(std::string_view, const SortedJson::parser_callback_t&, bool);
template std::string dump_json(const Json&, int);
template std::string dump_json(const SortedJson&, int);

}  // namespace vitruvian
