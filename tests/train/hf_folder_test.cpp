// config.json and preprocessor_config.json, held against the fields that transformers 4.40
// documents (ViTConfig, ViTImageProcessor, CLIPImageProcessor), typed by hand.

#include "vitruvian/train/hf_folder.hpp"
#include "tests/folder.hpp"

#include <nlohmann/json.hpp>

using namespace vitruvian;

namespace {

const ViTConfig usual{.C = 3, .H = 8, .W = 8, .P = 4, .D = 8, .L = 2, .h = 2, .M = 12, .K = 3};

nlohmann::json said(const std::string& text) {
  nlohmann::json json = nlohmann::json::parse(text);
  CHECK(json.erase("vitruvian") == 1);  // our version
  return json;
}

nlohmann::json config_of(const ViTConfig& config, const DataConfig& data = {}) {
  return nlohmann::json::parse(hf_config(config, data));
}

}  // namespace

TEST_CASE("config.json has the fields of a ViTConfig") {
  ViTConfig c = usual;
  c.eps = 1e-5, c.dropout = 0.1, c.attention_dropout = 0.2;
  CHECK(said(hf_config(c, {"folder", {}, {}, {"ox", "hen", "ox"}})) ==
        nlohmann::json::parse(R"json({
    "architectures": ["ViTForImageClassification"], "model_type": "vit",
    "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12,
    "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.2,
    "initializer_range": 0.02, "layer_norm_eps": 1e-5,
    "image_size": 8, "patch_size": 4, "num_channels": 3, "qkv_bias": true,
    "id2label": {"0": "ox", "1": "hen", "2": "ox (2)"},
    "label2id": {"ox": 0, "hen": 1, "ox (2)": 2}, "torch_dtype": "float32"})json"));
}

TEST_CASE("config.json of other switches") {
  ViTConfig c = usual;
  c.gelu_tanh = true, c.W = 16, c.P_w = 2;
  const nlohmann::json json = config_of(c);
  CHECK(json["hidden_act"] == "gelu_new");
  CHECK(json["image_size"] == nlohmann::json::array({8, 16}));  // height, width
  CHECK(json["patch_size"] == nlohmann::json::array({4, 2}));
  CHECK(json["id2label"]["2"] == "LABEL_2");
  c.head = Head::none;
  CHECK(config_of(c)["id2label"] == nlohmann::json::object());  // so there are no labels
  CHECK(config_of(usual, {"", {}, {}, {"a", "b", "\xff"}})["id2label"]["2"] == "\xef\xbf\xbd");
}

TEST_CASE("preprocessor_config.json of pictures that are cropped is one of CLIP") {
  ViTConfig c = usual;
  c.H = c.W = 224;
  CHECK(said(hf_preprocessor_config(c, {"folder", {0.1, 0.2, 0.3}, {1, 2, 4}})) ==
        nlohmann::json::parse(R"({
    "image_processor_type": "CLIPImageProcessor", "do_resize": true,
    "size": {"shortest_edge": 256}, "resample": 2, "do_center_crop": true,
    "crop_size": {"height": 224, "width": 224}, "do_rescale": true,
    "rescale_factor": 0.00392156862745098, "do_normalize": true,
    "image_mean": [0.1, 0.2, 0.3], "image_std": [1.0, 2.0, 4.0]})"));
}

TEST_CASE("a folder is made, and files of ours are written anew") {
  const Folder folder;
  const std::string out = folder.file("a/b/");
  const DataConfig data{"cifar10", {0.1, 0.2, 0.3}, {1, 2, 4}};
  std::vector<std::string> notes;
  check_hf_folder(out);
  write_hf_configs(out, usual, data, notes);
  check_hf_folder(out);
  CHECK(notes.empty());
  CHECK(said(content(out + "config.json")) == nlohmann::json::parse(R"({
    "architectures": ["ViTForImageClassification"], "model_type": "vit",
    "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12,
    "hidden_act": "gelu", "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
    "initializer_range": 0.02, "layer_norm_eps": 1e-6,
    "image_size": 8, "patch_size": 4, "num_channels": 3, "qkv_bias": true,
    "id2label": {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"},
    "label2id": {"LABEL_0": 0, "LABEL_1": 1, "LABEL_2": 2}, "torch_dtype": "float32"})"));
  CHECK(said(content(out + "preprocessor_config.json")) == nlohmann::json::parse(R"({
    "image_processor_type": "ViTImageProcessor", "do_resize": true,
    "size": {"height": 8, "width": 8}, "resample": 2, "do_rescale": true,
    "rescale_factor": 0.00392156862745098, "do_normalize": true,
    "image_mean": [0.1, 0.2, 0.3], "image_std": [1.0, 2.0, 4.0]})"));
  write_hf_configs(out, usual, {}, notes);
  CHECK(notes == std::vector<std::string>{"no preprocessor_config.json: the weights do not say how "
                                          "their images were normalised"});
  CHECK_FALSE(std::filesystem::exists(out + "preprocessor_config.json"));
}

TEST_CASE("what is not ours is not written over") {
  for (const char* name : {"config.json", "preprocessor_config.json", "model.safetensors"}) {
    for (const char* text : {"", "{\"model_type\": \"vit\"}", "{\"made_by\": {\"version\": \"1\"}}",
                             "[\"vitruvian\"]", "{\"vitruvian\"", "no JSON"}) {
      INFO("name ", name, ", text ", text);
      const Folder folder;
      write(folder.path / name, text);
      CHECK(error_of(Exit::usage, [&] { check_hf_folder(folder.path.string()); }) ==
            folder.file(name) +
                ": it is there already, and 'convert --scheme hf' did not write "
                "it: choose another folder, or move it away");
    }
  }
  const Folder folder;
  std::filesystem::create_directory(folder.path / "config.json");
  CHECK(failure_of([&] { check_hf_folder(folder.path.string()); }).exit == Exit::usage);
  std::filesystem::create_symlink("/nowhere", folder.path / "model.safetensors");
  std::filesystem::remove(folder.path / "config.json");
  CHECK(failure_of([&] { check_hf_folder(folder.path.string()); }).exit == Exit::usage);
  write(folder.path / "file", "");
  CHECK(failure_of([&] { check_hf_folder(folder.file("file/x")); }).exit == Exit::failure);
}
