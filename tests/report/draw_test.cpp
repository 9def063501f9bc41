// What `inspect` draws, and writes beside its pictures, is what the functions that look inside
// find.

#include "vitruvian/report/draw.hpp"
#include "tests/train/small.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/vit/inspect/gradients.hpp"
#include "vitruvian/vit/inspect/inspect.hpp"
#include "vitruvian/vit/variants.hpp"

#include <nlohmann/json.hpp>

using namespace vitruvian;

namespace {

// 4 x 4 patches of grey images.
VisionTransformer model_of(bool mean_pooling) {
  ViTConfig c = tiny_vit();
  c.C = 1;
  c.H = c.W = 16;
  c.mean_pooling = mean_pooling;
  return of_order_half(c, Rng(2));
}

Samples three_images() {
  Samples samples;
  samples.data = {"", {0.3}, {0.2}, {}};
  for (std::uint64_t i = 0; i < 3; ++i) {
    samples.inputs.push_back(random_normal({1, 1, 16, 16}, i));
    samples.pictures.push_back({16, 16, 1, std::vector<std::uint8_t>(256, 200)});
  }
  samples.labels = {2, 0, 1};
  samples.class_names = {"a", "b", "c"};
  return samples;
}

const InspectObserver nobody;

std::string file(const FigureList& list, const std::string& name) {
  for (const Figure& figure : list.figures) {
    for (const Figure::File& f : figure.files) {
      if (f.name == name) return f.content;
    }
  }
  FAIL("no " << name);
  return "";
}

const Figure& figure(const FigureList& list, const std::string& name) {
  const auto named = [&name](const Figure& one) { return one.name == name; };
  return *std::find_if(list.figures.begin(), list.figures.end(), named);
}

// The left upper corners of what is marked in a figure's pictures, in pixels.
using Corners = std::vector<std::pair<std::size_t, std::size_t>>;
Corners corners(const Figure& figure) {
  Corners corners;
  for (const auto& panel : figure.drawing.rows.at(0)) {
    const auto& marked = std::get<ImageGrid>(panel).marked;
    if (marked) corners.emplace_back(marked->top, marked->left);
  }
  return corners;
}

}  // namespace

TEST_CASE("inspect: heads are averaged over the images, maps are the first one's") {
  const Samples samples = three_images();
  for (const bool pooled : {false, true}) {
    CAPTURE(pooled);
    const VisionTransformer model = model_of(pooled);
    const ViTConfig& c = model.config;
    InspectOptions options;
    options.layer = 0;
    FigureList list{nobody};
    draw_attention(model, samples, options, list);

    std::vector<Numbers> means(4, {{c.L, c.h}, std::vector<double>(c.L * c.h, 0.0)});
    std::vector<inspect::Attention> seen;
    for (const Array& x : samples.inputs) {
      seen.push_back(inspect::attention(model, x));
      const inspect::Heads heads = inspect::heads(seen.back());
      for (std::size_t i = 0; i < c.L * c.h; ++i) {
        means[0].values[i] += heads.distance.data()[i];
        means[1].values[i] += heads.entropy.data()[i];
        means[2].values[i] += heads.on_class_token.data()[i];
        means[3].values[i] += heads.saturated.data()[i];
      }
    }
    for (Numbers& mean : means) {
      for (double& value : mean.values) value /= 3;
    }
    CHECK(says(file(list, "attention_distance.json"), nlohmann::json(means[0]).dump()));
    CHECK(says(file(list, "attention_entropy.json"), nlohmann::json(means[1]).dump()));
    CHECK(says(file(list, "attention_entropy.json"), nlohmann::json(means[2]).dump()) != pooled);
    CHECK(says(file(list, "attention_entropy.json"),
               "\"saturated\":" + nlohmann::json(means[3]).dump()));

    // The class token asks, or where there is none the patch in the middle.
    const inspect::Query middle{pooled ? std::optional<std::size_t>(10) : std::nullopt};
    Numbers maps{{c.L, c.h, 4, 4}, {}};
    for (std::size_t l = 0; l < c.L; ++l) {
      for (std::size_t i = 0; i < c.h; ++i) {
        const Array map = inspect::attention_map(seen[0], l, i, middle);
        maps.values.insert(maps.values.end(), map.data(), map.data() + map.size());
      }
    }
    CHECK(file(list, "attention_maps.npy") == npy_of(maps));
    CHECK(file(list, "attention_map.npy") ==
          npy_of(numbers(inspect::attention_map(seen[0], 0, {}, middle))));

    // The patch that asks, 10 of 4 x 4, is marked: in the image, in its light, and in the map. Of a
    // class token nothing is said where there is none.
    CHECK(corners(figure(list, "attention_map")) ==
          (pooled ? Corners{{8, 8}, {8, 8}, {2, 2}} : Corners{}));
    CHECK(corners(figure(list, "attention_maps")) == (pooled ? Corners{{2, 2}} : Corners{}));
    for (const char* const name : {"attention_map", "attention_distance", "attention_entropy"}) {
      CHECK(says(figure(list, name).text, "class token") != pooled);
    }
    CHECK(figure(list, "attention_entropy").drawing.rows.at(0).size() == (pooled ? 2 : 3));

    // One head that was asked for; all of them else.
    const std::size_t T = c.T();
    const real* const probs = seen[0].probs[0].data();
    Numbers matrix{{T, T}, std::vector<double>(T * T)};
    for (std::size_t j = 0; j < T * T; ++j) {
      matrix.values[j] = probs[j] / 2.0 + probs[T * T + j] / 2.0;
    }
    CHECK(file(list, "attention_matrix.npy") == npy_of(matrix));
    options.query = 3;
    for (const std::size_t head : {0, 1}) {
      options.head = head;
      FigureList of_one{nobody};
      draw_attention(model, samples, options, of_one);
      matrix.values.assign(probs + head * T * T, probs + (head + 1) * T * T);
      CHECK(file(of_one, "attention_matrix.npy") == npy_of(matrix));
      CHECK(corners(figure(of_one, "attention_map")) == Corners{{0, 12}, {0, 12}, {0, 3}});
      CHECK(file(of_one, "attention_map.npy") ==
            npy_of(numbers(inspect::attention_map(seen[0], 0, head, {3}))));
    }
  }
}

TEST_CASE("inspect: an image is as bright as its patches draw attention, a quarter where none") {
  ViTConfig c = tiny_vit();
  c.C = 1, c.W = 16;  // 2 x 4 patches of 4 x 4
  const VisionTransformer model = of_order_half(c, Rng(2));
  Samples samples;
  samples.inputs = {random_normal({1, 1, 8, 16}, 1)};
  samples.pictures = {{8, 16, 1, std::vector<std::uint8_t>(128, 200)}};
  FigureList list{nobody};
  draw_attention(model, samples, {}, list);
  const Array map =
      inspect::attention_map(inspect::attention(model, samples.inputs[0]), c.L - 1, {}, {});
  const double most = *std::max_element(map.begin(), map.end());
  const auto& lit = std::get<ImageGrid>(figure(list, "attention_map").drawing.rows.at(0).at(1));
  for (std::size_t i = 0; i < 128; ++i) {
    const double place = double{map.data()[i / 64 * 4 + i % 16 / 4]} / most;
    CHECK(lit.images.at(0).pixels.at(3 * i) == std::lround(200 * (0.25 + 0.75 * place)));
  }
}

TEST_CASE("inspect: explanations begin at black and say how probable the class is") {
  Samples samples = three_images();
  samples.pictures[1].pixels.assign(256, 0);  // no ink: no part of it has more than its share
  const VisionTransformer model = model_of(false);
  InspectOptions options;
  options.integrated_gradients = 4;
  options.smooth_grad = 3;
  FigureList list{nobody};
  draw_explanations(model, samples, options, list);
  Numbers expected{{3, 16, 16}, {}};
  Numbers smooth = expected;
  std::string verdicts;
  for (std::size_t b = 0; b < 3; ++b) {
    const Array logits = inspect::attention(model, samples.inputs[b]).logits;
    std::size_t best = 0;
    double sum = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      sum += std::exp(double{logits(0, k)});
      if (logits(0, k) > logits(0, best)) best = k;
    }
    verdicts += fmt::format("{}\"true {}, found {}: {:.0f} %\"", b == 0 ? "" : ",",
                            samples.class_names[samples.labels[b]], samples.class_names[best],
                            100 * std::exp(double{logits(0, best)}) / sum);
    const Array black = full({1, 16, 16}, static_cast<real>(-0.3 / 0.2));
    const Array map = inspect::saliency(
        inspect::integrated_gradients(model, samples.inputs[b], black, 4, {best}).attributions);
    expected.values.insert(expected.values.end(), map.data(), map.data() + map.size());
    const Array noisy =
        inspect::saliency(inspect::smooth_grad(model, samples.inputs[b], {.samples = 3}, {best}));
    smooth.values.insert(smooth.values.end(), noisy.data(), noisy.data() + noisy.size());
  }
  CHECK(file(list, "explanations.json") == "{\"images\":[" + verdicts + "]}\n");
  CHECK(file(list, "integrated_gradients.npy") == npy_of(expected));
  CHECK(file(list, "smooth_grad.npy") == npy_of(smooth));
  CHECK(says(list.figures.at(0).words,
             "have 1.00 times their share of the rollout, averaged over "
             "2 images"));  // of which every patch has ink
}

TEST_CASE("inspect: norms and hidden units are those of the layers, in the files and the charts") {
  const Samples samples = three_images();
  const VisionTransformer model = model_of(false);
  FigureList list{nobody};
  draw_layers(model, samples, list);
  const Tensor images = concat({samples.inputs[0], samples.inputs[1], samples.inputs[2]}, 0);
  const Layers layers = inspect::layers(model, images.value(), samples.labels);
  nlohmann::ordered_json norms{{"loss", layers.loss}};
  std::vector<double> z, dz;  // what leaves the blocks
  for (const TraceNorms& n : layers.norms) {
    norms["names"].push_back(n.name);
    norms["activations"].push_back(n.activation);
    norms["gradients"].push_back(n.gradient);
    if (!n.name.starts_with("blocks.") || !n.name.ends_with(".z")) continue;
    z.push_back(n.activation);
    dz.push_back(n.gradient);
  }
  CHECK(file(list, "norms.json") == norms.dump() + "\n");
  const auto line = [&](const std::string& name, std::size_t row, std::size_t i) {
    return std::get<Chart>(figure(list, name).drawing.rows.at(row).at(0)).series.at(i);
  };
  CHECK(line("norms", 0, 5).name == "z");
  CHECK(line("norms", 0, 5).y == z);
  CHECK(line("norms", 1, 5).y == dz);
  nlohmann::ordered_json units;
  for (const HiddenUnits& u : layers.units) {
    const auto share = [&u](std::size_t n) { return double(n) / double(u.units); };
    units["on"].push_back(u.on);
    units["never_on"].push_back(share(u.never_on));
    units["dead"].push_back(share(u.dead));
    units["always_on"].push_back(share(u.always_on));
  }
  CHECK(file(list, "hidden_units.json") == units.dump() + "\n");
  const std::vector<std::string> names{"on", "never_on", "dead", "always_on"};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(line("hidden_units", 0, i).y == units[names[i]].get<std::vector<double>>());
  }
}

TEST_CASE("inspect: components are counted from 1, and a strip has each checkpoint's cosines") {
  FigureList list{nobody};
  const Folder folder;
  std::vector<std::string> files;
  std::vector<double> line, rest;
  for (const std::uint64_t seed : {1, 2}) {
    const VisionTransformer model = of_order_half(small_options().model, Rng(seed));
    files.push_back(folder.file(fmt::format("epoch-{}.safetensors", seed)));
    save_weights(model, {"digits", {0.5}, {0.5}, {}}, files.back());
    const auto cosines = inspect::lines(inspect::position_similarity(model));
    line.push_back(cosines.line);
    rest.push_back(cosines.rest);
    if (seed == 1) draw_weights(model, list);
  }
  const auto chart_in = [&](const std::string& name, std::size_t row, std::size_t i) {
    return std::get<Chart>(figure(list, name).drawing.rows.at(row).at(i));
  };
  const auto& grid = std::get<ImageGrid>(figure(list, "filters").drawing.rows.at(0).at(0));
  CHECK(grid.images.at(0).channels == 1);  // of grey pixels
  CHECK(chart_in("filter_components", 1, 0).series.at(0).x.front() == 1);
  draw_strip(files, {}, list);
  CHECK(chart_in("strip", 1, 0).series.at(0).y == line);
  CHECK(chart_in("strip", 1, 0).series.at(1).y == rest);
  CHECK(says(file(list, "strip.json"),
             "\"checkpoint\":\"epoch-2\",\"line\":" + nlohmann::json(line[1]).dump() +
                 ",\"rest\":" + nlohmann::json(rest[1]).dump()));
}
