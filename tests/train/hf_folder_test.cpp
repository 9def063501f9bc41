// config.json and preprocessor_config.json, held against the fields that transformers 4.40
// documents (ViTConfig, ViTImageProcessor, CLIPImageProcessor), typed by hand.

#include "vitruvian/train/hf_folder.hpp"
#include "tests/folder.hpp"

#include <nlohmann/json.hpp>

using namespace vitruvian;

namespace {

constexpr ViTConfig usual{.C = 3, .H = 8, .W = 8, .P = 4, .D = 8, .L = 2, .h = 2, .M = 12, .K = 3};

std::set<std::string> keys(const nlohmann::json& json) {
  std::set<std::string> names;
  for (const auto& [key, value] : json.items()) names.insert(key);
  return names;
}

nlohmann::json config_of(const ViTConfig& config, const DataConfig& data = {}) {
  return nlohmann::json::parse(hf_config(config, data));
}

}  // namespace

TEST_CASE("config.json has the fields of a ViTConfig") {
  ViTConfig c = usual;
  c.eps = 1e-5, c.dropout = 0.1, c.attention_dropout = 0.2;
  const nlohmann::json json = config_of(c, {"folder", {}, {}, {"ox", "hen", "ox"}});
  CHECK(keys(json) == std::set<std::string>{
                          // those of every model
                          "architectures", "model_type", "id2label", "label2id", "torch_dtype",
                          // those of this one
                          "hidden_size", "num_hidden_layers", "num_attention_heads",
                          "intermediate_size", "hidden_act", "hidden_dropout_prob",
                          "attention_probs_dropout_prob", "initializer_range", "layer_norm_eps",
                          "image_size", "patch_size", "num_channels", "qkv_bias",
                          // and ours
                          "vitruvian"});
  CHECK(json["architectures"] == nlohmann::json::array({"ViTForImageClassification"}));
  CHECK(json["model_type"] == "vit");
  CHECK(json["hidden_size"] == 8);
  CHECK(json["num_hidden_layers"] == 2);
  CHECK(json["num_attention_heads"] == 2);
  CHECK(json["intermediate_size"] == 12);
  CHECK(json["hidden_act"] == "gelu");
  CHECK(json["hidden_dropout_prob"] == 0.1);
  CHECK(json["attention_probs_dropout_prob"] == 0.2);
  CHECK(json["layer_norm_eps"] == 1e-5);
  CHECK(json["image_size"] == 8);
  CHECK(json["patch_size"] == 4);
  CHECK(json["num_channels"] == 3);
  CHECK(json["qkv_bias"] == true);
  CHECK(json["torch_dtype"] == "float32");
  CHECK(json["id2label"] == nlohmann::json{{"0", "ox"}, {"1", "hen"}, {"2", "ox (2)"}});
  CHECK(json["label2id"] == nlohmann::json{{"ox", 0}, {"hen", 1}, {"ox (2)", 2}});
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

TEST_CASE("preprocessor_config.json has the fields of an image processor") {
  const std::set<std::string> of_vit{
      "image_processor_type", "do_resize",    "size",       "resample",  "do_rescale",
      "rescale_factor",       "do_normalize", "image_mean", "image_std", "vitruvian"};
  const DataConfig own{"cifar10", {0.1, 0.2, 0.3}, {1, 2, 4}};  // stretched
  nlohmann::json json = nlohmann::json::parse(hf_preprocessor_config(usual, own));
  CHECK(keys(json) == of_vit);
  CHECK(json["image_processor_type"] == "ViTImageProcessor");
  CHECK(json["size"] == nlohmann::json{{"height", 8}, {"width", 8}});
  CHECK(json["resample"] == 2);  // PIL's BILINEAR
  CHECK(json["rescale_factor"].get<double>() == doctest::Approx(1 / 255.0).epsilon(1e-15));
  CHECK(json["image_mean"] == nlohmann::json::array({0.1, 0.2, 0.3}));
  CHECK(json["image_std"] == nlohmann::json::array({1.0, 2.0, 4.0}));
  for (const char* key : {"do_resize", "do_rescale", "do_normalize"}) CHECK(json[key] == true);

  ViTConfig c = usual;
  c.H = c.W = 224;
  json = nlohmann::json::parse(hf_preprocessor_config(c, {"folder", own.mean, own.std}));
  std::set<std::string> of_clip = of_vit;
  of_clip.insert({"do_center_crop", "crop_size"});
  CHECK(keys(json) == of_clip);
  CHECK(json["image_processor_type"] == "CLIPImageProcessor");
  CHECK(json["size"] == nlohmann::json{{"shortest_edge", 256}});
  CHECK(json["do_center_crop"] == true);
  CHECK(json["crop_size"] == nlohmann::json{{"height", 224}, {"width", 224}});
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
  const auto written = [&](const char* name) {
    nlohmann::json json = nlohmann::json::parse(content(out + name));
    CHECK(json.erase("vitruvian") == 1);  // our version
    return json;
  };
  CHECK(written("config.json") == nlohmann::json::parse(R"({
    "architectures": ["ViTForImageClassification"], "model_type": "vit",
    "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12,
    "hidden_act": "gelu", "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
    "initializer_range": 0.02, "layer_norm_eps": 1e-6,
    "image_size": 8, "patch_size": 4, "num_channels": 3, "qkv_bias": true,
    "id2label": {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"},
    "label2id": {"LABEL_0": 0, "LABEL_1": 1, "LABEL_2": 2}, "torch_dtype": "float32"})"));
  CHECK(written("preprocessor_config.json") == nlohmann::json::parse(R"({
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
      CAPTURE(name);
      CAPTURE(text);
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
