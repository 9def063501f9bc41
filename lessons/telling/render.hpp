#pragma once

#include "lessons/telling/events.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace vitruvian::lessons {

/// Turns events into text, in their order: it may remember the one before.
class Renderer {
 public:
  virtual ~Renderer() = default;
  virtual std::string render(const Event& event) = 0;
};

struct TerminalStyle {
  std::size_t width = 80;
  bool colour = false;
  bool ascii = false;  ///< no glyph beyond ASCII
};

std::unique_ptr<Renderer> terminal_renderer(const TerminalStyle& style);
/// For GitHub: equations between `$$`. Errors of checks that passed appear as
/// their bound, so that pages are the same on every machine.
std::unique_ptr<Renderer> markdown_renderer();
/// One object a line.
std::unique_ptr<Renderer> json_renderer();

/// A figure as lines of text, at most `width` wide.
std::vector<std::string> draw(const Picture& picture, std::size_t width);
std::vector<std::string> draw(const Bars& bars, std::size_t width);
std::vector<std::string> draw(const Curves& curves, std::size_t width);

/// "agree", "DISAGREE", "differ, as they should", "SHOULD DIFFER".
std::string verdict(const Check& check);
/// "(2, 4, 17, 16)"
std::string lengths_text(const std::vector<std::size_t>& lengths);
/// With the digits that a check of this relative tolerance vouches for, at most six: the others
/// differ from machine to machine.
std::string number_text(double x, double tolerance = 1e-6);
/// Two digits and the power of ten: "3.1e-11".
std::string error_text(double x);
/// "3 checks, all passed", or what went wrong and why.
std::string summary(const Closing& closing);

/// How many columns a UTF-8 text takes: its code points, combining marks not
/// counted.
std::size_t columns_of(std::string_view text);
/// `text` with blanks behind it, up to `width` columns.
std::string padded(std::string_view text, std::size_t width);
/// The same in ASCII: Greek letters by name, and so on; '?' for what has no
/// name here.
std::string to_ascii(std::string_view text);

/// A text's paragraphs and list items ("- " kept), each on one line.
std::vector<std::string> paragraphs(std::string_view text);
/// One paragraph in lines of at most `width` columns; a longer word stands
/// alone.
std::vector<std::string> wrapped(std::string_view paragraph, std::size_t width);

}  // namespace vitruvian::lessons
