// What the lessons are told with: shapes in symbols, wrapping, ASCII, source regions, renderers.

#include "lessons/telling/source.hpp"
#include "lessons/telling/stage.hpp"
#include "tests/folder.hpp"

#include <nlohmann/json.hpp>

#include <sstream>

using namespace vitruvian;
using namespace vitruvian::lessons;

namespace {

std::string told(Writer& writer, const std::vector<Event>& events) {
  std::string text;
  for (const Event& event : events) text += writer.write(event);
  return text;
}

std::size_t widest(const std::string& text) {
  std::istringstream in(text);
  std::size_t width = 0;
  for (std::string line; std::getline(in, line);) width = std::max(width, columns_of(line));
  return width;
}

Check failed_check() {
  Check check{"gradient of x", "analytic", 1, "numeric", 2, 0.5, 1e-6};
  check.reason = "The numeric value is 2 times the analytic one.";
  return check;
}

Check wrong_variant() {
  Check check{"the mean, forgotten", "right", 1, "wrong", 2, 0.5, 1e-3};
  check.must_differ = check.passed = true;
  return check;
}
Check yes() {
  Check check{"it is refused"};
  check.passed = true;
  return check;
}

Figure curve(std::vector<Series> series, bool log_y) {
  return {"curves", Chart{.series = std::move(series), .log_y = log_y}};
}
Figure bars(const std::vector<std::pair<std::string, double>>& rows, bool log) {
  Figure figure = curve({{"", {}, {}, Mark::bars}}, log);
  Chart& chart = std::get<Chart>(figure.data);
  for (const auto& [name, value] : rows) {
    chart.names.push_back(name), chart.series[0].y.push_back(value);
  }
  return figure;
}

// One of each kind, with everything that needs care in it.
std::vector<Event> all_events() {
  Check passed{"a | b", "fused", 0.123456789, "composed", 0.123456789, 3.2e-15, 1e-12, 12};
  passed.passed = true;
  const Image two{1, 2, 1, {0, 255}};
  return {Opening{9, "softmax", "Softmax", "p = exp(x)", 5},
          Heading{"What we want to know"},
          Text{"A text with `code` in it, an under_score and a < b.\n\n- one\n- two"},
          Text{"the largest gets the largest share.", "In words"},
          Equation{R"(y = x_i)", "y = xᵢ", "5"},
          Table{{"symbol", "here", "meaning"}, {{"D_h", "64", "width of a head"}}},
          Code{"lessons/course/softmax.cpp", 7, {"int x;", "", "int y = 1;"}},
          ShapeLine{"q", "(B, T)", {2, 3}, true},
          ShapeLine{"k", "(B, T)", {2, 4}, false},
          Table{{"a", "b"}, {{"1", "x | y"}}},
          Checks{{passed, wrong_variant(), yes(), failed_check()}},
          Figure{"a picture", Matrix{2, 3, {0, 1, 2, 3, 4, 5}}},
          bars({{"one", 1}, {"ten", 10}}, true),
          curve({{"s", {0, 1, 2}, {1, 10, 100}}}, true),
          Figure{"pictures", ImageGrid{.images = {two, two}, .columns = 2}},
          Figure{"boxes", Diagram{.boxes = {{"x", {"2.0"}}, {"y", {}, 1}},
                                  .arrows = {{"x", "y", "f", "dx"}}}},
          Remark{.title = "Where the sources disagree", .text = "phi is not Phi.", .folds = true},
          Text{"`torch.softmax`", "In PyTorch"},
          Remark{"A question", "why?", "because."},
          Remark{"To take along", "and now?"},
          Closing{2,
                  1,
                  "name",
                  "of this.",
                  {{"name", "does that"}},
                  {"2-3", "B4"},
                  Entry{8, "chains", "I. The tape", "Chains"},
                  {},
                  {{6, "square", "The square goes back", {}, "easy"}},
                  {"chain rule", "vjp"},
                  Control{"How wide?", {{"D", 1, 64, 8, 1}, {"h", 1, 8, 2, 1}}}}};
}

}  // namespace

TEST_CASE("a shape in symbols has the lengths of its values") {
  const SymbolValues values = {{"B", 2}, {"T", 17}, {"D", 64}, {"D_h", 16}, {"P", 4}, {"C", 3}};
  using Lengths = std::vector<std::size_t>;
  CHECK(lengths_of("()", values) == Lengths{});
  CHECK(lengths_of("(B, T, D)", values) == Lengths{2, 17, 64});
  CHECK(lengths_of("(B T, 3 D)", values) == Lengths{34, 192});
  CHECK(lengths_of("(T + 1, C P^2)", values) == Lengths{18, 48});
  CHECK(lengths_of("(2 B + 3 D_h,)", values) == Lengths{52});
  CHECK_THROWS_AS(lengths_of("(B, Q)", values), Error);
  CHECK_THROWS_AS(lengths_of("B, T", values), Error);
  CHECK_THROWS_AS(lengths_of("(B", values), Error);
  CHECK(meaning_of("T") == "tokens");
  CHECK_THROWS_AS(meaning_of("S"), Error);
}

TEST_CASE("text is wrapped by columns, not bytes") {
  CHECK(columns_of("x̂ᵢ → ∂L") == 7);
  CHECK(wrapped("αβγ δεζ ηθι", 7) == std::vector<std::string>{"αβγ δεζ", "ηθι"});
  CHECK(wrapped("a-very-long-word b", 4) == std::vector<std::string>{"a-very-long-word", "b"});
  CHECK(paragraphs("one\ntwo\n\n  three\n- a\n- b\n  c") ==
        std::vector<std::string>{"one two", "three", "- a", "- b c"});
}

TEST_CASE("ASCII spells what it can") {
  CHECK(to_ascii("∂L/∂x̄ → α²") == "dL/dxbar -> alpha^2");
  CHECK(to_ascii("日") == "?");
}

TEST_CASE("every lesson's equation has an ASCII spelling, every number is its own") {
  std::set<int> numbers;
  for (const Entry& entry : contents()) {
    INFO(entry.name);
    CHECK(numbers.insert(entry.number).second);
    const std::string ascii = to_ascii(entry.equation);
    CHECK(std::count(ascii.begin(), ascii.end(), '?') ==
          std::count(entry.equation.begin(), entry.equation.end(), '?'));
  }
  CHECK(numbers.size() == 34);
  const int softmax = entry_of("softmax").number, gelu = entry_of("gelu").number;
  CHECK(contents().at(softmax).name == "softmax");
  CHECK(numbered("lessons #softmax and #gelu, # 1") ==
        fmt::format("lessons {} and {}, # 1", softmax, gelu));
  CHECK_THROWS_AS(numbered("lesson #sofmax"), Error);
}

TEST_CASE("regions and functions are read from the source") {
  const Code region = region_of("lessons/course/softmax.cpp", "as written");
  REQUIRE(!region.lines.empty());
  CHECK(region.lines.front() == "Tensor as_written(const Tensor& x) {");
  CHECK(source_lines(region.file).at(region.line - 1) == region.lines.front());
  const Code function = function_of("core/composed.cpp", "Tensor linear(");
  CHECK(function.lines.back() == "}");
  CHECK(function.lines.size() == 4);
  CHECK(function_of("core/composed.cpp", "Tensor softmax(").lines.front().starts_with("//"));
  CHECK_THROWS_AS(region_of("lessons/course/softmax.cpp", "no such region"), Error);
  CHECK_THROWS_AS(function_of("core/composed.cpp", "Tensor no_such("), Error);
  CHECK_THROWS_AS(source_lines("lessons/no_such.cpp"), Error);
}

TEST_CASE("a comment that is too long for a terminal goes on as a comment") {
  const auto shown = [](const std::string& code) {
    const auto writer = terminal_writer({40, false, true});
    return told(*writer, {Code{"x.cpp", 1, {code}}});
  };
  CHECK(says(shown("  // one two three four five six seven eight"),
             "    // one two three four five six seven\n    // eight\n"));
  CHECK(says(shown("int x = 1;  // one two three four five six"),
             "  int x = 1;  // one two three four five\n      // six\n"));
  CHECK(says(shown("const int a_long_name = another_name + third;"),
             "  const int a_long_name = another_name +\n       third;\n"));
}

TEST_CASE("the terminal keeps to its width, and to ASCII where it is told to") {
  for (const std::size_t width : {30, 60, 80}) {
    CAPTURE(width);
    const auto writer = terminal_writer({width, false, true});
    const std::string text = told(*writer, all_events());
    CHECK(widest(text) <= width);
    CHECK(std::all_of(text.begin(), text.end(),
                      [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  }
  const auto plain = terminal_writer({80, false, false});
  const std::string text = told(*plain, all_events());
  CHECK(!says(text, "\x1b"));
  CHECK(says(text, "In words: the largest"));
  CHECK(says(text, "q (B, T) = (2, 3)\n"));
  CHECK(says(text, "k (B, T) = (2, 4)  WRONG SHAPE"));
  CHECK(says(text, "✓ 2 checks agree, worst 3e-15: a | b; it is refused\n"));
  CHECK(says(text, "✓ differ, as they should: the mean, forgotten (right 1, wrong 2)\n"));
  CHECK(says(text, "DISAGREE  gradient of x\n"));
  CHECK(!says(text, "12 numbers"));
  CHECK(says(text, "2 times the analytic one"));
  CHECK(says(text, "Where the sources disagree\n"));
  CHECK(!says(text, "2-3"));
  CHECK(says(text, "1 of 2 checks failed. You asked for the mistake name: of this."));
  const auto coloured = terminal_writer({80, true, false});
  const std::string colours = told(*coloured, all_events());
  CHECK(says(colours, "\x1b[1;31mDISAGREE"));
  CHECK(!says(colours, "`code`"));
  const auto in_full = terminal_writer({80, false, false, true});
  const std::string all = told(*in_full, all_events());
  CHECK(says(all, "agree     a | b (12 numbers)\n"));
  CHECK(says(all, "largest: fused 0.123457, composed 0.123457; relative error 3.2e-15"));
}

TEST_CASE("Markdown renders on GitHub") {
  const auto writer = markdown_writer();
  const std::string text = told(*writer, all_events());
  CHECK(says(text, "# Lesson 9. Softmax\n"));
  CHECK(says(text, "```math\ny = x_i \\tag{5}\n```\n"));
  CHECK(says(text,
             "\n<details open><summary>Where the sources disagree</summary>\n\n"
             "phi is not Phi.\n\n</details>\n"));
  CHECK(says(text, "an under\\_score and a &lt; b"));
  CHECK(says(text, "\n- one\n- two\n"));
  CHECK(says(text, "```cpp\nint x;\n\nint y = 1;\n```"));
  CHECK(says(text, "```text\nq (B, T) = (2, 3)\nk (B, T) = (2, 4)  WRONG SHAPE\n```"));
  CHECK(says(text, "<details><summary>✓ 2 checks agree to 1e-12: a | b; it is refused<br>"));
  CHECK(says(text, "| a \\| b (12 numbers) | fused 0.123457, composed 0.123457 | below 1e-12 |"));
  CHECK(says(text, "| gradient of x | analytic 1, numeric 2 | 5.0e-01 | DISAGREE |"));
  CHECK(says(text,
             "\nNow you:\n\n- `build/bin/lesson exercise square`: The square goes back (easy)\n"));
  CHECK(
      says(text, "Words to keep: [chain rule](glossary.md#chain-rule), [vjp](glossary.md#vjp).\n"));
  CHECK(says(text, "--play 8,2`. How wide? (D from 1 to 64; h from 1 to 8)\n"));
  CHECK(says(text, "\nBefore: [8. Chains](chains.md) · [The course](README.md)\n"));
  CHECK(says(text, "\n<!-- Rows of docs/requirements.md that stand here: 2-3, B4. -->\n"));
  CHECK(says(text, "<details><summary>Answer</summary>"));
}

TEST_CASE("JSON is one object a line, with the numbers in full") {
  const auto writer = json_writer();
  std::istringstream lines(told(*writer, all_events()));
  for (std::string line; std::getline(lines, line);) {
    CHECK(nlohmann::json::parse(line).at("event").is_string());
  }
  const auto closing = nlohmann::json::parse(writer->write(all_events().back()));
  // What readers find by name, whole: an object that loses a field would say nothing.
  CHECK(closing.at("exercises").at(0).dump() ==
        R"({"level":"easy","name":"square","number":6,"title":"The square goes back"})");
  CHECK(closing.at("sliders").at(1).dump() ==
        R"({"from":1.0,"name":"h","start":2.0,"step":1.0,"to":8.0})");
  std::map<std::string, std::string> parts;
  for (const Event& event : all_events()) {
    if (!std::holds_alternative<Figure>(event)) continue;
    const auto figure = nlohmann::json::parse(writer->write(event));
    for (const char* part : {"boxes", "arrows", "images", "series", "values"}) {
      if (figure.contains(part)) parts[part] = figure.at(part).at(0).dump();
    }
  }
  CHECK(parts == std::map<std::string, std::string>{
                     {"arrows", R"({"back":"dx","from":"x","label":"f","to":"y"})"},
                     {"boxes", R"({"column":0,"lines":["2.0"],"name":"x","row":0})"},
                     {"images", R"({"channels":1,"height":1,"pixels":[0,255],"width":2})"},
                     {"series", R"({"name":"s","x":[0.0,1.0,2.0],"y":[1.0,10.0,100.0]})"},
                     {"values", "0.0"}});
  Check nan = failed_check();
  nan.left = std::numeric_limits<double>::quiet_NaN();
  CHECK(nlohmann::json::parse(writer->write(Checks{{nan}})).at("left").is_null());
  const std::string checks = writer->write(all_events()[10]);
  CHECK(nlohmann::json::parse(checks.substr(0, checks.find('\n'))).at("left") == 0.123456789);
}

TEST_CASE("figures hold their data") {
  const auto picture = lines_of({"", Matrix{2, 2, {0, 1, 2, 4}}}, 80);
  CHECK(picture == std::vector<std::string>{"  ░░", "▒▒██"});
  CHECK(lines_of({"", Matrix{1, 3, {5, 5, 5}}}, 80).size() == 1);  // no range: no division by zero
  const auto drawn = lines_of(bars({{"a", 1}, {"b", 2}}, false), 40);
  const auto length = [&](std::size_t row) { return static_cast<int>(columns_of(drawn[row])) - 5; };
  CHECK(std::abs(length(1) - 2 * length(0)) <= 1);
  const auto line = lines_of(curve({{"s", {0, 1}, {0, 1}}}, false), 40);
  CHECK(line.front().ends_with("*"));
  CHECK(says(line[11], "│*"));
}

TEST_CASE("flags") {
  const Lesson lesson{.breaks = {{"no-scale", "", ""}}};
  const auto parse = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "lesson");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    return *parse_options(static_cast<int>(argv.size()), argv.data(), {}, lesson);
  };
  CHECK(parse({"--width", "60", "--seed=7", "--ascii"}).width == 60);
  CHECK(parse({"--seed=7"}).seed == 7);
  CHECK(parse({"--break", "no-scale"}).broken == "no-scale");
  const std::vector<std::vector<std::string>> refused{
      {"--widht", "60"},    {"--width"}, {"--width", "6"}, {"--width", "6x"},
      {"--break", "scale"}, {"nine"},    {"--seed", "-1"}, {"--json", "--markdown"},
      {"--ascii=yes"}};
  for (const std::vector<std::string>& wrong : refused) {
    CAPTURE(wrong[0]);
    CHECK(failure_of([&] { parse(wrong); }).exit == Exit::usage);
  }
}
