#include "vitruvian/train/convert.hpp"
#include "apps/commands.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/safe_file.hpp"

namespace vitruvian {
namespace {

struct ConvertFlags {
  ConvertOptions options;
  std::string scheme;
};

void run_convert(ConvertFlags flags) {
  ConvertOptions& options = flags.options;
  if (options.to_onnx() != flags.scheme.empty()) {
    fail(Exit::usage, "{}",
         options.to_onnx() ? "--scheme: an ONNX file has operators, and nobody's names"
                           : "--scheme is missing: whose names? (--to NAME.onnx needs none)");
  }
  if (!options.to_onnx()) options.scheme = scheme_of(flags.scheme);
  if (!options.to_onnx()) check_safetensors_name("--to", options.to);
  const Converted result = convert(options);
  for (const std::string& text : result.notes) note(text);
  const ViTConfig& c = result.config;
  console::print(is_standard_output(options.to) ? stderr : stdout,
                 "{} tensors from {} names to {}: {} x {} x {}, P {}, D {}, L {}, h {}, M {}, {}\n",
                 result.tensors, names_of(result.from),
                 options.to_onnx() ? "a graph of ONNX's operators" : names_of(options.scheme), c.H,
                 c.W, c.C, c.P, c.D, c.L, c.h, c.M,
                 c.head == Head::none ? "no head" : fmt::format("K {}", c.K));
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

void check_safetensors_name(const char* flag, const std::string& file) {
  for (const char* const end : {".npz", ".pth", ".pt", ".bin", ".onnx"}) {
    if (!file.ends_with(end)) continue;
    fail(Exit::usage, "{} {}: what is written is safetensors: call it NAME.safetensors", flag,
         file);
  }
}

void add_weights_flags(const Parser& command, WeightsRequest& request) {
  const std::string group = "Weights of other projects, sizes and classes";
  const auto take_scheme = [&request](const std::string& name) {
    request.scheme = scheme_of(name);
  };
  const auto take_resize = [&request](const std::string& name) {
    request.pos_resize = pos_resize_of(name);
  };
  const auto take_size = [&request](const std::string& text) {
    const auto x = text.find('x');
    request.height = side(text.substr(0, x), text);
    request.width = x == std::string::npos ? request.height : side(text.substr(x + 1), text);
  };
  command
      .add_text("--from-scheme", "TEXT", take_scheme,
                "Whose names: torchvision, timm, hf or jax; without: what they look like")
      .offers({"torchvision", "timm", "hf", "jax"})
      .group(group);
  command
      .add_count("--heads", request.heads,
                 "h, where the file does not say and it is not D / 64 as in all published models")
      .group(group);
  command
      .add_text("--image-size", "N|HxW", take_size,
                "Images of another size: the position embeddings are resized")
      .group(group);
  command
      .add_text("--pos-resize", "TEXT", take_resize,
                "How: jax, torchvision, timm or hf; without: as the names' project does")
      .offers(pos_resize_names())
      .group(group);
  command
      .add_count("--classes", request.classes,
                 "K classes; unless there are as many already, the head becomes zeros")
      .group(group);
}

void add_convert(const Parser& app, std::function<void()>& chosen) {
  auto [command, flags] = add_command<ConvertFlags>(
      app, chosen, "convert", "Write weights under another project's names, or as ONNX",
      run_convert);
  ConvertOptions& options = flags.options;
  command.add_value("--from", "FILE", options.from, "safetensors, .npz, .pth, or a run directory")
      .required();
  command
      .add_value("--to", "FILE", options.to,
                 "The safetensors file to write; NAME.onnx for a graph that other programs run;\n"
                 "or, with --scheme hf, FOLDER/ as transformers opens it")
      .required();
  command
      .add_value("--scheme", "TEXT", flags.scheme,
                 "torchvision, timm, hf (Hugging Face), jax, or vitruvian (ours); must be given,\n"
                 "but for NAME.onnx")
      .offers(scheme_names());
  add_weights_flags(command, options.request);
}

}  // namespace vitruvian
