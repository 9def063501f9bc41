#include "web/engine/explorer.h"
#include "tests/expect.hpp"
#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/json.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/datasets/formats/digits.hpp"
#include "vitruvian/nn/safetensors.hpp"
#include "vitruvian/vit/model.hpp"

// The C interface of pages in a browser, natively: so it is compiled and sanitized wherever the
// library is. web/tests/ asks the same of WebAssembly.

using namespace vitruvian;

namespace {

const std::string weights = VITRUVIAN_TEST_DATA "/../models/digits.safetensors";

Json said(const char* answer) { return parse_json(answer); }
std::string refusal(const char* answer) { return said(answer).value("error", ""); }

Json open_bytes(std::string_view bytes) {
  return said(explorer_open(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}
std::string bytes_of_digits() {
  const RegularFile file(weights, Exit::checkpoint);
  std::string bytes(file.size(), ' ');
  file.read_at(0, bytes);
  return bytes;
}
Json open_digits() { return open_bytes(bytes_of_digits()); }

// What a tensor of an answer points to.
const float* numbers(const Json& tensor, const char* where = "at") {
  return reinterpret_cast<const float*>(tensor.at(where).get<std::uintptr_t>());
}
const Json& named(const Json& tensors, const std::string& name) {
  for (const Json& tensor : tensors) {
    if (tensor.at("name") == name) return tensor;
  }
  FAIL("nothing is called ", name);
  return tensors;
}

}  // namespace

TEST_CASE("a page reads what the library reads") {
  CHECK(open_digits().at("config").at("T") == 17);
  const Dataset data = digits(10, 1, "test");
  VisionTransformer model = undrawn({});
  load(model, weights);
  const NoGrad no_grad;
  for (std::size_t i = 0; i < data.size(); ++i) {
    CAPTURE(i);
    const std::string request = R"({"kind": "digit", "index": )" + std::to_string(i) + "}";
    CHECK(said(explorer_sample(request.c_str())).at("label") == data.labels[i]);
    Array image = zeros({1, 1, 28, 28});
    normalised_images(data, std::vector{i}, image.data());
    const Array logits = model(Tensor(image)).value();
    const Json answer = said(explorer_forward());
    const float* const shown = numbers(named(answer.at("tensors"), "logits"));
    for (std::size_t k = 0; k < 10; ++k) {
      CHECK(shown[k] == doctest::Approx(logits.data()[k]).epsilon(1e-4));  // composed, and fused
    }
    CHECK(answer.at("guess") == data.labels[i]);
    // The last row of the lens is the answer itself.
    for (std::size_t k = 0; k < 10; ++k) {
      CHECK(numbers(answer.at("lens"))[4 * 10 + k] ==
            doctest::Approx(numbers(answer.at("probabilities"))[k]).epsilon(1e-5));
    }
  }
}

TEST_CASE("a page's gradients are the loss's, and a mistake is found") {
  open_digits();
  explorer_sample(R"({"kind": "shifted", "index": 3})");
  const Json forward = said(explorer_forward());
  const std::vector<float> p(numbers(forward.at("probabilities")),
                             numbers(forward.at("probabilities")) + 10);
  const Json backward = said(explorer_backward(3));
  CHECK(backward.at("loss").get<double>() == doctest::Approx(-std::log(p[3])).epsilon(1e-4));
  const float* const g = numbers(named(backward.at("tensors"), "logits"), "gradient");
  for (std::size_t k = 0; k < 10; ++k) {  // of a cross-entropy: p - y
    CHECK(g[k] == doctest::Approx(p[k] - (k == 3 ? 1 : 0)).epsilon(1e-4));
  }
  const char* const asked = R"({"parameter": "blocks.1.attn.qkv.weight", "label": 3})";
  CHECK(said(explorer_check(asked)).at("passed") == true);
  said(explorer_fault(R"({"op": "matmul", "kind": "flip_sign", "input": 1})"));
  CHECK(said(explorer_check(asked)).at("passed") == false);
  const auto first_of_k = [] {
    return *numbers(named(said(explorer_backward(3)).at("tensors"), "blocks.0.attn.k"), "gradient");
  };
  const float broken = first_of_k();
  said(explorer_fault("{}"));
  CHECK(first_of_k() != broken);
  CHECK(said(explorer_check(asked)).at("passed") == true);
}

TEST_CASE("strokes are centred as the digits are") {
  const auto drawn = [](const char* request) { return said(explorer_draw(request)); };
  // Where the ink's centre of mass is, and how much there is.
  const auto centre = [](const Json& answer, const char* which) {
    const auto* const x =
        reinterpret_cast<const unsigned char*>(answer.at(which).get<std::uintptr_t>());
    double mass = 0, row = 0, column = 0;
    for (std::size_t i = 0; i < 784; ++i) {
      mass += x[i];
      row += x[i] * (static_cast<double>(i / 28) + 0.5);
      column += x[i] * (static_cast<double>(i % 28) + 0.5);
    }
    return std::vector{row / mass, column / mass};
  };
  const Json corner = drawn(R"({"strokes": [[[0.1, 0.1], [0.3, 0.1], [0.15, 0.4]]]})");
  CHECK(corner.at("empty") == false);
  CHECK(centre(corner, "uncentred")[0] < 8);
  for (const double middle : centre(corner, "pixels")) CHECK(std::abs(middle - 14) <= 0.51);
  const Json dot = drawn(R"({"strokes": [[[0.9, 0.9]]]})");
  for (const double middle : centre(dot, "pixels")) CHECK(std::abs(middle - 14) <= 0.51);
  CHECK(dot.at("scale") == 1);
  const Json as_drawn = drawn(R"({"strokes": [[[0.9, 0.9]]], "centred": false})");
  CHECK(centre(as_drawn, "pixels")[0] > 24);
  CHECK(drawn(R"({"strokes": []})").at("empty") == true);
}

TEST_CASE("a page trains a model of its own") {
  CHECK(said(explorer_create(R"({"D": 16, "L": 1, "h": 2, "images": 200, "batch": 20})"))
            .at("config")
            .at("M") == 32);
  const Json first = said(explorer_train(1));
  CHECK(first.at("losses")[0].get<double>() == doctest::Approx(std::log(10)).epsilon(0.1));
  CHECK(named(first.at("changes"), "head.weight").at("update") > 0);
  const Json& effect = first.at("effect");
  CHECK(effect.at("before") == first.at("losses")[0]);
  CHECK(effect.at("promised") < 0);
  CHECK(effect.at("after").get<double>() - effect.at("before").get<double>() ==
        doctest::Approx(effect.at("promised").get<double>()).epsilon(0.1));
  const Json later = said(explorer_train(150));
  CHECK(later.at("step") == 151);
  CHECK(later.at("losses").back() < 0.8 * first.at("losses")[0].get<double>());
  CHECK(said(explorer_score(100)).at("accuracy") > 0.3);
}

TEST_CASE("a page teaches its model one picture, between the batches of an epoch") {
  explorer_create(
      R"({"D": 16, "L": 1, "h": 2, "images": 200, "batch": 20, "dropout": 0.1, "warmup": 0})");
  explorer_train(10);
  explorer_sample(R"({"kind": "thick", "index": 6})");
  const auto belief = [] { return numbers(said(explorer_forward()).at("probabilities"))[6]; };
  const float before = belief();
  const Json first = said(explorer_learn(6));
  for (int i = 0; i < 3; ++i) explorer_learn(6);
  const Json fifth = said(explorer_learn(6));
  CHECK(fifth.at("losses")[0].get<double>() < first.at("losses")[0].get<double>());
  CHECK(belief() > before);
  CHECK(fifth.at("step") == 15);
  CHECK(fifth.at("images") == 10 * 20 + 5);
  CHECK(fifth.at("batch") == 1);
  CHECK(named(fifth.at("changes"), "head.weight").at("update") > 0);
  CHECK(said(explorer_train(1)).at("images") == 11 * 20 + 5);

  // At a rate of 0 gradients are those of the batches, and of what dropout draws.
  const auto norms = [](bool taught) {
    explorer_create(R"({"D": 16, "L": 1, "h": 2, "images": 100, "batch": 20, "dropout": 0.1,
                        "learning_rate": 0})");
    std::vector<double> all;
    for (int i = 0; i < 12; ++i) {
      if (taught) explorer_learn(6);
      all.push_back(said(explorer_train(1)).at("grad_norm"));
    }
    return all;
  };
  const std::vector<double> alone = norms(false);
  CHECK(std::set<double>(alone.begin(), alone.end()).size() == alone.size());
  CHECK(norms(true) == alone);

  CHECK(refusal(explorer_learn(10)) == "the label is a digit, 0 to 9; got 10");
  open_digits();
  CHECK(refusal(explorer_learn(1)) == "there is no model in training: create one first");
}

TEST_CASE("what a page asks wrongly is refused in a sentence, and nothing changes") {
  const Json before = open_digits();
  CHECK(refusal(explorer_open(nullptr, 0)) ==
        "the weights: 0 bytes are too few for a safetensors file");
  CHECK(refusal(explorer_create(R"({"P": 5})")) ==
        "a patch of 5 does not divide an image of 28 x 28");
  CHECK(refusal(explorer_create(R"({"depth": 2})")).starts_with("there is no setting 'depth'"));
  CHECK(says(refusal(explorer_create(R"({"D": 4096})")), "too large for a page"));
  CHECK(refusal(explorer_create(R"({"batch": -1})")) ==
        "batch: expected a whole number of at least 0, got -1");
  CHECK(refusal(explorer_train(1)) == "there is no model in training: create one first");
  CHECK(refusal(explorer_backward(10)) == "the label is a digit, 0 to 9; got 10");
  CHECK(refusal(explorer_draw("no JSON")) == "the request is no JSON object");
  CHECK(refusal(explorer_draw(R"({"strokes": [[[1]]]})")) ==
        "strokes: expected points [x, y], got [1]");
  CHECK(refusal(explorer_sample(R"({"kind": "lettre"})")) ==
        "there is no sample 'lettre'; did you mean letter?");
  CHECK(refusal(explorer_check(R"({"parameter": "nobody"})")) == "there is no parameter 'nobody'");
  CHECK(said(explorer_weights()).at("parameters") == before.at("parameters"));

  // Weights that would fill the page with NaN.
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string bytes = bytes_of_digits();
    bytes.replace(bytes.find(from), to.size(), to);
    return open_bytes(bytes).value("error", "");
  };
  CHECK(changed("[0.3081]", "[0.0000]") ==
        "the weights say that the pixels' std is 0: expected more than 0");
  CHECK(changed("[0.3081]", "[-0.308]").ends_with("std is -0.308: expected more than 0"));
  CHECK(changed("[0.1307]", "[1.0e99]") ==
        "the weights make NaN of a blank picture, with a mean of 1e+99 and a std of 0.3081");
  std::string broken = bytes_of_digits();
  const float nan = std::nanf("");
  std::memcpy(broken.data() + broken.size() - sizeof nan, &nan, sizeof nan);
  CHECK(open_bytes(broken).value("error", "") ==
        "'pos_embed' of the weights holds NaN or infinity: their training broke down");
  CHECK(said(explorer_weights()).at("parameters") == before.at("parameters"));

  // A model that the page cannot show: every way in which it differs, and no other.
  const auto unlike = [](const std::function<void(ViTConfig&)>& change) {
    ViTConfig c;
    change(c);
    const Json header = {{"__metadata__", {{"config", c.to_json()}}}};
    const std::string text = header.dump();
    std::string bytes(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(text.size() >> (8 * i));
    const std::string why = open_bytes(bytes + text).value("error", "");
    return why.substr(why.rfind(": ") + 2);
  };
  const std::vector<std::pair<std::string, std::function<void(ViTConfig&)>>> differences = {
      {"its pictures are 3 x 28 x 28", [](ViTConfig& c) { c.C = 3; }},
      {"its pictures are 1 x 28 x 56", [](ViTConfig& c) { c.W = 56; }},
      {"its pictures are 1 x 14 x 28", [](ViTConfig& c) { c.H = 14; }},
      {"it has 1 class", [](ViTConfig& c) { c.K = 1; }},
      {"it has no head", [](ViTConfig& c) { c.head = Head::none; }},
      {"its head has a hidden layer", [](ViTConfig& c) { c.head = Head::tanh; }},
      {"it reads the mean of the patches", [](ViTConfig& c) { c.mean_pooling = true; }},
      {"it has more tokens", [](ViTConfig& c) { c.registers = 1; }},
      {"its positions are of another kind", [](ViTConfig& c) { c.positions = Positions::sincos; }},
      {"its patches are not square", [](ViTConfig& c) { c.P_w = 14; }},
      {"its norms stand behind the sums", [](ViTConfig& c) { c.post_norm = true; }},
      {"it has a stem", [](ViTConfig& c) { c.stem = 1, c.P = 14; }},
      {"it has LayerScale", [](ViTConfig& c) { c.layer_scale = 0.1; }},
      {"it has qk_norm", [](ViTConfig& c) { c.qk_norm = true; }},
      {"it has SwiGLU", [](ViTConfig& c) { c.swiglu = true; }},
      {"it has 3 classes, it has SwiGLU", [](ViTConfig& c) { c.swiglu = true, c.K = 3; }}};
  for (const auto& [reason, change] : differences) CHECK(unlike(change) == reason);

  CHECK(said(explorer_create(
                 R"({"D": 16, "L": 1, "h": 2, "images": 200, "optimizer": "sgd", "weight_decay": 10,
                                 "learning_rate": 10, "warmup": 0})"))
            .contains("config"));
  CHECK(refusal(explorer_train(300)).starts_with("training broke down at step "));
}
