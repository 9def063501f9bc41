#include "vitruvian/train/convert.hpp"
#include "apps/commands.hpp"
#include "apps/weights_flags.hpp"
#include "vitruvian/core/console.hpp"

#include <fmt/format.h>

#include <memory>

namespace vitruvian {
namespace {

void run(const ConvertOptions& options) {
  const Converted result = convert(options);
  for (const std::string& note : result.notes) console::print(stderr, "note: {}\n", note);
  const ViTConfig& c = result.config;
  console::print(
      "{} tensors from {} names to {}: {} x {} x {}, P {}, D {}, L {}, h {}, M {}, K {}\n",
      result.tensors, names_of(result.from), names_of(options.scheme), c.H, c.W, c.C, c.P, c.D, c.L,
      c.h, c.M, c.K);
}

}  // namespace

void add_convert(CLI::App& app, std::function<void()>& chosen) {
  auto options = std::make_shared<ConvertOptions>();
  auto flags = std::make_shared<WeightsFlags>();
  auto scheme = std::make_shared<std::string>();
  CLI::App& command = *app.add_subcommand("convert", "Write weights under another project's names");
  command.add_option("--from", options->from, "safetensors, .npz, or a run directory")
      ->required()
      ->type_name("FILE");
  command.add_option("--to", options->to, "The safetensors file to write")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--scheme", *scheme,
                  "torchvision, timm, hf (Hugging Face), jax, or vitruvian (ours)")
      ->required();
  add_weights_flags(command, *flags);
  command.callback([options, flags, scheme, &chosen] {
    chosen = [options, flags, scheme] {
      options->scheme = scheme_of(*scheme);
      options->request = request_of(*flags);
      run(*options);
    };
  });
}

}  // namespace vitruvian
