// What a program says to a terminal: text from outside stays on its line and steers nothing.

#include "vitruvian/core/base/console.hpp"

#include "tests/folder.hpp"
#include "vitruvian/core/base/wrapping.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <cstdio>
#include <new>
#include <stdexcept>

namespace vitruvian {
namespace {

using console::visible;

TEST_CASE("what would steer a terminal is spelled out, the rest stays") {
  CHECK(visible("plain, \"quoted\" \\ ~") == "plain, \"quoted\" \\ ~");
  CHECK(visible("Größe 大 \U0001F600 e\u0301") == "Größe 大 \U0001F600 e\u0301");
  CHECK(visible("a\nb\tc\rd") == "a\\nb\\tc\\rd");
  CHECK(visible("a\nb\tc", "\n") == "a\nb\\tc");
  CHECK(visible("\x1b]0;title\x07") == "\\u001b]0;title\\u0007");
  CHECK(visible(std::string("\0\x7f", 2)) == "\\u0000\\u007f");
  CHECK(visible("\u0080\u009b31m\u00a0") == "\\u0080\\u009b31m\u00a0");  // C1; not the space
  CHECK(visible("\u202egnp.exe\u2066 \u200e\u061c") == "\\u202egnp.exe\\u2066 \\u200e\\u061c");
  CHECK(visible("\u2028\u2029\u2027\u2030") == "\\u2028\\u2029\u2027\u2030");
}

TEST_CASE("bytes that are no UTF-8 are spelled out one by one") {
  CHECK(visible("\xff\xfe") == "\\xff\\xfe");
  CHECK(visible("\x9b"
                "31m") == "\\x9b31m");  // C1 in Latin-1
  CHECK(visible("gr\xf6\xdf") == "gr\\xf6\\xdf");
  CHECK(visible("\xc3") == "\\xc3");                             // cut off
  CHECK(visible("\xe5\xa4") == "\\xe5\\xa4");                    // cut off
  CHECK(visible("\xc1\x9b") == "\\xc1\\x9b");                    // two bytes for one
  CHECK(visible("\xe0\x82\x9b") == "\\xe0\\x82\\x9b");           // three for two
  CHECK(visible("\xf0\x80\x80\x9b") == "\\xf0\\x80\\x80\\x9b");  // four for two
  CHECK(visible("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(visible("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  CHECK(visible("\xf4\x8f\xbf\xbf") == "\xf4\x8f\xbf\xbf");
  // Every byte alone, and every pair: nothing below a space, and valid as it stands.
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string pair = {static_cast<char>(a), static_cast<char>(b)};
      const std::string shown = visible(pair);
      CHECK(visible(shown) == shown);
      for (const char c : shown) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F) FAIL(a << ' ' << b);
      }
    }
  }
}

TEST_CASE("texts are measured and cut by the character") {
  CHECK(console::characters("") == 0);
  CHECK(console::characters("für 5 €") == 7);
  CHECK(console::first_characters("für 5 €", 2) == "fü");
  CHECK(console::first_characters("für 5 €", 6) == "für 5 ");
  CHECK(console::first_characters("für 5 €", 7) == "für 5 €");
  CHECK(console::first_characters("für 5 €", 8) == "für 5 €");
  CHECK(console::first_characters("x", 0).empty());
}

TEST_CASE("lines that fit hang below the text, and a letter's accent takes no column") {
  CHECK(console::columns_of("x\u0302ᵢ → ∂L") == 7);
  CHECK(console::columns_of("a\xff") == 2);
  CHECK(console::hanging("note  ", "one two  three", 13) == "note  one two\n      three");
  CHECK(console::hanging("note  ", "one two", 13) == "note  one two");
  CHECK(console::hanging("note  ", "longer-than-that a", 10) == "note  longer-than-that\n      a");
  CHECK(console::hanging("wider than all  ", "a b", 8) == "wider than all  a\n                b");
  const Folder folder;
  std::FILE* const file = std::fopen(folder.file("out").c_str(), "w");
  const std::string text(50, 'x');
  // A file has one line, by which others find it.
  CHECK(console::entry(file, "note  ", text + "  " + text + "\n").text ==
        "note  " + text + "  " + text + "\\n");
  std::fclose(file);
}

TEST_CASE("what is printed: arguments are made visible, the format and raw() are not") {
  const Folder folder;
  std::FILE* const file = std::fopen(folder.file("out").c_str(), "w");
  REQUIRE(file != nullptr);
  const std::string name = "a\x1b[2J";
  console::print(file, "\033[1m{:>10}|{}|{}|{}|{:.1f}\n", name, name.c_str(),
                 console::raw("\033[0m"), console::lines("x\ny\x07"), 1.25);
  std::fclose(file);
  CHECK(content(folder.file("out")) == "\033[1ma\\u001b[2J|a\\u001b[2J|\033[0m|x\ny\\u0007|1.2\n");
}

// What a program prints and returns whose body is `body`.
struct Ended {
  int code;
  std::string out, err;
};
Ended run(const Folder& folder, const std::function<int()>& body) {
  const std::string out = folder.file("out");
  const std::string err = folder.file("err");
  std::fflush(stdout);
  const int before[] = {::dup(STDOUT_FILENO), ::dup(STDERR_FILENO)};
  for (const auto& [path, descriptor] :
       {std::pair{out, STDOUT_FILENO}, std::pair{err, STDERR_FILENO}}) {
    const int opened = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(opened, descriptor);
    ::close(opened);
  }
  const int code = console::run("name", body);
  std::fflush(stdout);
  ::dup2(before[0], STDOUT_FILENO);
  ::dup2(before[1], STDERR_FILENO);
  ::close(before[0]);
  ::close(before[1]);
  return {code, content(out), content(err)};
}

TEST_CASE("whatever is thrown becomes one line and the exit code that belongs to it") {
  const Folder folder;
  const auto check = [&](int code, const std::string& err, const std::function<int()>& body) {
    const Ended ended = run(folder, body);
    CHECK(ended.code == code);
    CHECK(ended.err == err);
    return ended.out;
  };
  CHECK(check(7, "", [] {
          console::print("said\n");
          return 7;
        }) == "said\n");
  check(3, "name: a x\\n\\u001b b\n", []() -> int { fail(Exit::data, "a {} b", "x\n\x1b"); });
  check(1, "name: out of memory\n", []() -> int { throw std::bad_alloc(); });
  check(1, "name: two\\nlines\n", []() -> int { throw std::runtime_error("two\nlines"); });
  const std::filesystem::path loop = folder.path / "loop";
  std::filesystem::create_symlink("loop", loop);
  check(3, "name: " + loop.string() + ": Too many levels of symbolic links\n",
        [&] { return static_cast<int>(is_directory(loop)); });
}

TEST_CASE("a terminal is asked for its width and colours and letters") {
  const int any = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (any == -1) return skip("there are no pseudo-terminals");
  ::close(any);
  const std::map<std::string, std::string> usual{{"TERM", "xterm"}, {"LANG", "C.UTF-8"}};
  // What a pseudo-terminal of so many columns is, in an environment of these variables alone.
  const auto seen = [&](std::uint16_t columns, std::map<std::string, std::string> variables) {
    variables.insert(usual.begin(), usual.end());
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG", "TERM", "NO_COLOR", "COLORTERM"}) {
      ::setenv(name, variables[name].c_str(), 1);
    }
    const int leader = ::posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(leader >= 0);
    REQUIRE(::grantpt(leader) == 0);
    REQUIRE(::unlockpt(leader) == 0);
    winsize size{};
    size.ws_col = columns;
    REQUIRE(::ioctl(leader, TIOCSWINSZ, &size) == 0);
    const int follower = ::open(::ptsname(leader), O_RDWR | O_NOCTTY);
    std::FILE* const file = ::fdopen(follower, "w");
    REQUIRE(file != nullptr);
    const console::Terminal terminal = console::terminal_of(file);
    std::fclose(file);
    ::close(leader);
    CHECK(terminal.there);
    return terminal;
  };
  CHECK(seen(97, {}).columns == 97);
  CHECK(seen(0, {}).columns == 80);  // it does not say
  CHECK(seen(80, {}).colour);
  CHECK_FALSE(seen(80, {}).deep_colour);
  CHECK(seen(80, {{"COLORTERM", "truecolor"}}).deep_colour);
  CHECK_FALSE(seen(80, {{"TERM", "dumb"}}).colour);
  CHECK_FALSE(seen(80, {{"TERM", ""}}).colour);
  CHECK_FALSE(seen(80, {{"NO_COLOR", "1"}}).colour);
  CHECK_FALSE(seen(80, {{"NO_COLOR", "1"}, {"COLORTERM", "24bit"}}).deep_colour);
  CHECK(seen(80, {}).utf8);
  CHECK(seen(80, {{"LC_ALL", "de_DE.utf8"}, {"LANG", "C"}}).utf8);
  CHECK_FALSE(seen(80, {{"LC_ALL", "C"}}).utf8);  // before LANG
  const Folder folder;
  std::FILE* const file = std::fopen(folder.file("plain").c_str(), "w");
  const console::Terminal none = console::terminal_of(file);
  std::fclose(file);
  CHECK_FALSE((none.there || none.colour || none.deep_colour || none.utf8));
  CHECK(none.columns == 80);
}

TEST_CASE("a reader that left ends a program without a word, and is no Error on the way") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::close(ends[0]);
  const Folder folder;
  bool seen = false;
  const Ended ended = run(folder, [&] {
    ::dup2(ends[1], STDOUT_FILENO);
    try {
      console::print("said\n");
      console::flush();
    } catch (const Error&) {
      seen = true;
    }
    return 0;
  });
  ::close(ends[1]);
  std::clearerr(stdout);  // the tests' own can be written
  CHECK(ended.code == 141);
  CHECK(ended.err.empty());
  CHECK_FALSE(seen);
}

TEST_CASE("times and sizes as people say them") {
  CHECK(console::clock_time(3) == "0:03");
  CHECK(console::clock_time(123.4) == "2:03");
  CHECK(console::clock_time(3723) == "1:02:03");
  CHECK(console::clock_time(-1) == "-");
  CHECK(console::human_bytes(999) == "999 bytes");
  CHECK(console::human_bytes(824'312) == "824 KB");
  CHECK(console::human_bytes(1'300'000'000) == "1.3 GB");
}

}  // namespace
}  // namespace vitruvian
