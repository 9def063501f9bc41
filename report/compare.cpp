#include "vitruvian/report/compare.hpp"

#include "vitruvian/core/base/console.hpp"
#include "vitruvian/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace vitruvian {
namespace {

constexpr std::size_t widest_value = 24;  // of a column of text

std::vector<std::string> names_of_runs(const std::vector<RunRecord>& runs) {
  std::set<std::string> different;
  std::vector<std::string> names;
  for (const RunRecord& run : runs) {
    different.insert(run.name);
    names.push_back(run.name);
  }
  if (different.size() < runs.size()) {
    for (std::size_t i = 0; i < runs.size(); ++i) names[i] = runs[i].directory;
  }
  return names;
}

std::string percent_text(double share) {
  return std::isfinite(share) ? fmt::format("{:.2f} %", 100 * share) : "-";
}
std::string loss_text(double loss) {
  return std::isfinite(loss) ? fmt::format("{:.4f}", loss) : "-";
}

template <class Value>
Comparison::Row row_of(const char* name, const std::vector<RunRecord>& runs, const Value& value) {
  Comparison::Row row{name, {}, false};
  for (const RunRecord& run : runs) row.values.push_back(value(run));
  return row;
}

// Settings in the order in which the runs name them.
std::vector<Comparison::Row> differing_settings(const std::vector<RunRecord>& runs) {
  std::vector<std::string> keys;
  std::set<std::string> seen;
  for (const RunRecord& run : runs) {
    for (const auto& entry : run.settings) {
      if (seen.insert(entry.first).second) keys.push_back(entry.first);
    }
  }
  std::vector<Comparison::Row> rows;
  for (const std::string& key : keys) {
    Comparison::Row row{key, {}, true};
    for (const RunRecord& run : runs) {
      const std::string value = run.setting(key);
      row.values.push_back(value.empty() ? "-" : value);
    }
    const bool same = std::all_of(row.values.begin(), row.values.end(),
                                  [&row](const std::string& v) { return v == row.values[0]; });
    if (!same) rows.push_back(std::move(row));
  }
  return rows;
}

// A value as a terminal shows it; a long one is cut.
std::string cell_text(const std::string& value) {
  std::string text = console::visible(value);
  if (console::characters(text) <= widest_value) return text;
  return console::first_characters(text, widest_value - 2) + "..";
}

std::size_t width_of(const std::string& value) { return console::characters(cell_text(value)); }

}  // namespace

Comparison comparison_of(const std::vector<RunRecord>& runs) {
  Comparison result{names_of_runs(runs), differing_settings(runs)};
  const auto add = [&](const char* name, const auto& value) {
    Comparison::Row row = row_of(name, runs, value);
    const bool any = std::any_of(row.values.begin(), row.values.end(),
                                 [](const std::string& v) { return v != "-"; });
    if (any) result.rows.push_back(std::move(row));
  };
  const auto last = [](const RunRecord& run, double RunRecord::Epoch::*value) {
    return run.epochs.empty() ? not_recorded : run.epochs.back().*value;
  };
  add("epochs done", [](const RunRecord& run) {
    return fmt::format("{}", run.epochs.empty() ? 0 : run.epochs.back().epoch);
  });
  add("training loss",
      [&](const RunRecord& run) { return loss_text(last(run, &RunRecord::Epoch::train_loss)); });
  add("validation loss",
      [&](const RunRecord& run) { return loss_text(last(run, &RunRecord::Epoch::val_loss)); });
  add("validation accuracy", [&](const RunRecord& run) {
    return percent_text(last(run, &RunRecord::Epoch::val_accuracy));
  });
  add("best validation (epoch)", [](const RunRecord& run) {
    const auto* best = run.validated() ? run.best() : nullptr;
    return best == nullptr ? "-"
                           : fmt::format("{} ({})", percent_text(best->val_accuracy), best->epoch);
  });
  add("test loss", [](const RunRecord& run) { return loss_text(run.test_loss); });
  add("test accuracy", [](const RunRecord& run) { return percent_text(run.test_accuracy); });
  add("best test (epoch)", [](const RunRecord& run) {
    const auto* best = run.validated() ? nullptr : run.best();
    return best == nullptr ? "-"
                           : fmt::format("{} ({})", percent_text(best->test_accuracy), best->epoch);
  });
  add("time", [](const RunRecord& run) {
    return std::isfinite(run.seconds) ? console::clock_time(run.seconds) : "-";
  });
  add("images a second", [](const RunRecord& run) {
    return std::isfinite(run.images_per_second) ? fmt::format("{:.0f}", run.images_per_second)
                                                : "-";
  });
  return result;
}

std::string to_text(const Comparison& comparison, std::size_t columns) {
  std::size_t label = 0;
  for (const auto& row : comparison.rows) label = std::max(label, width_of(row.name));
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    widths.push_back(width_of(comparison.runs[i]));
    for (const auto& row : comparison.rows) {
      widths[i] = std::max(widths[i], width_of(row.values[i]));
    }
  }
  const bool differ = std::any_of(comparison.rows.begin(), comparison.rows.end(),
                                  [](const Comparison::Row& row) { return row.setting; });
  std::string text = differ ? "" : "the settings are the same\n";
  for (std::size_t begin = 0; begin < widths.size();) {
    std::size_t end = begin;
    for (std::size_t used = label; end < widths.size(); ++end) {
      used += 2 + widths[end];
      if (used > columns && end > begin) break;
    }
    if (begin > 0) text += "\n";
    text += std::string(label, ' ');
    for (std::size_t i = begin; i < end; ++i) {
      text += fmt::format("  {:>{}}", cell_text(comparison.runs[i]), widths[i]);
    }
    text += "\n";
    for (const auto& row : comparison.rows) {
      text += fmt::format("{:<{}}", cell_text(row.name), label);
      for (std::size_t i = begin; i < end; ++i) {
        text += fmt::format("  {:>{}}", cell_text(row.values[i]), widths[i]);
      }
      text += "\n";
    }
    begin = end;
  }
  return text;
}

std::string html_comparison(const std::vector<RunRecord>& runs) {
  const Comparison comparison = comparison_of(runs);
  std::string table = "<div class=\"scroll\"><table class=\"runs\">\n<tr><th></th>";
  for (const std::string& name : comparison.runs) {
    table += fmt::format("<th>{}</th>", html_escaped(name));
  }
  table += "</tr>\n";
  for (const auto& row : comparison.rows) {
    table += fmt::format("<tr{}><th>{}</th>", row.setting ? " class=\"setting\"" : "",
                         html_escaped(row.name));
    for (const std::string& value : row.values) {
      table += fmt::format("<td>{}</td>", html_escaped(std::string_view(value).substr(0, 200)));
    }
    table += "</tr>\n";
  }
  std::vector<RunRecord> named = runs;
  for (std::size_t i = 0; i < named.size(); ++i) named[i].name = comparison.runs[i];
  std::string body = fmt::format("<header>\n<h1>{} runs</h1>\n</header>\n", runs.size());
  body += html_section("Settings that differ, and results", table + "</table></div>\n");
  body += html_section("Curves", html_charts(charts_of(named)));
  return html_page(fmt::format("{} runs - Vitruvian", runs.size()), body);
}

}  // namespace vitruvian
