// What needs no weights: the list of models, and the shapes inside one.

#include "apps/commands.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/wrapping.hpp"
#include "vitruvian/vit/variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace vitruvian {
namespace {

struct Options {
  std::string name;
  std::size_t image_size = 0;
  std::size_t batch_size = 1;
  bool json = false;
};

// 80 columns, where no model takes a terabyte.
constexpr std::string_view row_format =
    "{:<9} {:>5} {:>2} {:>2} {:>4} {:>4} {:>2} {:>7} {:>11} {:>8} {:>7} {:>8}\n";

void print_row(const Variant& model, std::size_t batch) {
  const ViTConfig& c = model.config;
  const std::string printed = model.paper ? fmt::format("{}M", model.paper->millions) : "-";
  console::print(row_format, model.name, c.H, c.P, c.L, c.D, c.M, c.h, printed,
                 with_commas(c.parameters()),
                 fmt::format("{:.3f}", static_cast<double>(c.macs()) / 1e9),
                 console::human_bytes(c.forward_bytes(batch, sizeof(float))),
                 console::human_bytes(c.training_bytes(batch, sizeof(float))));
}

void list(const Options& options) {
  const bool one = !options.name.empty();
  std::vector<Variant> models;
  std::vector<std::string> refused;
  for (Variant model : one ? std::vector{variant(options.name)} : variants()) {
    try {
      if (options.image_size != 0) model.config = with_image_size(model.config, options.image_size);
      models.push_back(model);
    } catch (const Error& error) {
      if (one) throw;
      refused.push_back(fmt::format("{:<10} {}", model.name, error.what()));
    }
  }
  if (options.json) {
    std::vector<std::string> objects;
    for (const Variant& model : models) objects.push_back(to_json(model, options.batch_size));
    console::print("[{}]\n", console::lines(joined(objects, ",\n ")));
    return;
  }
  const std::string at_once =
      options.batch_size == 1 ? "one image" : fmt::format("{} images", options.batch_size);
  console::print("{:>42}{:>38}\n", "parameters in", "memory in float32, " + at_once);
  console::print(row_format, "model", "image", "P", "L", "D", "M", "h", "Table 1", "parameters",
                 "GMAC", "forward", "training");
  for (const Variant& model : models) print_row(model, options.batch_size);
  for (const std::string& line : refused) console::print("{}\n", line);
}

// What the MiniViT notebook prints of an intermediate before its shape; nothing of most.
std::optional<std::string> in_the_notebook(const std::string& name) {
  if (name == "z_0") return "Eq.(1) z0";
  if (name == "y") return "Eq.(4) y (pre-head)";
  if (name == "logits") return "Logits";
  if (name.starts_with("blocks.") && name.ends_with(".z")) {
    return fmt::format("After layer {}", std::stoul(name.substr(7)) + 1);
  }
  return std::nullopt;
}

void trace(const Options& options) {
  ViTConfig c = variant(options.name).config;
  if (options.image_size != 0) c = with_image_size(c, options.image_size);
  // Whoever traces keeps what a training step keeps, but one copy of the weights.
  const std::uint64_t kept =
      c.training_bytes(options.batch_size, sizeof(float)) - 3 * sizeof(float) * c.parameters();
  check_fits_in_memory(c, kept, "to trace");
  const std::vector<Stage> stages = stages_of_a_forward_pass(c, options.batch_size);
  const std::string sizes = fmt::format(
      "B {}, C {}, H {}, W {}, P {}, N {}, T {}, D {}, h {}, D_h {}, M {}, L {}, K {}",
      options.batch_size, c.C, c.H, c.W, c.P, c.N(), c.T(), c.D, c.h, c.D_h(), c.M, c.L, c.K);
  console::print("{}\n", console::entry(stdout, options.name + ": ", sizes));
  std::size_t longest_name = 0;
  std::size_t longest_symbols = 0;
  for (const Stage& stage : stages) {
    longest_name = std::max(longest_name, stage.name.size());
    longest_symbols = std::max(longest_symbols, stage.symbols.size());
  }
  for (const Stage& stage : stages) {
    console::print("    {:<{}}  {:<{}}  {}\n", stage.name, longest_name, stage.symbols,
                   longest_symbols, shape_text(stage.shape));
    if (const auto words = in_the_notebook(stage.name)) {
      console::print("{}: torch.Size([{}])\n", *words, joined(stage.shape));
    }
  }
}

}  // namespace

void add_models(const Parser& app, std::function<void()>& chosen) {
  auto [command, options] = add_command<Options>(
      app, chosen, "models", "List the models of the paper and their sizes, beside its Table 1",
      list);
  command.add_value("NAME", "", options.name, "One of them; all unless given")
      .offers(names_in(variants()));
  command.add_count("--image-size", options.image_size,
                    "For square images of so many pixels a side; 0 means each model's own");
  command.add_count("--batch-size", options.batch_size, "Images at once, for the memory",
                    most_counted, 1);
  command.add_flag("--json", options.json, "A JSON array of them");
}

void add_trace(const Parser& app, std::function<void()>& chosen) {
  auto [command, options] = add_command<Options>(
      app, chosen, "trace",
      "Print the shapes of a forward pass, stage by stage, as the MiniViT notebook does", trace);
  options.name = "mini_vit";
  command.add_value("--model", "NAME", options.name, "A name that 'vitruvian models' lists")
      .offers(names_in(variants()));
  command.add_count("--image-size", options.image_size,
                    "For square images of so many pixels a side; 0 means the model's own");
  command.add_count("--batch-size", options.batch_size, "B, the images that go through it",
                    most_counted, 1);
}

}  // namespace vitruvian
