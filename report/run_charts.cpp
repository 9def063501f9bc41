#include "vitruvian/report/run_charts.hpp"

#include "vitruvian/charts/svg.hpp"

namespace vitruvian {
namespace {

using Step = RunRecord::Step;
using Epoch = RunRecord::Epoch;

Series line_of(const RunRecord& run, double Epoch::*value, std::string name, std::size_t colour) {
  Series line{std::move(name)};
  line.colour = colour;
  for (const Epoch& e : run.epochs) {
    line.x.push_back(static_cast<double>(e.epoch));
    line.y.push_back(e.*value);
  }
  return line;
}

Series line_of(const RunRecord& run, double Step::*value, std::string name, std::size_t colour) {
  Series line{std::move(name)};
  line.colour = colour;
  const double steps = run.steps_an_epoch();
  for (const Step& s : run.steps) {
    line.x.push_back(steps > 0 ? s.step / steps : s.step);
    line.y.push_back(s.*value);
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
  for (Chart& chart : charts) (chart.title == "Accuracy" ? chart.percent : chart.from_zero) = true;
  return charts;
}

std::vector<Chart> charts_of(const std::vector<RunRecord>& runs) {
  std::vector<Chart> charts{{"Training loss"},       {"Validation loss"},
                            {"Test loss"},           {"Training accuracy"},
                            {"Validation accuracy"}, {"Test accuracy"},
                            {"Learning rate"},       {"Norm of the gradient, before clipping"}};
  for (Chart& chart : charts) chart.x_label = "epoch";
  for (const std::size_t i : {3, 4, 5}) charts[i].percent = true;
  for (const std::size_t i : {0, 1, 2, 6, 7}) charts[i].from_zero = true;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunRecord& run = runs[i];
    charts[0].series.push_back(line_of(run, &Epoch::train_loss, run.name, i));
    charts[1].series.push_back(line_of(run, &Epoch::val_loss, run.name, i));
    charts[2].series.push_back(line_of(run, &Epoch::test_loss, run.name, i));
    charts[3].series.push_back(line_of(run, &Epoch::train_accuracy, run.name, i));
    charts[4].series.push_back(line_of(run, &Epoch::val_accuracy, run.name, i));
    charts[5].series.push_back(line_of(run, &Epoch::test_accuracy, run.name, i));
    // A run without a whole epoch has only steps, which fit on no axis of epochs.
    if (run.epochs.empty()) continue;
    charts[6].series.push_back(finest(run, &Step::lr, &Epoch::lr, run.name, i));
    charts[7].series.push_back(finest(run, &Step::grad_norm, &Epoch::grad_norm, run.name, i));
  }
  return charts;
}

std::string html_charts(const std::vector<Chart>& charts) {
  std::string html;
  bool any_thinned = false;
  for (const Chart& chart : charts) {
    const std::string svg = svg_of({{{chart}}});
    if (!svg.empty()) html += "<figure>\n" + svg + "</figure>\n";
    for (const Series& line : chart.series) {
      any_thinned = any_thinned || line.x.size() > most_points;
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
