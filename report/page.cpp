#include "vitruvian/report/page.hpp"

#include "vitruvian/charts/svg.hpp"

#include <fmt/format.h>

#include <cmath>

namespace vitruvian {
namespace {

constexpr std::string_view style = R"css(
:root {
  --ink: #1b1f24; --muted: #5b6470; --paper: #ffffff; --card: #ffffff; --soft: #f4f5f7;
  --rule: #dfe3e8; --right: 0 114 178; --wrong: 213 94 0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e7e9ec; --muted: #9aa4b1; --paper: #12151a; --card: #191d24; --soft: #222832;
    --rule: #323a46; --right: 86 180 233; --wrong: 240 138 60;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 72rem; color: var(--ink);
  background: var(--paper); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif;
}
h1 { margin: 0; font-size: 1.9rem; letter-spacing: -0.02em; overflow-wrap: anywhere; }
h2 { margin: 2.6rem 0 .8rem; font-size: 1.2rem; }
p { margin: .3rem 0 .8rem; max-width: 46rem; }
.muted, figcaption, .note { color: var(--muted); }
.note { border-left: 3px solid rgb(var(--wrong)); padding-left: .7rem; margin-top: 1rem; }
.tiles { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.4rem 0 0; }
.tile { flex: 1 1 8rem; padding: .7rem .9rem; border-radius: 10px; background: var(--soft); }
.tile b { display: block; font-size: 1.45rem; font-weight: 600; line-height: 1.25; white-space: nowrap; }
.tile span { color: var(--muted); font-size: .82rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 31rem), 1fr));
  gap: 1rem; grid-auto-flow: dense; align-items: start; }
figure { margin: 0; padding: .9rem 1rem; border: 1px solid var(--rule); border-radius: 10px;
  min-width: 0; overflow-x: auto; }
figure:has(> .wide) { grid-column: 1 / -1; }
figure > svg { display: block; width: 100%; height: auto; margin: 0 auto; }
a { color: rgb(var(--right)); }
nav { margin: .8rem 0 1.4rem; }
nav a, figcaption a { margin-right: .6em; }
pre { overflow-x: auto; font-size: 13px; }
figcaption { font-size: .85rem; margin-top: .4rem; }
.scroll { overflow-x: auto; }
figure, .scroll { /* a shadow at the edge beyond which there is more */
  background: linear-gradient(to right, var(--card) 1rem, transparent 2rem) local,
    linear-gradient(to left, var(--card) 1rem, transparent 2rem) local,
    linear-gradient(to right, var(--rule), transparent .8rem) scroll,
    linear-gradient(to left, var(--rule), transparent .8rem) scroll, var(--card); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .88rem; }
th, td { padding: .22rem .6rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--rule); }
th { color: var(--muted); font-weight: 500; }
th:first-child { text-align: left; }
.runs th, .runs td { white-space: normal; overflow-wrap: anywhere; min-width: 6rem; max-width: 16rem; }
.matrix th, .matrix td { border: 2px solid var(--card); padding: .25rem .45rem; min-width: 2.4rem;
  text-align: center; }
.matrix th:first-child { text-align: right; max-width: 10rem; overflow: hidden;
  text-overflow: ellipsis; }
.matrix .right { background: rgb(var(--right) / calc(.08 + .4 * var(--a))); }
.matrix .wrong { background: rgb(var(--wrong) / calc(.08 + .4 * var(--a))); }
.matrix .none { color: var(--muted); opacity: .45; }
.matrix .share { border-left-width: 10px; }
.bar { position: relative; display: inline-block; width: 6rem; height: .6rem;
  background: var(--soft); border-radius: 3px; overflow: hidden; }
.bar i { position: absolute; inset: 0 auto 0 0; background: rgb(var(--right)); }
.bar.off i { background: rgb(var(--wrong)); }
.seen { display: grid; grid-template-columns: repeat(auto-fill, minmax(17.5rem, 1fr)); gap: .75rem; }
.seen article { display: flex; gap: .8rem; align-items: flex-start; padding: .65rem;
  border: 1px solid var(--rule); border-radius: 10px; background: var(--card); min-width: 0; }
.seen img { flex: none; width: 84px; height: auto; border-radius: 6px; image-rendering: pixelated;
  background: var(--soft); }
.seen div { min-width: 0; flex: 1; font-size: .82rem; }
.seen h3 { margin: 0 0 .25rem; font-size: .9rem; font-weight: 600; overflow-wrap: anywhere; }
.seen p { display: flex; gap: .45rem; align-items: center; margin: 0; line-height: 1.45;
  font-variant-numeric: tabular-nums; }
.seen p span:first-child { width: 5.6rem; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }
.seen .bar { width: auto; flex: 1; }
.seen .truth { font-weight: 600; }
dl { columns: 19rem auto; column-gap: 2rem; margin: 0; font-size: .88rem; }
dl div { display: flex; justify-content: space-between; gap: 1rem; break-inside: avoid;
  border-bottom: 1px solid var(--rule); padding: .18rem 0; }
dt { color: var(--muted); }
dd { margin: 0; text-align: right; overflow-wrap: anywhere; }
details summary { cursor: pointer; color: var(--muted); margin: .6rem 0; }
.setting td { font-weight: 600; }
)css";

// The security policy is a second lock behind the escapes: no script runs, nothing is fetched.
constexpr std::string_view page_template = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; img-src data:; style-src 'unsafe-inline'"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
)html";

using Step = RunRecord::Step;
using Epoch = RunRecord::Epoch;

Series line_of(const RunRecord& run, double Epoch::*value, std::string name, std::size_t colour) {
  Series line{.name = std::move(name), .colour = colour};
  for (const Epoch& e : run.epochs) {
    line.x.push_back(static_cast<double>(e.epoch));
    line.y.push_back(e.*value);
  }
  return line;
}

Series line_of(const RunRecord& run, double Step::*value, std::string name, std::size_t colour) {
  Series line{.name = std::move(name), .colour = colour};
  const double steps = run.steps_an_epoch();
  for (const Step& s : run.steps) {
    line.x.push_back(steps > 0 ? s.step / steps : s.step);
    line.y.push_back(s.*value);
  }
  return line;
}

Series line_of(const RunGroup& group, double Epoch::*value, std::size_t colour) {
  if (!group.several()) return line_of(group.runs[0], value, group.name, colour);
  Series line{.name = group.name, .colour = colour};
  const std::vector<Spread> spreads = group.spread(value);
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    const Spread& s = spreads[i];
    const double around = std::isnan(s.deviation) ? 0 : s.deviation;
    line.x.push_back(static_cast<double>(group.runs[0].epochs[i].epoch));
    line.y.push_back(s.mean);
    line.low.push_back(s.mean - around);
    line.high.push_back(s.mean + around);
  }
  return line;
}

// By step where the run recorded steps, by epoch where it did not.
Series finest(const RunRecord& run, double Step::*of_step, double Epoch::*of_epoch,
              const std::string& name, std::size_t colour) {
  return run.steps.empty() ? line_of(run, of_epoch, name, colour)
                           : line_of(run, of_step, name, colour);
}

}  // namespace

std::string html_number(double value, int decimals) {
  if (!std::isfinite(value)) return "\xE2\x80\x93";
  return fmt::format("<data value=\"{}\">{:.{}f}</data>", value, value, decimals);
}

std::string html_percent(double share) {
  if (!std::isfinite(share)) return "\xE2\x80\x93";
  return fmt::format("<data value=\"{}\">{:.2f} %</data>", share, 100 * share);
}

std::string html_section(std::string_view title, std::string_view content) {
  if (content.empty()) return "";
  return fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", html_escaped(title), content);
}

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(page_template, fmt::arg("title", html_escaped(title)),
                     fmt::arg("style", std::string(style) + chart_style()), fmt::arg("body", body));
}

std::vector<Chart> charts_of(const RunRecord& run) {
  const std::string x = run.steps_an_epoch() > 0 || run.steps.empty() ? "epoch" : "step";
  std::vector<Chart> charts{
      {"Loss",
       x,
       "",
       {line_of(run, &Step::loss, "a training step", 5),
        line_of(run, &Epoch::train_loss, "training", 0),
        line_of(run, &Epoch::val_loss, "validation", 2),
        line_of(run, &Epoch::test_loss, "test", 1)}},
      {"Accuracy",
       x,
       "",
       {line_of(run, &Epoch::train_accuracy, "training", 0),
        line_of(run, &Epoch::val_accuracy, "validation", 2),
        line_of(run, &Epoch::test_accuracy, "test", 1)}},
      {"Learning rate", x, "", {finest(run, &Step::lr, &Epoch::lr, "learning rate", 0)}},
      {"Norm of the gradient, before clipping",
       x,
       "",
       {finest(run, &Step::grad_norm, &Epoch::grad_norm, "norm", 0)}}};
  for (Chart& chart : charts) {
    const bool of_epochs = chart.title == "Accuracy";  // the others have steps between two of them
    chart.percent = chart.whole_x = of_epochs;
    chart.from_zero = !of_epochs;
  }
  return charts;
}

std::vector<Chart> charts_of(const std::vector<RunGroup>& groups) {
  std::vector<Chart> charts{{"Training loss"},       {"Validation loss"},
                            {"Test loss"},           {"Training accuracy"},
                            {"Validation accuracy"}, {"Test accuracy"},
                            {"Learning rate"},       {"Norm of the gradient, before clipping"}};
  for (Chart& chart : charts) {
    chart.x_label = "epoch";
    chart.whole_x = true;
  }
  for (const std::size_t i : {3, 4, 5}) charts[i].percent = true;
  for (const std::size_t i : {0, 1, 2, 6, 7}) charts[i].from_zero = true;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const RunGroup& group = groups[i];
    const RunRecord& run = group.runs[0];
    charts[0].series.push_back(line_of(group, &Epoch::train_loss, i));
    charts[1].series.push_back(line_of(group, &Epoch::val_loss, i));
    charts[2].series.push_back(line_of(group, &Epoch::test_loss, i));
    charts[3].series.push_back(line_of(group, &Epoch::train_accuracy, i));
    charts[4].series.push_back(line_of(group, &Epoch::val_accuracy, i));
    charts[5].series.push_back(line_of(group, &Epoch::test_accuracy, i));
    // A run without a whole epoch has only steps, which fit on no axis of epochs.
    if (run.epochs.empty()) continue;
    charts[6].series.push_back(group.several() ? line_of(group, &Epoch::lr, i)
                                               : finest(run, &Step::lr, &Epoch::lr, group.name, i));
    charts[7].series.push_back(
        group.several() ? line_of(group, &Epoch::grad_norm, i)
                        : finest(run, &Step::grad_norm, &Epoch::grad_norm, group.name, i));
  }
  return charts;
}

std::string html_charts(const std::vector<Chart>& charts) {
  std::string html;
  bool any_thinned = false;
  for (const Chart& chart : charts) {
    const std::string svg = svg_of({{{chart}}});
    if (!svg.empty()) html += "<figure tabindex=\"0\">\n" + svg + "</figure>\n";
    for (const Series& line : chart.series) {
      any_thinned = any_thinned || (line.x.size() > most_points && line.low.empty());
    }
  }
  if (html.empty()) return "";
  html = "<div class=\"charts\">\n" + html + "</div>\n";
  if (any_thinned) {
    html +=
        "<p class=\"muted\">A point of a long line is the mean of its neighbours; the band is "
        "their range.</p>\n";
  }
  return html;
}

}  // namespace vitruvian
