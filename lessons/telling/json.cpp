#include "vitruvian/core/base/json.hpp"
#include "lessons/telling/events.hpp"

// What is an object of its fields, under their names.

namespace vitruvian {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Series, name, x, y)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Image, height, width, channels, pixels)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Diagram::Box, name, lines, column, row)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Diagram::Arrow, from, to, label, back)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Diagram, boxes, arrows)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Matrix, rows, columns, values)
}  // namespace vitruvian

namespace vitruvian::lessons {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Opening, number, name, title, equation, minutes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Heading, text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Equation, tex, unicode, number)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Code, file, line, lines)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ShapeLine, name, symbols, lengths, holds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Table, columns, rows)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Check, what, left_name, left, right_name, right, tolerance,
                                   compared, unit, must_differ, passed, reason)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Exercise, number, name, title, level)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Slider, name, from, to, start, step)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Closing, checks, failed, broken, rows, exercises, words)

namespace {

using json = SortedJson;

// An object, and what else it has.
template <class T>
json with(const T& of, const json& more) {
  json o = of;
  o.update(more);
  return o;
}

template <class E>
json object(const char* name, const E& e) {
  return with(e, {{"event", name}});
}
json object(const Opening& e) { return object("opening", e); }
json object(const Heading& e) { return object("heading", e); }
json object(const Text& e) {
  return {{"event", "text"}, {"lead", e.lead}, {"paragraphs", paragraphs(e.text)}};
}
json object(const Remark& e) {
  return {{"event", "remark"},
          {"title", e.title},
          {"paragraphs", paragraphs(e.text)},
          {"answer", paragraphs(e.answer)}};
}
json object(const Equation& e) { return object("equation", e); }
json object(const Code& e) { return object("code", e); }
json object(const ShapeLine& e) { return object("shape", e); }
json object(const Table& e) { return object("table", e); }
json object(const Check& e) {
  return with(e, {{"event", "check"}, {"relative_error", e.error}, {"verdict", verdict(e)}});
}
json object(const Figure& e) {
  if (const Matrix* const m = std::get_if<Matrix>(&e.data)) {
    return with(*m, {{"event", "picture"}, {"caption", e.caption}});
  }
  if (const Diagram* const diagram = std::get_if<Diagram>(&e.data)) {
    return with(*diagram, {{"event", "diagram"}, {"caption", e.caption}});
  }
  if (const ImageGrid* const grid = std::get_if<ImageGrid>(&e.data)) {
    return {{"event", "pictures"},        {"caption", e.caption},
            {"columns", grid->columns},   {"column_names", grid->x_names},
            {"row_names", grid->y_names}, {"images", grid->images}};
  }
  const Chart& chart = std::get<Chart>(e.data);
  return {{"event", "chart"},
          {"caption", e.caption},
          {"log_y", chart.log_y},
          {"bars", chart.names},
          {"series", chart.series}};
}
json object(const Closing& e) {
  json breaks = json::array();
  for (const auto& [name, what] : e.breaks) breaks.push_back({{"name", name}, {"what", what}});
  return with(e, {{"event", "closing"},
                  {"summary", summary(e)},
                  {"breaks", breaks},
                  {"question", e.control.question},
                  {"sliders", e.control.sliders}});
}

// Numbers that JSON does not know (NaN) become null.
std::string line(const json& o) { return dump_json(o) + "\n"; }
template <class E>
std::string lines(const E& e) {
  return line(object(e));
}
std::string lines(const Checks& e) {
  std::string result;
  for (const Check& check : e.all) result += line(object(check));
  return result;
}

class Json final : public Writer {
 public:
  std::string write(const Event& event) override {
    return std::visit([](const auto& e) { return lines(e); }, event);
  }
};

}  // namespace

std::unique_ptr<Writer> json_writer() { return std::make_unique<Json>(); }

}  // namespace vitruvian::lessons
