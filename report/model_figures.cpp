#include "vitruvian/report/figures.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

// The figures of what can be read off the weights, of what flows through the layers, and the text
// of the tape.

namespace vitruvian::figures {
namespace {

using Json = nlohmann::ordered_json;

// A filter (C, P, P) with middle grey for 0, by its own largest entry. RGB for three channels, the
// channels' mean otherwise.
Image filter_picture(const double* filter, std::size_t C, std::size_t height, std::size_t width) {
  const std::size_t plane = height * width;
  const std::vector<double> values(filter, filter + C * plane);
  const Range range = symmetric_range_of(values);
  Image image{height, width, C == 3 ? std::size_t{3} : std::size_t{1}, {}};
  for (std::size_t i = 0; i < plane; ++i) {
    for (std::size_t c = 0; c < image.channels; ++c) {
      double value = values[c * plane + i];
      for (std::size_t more = 1; C != 3 && more < C; ++more) value += values[more * plane + i];
      if (C != 3) value /= static_cast<double>(C);
      image.pixels.push_back(colour_at(ColourMap::grey, range.place(value)).r);
    }
  }
  return image;
}

// The first `most` of (n, C, P, P), in rows.
ImageGrid filter_grid(std::string title, const Numbers& filters, std::size_t most,
                      std::size_t columns, double width) {
  ImageGrid grid{std::move(title)};
  const auto& shape = filters.shape;
  for (std::size_t i = 0; i < std::min(most, shape[0]); ++i) {
    const double* const filter = filters.values.data() + i * size_of(shape, 1);
    grid.images.push_back(filter_picture(filter, shape[1], shape[2], shape[3]));
  }
  grid.columns = columns;
  grid.width = width;
  return grid;
}

// Cosines of different patches: with itself a patch's is 1, and would leave no colours to the rest.
std::vector<double> of_others(const Numbers& similarity) {
  const std::size_t N = similarity.shape[0] * similarity.shape[1];
  std::vector<double> others;
  for (std::size_t i = 0; i < N * N; ++i) {
    if (i / N != i % N) others.push_back(similarity.values[i]);
  }
  return others;
}

// A grid for each patch.
std::vector<Image> grids_of(const Numbers& similarity, ColourMap map, Range range) {
  const auto& shape = similarity.shape;
  const std::size_t N = shape[0] * shape[1];
  std::vector<Image> grids;
  for (std::size_t i = 0; i < N; ++i) {
    const auto begin = similarity.values.begin() + static_cast<std::ptrdiff_t>(i * N);
    const Matrix grid{shape[0], shape[1], {begin, begin + static_cast<std::ptrdiff_t>(N)}};
    grids.push_back(coloured(grid, map, range));
  }
  return grids;
}

// `first`, first + 1, ..., n numbers.
std::vector<double> counted(std::size_t n, double first) {
  std::vector<double> numbers(n);
  std::iota(numbers.begin(), numbers.end(), first);
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

Image picture_of(const double* pixels, std::size_t C, std::size_t H, std::size_t W,
                 const std::vector<double>& mean, const std::vector<double>& std) {
  Image image{H, W, C, std::vector<std::uint8_t>(C * H * W)};
  for (std::size_t c = 0; c < C; ++c) {
    for (std::size_t i = 0; i < H * W; ++i) {
      const double value = 255 * (pixels[c * H * W + i] * std.at(c) + mean.at(c));
      image.pixels[i * C + c] =
          static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)));
    }
  }
  return image;
}

Figure patches(const Image& image, const Numbers& patches, std::size_t grid_width,
               const std::vector<double>& mean, const std::vector<double>& std) {
  const auto& shape = patches.shape;
  ImageGrid whole{.title = fmt::format("Image, {} x {}", image.height, image.width),
                  .images = {image},
                  .width = 220};
  ImageGrid cut{fmt::format("{} patches of {} x {} pixels", shape[0], shape[2], shape[3]), "column",
                "row"};
  for (std::size_t n = 0; n < shape[0]; ++n) {
    const double* const patch = patches.values.data() + n * size_of(shape, 1);
    cut.images.push_back(picture_of(patch, shape[1], shape[2], shape[3], mean, std));
  }
  cut.columns = cut.x_count = grid_width;
  cut.y_count = shape[0] / grid_width;
  cut.width = std::clamp(220 / static_cast<double>(grid_width), 14.0, 60.0);
  return {
      "patches",
      "Patches",
      "The first image and its patches as the model takes them: cut in raster order, row by row "
      "from the upper left. The numbers are the normalised pixels, (N, C, P, P).",
      {{{std::move(whole), std::move(cut)}}},
      {npy_file("patches", patches)},
      image};
}

Figure filters(const Numbers& filters) {
  const std::size_t shown = std::min<std::size_t>(filters.shape[0], 128);
  const std::string title =
      shown == filters.shape[0]
          ? fmt::format("All {} embedding filters", shown)
          : fmt::format("The first {} of {} embedding filters", shown, filters.shape[0]);
  return {"filters",
          "Embedding filters",
          "The rows of E as pictures: what entry d of a token is large for. Middle grey is 0; each "
          "filter is scaled by its own largest entry.",
          {{{filter_grid(title, filters, shown, 16, 40)}}},
          {npy_file("filters", filters)}};
}

Figure filter_components(const Numbers& components, const std::vector<double>& variances,
                         double total) {
  const std::size_t count = components.shape[0];
  const double explained =
      total > 0 ? std::accumulate(variances.begin(), variances.end(), 0.0) / total : 0;
  std::vector<double> shares;
  for (const double v : variances) shares.push_back(total > 0 ? v / total : 0);
  Chart bars{"Their share of the variance",
             "component",
             "",
             {{"", counted(count, 1), shares, Mark::bars}}};
  bars.whole_x = bars.percent = true;
  return {
      "filter_components",
      "Principal components of the filters",
      fmt::format("The directions in which the embedding filters differ most (Figure 7, left): "
                  "together {:.1f} % of their variance. Smooth, frequency-like patterns show "
                  "that the embedding has learned; noise that it is as it was drawn.",
                  100 * explained),
      {{{filter_grid(fmt::format("Principal components 1 to {}", count), components, count, 7, 60)},
        {std::move(bars)}}},
      {npy_file("filter_components", components),
       json_file("filter_components", Json{{"variances", variances}, {"total", total}})}};
}

Image similarity_picture(const Numbers& similarity) {
  return tiled(grids_of(similarity, ColourMap::blue_red, symmetric_range_of(of_others(similarity))),
               similarity.shape[1]);
}

Figure position_similarity(const Numbers& similarity, double line, double rest) {
  const auto& shape = similarity.shape;
  ImageGrid grid{"Cosine of each patch's position embedding with all others'", "patch column",
                 "patch row"};
  const Range range = symmetric_range_of(of_others(similarity));
  grid.images = grids_of(similarity, ColourMap::blue_red, range);
  grid.width = 360 / static_cast<double>(shape[1]);
  grid.columns = grid.x_count = shape[1];
  grid.y_count = shape[0];
  grid.bar = {ColourMap::blue_red, range, "cosine"};
  const std::string means = fmt::format(
      "mean cosine {:.3f} to patches of the same row or column, {:.3f} to the rest", line, rest);
  return {
      "position_similarity",
      "Position similarity",
      "Each small grid is one patch, and shows the cosine of its position embedding with every "
      "patch's (Figure 7, centre); with itself it is 1, which may be beyond the bar. Here: " +
          means + ".",
      {{{std::move(grid)}}},
      {npy_file("position_similarity", similarity),
       json_file("position_similarity", Json{{"line", line}, {"rest", rest}})},
      tiled(grids_of(similarity, ColourMap::viridis, range_of(of_others(similarity))), shape[1]),
      means};
}

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
  const std::vector<double> layers = counted(units.on.size(), 0);
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
    if (i % 5 == 0) drawing.rows.emplace_back();
    drawing.rows.back().push_back(ImageGrid{
        .title = moment.name, .images = {similarity_picture(moment.similarity)}, .width = 180});
    line.y.push_back(moment.line);
    rest.y.push_back(moment.rest);
    json.push_back({{"checkpoint", moment.name}, {"line", moment.line}, {"rest", moment.rest}});
    words += fmt::format("{}: mean cosine {:.3f} in line, {:.3f} to the rest\n", moment.name,
                         moment.line, moment.rest);
  }
  line.x = rest.x = counted(moments.size(), 0);
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
