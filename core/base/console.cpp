#include "vitruvian/core/base/console.hpp"

#include "vitruvian/core/base/error.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iterator>
#include <new>
#include <system_error>

namespace vitruvian::console {
namespace {

// Unicode's Cc, Bidi_Control, Zl and Zp.
bool steers(std::uint32_t code) {
  const auto within = [code](std::uint32_t first, std::uint32_t last) {
    return code >= first && code <= last;
  };
  return code < 0x20 || within(0x7F, 0x9F) || code == 0x61C || within(0x200E, 0x200F) ||
         within(0x2028, 0x202E) || within(0x2066, 0x2069);
}

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

std::string spelled_out(std::uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\t') return "\\t";
  if (code == '\r') return "\\r";
  return fmt::format("\\u{:04x}", code);
}

[[noreturn]] void cannot_be_written() {
  const int error = errno;
  if (error == EPIPE) throw ReaderLeft();
  fail(Exit::failure, "standard output cannot be written{}",
       error == 0 ? "" : ": " + std::system_category().message(error));
}

// Makes descriptors 0 to 2 exist, so that no file that is opened later gets one of their numbers
// and what is printed: a closed one reads as empty and cannot be written, as before. A reader that
// left and a limit on the size of files become errors of writing instead of signals.
void open_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest that is free: this one. For reading, so that writing fails as it did.
    const int opened = ::open("/dev/null", O_RDONLY);
    if (opened == -1 && ::open("/", O_RDONLY) == -1) ::_exit(static_cast<int>(Exit::failure));
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

int report(std::string_view name, Exit exit, const std::string& message) {
  std::fflush(stdout);  // what was said before comes first; if that fails, this line still counts
  print(stderr, "{}{}{}\n", name, name.empty() ? "" : ": ", message);
  return static_cast<int>(exit);
}

}  // namespace

Character first_of(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  const bool longer = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return longer || surrogate || code > 0x10FFFF ? Character{} : Character{code, bytes};
}

std::string visible(std::string_view text, std::string_view kept) {
  std::string result;
  while (!text.empty()) {
    const Character c = first_of(text);
    if (c.bytes == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (steers(c.code) && !(c.bytes == 1 && kept.find(text[0]) != std::string_view::npos)) {
      result += spelled_out(c.code);
    } else {
      result += text.substr(0, c.bytes);
    }
    text.remove_prefix(c.bytes == 0 ? 1 : c.bytes);
  }
  return result;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string first_characters(std::string_view text, std::size_t n) {
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (begins_character(text[end]) && n-- == 0) break;
  }
  return std::string(text.substr(0, end));
}

std::string clock_time(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e9) return "-";
  const auto s = static_cast<long>(std::lround(seconds));
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::string_view units[] = {"bytes", "KB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(units)) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 || value >= 9.95 ? fmt::format("{:.0f} {}", value, units[unit])
                                    : fmt::format("{:.1f} {}", value, units[unit]);
}

Terminal terminal_of(std::FILE* stream) {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  Terminal terminal;
  if (::isatty(::fileno(stream)) == 0) return terminal;
  terminal.there = true;
  winsize size{};
  if (::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0) {
    if (size.ws_col > 0) terminal.columns = size.ws_col;
    if (size.ws_row > 0) terminal.rows = size.ws_row;
  }
  std::string_view locale;  // POSIX: the first of these that is set and not empty
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (locale.empty()) locale = variable(name);
  }
  for (const char* utf8 : {"UTF-8", "utf-8", "UTF8", "utf8"}) {
    terminal.utf8 = terminal.utf8 || locale.find(utf8) != locale.npos;
  }
  const std::string_view term = variable("TERM");
  terminal.colour = variable("NO_COLOR").empty() && !term.empty() && term != "dumb";
  const std::string_view depth = variable("COLORTERM");
  terminal.deep_colour = terminal.colour && (depth == "truecolor" || depth == "24bit");
  return terminal;
}

void write_out(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) cannot_be_written();
}

void write_to(std::FILE* stream, std::string_view text) {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stream));
}

void flush() {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed) errno = 0;  // an earlier write failed, and why is forgotten
  if (!flushed || std::ferror(stdout) != 0) cannot_be_written();
}

int run(std::string_view name, const std::function<int()>& body) {
  open_streams();
  try {
    const int code = body();
    flush();
    return code;
  } catch (const ReaderLeft&) {
    return 128 + SIGPIPE;  // what a shell sees of a program that has died of it, as others do
  } catch (const Error& error) {
    return report(name, error.exit(), error.what());
  } catch (const std::bad_alloc&) {
    return report(name, Exit::failure, "out of memory");
  } catch (const std::filesystem::filesystem_error& error) {
    const std::error_code& code = error.code();
    const bool loop = code == std::errc::too_many_symbolic_link_levels;
    const std::string path = error.path1().string();
    return report(name, loop ? Exit::data : Exit::failure,
                  path.empty() ? error.what() : fmt::format("{}: {}", path, code.message()));
  } catch (const std::exception& error) {
    return report(name, Exit::failure, error.what());
  }
}

}  // namespace vitruvian::console
