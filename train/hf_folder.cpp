#include "vitruvian/train/hf_folder.hpp"

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/json.hpp"
#include "vitruvian/core/base/safe_file.hpp"
#include "vitruvian/media/image.hpp"
#include "vitruvian/nn/tensor_file.hpp"
#include "vitruvian/vit/weights/naming.hpp"

#include <filesystem>
#include <system_error>

namespace vitruvian {
namespace {

namespace fs = std::filesystem;
constexpr const char* model_file = "model.safetensors";
constexpr const char* config_file = "config.json";
constexpr const char* preprocessor_file = "preprocessor_config.json";
// An entry that transformers keeps and does not read: by it a file is known as ours.
constexpr const char* our_entry = "vitruvian";
constexpr std::uint64_t longest_json = std::uint64_t{1} << 24U;

std::string text_of(const Json& json) { return dump_json(json, 2) + "\n"; }

// One number for a square, else (height, width), as transformers has both.
Json size_of(std::size_t height, std::size_t width) {
  return height == width ? Json(height) : Json::array({height, width});
}

bool is_our_json(const std::string& path) {
  const std::string text = RegularFile(path, Exit::usage).text(longest_json, "a config");
  const Json json = parse_json(text, nullptr, false);
  return json.is_object() && json.contains(our_entry);
}

bool is_our_model(const std::string& path) {
  const TensorFile file = read_safetensors(path);
  return file.metadata.contains("config") && detect_scheme(file) == Scheme::hf;
}

void check_file(const fs::path& path, bool (*is_ours)(const std::string&)) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(path, ignored))) return;
  bool known = false;
  try {
    known = is_ours(path.string());
  } catch (const Error&) {  // whatever it is
  }
  if (!known) {
    fail(Exit::usage,
         "{}: it is there already, and 'convert --scheme hf' did not write it: choose another "
         "folder, or move it away",
         path.string());
  }
}

}  // namespace

std::string hf_config(const ViTConfig& c, const DataConfig& data) {
  const std::vector<std::string> names = data.class_names(c.K);
  Json id2label = Json::object();
  Json label2id = Json::object();
  for (std::size_t k = 0; c.head != Head::none && k < c.K; ++k) {
    std::string label = names.empty() ? fmt::format("LABEL_{}", k) : names[k];
    if (label2id.contains(label)) label = fmt::format("{} ({})", label, k);
    id2label[std::to_string(k)] = label;
    label2id[label] = k;
  }
  const Json json{
      {"architectures", Json::array({"ViTForImageClassification"})},
      {"model_type", "vit"},
      {"hidden_size", c.D},
      {"num_hidden_layers", c.L},
      {"num_attention_heads", c.h},
      {"intermediate_size", c.M},
      {"hidden_act", c.gelu_tanh ? "gelu_new" : "gelu"},
      {"hidden_dropout_prob", c.dropout},
      {"attention_probs_dropout_prob", c.attention_dropout},
      {"initializer_range", 0.02},
      {"layer_norm_eps", c.eps},
      {"image_size", size_of(c.H, c.W)},
      {"patch_size", size_of(c.patch_height(), c.patch_width())},
      {"num_channels", c.C},
      {"qkv_bias", true},  // of zeros where the model has none
      {"id2label", id2label},
      {"label2id", label2id},
      {"torch_dtype", "float32"},
      {our_entry, {{"version", VITRUVIAN_VERSION}}},
  };
  return text_of(json);
}

std::string hf_preprocessor_config(const ViTConfig& c, const DataConfig& data) {
  constexpr int bilinear = 2;  // PIL.Image.Resampling
  Json json{
      {"image_processor_type", data.crops() ? "CLIPImageProcessor" : "ViTImageProcessor"},
      {"do_resize", true},
      {"size", {{"height", c.H}, {"width", c.W}}},
      {"resample", bilinear},
      {"do_rescale", true},
      {"rescale_factor", 1.0 / 255},
      {"do_normalize", true},
      {"image_mean", data.mean},
      {"image_std", data.std},
      {our_entry, {{"version", VITRUVIAN_VERSION}}},
  };
  if (data.crops()) {
    json["do_center_crop"] = true;
    json["crop_size"] = json["size"];
    json["size"] = {{"shortest_edge", Fit{c.H, c.W}.shorter_side()}};
  }
  return text_of(json);
}

void check_hf_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(Exit::failure, "{}: cannot be made: {}", folder, error.message());
  for (const char* const name : {config_file, preprocessor_file}) {
    check_file(fs::path(folder) / name, is_our_json);
  }
  check_file(fs::path(folder) / model_file, is_our_model);
}

void write_hf_configs(const std::string& folder, const ViTConfig& config, const DataConfig& data,
                      std::vector<std::string>& notes) {
  const auto path = [&folder](const char* name) { return (fs::path(folder) / name).string(); };
  if (data.mean.empty() || data.std.empty()) {
    std::error_code ignored;
    fs::remove(path(preprocessor_file), ignored);  // of another model of ours
    notes.push_back(fmt::format("no {}: the weights do not say how their images were normalised",
                                preprocessor_file));
  } else {
    write_file_safely(path(preprocessor_file), hf_preprocessor_config(config, data));
  }
  write_file_safely(path(config_file), hf_config(config, data));
}

}  // namespace vitruvian
