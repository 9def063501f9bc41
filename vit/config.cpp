#include "vit/config.hpp"

#include "core/error.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string_view>

namespace vitruvian {
namespace {

// Every field once: what is written, read, and checked follows this list.
template <class Config, class Visit>
void for_each_size(Config& c, const Visit& visit) {
  visit("C", c.C, "channels");
  visit("H", c.H, "image height");
  visit("W", c.W, "image width");
  visit("P", c.P, "patch size");
  visit("D", c.D, "width D");
  visit("L", c.L, "depth L");
  visit("h", c.h, "heads");
  visit("M", c.M, "MLP width M");
  visit("K", c.K, "classes");
}

template <class Config, class Visit>
void for_each_rate(Config& c, const Visit& visit) {
  visit("eps", c.eps);
  visit("dropout", c.dropout);
  visit("attention_dropout", c.attention_dropout);
}

// Beyond every published model a hundred times over.
constexpr std::size_t largest_size = 1'000'000;
// The counts below are exact in 64 bits while they stay under this.
constexpr double largest_count = 1e18;

std::uint64_t saturated(double count) {
  return static_cast<std::uint64_t>(std::min(count, 1.8e19));
}

}  // namespace

void ViTConfig::validate() const {
  for_each_size(*this, [](const char*, std::size_t n, const char* name) {
    if (n == 0) fail(Exit::usage, "the {} must not be 0", name);
    if (n > largest_size)
      fail(Exit::usage, "the {} {} is beyond reason (at most {})", name, n, largest_size);
  });
  if (H % P != 0 || W % P != 0) {
    fail(Exit::usage, "a patch of {} does not divide an image of {} x {}", P, H, W);
  }
  if (D % h != 0) fail(Exit::usage, "{} heads do not divide a width D of {}", h, D);
  if (!(eps > 0 && eps < 1)) fail(Exit::usage, "an eps of {} is not between 0 and 1", eps);
  for (const double rate : {dropout, attention_dropout}) {
    if (!(rate >= 0 && rate < 1)) fail(Exit::usage, "a dropout of {} is not in [0, 1)", rate);
  }
  const double d = static_cast<double>(D);
  const double t = static_cast<double>(T());
  const double macs_of_a_block = t * (4 * d * d + 2 * d * static_cast<double>(M)) + 2 * t * t * d;
  if (static_cast<double>(L) * macs_of_a_block > largest_count) {
    fail(Exit::usage, "a model of {} blocks, width {} and {} tokens is beyond reason", L, D, T());
  }
}

std::uint64_t ViTConfig::parameters() const {
  const std::uint64_t d = D;
  const std::uint64_t embeddings = patch_length() * d + d + d + T() * d;
  const std::uint64_t attention = (3 * d * d + 3 * d) + (d * d + d);
  const std::uint64_t mlp = (d * M + M) + (M * d + d);
  const std::uint64_t norms = 4 * d;
  return embeddings + L * (attention + mlp + norms) + 2 * d + (d * K + K);
}

std::uint64_t ViTConfig::macs() const {
  const std::uint64_t d = D;
  const std::uint64_t t = T();
  return L * (t * (4 * d * d + 2 * d * M) + 2 * t * t * d) + N() * patch_length() * d;
}

std::uint64_t ViTConfig::forward_bytes(std::size_t batch, std::size_t bytes_per_real) const {
  // At its widest, a block holds z, its norm, and either q, k, v with the scores, or the MLP's
  // hidden layer before and after GELU.
  const auto t = static_cast<double>(T());
  const auto d = static_cast<double>(D);
  const double attention = 4 * t * d + static_cast<double>(h) * t * t;
  const double mlp = 2 * t * static_cast<double>(M);
  const double patches = 2 * static_cast<double>(C * H * W);
  const double image = patches + 2 * t * d + std::max(attention, mlp);
  return saturated(static_cast<double>(bytes_per_real) *
                   (static_cast<double>(parameters()) + static_cast<double>(batch) * image));
}

std::uint64_t ViTConfig::training_bytes(std::size_t batch, std::size_t bytes_per_real) const {
  // What the nodes of a block keep: two norms, q, k, v, the probabilities, the heads' output and
  // its projection, two sums, the hidden layer before and after GELU, and the MLP's output.
  const auto t = static_cast<double>(T());
  const auto d = static_cast<double>(D);
  const double block = 10 * t * d + static_cast<double>(h) * t * t + 2 * t * static_cast<double>(M);
  const double image =
      2 * static_cast<double>(C * H * W) + 4 * t * d + static_cast<double>(L) * block;
  return saturated(static_cast<double>(bytes_per_real) *
                   (4 * static_cast<double>(parameters()) + static_cast<double>(batch) * image));
}

std::string ViTConfig::to_json() const {
  nlohmann::ordered_json json;
  for_each_size(*this, [&](const char* key, std::size_t n, const char*) { json[key] = n; });
  for_each_rate(*this, [&](const char* key, double rate) { json[key] = rate; });
  return json.dump();
}

ViTConfig ViTConfig::from_json(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) fail(Exit::checkpoint, "the model's config is not a JSON object");
  ViTConfig config;
  std::set<std::string_view> known;
  for_each_size(config, [&](const char* key, std::size_t& n, const char*) {
    known.insert(key);
    if (!json.contains(key)) fail(Exit::checkpoint, "the model's config lacks '{}'", key);
    if (!json[key].is_number_unsigned()) {
      fail(Exit::checkpoint, "the model's config: '{}' is not a whole number", key);
    }
    n = json[key].get<std::size_t>();
  });
  for_each_rate(config, [&](const char* key, double& rate) {
    known.insert(key);
    if (!json.contains(key)) fail(Exit::checkpoint, "the model's config lacks '{}'", key);
    if (!json[key].is_number())
      fail(Exit::checkpoint, "the model's config: '{}' is not a number", key);
    rate = json[key].get<double>();
  });
  for (const auto& [key, value] : json.items()) {
    if (!known.contains(key)) fail(Exit::checkpoint, "the model's config has an unknown '{}'", key);
  }
  try {
    config.validate();
  } catch (const Error& error) {
    fail(Exit::checkpoint, "the model's config: {}", error.what());
  }
  return config;
}

ViTConfig mini_vit() {
  ViTConfig config;
  config.C = 3;
  config.H = config.W = 224;
  config.P = 16;
  config.D = 192;
  config.L = 2;
  config.h = 3;
  config.M = 768;
  config.eps = 1e-5;
  return config;
}

}  // namespace vitruvian
