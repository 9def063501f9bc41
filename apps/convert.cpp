#include "vitruvian/train/convert.hpp"
#include "apps/commands.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/safe_file.hpp"

#include <sstream>

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

void add_weights_flags(CLI::App& command, WeightsRequest& request) {
  const std::string group = "Weights of other projects, sizes and classes";
  const auto add_text = [&](const char* name, const char* help, auto take) {
    return command.add_option_function<std::string>(name, take, help)->group(group);
  };
  offer(add_text("--from-scheme",
                 "Whose names: torchvision, timm, hf or jax; without: what they look like",
                 [&request](const std::string& name) { request.scheme = scheme_of(name); }),
        {"torchvision", "timm", "hf", "jax"});
  add_count(command, "--heads", request.heads,
            "h, where the file does not say and it is not D / 64 as in all published models")
      ->group(group);
  add_text("--image-size", "Images of another size: the position embeddings are resized",
           [&request](const std::string& text) {
             const auto x = text.find('x');
             request.height = side(text.substr(0, x), text);
             request.width =
                 x == std::string::npos ? request.height : side(text.substr(x + 1), text);
           })
      ->type_name("N|HxW");
  offer(add_text("--pos-resize",
                 "How: jax, torchvision, timm or hf; without: as the names' project does",
                 [&request](const std::string& name) { request.pos_resize = pos_resize_of(name); }),
        pos_resize_names());
  add_count(command, "--classes", request.classes,
            "K classes; unless there are as many already, the head becomes zeros")
      ->group(group);
}

void add_numbers(CLI::App& command, const std::string& name, std::vector<double>& numbers,
                 const std::string& description) {
  const auto take = [&numbers, name](const std::string& text) {
    std::istringstream parts(text + ",");  // so that an empty last one is seen
    numbers.clear();
    for (std::string part; std::getline(parts, part, ',');) {
      if (!CLI::detail::lexical_cast(part, numbers.emplace_back())) {
        fail(Exit::usage, "{}: '{}' is not a number", name, part);
      }
    }
  };
  command.add_option_function<std::string>(name, take, description)->type_name("X[,X,X]");
}

void add_convert(CLI::App& app, std::function<void()>& chosen) {
  auto [command, flags] = add_command<ConvertFlags>(
      app, chosen, "convert", "Write weights under another project's names, or as ONNX",
      run_convert);
  ConvertOptions& options = flags.options;
  add_value(command, "--from", "FILE", options.from, "safetensors, .npz, .pth, or a run directory")
      ->required();
  add_value(command, "--to", "FILE", options.to,
            "The safetensors file to write; NAME.onnx for a graph that other programs run;\n"
            "or, with --scheme hf, FOLDER/ as transformers opens it")
      ->required();
  offer(command.add_option("--scheme", flags.scheme,
                           "torchvision, timm, hf (Hugging Face), jax, or vitruvian (ours)"),
        scheme_names());
  add_weights_flags(command, options.request);
}

}  // namespace vitruvian
