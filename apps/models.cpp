#include "apps/commands.hpp"
#include "vitruvian/core/console.hpp"
#include "vitruvian/core/error.hpp"
#include "vitruvian/vit/variants.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace vitruvian {
namespace {

struct ModelsOptions {
  std::string name;
  std::size_t image_size = 0;
  std::size_t batch_size = 1;
  bool json = false;
};

// 86567656 as 86,567,656.
std::string grouped(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), 1, ',');
  }
  return digits;
}

void print_row(const Variant& model, std::size_t batch) {
  const ViTConfig& c = model.config;
  if (const auto& paper = model.paper) {
    console::print("{:<10} {:>3} {:>5} {:>5} {:>3} {:>5}M  ", model.name, paper->L, paper->D,
                   paper->M, paper->h, paper->millions);
  } else {
    console::print("{:<10} {:>3} {:>5} {:>5} {:>3} {:>6}  ", model.name, "-", "-", "-", "-", "-");
  }
  console::print("{:>5} {:>3} {:>3} {:>5} {:>5} {:>3} {:>12} {:>9.3f} {:>8} {:>8}\n", c.H, c.P, c.L,
                 c.D, c.M, c.h, grouped(c.parameters()), static_cast<double>(c.macs()) / 1e9,
                 console::human_bytes(c.forward_bytes(batch, sizeof(float))),
                 console::human_bytes(c.training_bytes(batch, sizeof(float))));
}

void run(const ModelsOptions& options) {
  if (options.batch_size == 0) fail(Exit::usage, "--batch-size must be at least 1");
  std::vector<Variant> models = variants();
  if (!options.name.empty()) models = {variant(options.name)};
  std::vector<std::string> refused;
  for (auto model = models.begin(); model != models.end();) {
    try {
      if (options.image_size != 0) {
        model->config = with_image_size(model->config, options.image_size);
      }
      ++model;
    } catch (const Error& error) {
      if (!options.name.empty()) throw;
      refused.push_back(fmt::format("{:<10} {}", model->name, error.what()));
      model = models.erase(model);
    }
  }
  if (options.json) {
    std::vector<std::string> objects;
    for (const Variant& model : models) objects.push_back(to_json(model, options.batch_size));
    console::print("[{}]\n", console::lines(fmt::format("{}", fmt::join(objects, ",\n "))));
    return;
  }
  console::print(
      "{:<10} {:<28}  here; memory in float32, {} at once\n", "", "the paper's Table 1",
      options.batch_size == 1 ? "one image" : fmt::format("{} images", options.batch_size));
  console::print(
      "{:<10} {:>3} {:>5} {:>5} {:>3} {:>6}  {:>5} {:>3} {:>3} {:>5} {:>5} {:>3} {:>12} {:>9} "
      "{:>8} {:>8}\n",
      "model", "L", "D", "M", "h", "params", "image", "P", "L", "D", "M", "h", "parameters", "GMAC",
      "forward", "training");
  for (const Variant& model : models) print_row(model, options.batch_size);
  for (const std::string& line : refused) console::print("{}\n", line);
}

}  // namespace

void add_models(CLI::App& app, std::function<void()>& chosen) {
  auto options = std::make_shared<ModelsOptions>();
  CLI::App& command = *app.add_subcommand(
      "models", "List the models of the paper and their sizes, beside its Table 1");
  command.add_option("NAME", options->name, "One of them; all unless given")->type_name("");
  add_count(command, "--image-size", options->image_size,
            "For square images of so many pixels a side; 0 means each model's own");
  add_count(command, "--batch-size", options->batch_size, "Images at once, for the memory")
      ->capture_default_str();
  command.add_flag("--json", options->json, "A JSON array of them");
  command.callback([options, &chosen] { chosen = [options] { run(*options); }; });
}

}  // namespace vitruvian
