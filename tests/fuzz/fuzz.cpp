// libFuzzer's target: the reader that VITRUVIAN_FUZZ_READER names reads bytes in memory. Any of
// them give a result or an Error, nothing else.

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/datasets/fetch/file.hpp"
#include "vitruvian/datasets/formats/cifar.hpp"
#include "vitruvian/datasets/formats/idx.hpp"
#include "vitruvian/media/image.hpp"
#include "vitruvian/nn/pickle.hpp"
#include "vitruvian/nn/tensor_file.hpp"
#include "vitruvian/report/run_record.hpp"
#include "vitruvian/train/run/checkpoint_file.hpp"
#include "vitruvian/train/settings/options.hpp"
#include "vitruvian/vit/config.hpp"
#include "vitruvian/vit/weights/family.hpp"
#include "vitruvian/vit/weights/naming.hpp"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

namespace vitruvian {
namespace {

using Source = std::shared_ptr<const ByteSource>;

void check(bool right) {
  if (!right) std::abort();
}

// The list of tensors, then the numbers of those that are small.
void check_small_tensors(const TensorFile& file, std::size_t most) {
  for (const StoredTensor& t : file.tensors) {
    check(t.size() > most || t.values().size() == t.size());
  }
}

// What follows the reader of weights: whose names they are, our names for them, and theirs again.
void names(const Source& source) {
  std::vector<std::string> notes;
  TensorFile file = without_wrapping(read_safetensors(source));
  leave_out_unused(file, notes);
  check_family(file);
  fold_layer_scale(file, notes);
  const Named named = to_timm(file, detect_scheme(file), {.head = true});
  check_small_tensors(from_timm(named.file, Scheme::torchvision, 1), 100'000);
}

// The pickle of a .pth, without the archive whose checksums would hide most mistakes.
void pickle(const Source& source) {
  for (const PickledTensor& t : parse_state_dict(source->text(1'000'000, "a pickle"), "f")) {
    check(t.shape.size() == t.strides.size() && !t.storage.empty());
  }
}

// Every byte of a picture is looked at.
void picture(const Source& source) {
  const Image image = read_image(*source, 1'000'000);
  check(image.pixels.size() == image.height * image.width * image.channels);
  volatile unsigned sum = 0;
  for (const std::uint8_t byte : image.pixels) sum = sum + byte;
}

// Images or labels: the magic number says which.
void idx(const Source& source) {
  try {
    const IdxImages images = read_idx_images(*source);
    check(images.pixels.size() == images.count * images.height * images.width);
  } catch (const Error&) {
    for (const std::uint8_t label : read_idx_labels(*source, 10)) check(label < 10);
  }
}

// One record, of CIFAR-10 or else of CIFAR-100.
void cifar(const Source& source) {
  Dataset data = empty_cifar10();
  try {
    append_cifar(data, *source, 1);
  } catch (const Error&) {
    data = empty_cifar100(false);
    append_cifar(data, *source, 1);
  }
  check(data.pixels.size() == 3072 && data.labels.at(0) < data.classes);
}

void gzip(const Source& source) {
  DataFile file(*source);
  for (const std::uint64_t n : {1, 1000, 100'000}) check(file.take(n, "bytes").size() == n);
  file.expect_end();
}

void tar(const Source& source) {
  constexpr std::size_t most = 100'000;
  std::size_t total = 0;
  read_tar(*source, most, [&total](const std::filesystem::path& path, const NextBytes& next) {
    check(!path.is_absolute());
    for (const auto& part : path) check(part != "..");
    for (auto some = next(); !some.empty(); some = next()) total += some.size();
    check(total <= most);
  });
}

// Settings of a run, or a model's config: what is taken can be said again.
void config(const Source& source) {
  const std::string text = source->text(1'000'000, "a config");
  try {
    const TrainOptions options = settings_of(text, "f");
    options.validate();
    const std::string json = options.to_json();
    check(settings_of(json, "f").to_json() == json);
  } catch (const Error&) {
    const ViTConfig model = ViTConfig::from_json(text);
    check(ViTConfig::from_json(model.to_json()) == model);
    check(model.parameters() != 0 && model.macs() != 0);
  }
}

void metrics(const Source& source) {
  RunRecord run;
  read_metrics(*source, run);
  read_timing(*source, run);
  static_cast<void>(run.best());
  static_cast<void>(run.steps_an_epoch());
}

void state(const Source& source) {
  const auto parsed = parse_checkpoint_state(source->text(1'000'000, "a state"), "f");
  check(parsed.state.best_epoch <= parsed.state.epochs && parsed.state.lr <= 100);
}

const std::map<std::string, void (*)(const Source&)> readers{
    {"safetensors", [](const Source& s) { check_small_tensors(read_safetensors(s), 1000); }},
    {"npz", [](const Source& s) { check_small_tensors(read_npz(s), 1000); }},
    {"pth", [](const Source& s) { check_small_tensors(read_pth(s), 1000); }},
    {"pickle", pickle},
    {"names", names},
    {"png", picture},
    {"jpeg", picture},
    {"pnm", picture},
    {"idx", idx},
    {"cifar", cifar},
    {"gzip", gzip},
    {"tar", tar},
    {"config", config},
    {"metrics", metrics},
    {"state", state}};

}  // namespace
}  // namespace vitruvian

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vitruvian;
  static const auto read = readers.at(std::getenv("VITRUVIAN_FUZZ_READER"));
  const char* const bytes = reinterpret_cast<const char*>(data);
  try {
    read(std::make_shared<const MemorySource>(std::span(bytes, size), "f", Exit::data));
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the way to refuse
  }
  return 0;
}
