#include "apps/commands.hpp"
#include "vitruvian/core/console.hpp"
#include "vitruvian/core/error.hpp"
#include "vitruvian/vit/stages.hpp"
#include "vitruvian/vit/variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

namespace vitruvian {
namespace {

struct TraceOptions {
  std::string model = "mini_vit";
  std::size_t image_size = 0;
  std::size_t batch_size = 1;
};

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

// "(1,)" or "(1, 197)", as the symbols beside it.
std::string numbers(const std::vector<std::size_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

void run(const TraceOptions& options) {
  if (options.batch_size == 0) fail(Exit::usage, "--batch-size must be at least 1");
  ViTConfig c = variant(options.model).config;
  if (options.image_size != 0) c = with_image_size(c, options.image_size);
  // Whoever traces keeps what a training step keeps, but one copy of the weights.
  const std::uint64_t kept =
      c.training_bytes(options.batch_size, sizeof(float)) - 3 * sizeof(float) * c.parameters();
  check_fits_in_memory(c, kept, "to trace");
  const std::vector<Stage> stages = f32::stages_of_a_forward_pass(c, options.batch_size);
  console::print(
      "{}: B {}, C {}, H {}, W {}, P {}, N {}, T {}, D {}, h {}, D_h {}, M {}, L {}, K {}\n",
      options.model, options.batch_size, c.C, c.H, c.W, c.P, c.N(), c.T(), c.D, c.h, c.D_h(), c.M,
      c.L, c.K);
  std::size_t longest_name = 0;
  std::size_t longest_symbols = 0;
  for (const Stage& stage : stages) {
    longest_name = std::max(longest_name, stage.name.size());
    longest_symbols = std::max(longest_symbols, stage.symbols.size());
  }
  for (const Stage& stage : stages) {
    console::print("    {:<{}}  {:<{}}  {}\n", stage.name, longest_name, stage.symbols,
                   longest_symbols, numbers(stage.shape));
    if (const auto words = in_the_notebook(stage.name)) {
      console::print("{}: torch.Size([{}])\n", *words,
                     fmt::format("{}", fmt::join(stage.shape, ", ")));
    }
  }
}

}  // namespace

void add_trace(CLI::App& app, std::function<void()>& chosen) {
  auto options = std::make_shared<TraceOptions>();
  CLI::App& command = *app.add_subcommand(
      "trace", "Print the shapes of a forward pass, stage by stage, as the MiniViT notebook does");
  command.add_option("--model", options->model, "A name that 'vitruvian models' lists")
      ->capture_default_str()
      ->type_name("NAME");
  add_count(command, "--image-size", options->image_size,
            "For square images of so many pixels a side; 0 means the model's own");
  add_count(command, "--batch-size", options->batch_size, "B, the images that go through it")
      ->capture_default_str();
  command.callback([options, &chosen] { chosen = [options] { run(*options); }; });
}

}  // namespace vitruvian
