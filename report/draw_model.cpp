#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/json.hpp"
#include "vitruvian/report/draw.hpp"
#include "vitruvian/report/figures.hpp"
#include "vitruvian/train/weights.hpp"
#include "vitruvian/vit/inspect/gradients.hpp"
#include "vitruvian/vit/inspect/inspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// How many images may be on the tape at once.
std::size_t batch_for(const ViTConfig& config, std::size_t images) {
  constexpr std::uint64_t enough = 1'500'000'000;
  while (images > 1 && config.training_bytes(images, sizeof(real)) > enough) --images;
  return images;
}

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

// `first`, first + 1, ..., n numbers.
std::vector<double> counted(std::size_t n, double first) {
  std::vector<double> all(n);
  std::iota(all.begin(), all.end(), first);
  return all;
}

// One point more of the series of this name.
void add_point(Chart& chart, const std::string& name, double x, double y) {
  auto found = std::ranges::find(chart.series, name, &Series::name);
  if (found == chart.series.end()) {
    chart.series.push_back({name});
    found = chart.series.end() - 1;
  }
  found->x.push_back(x);
  found->y.push_back(y);
}

}  // namespace

bool learns_position_table(const ViTConfig& config) {
  return config.positions == Positions::learned || config.positions == Positions::learned_2d;
}

Numbers numbers(const Array& array) {
  return {{array.shape().begin(), array.shape().end()},
          {array.data(), array.data() + array.size()}};
}

void draw_patches(const VisionTransformer& model, const Samples& samples, FigureList& list) {
  const Image& image = samples.pictures[0];
  Numbers patches = numbers(inspect::patches(model, samples.inputs.at(0)));  // (1, N, C, P, P)
  patches.shape.erase(patches.shape.begin());
  const std::size_t width = model.config.grid_width();
  const auto& shape = patches.shape;
  ImageGrid whole{.title = fmt::format("Image, {} x {}", image.height, image.width),
                  .images = {image},
                  .width = 220};
  ImageGrid cut{fmt::format("{} patches of {} x {} pixels", shape[0], shape[2], shape[3]), "column",
                "row"};
  for (std::size_t n = 0; n < shape[0]; ++n) {
    const double* const patch = patches.values.data() + n * size_of(shape, 1);
    cut.images.push_back(figures::picture_of(patch, shape[1], shape[2], shape[3], samples.data.mean,
                                             samples.data.std));
  }
  cut.columns = cut.x_count = width;
  cut.y_count = shape[0] / width;
  cut.width = std::clamp(220 / static_cast<double>(width), 14.0, 60.0);
  list.add(
      {"patches",
       "Patches",
       "The first image and its patches as the model takes them: cut in raster order, row by row "
       "from the upper left. The numbers are the normalised pixels, (N, C, P, P).",
       {{{std::move(whole), std::move(cut)}}},
       {npy_file("patches", patches)},
       image});
}

void draw_weights(const VisionTransformer& model, FigureList& list) {
  const Numbers filters = numbers(inspect::filters(model));
  const std::size_t shown = std::min<std::size_t>(filters.shape[0], 128);
  const bool stem = model.config.stem != 0;
  const char* const kind = stem ? "filters of the stem's first convolution" : "embedding filters";
  const std::string title = shown == filters.shape[0] ? fmt::format("All {} {}", shown, kind)
                                                      : fmt::format("The first {} of {} {}", shown,
                                                                    filters.shape[0], kind);
  list.add({"filters",
            stem ? "Filters of the stem" : "Embedding filters",
            fmt::format(
                "{} Middle grey is 0; each filter is scaled by its own largest entry.",
                stem ? "The stem's first convolution, the only layer that sees pixels: a picture "
                       "of 3 x 3 for each of its channels."
                     : "The rows of E as pictures: what entry d of a token is large for."),
            {{{filter_grid(title, filters, shown, 16, 40)}}},
            {npy_file("filters", filters)}});

  const auto [parts, variances, total] = inspect::principal_components(inspect::filters(model));
  const Numbers components = numbers(parts);
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
  list.add({"filter_components",
            "Principal components of the filters",
            fmt::format("The directions in which the {} differ most{}: together {:.1f} % of their "
                        "variance. Smooth, frequency-like patterns show that the embedding has "
                        "learned; noise that it is as it was drawn.",
                        kind, stem ? "" : " (Figure 7, left)", 100 * explained),
            {{{filter_grid(fmt::format("Principal components 1 to {}", count), components, count, 7,
                           60)},
              {std::move(bars)}}},
            {npy_file("filter_components", components),
             json_file("filter_components",
                       dump_json(Json{{"variances", variances}, {"total", total}}))}});

  const Positions positions = model.config.positions;
  if (positions == Positions::none || positions == Positions::relative) return;  // adds no table
  const Array similarity = inspect::position_similarity(model);
  const auto lines = inspect::lines(similarity);
  list.add(figures::position_similarity(numbers(similarity), lines.line, lines.rest));
}

void draw_layers(const VisionTransformer& model, const Samples& samples, FigureList& list) {
  const ViTConfig& config = model.config;
  const std::size_t B = batch_for(config, samples.inputs.size());
  Array x = empty({B, config.C, config.H, config.W});
  for (std::size_t b = 0; b < B; ++b) {
    std::copy_n(samples.inputs[b].data(), samples.inputs[b].size(),
                x.data() + b * samples.inputs[b].size());
  }
  std::vector<std::size_t> labels = samples.labels;
  const bool classifies = config.head != Head::none;
  if (labels.empty() || !classifies) {
    const NoGrad no_grad;
    labels = inspect::most_probable(model(x).value());
  }
  labels.resize(B);
  const Layers layers = inspect::layers(model, x, labels);
  // What every block has stands over its number, where it tells most; the rest is in the file
  // alone.
  constexpr std::array charted = {"attn.scores", "msa", "z_prime", "mlp.hidden", "mlp", "z"};
  Chart values{"Activations, root mean square", "layer"};
  values.whole_x = values.log_y = true;
  Chart gradients = values;
  gradients.title = "Gradients, root mean square";
  Json json = Json::object();
  if (classifies) json["loss"] = layers.loss;
  for (const auto& [name, activation, gradient] : layers.norms) {
    json["names"].push_back(name);
    json["activations"].push_back(activation);
    if (classifies) json["gradients"].push_back(gradient);
    const std::string block = "blocks.";
    const std::size_t dot = name.find('.', block.size());
    if (!name.starts_with(block) || dot == std::string::npos) continue;
    const double layer = std::stod(name.substr(block.size(), dot - block.size()));
    const std::string stage = name.substr(dot + 1);
    if (std::find(charted.begin(), charted.end(), stage) == charted.end()) continue;
    add_point(values, stage, layer, activation);
    add_point(gradients, stage, layer, gradient);
  }
  Drawing drawing{{{values}}};
  if (classifies) drawing.rows.push_back({gradients});  // no loss is without classes
  list.add(
      {"norms",
       "Norms through the model",
       fmt::format("What flows through each block{}. Curves that fall or rise without end are "
                   "vanishing or exploding. The norms.json that `vitruvian inspect` writes has "
                   "every intermediate.",
                   classifies ? fmt::format(", and the loss's derivative by it; the loss is {:.4f}",
                                            layers.loss)
                              : ""),
       std::move(drawing),
       {json_file("norms", dump_json(json))}});

  if (layers.units.empty()) return;  // a gated MLP's units are neither on nor off
  Series on{"above 0"}, never_on{"never above 0"}, dead{"dead"}, always_on{"always on"};
  for (const HiddenUnits& mlp : layers.units) {
    const auto share = [&mlp](std::size_t n) {
      return static_cast<double>(n) / static_cast<double>(mlp.units);
    };
    on.y.push_back(mlp.on);
    never_on.y.push_back(share(mlp.never_on));
    dead.y.push_back(share(mlp.dead));
    always_on.y.push_back(share(mlp.always_on));
  }
  on.x = never_on.x = dead.x = always_on.x = counted(layers.units.size(), 0);
  Chart chart{"Hidden units of the MLPs", "layer", "", {on, never_on, dead, always_on}};
  chart.whole_x = chart.percent = true;
  chart.y = Range{0, 1};
  list.add(
      {"hidden_units",
       "Dead and saturated units",
       "Of each MLP's hidden units: how many give nothing for any token (dead), are never above "
       "0, or are always on (linear); and how often a unit is above 0.",
       {{{std::move(chart)}}},
       {json_file("hidden_units", dump_json(Json{{"on", on.y},
                                                 {"never_on", never_on.y},
                                                 {"dead", dead.y},
                                                 {"always_on", always_on.y}}))}});
}

void draw_strip(const std::vector<std::string>& checkpoints, const WeightsRequest& request,
                FigureList& list) {
  Drawing drawing;
  Series line{"same row or column"};
  Series rest{"the rest"};
  Json json = Json::array();
  std::string words;
  std::vector<std::size_t> shape;  // of all of them
  for (std::size_t i = 0; i < checkpoints.size(); ++i) {
    const std::string& path = checkpoints[i];
    const std::string name = std::filesystem::path(path).stem().string();
    const TrainedModel trained = load_weights(path, request);
    if (!learns_position_table(trained.model.config)) {
      fail(Exit::checkpoint, "{}: the model learns no table of positions to compare", path);
    }
    const Array similarity = inspect::position_similarity(trained.model);
    const auto [of_line, of_rest] = inspect::lines(similarity);
    const Numbers cosines = numbers(similarity);
    if (i == 0) shape = cosines.shape;
    if (cosines.shape != shape) {
      fail(Exit::checkpoint, "{}: its grid of patches is another than that of the first checkpoint",
           path);
    }
    if (i % 5 == 0) drawing.rows.emplace_back();
    drawing.rows.back().push_back(
        ImageGrid{.title = name, .images = {figures::similarity_picture(cosines)}, .width = 180});
    line.y.push_back(of_line);
    rest.y.push_back(of_rest);
    json.push_back({{"checkpoint", name}, {"line", of_line}, {"rest", of_rest}});
    words +=
        fmt::format("{}: mean cosine {:.3f} in line, {:.3f} to the rest\n", name, of_line, of_rest);
  }
  line.x = rest.x = counted(checkpoints.size(), 0);
  Chart chart{"Mean cosine to other patches", "checkpoint", "cosine", {line, rest}};
  chart.whole_x = chart.from_zero = true;
  drawing.rows.push_back({std::move(chart)});
  list.add(
      {"strip",
       "Positions finding their grid",
       "Position similarity, checkpoint by checkpoint. Each picture has its own scale of colours: "
       "white is 0.",
       std::move(drawing),
       {json_file("strip", dump_json(json))},
       {},
       words});
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
