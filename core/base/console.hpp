#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

/// What a program says to whoever started it. Text that came from outside (arguments, names in
/// files, addresses) must not steer a terminal, so every program prints through here.
namespace vitruvian::console {

/// `text` with what would steer a terminal, or leave the line, spelled out: "\n", "\t", "\r";
/// "\u001b" for other control characters, for those that change the direction of writing, and for
/// line and paragraph separators; "\xff" for a byte that is no UTF-8. Bytes in `kept` stay.
std::string visible(std::string_view text, std::string_view kept = "");

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  ///< 0: no UTF-8
};
/// The first character of `text`, which is not empty: RFC 3629, so neither surrogates, nor longer
/// forms than needed, nor anything beyond U+10FFFF.
Character first_of(std::string_view text);

/// How many characters a text of UTF-8 has, and the first `n` of them: what tables are laid out by.
std::size_t characters(std::string_view text);
std::string first_characters(std::string_view text, std::size_t n);

/// What a stream goes to.
struct Terminal {
  bool there = false;        ///< whether it is one; nothing below is true where it is not
  bool colour = false;       ///< not with NO_COLOR set, TERM=dumb or no TERM
  bool deep_colour = false;  ///< of 24 bits, by COLORTERM; else the 256 that xterm made usual
  bool utf8 = false;         ///< by the locale
  std::size_t columns = 80;
  std::size_t rows = 24;
};
Terminal terminal_of(std::FILE* stream);

/// "1:02:03", "2:03" or "0:03"; "-" for what is no time.
std::string clock_time(double seconds);
/// "824 KB", "1.3 GB": powers of 1000.
std::string human_bytes(std::uint64_t bytes);

/// Text that the program itself laid out, and that is printed as it is: help, a picture, colours.
struct Raw {
  std::string text;
};
inline Raw raw(std::string text) { return {std::move(text)}; }
/// Several lines, each of them made visible.
inline Raw lines(std::string_view text) { return {visible(text, "\n")}; }

/// What `print` makes of an argument: text becomes visible, numbers stay. Nothing else is taken.
template <class T>
auto shown(const T& value) {
  if constexpr (std::is_same_v<T, Raw>) {
    return value.text;
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return visible(value);
  } else {
    static_assert(std::is_arithmetic_v<T>, "print text, numbers, or what raw() or lines() make");
    return value;
  }
}
template <class T>
using Shown = decltype(shown(std::declval<const T&>()));

void write_out(std::string_view text);
void write_to(std::FILE* stream, std::string_view text);

/// Prints to standard output; throws (Exit::failure) where that cannot be written.
template <class... Args>
void print(fmt::format_string<Shown<Args>...> format, const Args&... args) {
  write_out(fmt::format(format, shown(args)...));
}
/// Prints to a stream: to one that cannot be written too, without a word. What standard output
/// loses so, `run` reports at the end.
template <class... Args>
void print(std::FILE* stream, fmt::format_string<Shown<Args>...> format, const Args&... args) {
  write_to(stream, fmt::format(format, shown(args)...));
}
/// Brings to its reader what was printed to standard output; throws where that cannot be done.
void flush();

/// The whole of a `main`: opens the streams, runs `body`, and returns its exit code. Whatever is
/// thrown becomes one line "name: what was wrong" on standard error (without a name, the line
/// alone) and the code that belongs to it; so does output that could not be written. Where its
/// reader has left it returns 141, as a shell has it of SIGPIPE, without a word.
int run(std::string_view name, const std::function<int()>& body);

}  // namespace vitruvian::console
