#include "report/figure_parts.hpp"
#include "report/figures.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

// The figures that are curves, and the text of the tape.

namespace vitruvian::figures {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

namespace {

std::vector<double> counted(std::size_t n) {
  std::vector<double> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  return numbers;
}

// One point more of the series of this name.
void add_to(Chart& chart, const std::string& name, double x, double y) {
  const auto named = [&name](const Chart::Series& series) { return series.name == name; };
  auto found = std::find_if(chart.series.begin(), chart.series.end(), named);
  if (found == chart.series.end()) {
    chart.series.push_back({name, {}, {}});
    found = chart.series.end() - 1;
  }
  found->x.push_back(x);
  found->y.push_back(y);
}

}  // namespace

Figure norms(const Flow& flow, double loss) {
  // What every block has stands over its number; the rest is in the file alone.
  Chart values{"Activations, root mean square", "layer", "", {}, {}, {}, true, true};
  Chart gradients = values;
  gradients.title = "Gradients, root mean square";
  std::string names;
  for (std::size_t i = 0; i < flow.names.size(); ++i) {
    const std::string& name = flow.names[i];
    names += (i == 0 ? "" : ", ") + quoted(name);
    const std::string block = "blocks.";
    const std::size_t dot = name.find('.', block.size());
    if (!name.starts_with(block) || dot == std::string::npos) continue;
    const double layer = std::stod(name.substr(block.size(), dot - block.size()));
    add_to(values, name.substr(dot + 1), layer, flow.activations[i]);
    add_to(gradients, name.substr(dot + 1), layer, flow.gradients[i]);
  }
  return {
      "norms",
      "Norms through the model",
      fmt::format("What flows through each block, and the loss's derivative by it; the loss is "
                  "{:.4f}. Curves that fall or rise without end are vanishing or exploding. "
                  "The norms.json that `vitruvian inspect` writes has every intermediate.",
                  loss),
      tiled({drawn(values, 560, 400), drawn(gradients, 560, 400)}, 2, 20),
      {{"norms.json",
        fmt::format("{{\"loss\": {}, \"names\": [{}], \"activations\": {}, \"gradients\": {}}}\n",
                    json_number(loss), names, json_list(flow.activations),
                    json_list(flow.gradients))}}};
}

Figure hidden_units(const Units& units) {
  const std::vector<double> layers = counted(units.on.size());
  const auto percent = [](std::vector<double> shares) {
    for (double& share : shares) share *= 100;
    return shares;
  };
  return {"hidden_units",
          "Dead and saturated units",
          "Of each MLP's hidden units: how many give nothing for any token (dead), are never above "
          "0, or are always on (linear); and how often a unit is above 0.",
          drawn(Chart{"Hidden units of the MLPs",
                      "layer",
                      "percent",
                      {{"above 0", layers, percent(units.on)},
                       {"never above 0", layers, percent(units.never_on)},
                       {"dead", layers, percent(units.dead)},
                       {"always on", layers, percent(units.always_on)}},
                      {},
                      Range{-2, 102},
                      true}),
          {{"hidden_units.json",
            fmt::format("{{\"on\": {}, \"never_on\": {}, \"dead\": {}, \"always_on\": {}}}\n",
                        json_list(units.on), json_list(units.never_on), json_list(units.dead),
                        json_list(units.always_on))}}};
}

Figure block_graph(std::size_t layer, const std::string& dot, const std::string& text) {
  return {"block_graph",
          fmt::format("The tape of block {}", layer),
          "Every node that one block leaves on the tape for one image, and what backward keeps "
          "alive. block_graph.dot is for graphviz: dot -Tsvg block_graph.dot.",
          {},
          {{"block_graph.dot", dot}, {"block_graph.txt", text}},
          {},
          text};
}

Figure strip(const std::vector<Moment>& moments) {
  std::vector<Image> tiles;
  Chart::Series line{"same row or column", {}, {}, true};
  Chart::Series rest{"the rest", {}, {}, true};
  std::string json = "[";
  std::string words;
  const auto& shape = moments.at(0).similarity.shape;
  const std::size_t cell = scale_to(180, shape[0] * shape[0], shape[1] * shape[1]);
  for (std::size_t i = 0; i < moments.size(); ++i) {
    const Moment& moment = moments[i];
    tiles.push_back(titled(
        similarity_picture(moment.similarity, cell, std::max<std::size_t>(cell, 2)), moment.name));
    line.x.push_back(static_cast<double>(i));
    line.y.push_back(moment.line);
    rest.x.push_back(static_cast<double>(i));
    rest.y.push_back(moment.rest);
    json +=
        fmt::format("{}\n  {{\"checkpoint\": {}, \"line\": {}, \"rest\": {}}}", i == 0 ? "" : ",",
                    quoted(moment.name), json_number(moment.line), json_number(moment.rest));
    words += fmt::format("{}: mean cosine {:.3f} in line, {:.3f} to the rest\n", moment.name,
                         moment.line, moment.rest);
  }
  const Image chart = drawn(
      Chart{"Mean cosine to other patches", "checkpoint", "cosine", {line, rest}, {}, {}, true},
      700, 300);
  return {
      "strip",
      "Positions finding their grid",
      "Position similarity, checkpoint by checkpoint. Each picture has its own scale of colours: "
      "white is 0.",
      tiled({tiled(tiles, std::min<std::size_t>(tiles.size(), 5), 10), chart}, 1, 20),
      {{"strip.json", json + "\n]\n"}},
      {},
      words};
}

}  // namespace vitruvian::figures
