#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

// JSON by nlohmann, whose parser and writer are compiled once, in json.cpp: a second for each file
// that had them.

namespace vitruvian {

/// What was written first comes first.
using Json = nlohmann::ordered_json;
/// In the order of the keys; finds one among many, as files of others may have.
using SortedJson = nlohmann::json;

/// The value of a text, as Kind::parse reads it, of either kind.
template <class Kind = Json>
Kind parse_json(std::string_view text, const typename Kind::parser_callback_t& check = nullptr,
                bool throws = true);

/// The text of a value of either kind: on one line, or with this indent. NaN and infinity become
/// null, and what is no UTF-8 is replaced.
template <class Kind>
std::string dump_json(const Kind& json, int indent = -1);

}  // namespace vitruvian
