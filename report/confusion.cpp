#include "vitruvian/report/confusion.hpp"

#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace vitruvian {
namespace {

constexpr std::size_t longest_name = 16;  // in a terminal's columns
constexpr std::size_t listed = 10;

// A name, cut or filled to `width` characters.
std::string fitted_name(const std::string& name, std::size_t width) {
  return fmt::format("{:<{}}", console::first_characters(name, width), width);
}

std::size_t digits_of(std::size_t n) { return std::to_string(n).size(); }

std::string percent_of(double share) {
  return share != share ? "-" : fmt::format("{:.1f} %", 100 * share);
}

// Names as a table shows them: "3 cat", or "3" where that is the name.
std::vector<std::string> row_names(const std::vector<std::string>& names, std::size_t K) {
  std::vector<std::string> rows;
  bool plain = true;
  for (std::size_t k = 0; k < K; ++k) {
    rows.push_back(class_name(names, k));
    plain = plain && rows.back() == std::to_string(k);
  }
  const std::size_t digits = digits_of(K - 1);
  for (std::size_t k = 0; k < K; ++k) {
    rows[k] = fmt::format("{:>{}}{}", k, digits, plain ? "" : " " + rows[k]);
  }
  return rows;
}

std::size_t widest_of(const std::vector<std::string>& rows) {
  std::size_t widest = 0;
  for (const std::string& row : rows) widest = std::max(widest, console::characters(row));
  return std::min(widest, longest_name);
}

std::string matrix_text(const Confusion& confusion, const std::vector<std::string>& rows,
                        std::size_t cell, bool styled) {
  const std::size_t K = confusion.classes;
  const std::size_t label = widest_of(rows);
  std::string text = "confusion  a row is what images show, a column what they were taken for\n";
  text += std::string(label, ' ');
  for (std::size_t k = 0; k < K; ++k) text += fmt::format("{:>{}}", k, cell);
  text += "    right\n";
  for (std::size_t truth = 0; truth < K; ++truth) {
    text += fitted_name(rows[truth], label);
    for (std::size_t guess = 0; guess < K; ++guess) {
      const std::size_t count = confusion.at(truth, guess);
      const std::string shown =
          fmt::format("{:>{}}", count == 0 ? "." : std::to_string(count), cell);
      const char* const style = !styled          ? ""
                                : truth == guess ? "\033[1m"
                                : count == 0     ? "\033[2m"
                                                 : "";
      text += *style == '\0' ? shown : style + shown + "\033[0m";
    }
    text += fmt::format("  {:>7}\n", percent_of(confusion.accuracy_of(truth)));
  }
  return text;
}

std::string lists_text(const Confusion& confusion, const std::vector<std::string>& names) {
  std::string text;
  const auto pairs = confusion.worst_pairs(listed);
  if (!pairs.empty()) text += fmt::format("the most confused of {} classes\n", confusion.classes);
  for (const auto& pair : pairs) {
    text += fmt::format("  {}  taken for  {}  {:>6} of {}\n",
                        fitted_name(class_name(names, pair.truth), longest_name),
                        fitted_name(class_name(names, pair.guess), longest_name), pair.count,
                        confusion.images_of(pair.truth));
  }
  text += "the classes with the lowest accuracy\n";
  for (const std::size_t k : confusion.weakest(listed)) {
    text += fmt::format("  {}  {:>7}\n", fitted_name(class_name(names, k), longest_name),
                        percent_of(confusion.accuracy_of(k)));
  }
  return text;
}

}  // namespace

std::string class_name(const std::vector<std::string>& names, std::size_t k) {
  return k < names.size() ? console::visible(names[k]) : std::to_string(k);
}

Confusion confusion_of(const Predictions& predictions) {
  const std::size_t K = predictions.classes;
  Confusion result{K, std::vector<std::size_t>(K * K)};
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    ++result.counts[predictions.labels[i] * K + predictions.guess(i)];
  }
  return result;
}

std::size_t Confusion::images_of(std::size_t truth) const {
  const auto row = counts.begin() + static_cast<std::ptrdiff_t>(truth * classes);
  return std::accumulate(row, row + static_cast<std::ptrdiff_t>(classes), std::size_t{0});
}

double Confusion::accuracy_of(std::size_t truth) const {
  const std::size_t images = images_of(truth);
  if (images == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(at(truth, truth)) / static_cast<double>(images);
}

std::vector<Confusion::Pair> Confusion::worst_pairs(std::size_t n) const {
  std::vector<Pair> pairs;
  for (std::size_t truth = 0; truth < classes; ++truth) {
    for (std::size_t guess = 0; guess < classes; ++guess) {
      const std::size_t count = at(truth, guess);
      if (truth != guess && count > 0) pairs.push_back({truth, guess, count});
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.count > b.count; });
  pairs.resize(std::min(n, pairs.size()));
  return pairs;
}

std::vector<std::size_t> Confusion::weakest(std::size_t n) const {
  std::vector<std::pair<double, std::size_t>> found;
  for (std::size_t k = 0; k < classes; ++k) {
    if (images_of(k) > 0) found.emplace_back(accuracy_of(k), k);
  }
  std::sort(found.begin(), found.end());
  found.resize(std::min(n, found.size()));
  std::vector<std::size_t> result;
  for (const auto& entry : found) result.push_back(entry.second);
  return result;
}

std::string to_text(const Confusion& confusion, const std::vector<std::string>& names,
                    std::size_t columns, bool styled) {
  const std::size_t K = confusion.classes;
  if (K == 0 || confusion.weakest(1).empty()) return "";
  const std::size_t largest = *std::max_element(confusion.counts.begin(), confusion.counts.end());
  const std::size_t cell = 1 + std::max(digits_of(largest), digits_of(K - 1));
  const std::vector<std::string> rows = row_names(names, K);
  const bool fits = widest_of(rows) + K * cell + 9 <= columns;
  return K <= most_classes_shown && fits ? matrix_text(confusion, rows, cell, styled)
                                         : lists_text(confusion, names);
}

std::string to_json(const Evaluation& evaluation) {
  const Confusion confusion = confusion_of(evaluation.predictions);
  Json line;
  const std::vector<std::string>& names = evaluation.class_names;
  line["dataset"] = evaluation.dataset;
  line["images"] = evaluation.images;
  line["loss"] = evaluation.loss;
  line["accuracy"] = evaluation.accuracy;
  line["classes"] = Json::array();
  line["confusion"] = Json::array();
  for (std::size_t k = 0; k < confusion.classes; ++k) {
    line["classes"].push_back({{"name", k < names.size() ? names[k] : std::to_string(k)},
                               {"images", confusion.images_of(k)},
                               {"accuracy", confusion.accuracy_of(k)}});
    Json row = Json::array();
    for (std::size_t guess = 0; guess < confusion.classes; ++guess) {
      row.push_back(confusion.at(k, guess));
    }
    line["confusion"].push_back(std::move(row));
  }
  // NaN becomes null, and a folder's name need not be UTF-8.
  return dump_json(line);
}

}  // namespace vitruvian
