#include "report/run_charts.hpp"

namespace vitruvian {
namespace {

using Step = RunRecord::Step;
using Epoch = RunRecord::Epoch;

ChartLine line_of(const RunRecord& run, double Epoch::*value, std::string name,
                  std::size_t colour) {
  ChartLine line{std::move(name), colour};
  for (const Epoch& e : run.epochs) {
    line.x.push_back(static_cast<double>(e.epoch));
    line.y.push_back(e.*value);
  }
  return line;
}

ChartLine line_of(const RunRecord& run, double Step::*value, std::string name, std::size_t colour) {
  ChartLine line{std::move(name), colour};
  const double steps = run.steps_an_epoch();
  for (const Step& s : run.steps) {
    line.x.push_back(steps > 0 ? s.step / steps : s.step);
    line.y.push_back(s.*value);
  }
  return line;
}

// By step where the run recorded steps, by epoch where it did not.
ChartLine finest(const RunRecord& run, double Step::*of_step, double Epoch::*of_epoch,
                 const std::string& name, std::size_t colour) {
  return run.steps.empty() ? line_of(run, of_epoch, name, colour)
                           : line_of(run, of_step, name, colour);
}

}  // namespace

std::vector<SvgChart> charts_of(const RunRecord& run) {
  const std::string x = run.steps_an_epoch() > 0 || run.steps.empty() ? "epoch" : "step";
  return {
      {"Loss",
       x,
       {line_of(run, &Step::loss, "a training step", 5),
        line_of(run, &Epoch::train_loss, "training", 0),
        line_of(run, &Epoch::val_loss, "validation", 2),
        line_of(run, &Epoch::test_loss, "test", 1)},
       false,
       true},
      {"Accuracy",
       x,
       {line_of(run, &Epoch::train_accuracy, "training", 0),
        line_of(run, &Epoch::val_accuracy, "validation", 2),
        line_of(run, &Epoch::test_accuracy, "test", 1)},
       true},
      {"Learning rate", x, {finest(run, &Step::lr, &Epoch::lr, "learning rate", 0)}, false, true},
      {"Norm of the gradient, before clipping",
       x,
       {finest(run, &Step::grad_norm, &Epoch::grad_norm, "norm", 0)},
       false,
       true}};
}

std::vector<SvgChart> charts_of(const std::vector<RunRecord>& runs) {
  std::vector<SvgChart> charts{{"Training loss"},       {"Validation loss"},
                               {"Test loss"},           {"Training accuracy"},
                               {"Validation accuracy"}, {"Test accuracy"},
                               {"Learning rate"},       {"Norm of the gradient, before clipping"}};
  for (const std::size_t i : {3, 4, 5}) charts[i].percent = true;
  for (const std::size_t i : {0, 1, 2, 6, 7}) charts[i].from_zero = true;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunRecord& run = runs[i];
    charts[0].lines.push_back(line_of(run, &Epoch::train_loss, run.name, i));
    charts[1].lines.push_back(line_of(run, &Epoch::val_loss, run.name, i));
    charts[2].lines.push_back(line_of(run, &Epoch::test_loss, run.name, i));
    charts[3].lines.push_back(line_of(run, &Epoch::train_accuracy, run.name, i));
    charts[4].lines.push_back(line_of(run, &Epoch::val_accuracy, run.name, i));
    charts[5].lines.push_back(line_of(run, &Epoch::test_accuracy, run.name, i));
    // A run without a whole epoch has only steps, which fit on no axis of epochs.
    if (run.epochs.empty()) continue;
    charts[6].lines.push_back(finest(run, &Step::lr, &Epoch::lr, run.name, i));
    charts[7].lines.push_back(finest(run, &Step::grad_norm, &Epoch::grad_norm, run.name, i));
  }
  return charts;
}

std::string html_charts(const std::vector<SvgChart>& charts) {
  std::string html;
  bool any_thinned = false;
  for (const SvgChart& chart : charts) {
    const std::string svg = svg_of(chart);
    if (!svg.empty()) html += "<figure>\n" + svg + "</figure>\n";
    for (const ChartLine& line : chart.lines) {
      any_thinned = any_thinned || line.x.size() > most_chart_points;
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
