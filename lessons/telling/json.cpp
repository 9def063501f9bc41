#include "lessons/telling/events.hpp"

#include <nlohmann/json.hpp>

namespace vitruvian::lessons {
namespace {

using nlohmann::json;

// Each of a list, as `of` makes an object of it.
template <class List, class F>
json array(const List& list, const F& of) {
  json result = json::array();
  for (const auto& item : list) result.push_back(of(item));
  return result;
}

json object(const Opening& e) {
  return {{"event", "opening"}, {"number", e.number},     {"name", e.name},
          {"title", e.title},   {"equation", e.equation}, {"minutes", e.minutes}};
}
json object(const Heading& e) { return {{"event", "heading"}, {"text", e.text}}; }
json object(const Text& e) {
  return {{"event", "text"}, {"lead", e.lead}, {"paragraphs", paragraphs(e.text)}};
}
json object(const Remark& e) {
  return {{"event", "remark"},
          {"title", e.title},
          {"paragraphs", paragraphs(e.text)},
          {"answer", paragraphs(e.answer)}};
}
json object(const Equation& e) {
  return {{"event", "equation"}, {"tex", e.tex}, {"unicode", e.unicode}, {"number", e.number}};
}
json object(const Code& e) {
  return {{"event", "code"}, {"file", e.file}, {"line", e.line}, {"lines", e.lines}};
}
json object(const ShapeLine& e) {
  return {{"event", "shape"},
          {"name", e.name},
          {"symbols", e.symbols},
          {"lengths", e.lengths},
          {"holds", e.holds}};
}
json object(const Table& e) {
  return {{"event", "table"}, {"columns", e.columns}, {"rows", e.rows}};
}
json object(const Check& e) {
  return {{"event", "check"},
          {"what", e.what},
          {"left_name", e.left_name},
          {"left", e.left},
          {"right_name", e.right_name},
          {"right", e.right},
          {"relative_error", e.error},
          {"tolerance", e.tolerance},
          {"compared", e.compared},
          {"unit", e.unit},
          {"must_differ", e.must_differ},
          {"passed", e.passed},
          {"verdict", verdict(e)},
          {"reason", e.reason}};
}
json object(const Figure& e) {
  if (const Matrix* const m = std::get_if<Matrix>(&e.data)) {
    return {{"event", "picture"},
            {"caption", e.caption},
            {"rows", m->rows},
            {"columns", m->columns},
            {"values", m->values}};
  }
  const Chart& chart = std::get<Chart>(e.data);
  const auto series = [](const Series& s) -> json {
    return {{"name", s.name}, {"x", s.x}, {"y", s.y}};
  };
  return {{"event", "chart"},
          {"caption", e.caption},
          {"log_y", chart.log_y},
          {"bars", chart.names},
          {"series", array(chart.series, series)}};
}
json object(const Closing& e) {
  const auto mistake = [](const auto& b) -> json {
    return {{"name", b.first}, {"what", b.second}};
  };
  return {{"event", "closing"}, {"checks", e.checks},    {"failed", e.failed},
          {"broken", e.broken}, {"summary", summary(e)}, {"breaks", array(e.breaks, mistake)},
          {"rows", e.rows}};
}

// Numbers that JSON does not know (NaN) become null.
class Json final : public Writer {
 public:
  std::string write(const Event& event) override {
    const json o = std::visit([](const auto& e) { return object(e); }, event);
    return o.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  }
};

}  // namespace

std::unique_ptr<Writer> json_writer() { return std::make_unique<Json>(); }

}  // namespace vitruvian::lessons
