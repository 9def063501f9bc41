#include "train/checkpoint_file.hpp"

#include "core/error.hpp"
#include "nn/safetensors_file.hpp"

#include <zlib.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <utility>

namespace vitruvian {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t version = 1;

std::string hex(std::uint32_t crc) { return fmt::format("{:08x}", crc); }

template <class State, class Visit>
void for_each_field(State& s, const Visit& visit) {
  visit("settings", s.settings);
  visit("data", s.data);
  visit("key", s.key);
  visit("epochs", s.epochs);
  visit("step", s.step);
  visit("loss_sum", s.loss_sum);
  visit("grad_norm_sum", s.grad_norm_sum);
  visit("lr", s.lr);
  visit("correct", s.correct);
  visit("seen", s.seen);
  visit("best_epoch", s.best_epoch);
  visit("best_accuracy", s.best_accuracy);
  visit("best_loss", s.best_loss);
  visit("metrics_size", s.metrics_size);
  visit("finished", s.finished);
  visit("moments_t", s.moments_t);
}

}  // namespace

std::uint32_t crc32_of(const void* bytes, std::size_t size, std::uint32_t crc) {
  return static_cast<std::uint32_t>(::crc32_z(crc, static_cast<const unsigned char*>(bytes), size));
}

void write_checkpoint(const std::string& path, const RunState& state,
                      std::vector<StoredTensor> tensors) {
  Json json;
  json["version"] = version;
  for_each_field(state, [&](const char* name, const auto& field) { json[name] = field; });
  Json sums = Json::object();
  for (const StoredTensor& t : tensors) {
    const Bytes bytes = t.read();
    sums[t.name] = hex(crc32_of(bytes.data(), bytes.size()));
  }
  json["crc32"] = std::move(sums);
  const std::string text = json.dump();
  write_safetensors(path, std::move(tensors),
                    {{"state", text}, {"state_crc32", hex(crc32_of(text.data(), text.size()))}});
}

CheckpointFile read_checkpoint(const std::string& path) {
  TensorFile file = read_safetensors(path);
  const auto state = file.metadata.find("state");
  const auto sum = file.metadata.find("state_crc32");
  if (state == file.metadata.end() || sum == file.metadata.end()) {
    fail(Exit::checkpoint, "{}: no checkpoint of a run: its metadata have no state", path);
  }
  if (hex(crc32_of(state->second.data(), state->second.size())) != sum->second) {
    fail(Exit::checkpoint, "{}: damaged: the checksum of its state is another", path);
  }
  RunState result;
  Json sums;
  try {
    const Json json = Json::parse(state->second);
    if (json.at("version") != version) {
      fail(Exit::checkpoint, "{}: a checkpoint of version {}, not {}", path,
           json.at("version").dump(), version);
    }
    for_each_field(result, [&](const char* name, auto& field) { json.at(name).get_to(field); });
    sums = json.at("crc32");
  } catch (const Json::exception& error) {
    fail(Exit::checkpoint, "{}: its state makes no sense: {}", path, error.what());
  }
  if (sums.size() != file.tensors.size()) {
    fail(Exit::checkpoint, "{}: {} tensors, but checksums of {}", path, file.tensors.size(),
         sums.size());
  }
  for (StoredTensor& t : file.tensors) {
    auto bytes = std::make_shared<Bytes>(t.read());
    if (!sums.contains(t.name) || sums[t.name] != hex(crc32_of(bytes->data(), bytes->size()))) {
      fail(Exit::checkpoint, "{}: damaged: the checksum of '{}' is another", path, t.name);
    }
    t.read = [bytes] { return *bytes; };
  }
  return {std::move(result), std::move(file)};
}

}  // namespace vitruvian
