// The numbers of a page, from this compiler: hashes of all that the engine answers about the drawn
// digits, and of training, line by line what web/tests/numbers.test.mjs says of the engine in
// WebAssembly, which compares the two. VITRUVIAN_SIMD=portable VITRUVIAN_GEMM=packed choose the
// form that a page has.
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/json.hpp"
#include "web/engine/explorer.h"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using vitruvian::parse_json;
using Json = vitruvian::SortedJson;
using vitruvian::console::print;

// FNV-1a of 32-bit words: each bit counts.
class Hash {
 public:
  Hash& add(const void* at, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += sizeof(std::uint32_t)) {
      std::uint32_t word = 0;
      std::memcpy(&word, static_cast<const char*>(at) + i, sizeof word);
      h_ = (h_ ^ word) * 0x01000193U;
    }
    return *this;
  }
  Hash& add(double x) { return add(&x, sizeof x); }
  Hash& add(const Json& tensor, const char* what = "at") {
    std::size_t bytes = sizeof(float);
    for (const std::size_t d : tensor.at("shape")) bytes *= d;
    return add(reinterpret_cast<const void*>(tensor.at(what).get<std::uintptr_t>()), bytes);
  }
  [[nodiscard]] std::string text() const { return fmt::format("{:08x}", h_); }

 private:
  std::uint32_t h_ = 0x811c9dc5U;
};

Json checked(const char* answer) {
  Json json = parse_json<Json>(answer);
  if (json.contains("error")) vitruvian::fail("{}", json["error"].get<std::string>());
  return json;
}

void read_digits(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const Json sample = checked(explorer_sample(fmt::format("{{\"index\":{}}}", i).c_str()));
    const Hash pixels = Hash().add(explorer_pixels(), 784);

    const Json forward = checked(explorer_forward());
    Hash values;
    for (const Json& tensor : forward["tensors"]) values.add(tensor);
    for (const char* name : {"probabilities", "lens", "rollout"}) values.add(forward[name]);
    const Hash logits = Hash().add(forward["tensors"].back());

    const Json backward = checked(explorer_backward(sample["label"]));
    const Hash loss = Hash().add(backward["loss"].get<double>());
    Hash gradients;
    for (const Json& tensor : backward["tensors"]) gradients.add(tensor, "gradient");
    for (const Json& tensor : backward["parameters"]) gradients.add(tensor, "gradient");
    for (const char* name : {"saliency", "gradient_rollout"}) gradients.add(backward[name]);
    print("digit {} pixels {} logits {} values {} loss {} gradients {}\n", i, pixels.text(),
          logits.text(), values.text(), loss.text(), gradients.text());
  }
}

void look_inside() {
  const Hash similarity = Hash().add(checked(explorer_weights())["similarity"]);
  checked(explorer_sample(R"({"index": 3})"));
  const Json check = checked(explorer_check(R"({"parameter": "blocks.1.attn.qkv.weight"})"));
  Hash derivatives;
  for (const char* name : {"relative_error", "analytic", "numeric"}) {
    derivatives.add(check[name].get<double>());
  }
  checked(explorer_draw(R"({"strokes": [[[0.2, 0.3], [0.7, 0.25], [0.4, 0.8]]]})"));
  const Hash drawn = Hash().add(explorer_pixels(), 784);
  print("similarity {} derivatives {} drawn {}\n", similarity.text(), derivatives.text(),
        drawn.text());
}

void train(const char* settings, std::size_t steps) {
  checked(explorer_create(settings));
  for (std::size_t step = 1; step <= steps; ++step) {
    const Json trained = checked(explorer_train(1));
    Hash loss;
    loss.add(trained["losses"][0].get<double>());
    loss.add(trained["grad_norm"].get<double>());
    const Json model = checked(explorer_weights());
    Hash weights;
    for (const Json& tensor : model["parameters"]) weights.add(tensor);
    print("step {} loss {} weights {}\n", step, loss.text(), weights.text());
  }
  const Json score = checked(explorer_score(200));
  Hash loss;
  loss.add(score["loss"].get<double>());
  loss.add(score["accuracy"].get<double>());
  print("score {}\n", loss.text());
}

}  // namespace

int main(int argc, char** argv) {
  return vitruvian::console::run("explorer_numbers", [&] {
    if (argc != 3) vitruvian::fail(vitruvian::Exit::usage, "expected WEIGHTS and DIGITS");
    std::ifstream file(argv[1], std::ios::binary);
    const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
    checked(explorer_open(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
    read_digits(std::stoul(argv[2]));
    look_inside();
    train(R"({"dropout": 0.1})", 20);
    // Rows that end in the middle of a vector, and another optimizer.
    train(R"({"P": 4, "D": 50, "L": 2, "h": 5, "M": 90, "optimizer": "sgd"})", 5);
    return 0;
  });
}
