#include "vitruvian/report/figures.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

// The figures that are curves, and the text of the tape.

namespace vitruvian::figures {

namespace {

using Json = nlohmann::ordered_json;

std::vector<double> counted(std::size_t n) {
  std::vector<double> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  return numbers;
}

// One point more of the series of this name.
void add_to(Chart& chart, const std::string& name, double x, double y) {
  const auto named = [&name](const Series& series) { return series.name == name; };
  auto found = std::find_if(chart.series.begin(), chart.series.end(), named);
  if (found == chart.series.end()) {
    chart.series.push_back({name});
    found = chart.series.end() - 1;
  }
  found->x.push_back(x);
  found->y.push_back(y);
}

}  // namespace

Figure norms(const Flow& flow, double loss) {
  // What every block has stands over its number; the rest is in the file alone.
  Chart values{"Activations, root mean square", "layer"};
  values.whole_x = values.log_y = true;
  Chart gradients = values;
  gradients.title = "Gradients, root mean square";
  for (std::size_t i = 0; i < flow.names.size(); ++i) {
    const std::string& name = flow.names[i];
    const std::string block = "blocks.";
    const std::size_t dot = name.find('.', block.size());
    if (!name.starts_with(block) || dot == std::string::npos) continue;
    const double layer = std::stod(name.substr(block.size(), dot - block.size()));
    add_to(values, name.substr(dot + 1), layer, flow.activations[i]);
    add_to(gradients, name.substr(dot + 1), layer, flow.gradients[i]);
  }
  return {"norms",
          "Norms through the model",
          fmt::format("What flows through each block, and the loss's derivative by it; the loss is "
                      "{:.4f}. Curves that fall or rise without end are vanishing or exploding. "
                      "The norms.json that `vitruvian inspect` writes has every intermediate.",
                      loss),
          {{{values}, {gradients}}},
          {json_file("norms", Json{{"loss", loss},
                                   {"names", flow.names},
                                   {"activations", flow.activations},
                                   {"gradients", flow.gradients}})}};
}

Figure hidden_units(const Units& units) {
  const std::vector<double> layers = counted(units.on.size());
  Chart chart{"Hidden units of the MLPs",
              "layer",
              "",
              {{"above 0", layers, units.on},
               {"never above 0", layers, units.never_on},
               {"dead", layers, units.dead},
               {"always on", layers, units.always_on}}};
  chart.whole_x = chart.percent = true;
  chart.y = Range{0, 1};
  return {"hidden_units",
          "Dead and saturated units",
          "Of each MLP's hidden units: how many give nothing for any token (dead), are never above "
          "0, or are always on (linear); and how often a unit is above 0.",
          {{{std::move(chart)}}},
          {json_file("hidden_units", Json{{"on", units.on},
                                          {"never_on", units.never_on},
                                          {"dead", units.dead},
                                          {"always_on", units.always_on}})}};
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
  Drawing drawing;
  Series line{"same row or column"};
  Series rest{"the rest"};
  Json json = Json::array();
  std::string words;
  for (std::size_t i = 0; i < moments.size(); ++i) {
    const Moment& moment = moments[i];
    ImageGrid grid{moment.name};
    grid.images = {similarity_picture(moment.similarity)};
    grid.width = 180;
    if (i % 5 == 0) drawing.rows.emplace_back();
    drawing.rows.back().push_back(std::move(grid));
    line.x.push_back(static_cast<double>(i));
    line.y.push_back(moment.line);
    rest.x.push_back(static_cast<double>(i));
    rest.y.push_back(moment.rest);
    json.push_back({{"checkpoint", moment.name}, {"line", moment.line}, {"rest", moment.rest}});
    words += fmt::format("{}: mean cosine {:.3f} in line, {:.3f} to the rest\n", moment.name,
                         moment.line, moment.rest);
  }
  Chart chart{"Mean cosine to other patches", "checkpoint", "cosine", {line, rest}};
  chart.whole_x = chart.from_zero = true;
  drawing.rows.push_back({std::move(chart)});
  return {
      "strip",
      "Positions finding their grid",
      "Position similarity, checkpoint by checkpoint. Each picture has its own scale of colours: "
      "white is 0.",
      std::move(drawing),
      {json_file("strip", json)},
      {},
      words};
}

}  // namespace vitruvian::figures
