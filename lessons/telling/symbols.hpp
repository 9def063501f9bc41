#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vitruvian::lessons {

using SymbolValues = std::map<std::string, std::size_t, std::less<>>;

/// The lengths that a shape in symbols has: "(B, T, 3 D)" with the symbols'
/// values. A length is a sum of products of symbols and numbers, `P^2` a
/// power. Throws on a symbol without a value.
std::vector<std::size_t> lengths_of(std::string_view shape, const SymbolValues& values);

/// What one of the paper's letters stands for in every lesson. Throws on
/// another letter.
std::string meaning_of(std::string_view symbol);

}  // namespace vitruvian::lessons
