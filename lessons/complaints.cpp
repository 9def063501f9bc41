#include "lessons/complaints.hpp"

#include "lessons/telling/source.hpp"
#include "vitruvian/core/base/error.hpp"

#include <algorithm>
#include <cctype>
#include <regex>
#include <vector>

namespace vitruvian::lessons {
namespace {

// The functions of core/ops.hpp, and how they are declared there.
struct Declaration {
  std::string name;
  std::string text;
};

const std::vector<Declaration>& declarations() {
  static const std::vector<Declaration> all = [] {
    static const std::regex function(R"(^Tensor (\w+)\(.*)");
    std::vector<Declaration> found;
    bool open = false;  // a declaration of several lines
    for (const std::string& line : source_lines("core/ops.hpp")) {
      std::smatch parts;
      if (std::regex_match(line, parts, function)) {
        found.push_back({parts[1], line});
      } else if (open) {
        found.back().text += line.substr(line.find_first_not_of(' ') - 1);
      } else {
        continue;
      }
      open = !line.ends_with(';');
    }
    return found;
  }();
  return all;
}

std::string declared(const std::string& name) {
  for (const Declaration& one : declarations()) {
    if (one.name == name) return fmt::format("In core/ops.hpp it stands as `{}`", one.text);
  }
  return "";
}

// Where the compiler has a suggestion of its own, only what differs in capital letters.
std::string nearest(std::string name, bool suggested) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (suggested && declared(name).empty()) return "";
  const std::string near = closest_match(name, names_in(declarations()));
  return near.empty() ? "docs/ops.md has what works on tensors."
                      : fmt::format("Did you mean {}?", near);
}

// What a complaint begins with, g++'s words and clang's, and what is to be said; the first that
// fits counts. $1 is what the pattern found, {nearest} and {declared} what is known about that
// name.
struct Row {
  const char* pattern;
  const char* words;
};
constexpr Row rows[] = {
    {R"(stray '@'|return y @)", "C++ has no @: the product of two matrices is matmul(a, b)."},
    {R"(expected (',' or )?';')",
     "A semicolon is missing, just before this place or at the end of the line above."},
    {R"(expected '\)')", "A bracket ( that was opened is not closed."},
    {R"(expected '\}'|extraneous closing brace|expected declaration before '\}'|)"
     R"(expected unqualified-id|function.definition is not allowed)",
     "The braces { and } do not match: one is missing, or there is one too many."},
    {R"('(?:axis|dim|keepdims?)' was not declared|undeclared identifier '(?:axis|dim|keepdims?)')",
     "C++ has no arguments by name: sum(x, {-1}, true) sums along the last axis and keeps it."},
    {R"('(\w+)' was not declared|undeclared identifier '(\w+)'|'(\w+)' is not a member of|)"
     R"(no (?:template|member|type) named '(\w+)' in namespace|no template named '(\w+)')",
     "Nothing is called $1 here. Either it is spelled otherwise, or it is declared further down or "
     "between other braces, or it wants its std:: in front. {nearest}"},
    {R"((?:could not convert .* from|returned value of type) '.*to .*'vitruvian::(?:\w+::)?Tensor')",
     "A Tensor is wanted, and this is none. Of a number Tensor(scalar(x)) makes one, of an Array "
     "Tensor(a)."},
    {R"((?:convert|conversion from) '(?:const )?vitruvian::(?:\w+::)?Tensor' to '(?:double|float|int|)"
     R"((?:std::)?size_t|unsigned long|long))",
     "A Tensor is no number, though it may hold only one: that is t.item(). Entry (i, j) is "
     "t.value()(i, j)."},
    {R"(conversion from '(?:const )?vitruvian::(?:\w+::)?Tensor' to (?:non-scalar type )?)"
     R"('vitruvian::(?:\w+::)?Array)",
     "A Tensor is no Array, but holds one: t.value()."},
    {R"(no return statement|control reaches end|does not return a value)",
     "The function can end without a return: each way through it has to give its result back."},
    {R"(narrowing conversion of .* to 'bool'|cannot be narrowed to type 'bool')",
     "A Tensor is not made of a list of numbers: Tensor(array({2}, {1, 2})) has the shape (2,)."},
    {R"(narrowing conversion|cannot be narrowed)",
     "Lengths are std::size_t, and between { } no int becomes one by itself: declare it as "
     "std::size_t, or write static_cast<std::size_t>(n)."},
    {R"(has no member named '(\w+)'|no member named '(\w+)' in)",
     "It has nothing called $1. What works on tensors are functions, sum(t) and not t.sum(); a "
     "Tensor "
     "has value(), item(), shape(), rank(), size() and size(axis). {declared}"},
    {R"(unresolved overloaded function type|non-static member function)",
     "The brackets of a call are missing: shape(), item(), value(), size()."},
    {R"(discards qualifiers|assignment of read-only|no viable overloaded|cannot assign to|)"
     R"(no match for 'operator[-+*/]?=')",
     "It is const, so it is only read. Give the result a name of its own, const Tensor z = ..., or "
     "change a copy: Array a = t.value()."},
    {R"(no match for call to '\((?:const )?vitruvian::(?:\w+::)?Tensor\)|)"
     R"(type '(?:const )?vitruvian::(?:\w+::)?Tensor' does not provide a call operator)",
     "Entry (i, j) of a Tensor is t.value()(i, j), a number; t[i] is its row i, a Tensor."},
    {R"(no match for 'operator|invalid operands to binary expression)",
     "That operator is not there for these two. Tensors know +, -, * and /, with each other and "
     "with "
     "numbers; a power is square(t) or pow(t, p), the product of matrices matmul(a, b), and "
     "entries "
     "are compared one by one, t.value()(i, j)."},
    {R"(Lengths|Axes)", "A shape, or a list of axes, is whole numbers between braces, {2, -1}; "
                        "t.shape() is one, too."},
    {R"(no matching function[^]*std::(\w+)\()",
     "std::$1 takes numbers. For tensors there is one without std:: in front. {declared}"},
    {R"(too (?:many|few) arguments to function '[^(]*\b(\w+)\(|no matching function for call to '(?:\w+::)*(\w+))",
     "$1 takes other arguments, in their number or in their types. {declared}"},
};

void replace(std::string& text, const std::string& mark, const std::string& by) {
  const std::size_t at = text.find(mark);
  if (at != std::string::npos) text.replace(at, mark.size(), by);
}

}  // namespace

std::string in_other_words(const std::string& complaint) {
  for (const Row& row : rows) {
    std::smatch parts;
    if (!std::regex_search(complaint, parts, std::regex(row.pattern))) continue;
    std::string name;  // of the alternatives, each with a group of its own, one has found it
    for (std::size_t i = 1; i < parts.size(); ++i) name += parts[i].str();
    std::string words = row.words;
    replace(words, "$1", name);
    replace(words, "{declared}", declared(name));
    const bool suggested = complaint.find("did you mean") != std::string::npos;
    replace(words, "{nearest}", nearest(name, suggested));
    while (words.ends_with(' ')) words.pop_back();
    return words;
  }
  return "";
}

}  // namespace vitruvian::lessons
