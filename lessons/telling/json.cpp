#include "vitruvian/core/base/json.hpp"
#include "lessons/telling/events.hpp"

namespace vitruvian::lessons {

// What is an object of its fields, under their names.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Opening, number, name, title, equation, minutes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Heading, text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Equation, tex, unicode, number)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Code, file, line, lines)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ShapeLine, name, symbols, lengths, holds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Table, columns, rows)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Check, what, left_name, left, right_name, right, tolerance,
                                   compared, unit, must_differ, passed, reason)

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
    return {{"event", "picture"},
            {"caption", e.caption},
            {"rows", m->rows},
            {"columns", m->columns},
            {"values", m->values}};
  }
  if (const Diagram* const diagram = std::get_if<Diagram>(&e.data)) {
    json boxes = json::array(), arrows = json::array();
    for (const Diagram::Box& b : diagram->boxes) {
      boxes.push_back({{"name", b.name}, {"lines", b.lines}, {"column", b.column}, {"row", b.row}});
    }
    for (const Diagram::Arrow& a : diagram->arrows) {
      arrows.push_back({{"from", a.from}, {"to", a.to}, {"label", a.label}, {"back", a.back}});
    }
    return {{"event", "diagram"}, {"caption", e.caption}, {"boxes", boxes}, {"arrows", arrows}};
  }
  if (const ImageGrid* const grid = std::get_if<ImageGrid>(&e.data)) {
    json images = json::array();
    for (const Image& i : grid->images) {
      images.push_back({{"height", i.height},
                        {"width", i.width},
                        {"channels", i.channels},
                        {"pixels", i.pixels}});
    }
    return {{"event", "pictures"},        {"caption", e.caption},
            {"columns", grid->columns},   {"column_names", grid->x_names},
            {"row_names", grid->y_names}, {"images", images}};
  }
  const Chart& chart = std::get<Chart>(e.data);
  json series = json::array();
  for (const Series& s : chart.series) series.push_back({{"name", s.name}, {"x", s.x}, {"y", s.y}});
  return {{"event", "chart"},
          {"caption", e.caption},
          {"log_y", chart.log_y},
          {"bars", chart.names},
          {"series", series}};
}
json object(const Closing& e) {
  json breaks = json::array();
  for (const auto& [name, what] : e.breaks) breaks.push_back({{"name", name}, {"what", what}});
  json exercises = json::array();
  for (const Practice& p : e.exercises) {
    exercises.push_back(
        {{"number", p.number}, {"name", p.name}, {"title", p.title}, {"level", p.level}});
  }
  json sliders = json::array();
  for (const Slider& s : e.control.value_or(Control()).sliders) {
    sliders.push_back(
        {{"name", s.name}, {"from", s.from}, {"to", s.to}, {"start", s.start}, {"step", s.step}});
  }
  return {{"event", "closing"},    {"checks", e.checks},
          {"failed", e.failed},    {"broken", e.broken},
          {"summary", summary(e)}, {"breaks", breaks},
          {"rows", e.rows},        {"exercises", exercises},
          {"words", e.words},      {"question", e.control.value_or(Control()).question},
          {"sliders", sliders}};
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
