#include "report/examples.hpp"

#include "media/encode_png.hpp"
#include "media/image.hpp"
#include "report/confusion.hpp"
#include "report/page.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vitruvian {
namespace {

constexpr std::size_t most_rows = 1000;  // of the table of classes
constexpr std::size_t pairs_listed = 20;
constexpr std::size_t longest_side = 112;  // of a picture, in pixels
constexpr std::size_t bars = 3;            // for each image

std::string bar(double share, bool right) {
  return fmt::format("<span class=\"bar{}\"><i style=\"width:{:.1f}%\"></i></span>",
                     right ? "" : " off", 100 * share);
}

std::string matrix(const Confusion& confusion, const std::vector<std::string>& names) {
  const std::size_t K = confusion.classes;
  std::size_t worst = 1;
  for (const auto& pair : confusion.worst_pairs(1)) worst = pair.count;
  std::string html = "<table class=\"matrix\">\n<tr><th></th>";
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
  std::string html = "<table>\n<tr><th>class</th><th>images</th><th>right</th><th></th></tr>\n";
  for (const std::size_t k : confusion.weakest(most_rows)) {
    html +=
        fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                    html_escaped(class_name(names, k)), confusion.images_of(k),
                    html_percent(confusion.accuracy_of(k)), bar(confusion.accuracy_of(k), true));
  }
  return html + "</table>\n";
}

// A picture small enough for a page.
Image shrunk(Image image) {
  const std::size_t side = std::max(image.height, image.width);
  if (side <= longest_side) return image;
  const auto scaled = [side](std::size_t n) {
    return std::max<std::size_t>(1, n * longest_side / side);
  };
  return fitted(
      image, {scaled(image.height), scaled(image.width), image.channels, Filter::bilinear, false});
}

std::string article(const Predictions& predictions, const Loader& images, std::size_t i) {
  const std::size_t truth = predictions.labels[i];
  const std::size_t guess = predictions.guess(i);
  const std::vector<std::string>& names = images.images().about().class_names;
  const std::string name = html_escaped(class_name(names, truth));
  std::string html = fmt::format(
      "<article><img alt=\"test image {}\" title=\"test image {}\" "
      "src=\"{}\"/>\n<div><h3>{}</h3>\n",
      i, i, data_uri("image/png", encode_png(shrunk(images.picture(i)))),
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

}  // namespace

std::string html_confusion(const Predictions& predictions, const std::vector<std::string>& names) {
  const Confusion confusion = confusion_of(predictions);
  if (confusion.weakest(1).empty()) return "";
  if (confusion.classes <= most_classes_shown) {
    return "<p class=\"muted\">A row is what the images show, a column what they were taken for. "
           "Blue is right, orange wrong: the stronger, the more.</p>\n<figure class=\"scroll\">\n" +
           matrix(confusion, names) + "</figure>\n";
  }
  return "<p class=\"muted\">The most frequent mistakes.</p>\n" + pairs(confusion, names) +
         "<details><summary>Accuracy of each class, the lowest first</summary>\n" +
         accuracies(confusion, names) + "</details>\n";
}

std::string html_predictions(const Predictions& predictions, const Loader& images,
                             const std::vector<std::size_t>& indices) {
  const std::size_t C = images.images().about().channels;
  if (C != 1 && C != 3) return "";
  std::string html;
  for (const std::size_t i : indices) html += article(predictions, images, i);
  return html.empty() ? "" : "<div class=\"seen\">\n" + html + "</div>\n";
}

}  // namespace vitruvian
