#include "vitruvian/train/run/checkpoint_file.hpp"

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/json.hpp"
#include "vitruvian/vit/fields.hpp"

#if VITRUVIAN_HAS_ZLIB
#include <zlib.h>
#else
#include "vitruvian/core/base/checksum.hpp"
#endif

#include <type_traits>
#include <utility>

namespace vitruvian {
namespace {

constexpr std::size_t version = 1;

std::string hex(std::uint32_t crc) { return fmt::format("{:08x}", crc); }

constexpr double largest_step = 1e15;
constexpr double largest_number = 1e300;  // a loss is below it, and so is a sum of losses

// Every field, and the largest that it can be; the smallest is 0.
template <class State, class Visit>
void for_each_field(State& s, const Visit& visit) {
  visit("settings", s.settings, 0);
  visit("data", s.data, 0);
  visit("key", s.key, 18446744073709551615.0);
  visit("epochs", s.epochs, 1e9);
  visit("step", s.step, largest_step);
  visit("loss_sum", s.loss_sum, largest_number);
  visit("grad_norm_sum", s.grad_norm_sum, largest_number);
  visit("lr", s.lr, 100);
  visit("correct", s.correct, largest_step);
  visit("seen", s.seen, largest_step);
  visit("best_epoch", s.best_epoch, 1e9);
  visit("best_accuracy", s.best_accuracy, 1);
  visit("best_loss", s.best_loss, largest_number);
  visit("metrics_size", s.metrics_size, 1e12);
  visit("finished", s.finished, 1);
  visit("moments_t", s.moments_t, largest_step);
}

// What is expected of a field: "a whole number from 0 to 1000".
template <class T>
std::string expected(double largest) {
  if constexpr (std::is_same_v<T, std::string>) {
    return "a text";
  } else if constexpr (std::is_same_v<T, bool>) {
    return "true or false";
  } else {
    return fmt::format("{} from 0 to {:g}",
                       std::is_same_v<T, double> ? "a number"
                       : std::is_integral_v<T>   ? "a whole number"
                                                 : "an object of whole numbers",
                       largest);
  }
}

// Whether `value` can be what is expected there; sets it.
template <class T>
bool take(const SortedJson& value, double largest, T& field) {
  if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string>) {  // numbers by name
    if (!value.is_object()) return false;
    for (const auto& [name, number] : value.items()) {
      if (!take(number, largest, field[name])) return false;
    }
    return true;
  } else {
    T taken{};
    if (!take_value(value, taken).empty()) return false;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      const auto number = static_cast<double>(taken);
      if (!(number >= 0 && number <= largest)) return false;
    }
    field = std::move(taken);
    return true;
  }
}

}  // namespace

std::uint32_t crc32_of(const void* bytes, std::size_t size, std::uint32_t crc) {
#if VITRUVIAN_HAS_ZLIB
  return static_cast<std::uint32_t>(::crc32_z(crc, static_cast<const unsigned char*>(bytes), size));
#else
  return crc32({static_cast<const char*>(bytes), size}, crc);
#endif
}

std::string to_json(const CheckpointState& state) {
  Json json;
  json["version"] = version;
  for_each_field(state.state,
                 [&](const char* name, const auto& field, double) { json[name] = field; });
  json["crc32"] = state.crc32;
  return dump_json(json);
}

void write_checkpoint(const std::string& path, const RunState& state,
                      std::vector<StoredTensor> tensors) {
  CheckpointState all{state, {}};
  for (const StoredTensor& t : tensors) {
    const Bytes bytes = t.read();
    all.crc32[t.name] = hex(crc32_of(bytes.data(), bytes.size()));
  }
  const std::string text = to_json(all);
  write_safetensors(path, std::move(tensors),
                    {{"state", text}, {"state_crc32", hex(crc32_of(text.data(), text.size()))}});
}

CheckpointState parse_checkpoint_state(const std::string& text, const std::string& source) {
  const auto wrong = [&source](const std::string& what) {
    fail(Exit::checkpoint, "{}: its state makes no sense: {}", source, what);
  };
  const SortedJson json = parse_json<SortedJson>(text, nullptr, false);
  if (!json.is_object()) wrong("it is not a JSON object");
  const auto at = [&](const char* name) -> const SortedJson& {
    const auto found = json.find(name);
    if (found == json.end()) wrong(fmt::format("it has no '{}'", name));
    return *found;
  };
  std::size_t its_version = 0;
  if (!take(at("version"), 1e6, its_version)) wrong("'version' is not a number");
  if (its_version != version) {
    fail(Exit::checkpoint, "{}: a checkpoint of version {}, not {}", source, its_version, version);
  }
  CheckpointState result;
  for_each_field(result.state, [&](const char* name, auto& field, double largest) {
    if (take(at(name), largest, field)) return;
    wrong(fmt::format("'{}' is not {}", name, expected<std::decay_t<decltype(field)>>(largest)));
  });
  const RunState& state = result.state;
  if (state.correct > state.seen) wrong("'correct' is above 'seen'");
  if (state.best_epoch > state.epochs) wrong("'best_epoch' is above 'epochs'");
  const SortedJson& sums = at("crc32");
  if (!sums.is_object()) wrong("'crc32' is not an object");
  for (const auto& [name, sum] : sums.items()) {
    if (!sum.is_string()) wrong("'crc32' holds more than texts");
    result.crc32[name] = sum.get<std::string>();
  }
  return result;
}

CheckpointFile read_checkpoint(const std::string& path) {
  return read_checkpoint(std::make_shared<const RegularFile>(path, Exit::checkpoint));
}

CheckpointFile read_checkpoint(const std::shared_ptr<const ByteSource>& source) {
  const std::string& path = source->name();
  TensorFile file = read_safetensors(source);
  const auto state = file.metadata.find("state");
  const auto sum = file.metadata.find("state_crc32");
  if (state == file.metadata.end() || sum == file.metadata.end()) {
    fail(Exit::checkpoint, "{}: no checkpoint of a run: its metadata have no state", path);
  }
  if (hex(crc32_of(state->second.data(), state->second.size())) != sum->second) {
    fail(Exit::checkpoint, "{}: damaged: the checksum of its state is another", path);
  }
  CheckpointState parsed = parse_checkpoint_state(state->second, path);
  if (parsed.crc32.size() != file.tensors.size()) {
    fail(Exit::checkpoint, "{}: {} tensors, but checksums of {}", path, file.tensors.size(),
         parsed.crc32.size());
  }
  for (StoredTensor& t : file.tensors) {
    auto bytes = std::make_shared<Bytes>(t.read());
    const auto found = parsed.crc32.find(t.name);
    if (found == parsed.crc32.end() ||
        found->second != hex(crc32_of(bytes->data(), bytes->size()))) {
      fail(Exit::checkpoint, "{}: damaged: the checksum of '{}' is another", path, t.name);
    }
    t.read = [bytes] { return *bytes; };
  }
  return {std::move(parsed.state), std::move(file)};
}

void broadcast_checkpoint(Ranks& ranks, CheckpointFile& file) {
  if (ranks.size() == 1) return;
  const bool first = ranks.rank() == 0;
  std::string state = first ? to_json(CheckpointState{file.state, {}}) : "";
  broadcast(ranks, file.tensors.source);
  broadcast(ranks, state);
  if (!first) file.state = parse_checkpoint_state(state, file.tensors.source).state;
  file.tensors.tensors.resize(all_of(ranks, file.tensors.tensors.size())[0]);
  for (StoredTensor& t : file.tensors.tensors) {
    broadcast(ranks, t.name);
    broadcast_bytes(ranks, std::as_writable_bytes(std::span(&t.dtype, 1)));
    broadcast(ranks, t.shape);
    Bytes bytes = first ? t.read() : Bytes();
    broadcast(ranks, bytes);
    if (!first) t.read = [kept = std::make_shared<Bytes>(std::move(bytes))] { return *kept; };
  }
}

}  // namespace vitruvian
