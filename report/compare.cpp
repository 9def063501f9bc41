#include "vitruvian/report/compare.hpp"

#include "vitruvian/core/base/console.hpp"
#include "vitruvian/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

namespace vitruvian {
namespace {

constexpr std::size_t widest_value = 24;  // of a column of text

std::vector<std::string> names_of(const std::vector<RunGroup>& groups) {
  std::vector<std::string> names = names_in(groups);
  const std::set<std::string> different(names.begin(), names.end());
  if (different.size() == groups.size()) return names;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    names[i] = groups[i].runs[0].directory;
    if (groups[i].several()) names[i] += fmt::format(" ({})", counted_seeds(groups[i].runs));
  }
  return names;
}

std::string loss_text(const Spread& loss) {
  if (!std::isfinite(loss.mean)) return "-";
  if (!std::isfinite(loss.deviation)) return fmt::format("{:.4f}", loss.mean);
  return fmt::format("{:.4f} +- {:.4f}", loss.mean, loss.deviation);
}

template <class Value>
Comparison::Row row_of(const std::string& name, const std::vector<RunGroup>& groups,
                       const Value& value) {
  Comparison::Row row{name, {}, false};
  for (const RunGroup& group : groups) row.values.push_back(value(group));
  return row;
}

std::string seeds_text(const RunGroup& group) {
  std::string text;
  for (const RunRecord& run : group.runs) text += (text.empty() ? "" : " ") + run.setting("seed");
  return text.empty() ? "-" : text;
}

// Settings in the order in which the runs name them; where runs are averaged the seeds are theirs.
std::vector<Comparison::Row> differing_settings(const std::vector<RunGroup>& groups) {
  const bool averaged =
      std::any_of(groups.begin(), groups.end(), [](const RunGroup& g) { return g.several(); });
  std::vector<std::string> keys;
  std::set<std::string> seen;
  if (averaged) seen.insert("seed");
  for (const RunGroup& group : groups) {
    for (const auto& entry : group.runs[0].settings) {
      if (seen.insert(entry.first).second) keys.push_back(entry.first);
    }
  }
  std::vector<Comparison::Row> rows;
  for (const std::string& key : keys) {
    Comparison::Row row = row_of(key, groups, [&key](const RunGroup& group) {
      const std::string value = group.runs[0].setting(key);
      return value.empty() ? "-" : value;
    });
    row.setting = true;
    const bool same = std::all_of(row.values.begin(), row.values.end(),
                                  [&row](const std::string& v) { return v == row.values[0]; });
    if (!same) rows.push_back(std::move(row));
  }
  if (averaged) rows.push_back(row_of("seeds", groups, seeds_text));
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
  return comparison_of(grouped(runs));
}

Comparison comparison_of(const std::vector<RunGroup>& groups) {
  Comparison result{names_of(groups), differing_settings(groups)};
  using Number = std::function<double(const RunRecord&)>;
  const auto add = [&](const char* name, const std::function<std::string(const RunGroup&)>& text) {
    Comparison::Row row = row_of(name, groups, text);
    const bool any = std::any_of(row.values.begin(), row.values.end(),
                                 [](const std::string& v) { return v != "-"; });
    if (any) result.rows.push_back(std::move(row));
  };
  const auto add_loss = [&](const char* name, const Number& loss) {
    add(name, [loss](const RunGroup& group) { return loss_text(group.spread(loss)); });
  };
  const auto add_percent = [&](const char* name, const Number& share) {
    add(name, [share](const RunGroup& group) { return percent_text(group.spread(share)); });
  };
  // The best epoch of a run by itself; of several runs each has its own.
  const auto add_best = [&](const char* name, double RunRecord::Epoch::*share) {
    const Number best = [share](const RunRecord& run) {
      const auto* epoch = run.best();
      return epoch == nullptr ? not_recorded : epoch->*share;
    };
    add(name, [best](const RunGroup& group) {
      const std::string text = percent_text(group.spread(best));
      if (group.several() || text == "-") return text;
      return fmt::format("{} ({})", text, group.runs[0].best()->epoch);
    });
  };
  const auto last = [](double RunRecord::Epoch::*value) -> Number {
    return [value](const RunRecord& run) {
      return run.epochs.empty() ? not_recorded : run.epochs.back().*value;
    };
  };
  add("epochs done", [](const RunGroup& group) {
    std::set<std::size_t> done;
    for (const RunRecord& run : group.runs) {
      done.insert(run.epochs.empty() ? 0 : run.epochs.back().epoch);
    }
    return done.size() == 1 ? fmt::format("{}", *done.begin())
                            : fmt::format("{} to {}", *done.begin(), *done.rbegin());
  });
  add_loss("training loss", last(&RunRecord::Epoch::train_loss));
  add_loss("validation loss", last(&RunRecord::Epoch::val_loss));
  add_percent("validation accuracy", last(&RunRecord::Epoch::val_accuracy));
  add_best("best validation (epoch)", &RunRecord::Epoch::val_accuracy);
  add_loss("test loss", &RunRecord::test_loss);
  add_percent("test accuracy", &RunRecord::test_accuracy);
  add_best("best test (epoch)", &RunRecord::Epoch::test_accuracy);
  add("time", [](const RunGroup& group) {
    const Spread seconds = group.spread(&RunRecord::seconds);
    return std::isfinite(seconds.mean) ? console::clock_time(seconds.mean) : "-";
  });
  add("images a second", [](const RunGroup& group) {
    const Spread pace = group.spread(&RunRecord::images_per_second);
    return std::isfinite(pace.mean) ? fmt::format("{:.0f}", pace.mean) : "-";
  });
  return result;
}

std::string to_text(const Comparison& comparison, std::size_t columns) {
  std::vector<Comparison::Row> rows{{"", comparison.runs}};  // the heading is one of them
  rows.insert(rows.end(), comparison.rows.begin(), comparison.rows.end());
  std::size_t label = 0;
  std::vector<std::size_t> widths(comparison.runs.size());
  for (const auto& row : rows) {
    label = std::max(label, width_of(row.name));
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row.values[i]));
    }
  }
  const bool differ =
      std::any_of(rows.begin(), rows.end(), [](const Comparison::Row& row) { return row.setting; });
  std::string text = differ ? "" : "the settings are the same\n";
  for (std::size_t begin = 0; begin < widths.size();) {
    std::size_t end = begin;
    for (std::size_t used = label; end < widths.size(); ++end) {
      used += 2 + widths[end];
      if (used > columns && end > begin) break;
    }
    if (begin > 0) text += "\n";
    for (const auto& row : rows) {
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

namespace {

// What a mean and its deviation look like where every letter can be shown.
std::string html_cell(const Comparison::Row& row, const std::string& value) {
  std::string text = html_escaped(std::string_view(value).substr(0, 200));
  if (const auto at = text.find(" +- "); !row.setting && at != std::string::npos) {
    text.replace(at, 4, " \xC2\xB1 ");
  }
  return text;
}

std::string html_table(const Comparison& comparison) {
  std::string table = "<div class=\"scroll\" tabindex=\"0\"><table class=\"runs\">\n<tr><td></td>";
  for (const std::string& name : comparison.runs) {
    table += fmt::format("<th>{}</th>", html_escaped(name));
  }
  table += "</tr>\n";
  for (const auto& row : comparison.rows) {
    table += fmt::format("<tr{}><th>{}</th>", row.setting ? " class=\"setting\"" : "",
                         html_escaped(row.name));
    for (const std::string& value : row.values) {
      table += fmt::format("<td>{}</td>", html_cell(row, value));
    }
    table += "</tr>\n";
  }
  return table + "</table></div>\n";
}

}  // namespace

std::string html_comparison(const std::vector<RunRecord>& runs) {
  std::vector<RunGroup> groups = grouped(runs);
  const Comparison comparison = comparison_of(groups);
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i].name = comparison.runs[i];
  const bool averaged = groups.size() < runs.size();
  std::string body = fmt::format("<header>\n<h1>{} runs</h1>\n", runs.size());
  if (averaged) {
    body +=
        "<p class=\"muted\">Runs that differ in nothing but the seed are shown as their mean, "
        "\xC2\xB1 one standard deviation (by n \xE2\x88\x92 1), which the band around a line is, "
        "too.</p>\n";
  }
  body += "</header>\n";
  body += html_section("Settings that differ, and results", html_table(comparison));
  body += html_section("Curves", html_charts(charts_of(groups)));
  if (averaged) {
    std::vector<RunGroup> each;
    for (const RunGroup& group : groups) {
      for (const RunRecord& run : group.runs) each.push_back({run.name, {run}});
    }
    body += html_section("Each run", html_table(comparison_of(each)));
  }
  return html_page(fmt::format("{} runs - Vitruvian", runs.size()), body);
}

}  // namespace vitruvian
