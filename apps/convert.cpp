#include "vitruvian/train/convert.hpp"
#include "apps/commands.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"

#include <fmt/format.h>

#include <sstream>

namespace vitruvian {
namespace {

struct ConvertFlags {
  ConvertOptions options;
  WeightsFlags weights;
  std::string scheme;
};

void run_convert(ConvertFlags& flags) {
  ConvertOptions& options = flags.options;
  options.scheme = scheme_of(flags.scheme);
  options.request = request_of(flags.weights);
  const Converted result = convert(options);
  for (const std::string& note : result.notes) console::print(stderr, "note: {}\n", note);
  const ViTConfig& c = result.config;
  console::print(
      "{} tensors from {} names to {}: {} x {} x {}, P {}, D {}, L {}, h {}, M {}, K {}\n",
      result.tensors, names_of(result.from), names_of(options.scheme), c.H, c.W, c.C, c.P, c.D, c.L,
      c.h, c.M, c.K);
}

std::size_t side(const std::string& text, const std::string& whole) {
  if (text.empty() || text.size() > 9 ||
      text.find_first_not_of("0123456789") != std::string::npos) {
    fail(Exit::usage, "--image-size: '{}' is neither a size nor HEIGHTxWIDTH", whole);
  }
  const std::size_t n = std::stoul(text);
  if (n == 0) fail(Exit::usage, "--image-size must be at least 1");
  return n;
}

}  // namespace

void add_weights_flags(CLI::App& command, WeightsFlags& flags) {
  const std::string group = "Weights of other projects, sizes and classes";
  command
      .add_option("--from-scheme", flags.scheme,
                  "Whose names: torchvision, timm, hf or jax; without: what they look like")
      ->group(group);
  add_count(command, "--heads", flags.heads,
            "h, where the file does not say and it is not D / 64 as in all published models")
      ->group(group);
  command
      .add_option("--image-size", flags.image_size,
                  "Images of another size: the position embeddings are resized")
      ->type_name("N|HxW")
      ->group(group);
  command
      .add_option("--pos-resize", flags.pos_resize,
                  "How: jax, torchvision, timm or hf; without: as the names' project does")
      ->group(group);
  add_count(command, "--classes", flags.classes,
            "K classes; unless there are as many already, the head becomes zeros")
      ->group(group);
}

WeightsRequest request_of(const WeightsFlags& flags) {
  WeightsRequest request;
  if (!flags.scheme.empty()) request.scheme = scheme_of(flags.scheme);
  if (!flags.pos_resize.empty()) request.pos_resize = pos_resize_of(flags.pos_resize);
  request.heads = flags.heads;
  request.classes = flags.classes;
  if (!flags.image_size.empty()) {
    const auto x = flags.image_size.find('x');
    request.height = side(flags.image_size.substr(0, x), flags.image_size);
    request.width = x == std::string::npos ? request.height
                                           : side(flags.image_size.substr(x + 1), flags.image_size);
  }
  return request;
}

std::vector<double> numbers_of(const char* flag, const std::string& text) {
  std::vector<double> values;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    double value = 0;
    if (!CLI::detail::lexical_cast(part, value)) {
      fail(Exit::usage, "{}: '{}' is not a number", flag, part);
    }
    values.push_back(value);
  }
  return values;
}

void add_convert(CLI::App& app, std::function<void()>& chosen) {
  auto [command, flags] = add_command<ConvertFlags>(
      app, chosen, "convert", "Write weights under another project's names", run_convert);
  command.add_option("--from", flags.options.from, "safetensors, .npz, or a run directory")
      ->required()
      ->type_name("FILE");
  command.add_option("--to", flags.options.to, "The safetensors file to write")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--scheme", flags.scheme,
                  "torchvision, timm, hf (Hugging Face), jax, or vitruvian (ours)")
      ->required();
  add_weights_flags(command, flags.weights);
}

}  // namespace vitruvian
