#include "vitruvian/report/page.hpp"

#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/safe_file.hpp"
#include "vitruvian/media/image.hpp"
#include "vitruvian/report/confusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

namespace vitruvian {
namespace {

constexpr std::size_t images_shown = 24;  // of the worst mistakes, and of the samples
constexpr std::size_t most_epoch_rows = 400;
constexpr std::size_t most_settings = 400;
constexpr std::size_t longest_setting = 2000;  // bytes
constexpr std::size_t most_rows = 1000;        // of the table of classes
constexpr std::size_t pairs_listed = 20;
constexpr std::size_t longest_side = 112;  // of a picture, in pixels
constexpr std::size_t bars = 3;            // for each image

std::string tile(const std::string& html, const std::string& what) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", html,
                     html_escaped(what));
}

// "4", or "2 of 4".
std::string epochs_done(const RunRecord& run) {
  const std::size_t done = run.epochs.empty() ? 0 : run.epochs.back().epoch;
  const std::size_t planned = run.count("epochs");
  return planned > done ? fmt::format("{} of {}", done, planned) : fmt::format("{}", done);
}

std::string header(const RunRecord& run) {
  const auto size = [&run](const char* key) {
    const std::string value = run.setting(key);
    return value.empty() ? "?" : value;
  };
  std::string model = run.setting("own_model");
  if (model.empty()) {
    model = fmt::format("ViT, P {}, D {}, L {}, h {}, M {}", size("patch_size"), size("width"),
                        size("depth"), size("heads"), size("mlp_width"));
  }
  std::string html = fmt::format("<header>\n<h1>{}</h1>\n", html_escaped(run.name));
  html += fmt::format("<p class=\"muted\">{}, trained on {}</p>\n", html_escaped(model),
                      html_escaped(run.setting("dataset")));
  if (run.setting("task") == "masked") {
    html += fmt::format(
        "<p class=\"muted\">Learned without labels, by the mean colours of hidden patches: "
        "accuracy "
        "is the share of them that is said right. Always the commonest colour: {} of the test "
        "images' patches.</p>\n",
        html_percent(std::strtod(run.setting("made_by.commonest_colour").c_str(), nullptr)));
  }
  html += "<div class=\"tiles\">\n";
  if (std::isfinite(run.test_accuracy)) {
    html += tile(html_percent(run.test_accuracy), "test accuracy");
    html += tile(html_number(run.test_loss, 4), "test loss");
  }
  if (const auto* best = run.best()) {
    html += tile(html_percent(run.validated() ? best->val_accuracy : best->test_accuracy),
                 fmt::format("best {} accuracy, epoch {}", run.validated() ? "validation" : "test",
                             best->epoch));
  }
  html += tile(epochs_done(run), "epochs");
  if (std::isfinite(run.seconds)) html += tile(console::clock_time(run.seconds), "of training");
  if (std::isfinite(run.images_per_second)) {
    html += tile(fmt::format("{:.0f}", run.images_per_second), "images a second");
  }
  html += "</div>\n</header>\n";
  const std::size_t planned = run.count("epochs");
  if (planned > 0 && (run.epochs.empty() || run.epochs.back().epoch < planned)) {
    const auto* const best = run.best();
    const bool early = run.validated() && std::isfinite(run.test_accuracy) && best != nullptr;
    html += early ? fmt::format(
                        "<p class=\"note\">Stopped early, after {} epochs: no better "
                        "validation accuracy since epoch {}.</p>\n",
                        epochs_done(run), best->epoch)
                  : fmt::format("<p class=\"note\">This run has recorded {} epochs.</p>\n",
                                epochs_done(run));
  }
  return html;
}

std::string epochs_table(const RunRecord& run) {
  if (run.epochs.empty()) return "";
  const bool validated = run.validated();
  std::string html = "<div class=\"scroll\" tabindex=\"0\"><table>\n<tr>";
  std::vector<std::string> columns{"epoch", "training loss", "training accuracy"};
  if (validated) columns.insert(columns.end(), {"validation loss", "validation accuracy"});
  columns.insert(columns.end(), {"test loss", "test accuracy", "learning rate", "gradient norm"});
  for (const std::string& name : columns) html += fmt::format("<th scope=\"col\">{}</th>", name);
  html += "</tr>\n";
  const std::size_t n = run.epochs.size();
  const std::size_t rows = std::min(n, most_epoch_rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto& e = run.epochs[(row + 1) * n / rows - 1];
    html += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td>", e.epoch,
                        html_number(e.train_loss, 4), html_percent(e.train_accuracy));
    if (validated) {
      html += fmt::format("<td>{}</td><td>{}</td>", html_number(e.val_loss, 4),
                          html_percent(e.val_accuracy));
    }
    html += fmt::format("<td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        html_number(e.test_loss, 4), html_percent(e.test_accuracy),
                        html_number(e.lr, 6), html_number(e.grad_norm, 3));
  }
  html += "</table></div>\n";
  if (rows < n) html += fmt::format("<p class=\"muted\">{} of {} epochs.</p>\n", rows, n);
  return html_section("Epochs", html);
}

std::string settings_list(const RunRecord& run) {
  std::string html = "<dl>\n";
  for (std::size_t i = 0; i < std::min(run.settings.size(), most_settings); ++i) {
    const auto& entry = run.settings[i];
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n",
                        html_escaped(std::string_view(entry.first).substr(0, longest_setting)),
                        html_escaped(std::string_view(entry.second).substr(0, longest_setting)));
  }
  return html_section("Settings", html + "</dl>\n");
}

std::string bar(double share, bool right) {
  return fmt::format("<span class=\"bar{}\"><i style=\"width:{:.1f}%\"></i></span>",
                     right ? "" : " off", 100 * share);
}

std::string matrix(const Confusion& confusion, const std::vector<std::string>& names) {
  const std::size_t K = confusion.classes;
  std::size_t worst = 1;
  for (const auto& pair : confusion.worst_pairs(1)) worst = pair.count;
  std::string html = "<table class=\"matrix\">\n<tr><td></td>";
  for (std::size_t k = 0; k < K; ++k) {
    html += fmt::format("<th>{}</th>", html_escaped(class_name(names, k)));
  }
  html += "<th class=\"share\">right</th></tr>\n";
  for (std::size_t truth = 0; truth < K; ++truth) {
    const std::string row = html_escaped(class_name(names, truth));
    html += fmt::format("<tr><th>{}</th>", row);
    const double accuracy = confusion.accuracy_of(truth);
    for (std::size_t guess = 0; guess < K; ++guess) {
      const std::size_t count = confusion.at(truth, guess);
      const double depth =
          truth == guess ? accuracy : static_cast<double>(count) / static_cast<double>(worst);
      html += count == 0 ? "<td class=\"none\">0</td>"
                         : fmt::format(
                               "<td class=\"{}\" style=\"--a:{:.3f}\" title=\"{} taken for "
                               "{}\">{}</td>",
                               truth == guess ? "right" : "wrong", depth, row,
                               html_escaped(class_name(names, guess)), count);
    }
    html += fmt::format("<td class=\"share\">{}</td></tr>\n", html_percent(accuracy));
  }
  return html + "</table>\n";
}

std::string pairs(const Confusion& confusion, const std::vector<std::string>& names) {
  std::string html =
      "<table>\n<tr><th>shown</th><th>taken for</th><th>times</th><th>of</th></tr>\n";
  for (const auto& pair : confusion.worst_pairs(pairs_listed)) {
    html += fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        html_escaped(class_name(names, pair.truth)),
                        html_escaped(class_name(names, pair.guess)), pair.count,
                        confusion.images_of(pair.truth));
  }
  return html + "</table>\n";
}

std::string accuracies(const Confusion& confusion, const std::vector<std::string>& names) {
  std::string html = "<table>\n<tr><th>class</th><th>images</th><th>right</th><td></td></tr>\n";
  for (const std::size_t k : confusion.weakest(most_rows)) {
    html +=
        fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                    html_escaped(class_name(names, k)), confusion.images_of(k),
                    html_percent(confusion.accuracy_of(k)), bar(confusion.accuracy_of(k), true));
  }
  return html + "</table>\n";
}

std::string article(const Predictions& predictions, const Loader& images, std::size_t i) {
  const std::size_t truth = predictions.labels[i];
  const std::size_t guess = predictions.guess(i);
  const std::vector<std::string>& names = images.images().about().class_names;
  const std::string name = html_escaped(class_name(names, truth));
  std::string html = fmt::format(
      "<article><img alt=\"test image {}\" title=\"test image {}\" "
      "src=\"{}\"/>\n<div><h3>{}</h3>\n",
      i, i,
      data_uri("image/png", encode_png(shrunk(images.picture(i), longest_side, longest_side))),
      guess == truth
          ? name
          : fmt::format("{}, taken for {}", name, html_escaped(class_name(names, guess))));
  std::vector<std::size_t> shown = predictions.likeliest(i, bars);
  if (std::find(shown.begin(), shown.end(), truth) == shown.end()) shown.push_back(truth);
  for (const std::size_t k : shown) {
    const double p = predictions.of(i)[k];
    html += fmt::format("<p{}><span>{}</span>{}{}</p>\n", k == truth ? " class=\"truth\"" : "",
                        html_escaped(class_name(names, k)), bar(p, k == truth), html_percent(p));
  }
  return html + "</div></article>\n";
}

// The confusion matrix with each class's accuracy, or, where it has more than most_classes_shown,
// its worst pairs.
std::string html_confusion(const Predictions& predictions, const std::vector<std::string>& names) {
  const Confusion confusion = confusion_of(predictions);
  if (confusion.weakest(1).empty()) return "";
  if (confusion.classes <= most_classes_shown) {
    return "<p class=\"muted\">A row is what the images show, a column what they were taken for. "
           "Blue is right, orange wrong: the stronger, the more.</p>\n<figure class=\"scroll\" "
           "tabindex=\"0\">\n" +
           matrix(confusion, names) + "</figure>\n";
  }
  return "<p class=\"muted\">The most frequent mistakes.</p>\n" + pairs(confusion, names) +
         "<details><summary>Accuracy of each class, the lowest first</summary>\n" +
         accuracies(confusion, names) + "</details>\n";
}

// Images with the probabilities of the likeliest classes, side by side below an introduction. Large
// pictures are made smaller, and those of other than 1 or 3 channels left out.
std::string html_predictions(const ReportExamples& examples,
                             const std::vector<std::size_t>& indices,
                             const std::string& introduction = "") {
  const std::size_t C = examples.images.images().about().channels;
  if ((C != 1 && C != 3) || indices.empty()) return "";
  std::string html = introduction + "<div class=\"seen\">\n";
  for (const std::size_t i : indices) html += article(examples.predictions, examples.images, i);
  return html + "</div>\n";
}

std::string examples_sections(const ReportExamples& examples) {
  const Predictions& predictions = examples.predictions;
  std::vector<std::size_t> samples;  // spread over the test images, whatever became of them
  const std::size_t n = std::min(images_shown, predictions.size());
  for (std::size_t i = 0; i < n; ++i) samples.push_back(i * predictions.size() / n);
  return html_section("Confusion",
                      html_confusion(predictions, examples.images.images().about().class_names)) +
         html_section("The worst mistakes",
                      html_predictions(examples, predictions.worst_mistakes(images_shown),
                                       "<p class=\"muted\">Test images whose true class was given "
                                       "the least probability. Blue is the true class.</p>\n")) +
         html_section("Samples", html_predictions(examples, samples));
}

std::string figures_section(const std::vector<Figure>& figures) {
  std::string html;
  for (const Figure& figure : figures) html += html_figure(figure, false);
  if (!html.empty()) html = "<div class=\"charts\">\n" + html + "</div>\n";
  return html_section("Inside the model", html);
}

}  // namespace

std::string html_report(const RunRecord& run, const ReportExamples* examples,
                        const std::vector<Figure>& figures) {
  const std::string curves = html_charts(charts_of(run));
  std::string body = header(run);
  body += html_section(
      "Curves", curves.empty() ? "<p class=\"note\">Nothing was recorded yet.</p>\n" : curves);
  if (examples != nullptr) body += examples_sections(*examples);
  body += figures_section(figures);
  body += epochs_table(run);
  body += settings_list(run);
  return html_page(run.name + " - Vitruvian", body);
}

void write_report(const std::string& directory, const ReportExamples* examples,
                  const std::vector<Figure>& figures) {
  const std::string html = html_report(read_run(directory), examples, figures);
  write_file_safely((std::filesystem::path(directory) / "report.html").string(), html);
}

}  // namespace vitruvian
