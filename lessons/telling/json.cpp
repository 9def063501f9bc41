#include "lessons/telling/render.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <string>
#include <variant>

namespace vitruvian::lessons {
namespace {

using nlohmann::json;

json pairs(const std::vector<std::pair<std::string, std::string>>& list, const char* first,
           const char* second) {
  json result = json::array();
  for (const auto& [a, b] : list) result.push_back({{first, a}, {second, b}});
  return result;
}

json object(const Opening& e) {
  return {{"event", "opening"}, {"number", e.number},     {"name", e.name},
          {"title", e.title},   {"equation", e.equation}, {"minutes", e.minutes}};
}
json object(const Heading& e) { return {{"event", "heading"}, {"text", e.text}}; }
json object(const Text& e) { return {{"event", "text"}, {"paragraphs", paragraphs(e.text)}}; }
json object(const Words& e) { return {{"event", "in_words"}, {"paragraphs", paragraphs(e.text)}}; }
json object(const Equation& e) {
  return {{"event", "equation"}, {"tex", e.tex}, {"unicode", e.unicode}, {"number", e.number}};
}
json object(const Symbols& e) {
  json rows = json::array();
  for (const auto& r : e.rows) {
    rows.push_back({{"symbol", r.symbol}, {"meaning", r.meaning}, {"value", r.value}});
  }
  return {{"event", "symbols"}, {"rows", rows}};
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
json object(const Picture& e) {
  return {{"event", "picture"},
          {"caption", e.caption},
          {"rows", e.rows},
          {"columns", e.columns},
          {"values", e.values}};
}
json object(const Bars& e) {
  json rows = json::array();
  for (const auto& [label, value] : e.rows) rows.push_back({{"label", label}, {"value", value}});
  return {{"event", "bars"}, {"caption", e.caption}, {"log", e.log}, {"rows", rows}};
}
json object(const Curves& e) {
  json series = json::array();
  for (const auto& s : e.series) series.push_back({{"name", s.name}, {"x", s.x}, {"y", s.y}});
  return {{"event", "curves"}, {"caption", e.caption}, {"log_y", e.log_y}, {"series", series}};
}
json object(const Disagreement& e) {
  return {{"event", "sources_disagree"}, {"row", e.row}, {"paragraphs", paragraphs(e.text)}};
}
json object(const Elsewhere& e) {
  return {{"event", "pytorch"}, {"paragraphs", paragraphs(e.text)}};
}
json object(const Question& e) {
  return {{"event", "question"},
          {"question", paragraphs(e.question)},
          {"answer", paragraphs(e.answer)}};
}
json object(const Closing& e) {
  return {{"event", "closing"},    {"checks", e.checks},
          {"failed", e.failed},    {"broken", e.broken},
          {"summary", summary(e)}, {"breaks", pairs(e.breaks, "name", "what")},
          {"rows", e.rows}};
}

// One event a line. Numbers that JSON does not know (NaN) become null.
class Json final : public Renderer {
 public:
  std::string render(const Event& event) override {
    const json o = std::visit([](const auto& e) { return object(e); }, event);
    return o.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  }
};

}  // namespace

std::unique_ptr<Renderer> json_renderer() { return std::make_unique<Json>(); }

}  // namespace vitruvian::lessons
