// One reader of what a run writes, READ: config, metrics or state.

#include "tests/fuzz/fuzz.hpp"
#include "vitruvian/report/run_record.hpp"
#include "vitruvian/train/run/checkpoint_file.hpp"
#include "vitruvian/train/settings/options.hpp"
#include "vitruvian/vit/config.hpp"

#include <cstdlib>

namespace {

using vitruvian::ByteSource;

// Settings of a run, or a model's config: what is taken can be said again.
[[maybe_unused]] void config(const ByteSource& source) {
  const std::string text = source.text(1'000'000, "a config");
  try {
    const vitruvian::TrainOptions options = vitruvian::settings_from_json(text, "f");
    options.validate();
    const std::string json = options.to_json();
    if (vitruvian::settings_from_json(json, "f").to_json() != json) std::abort();
  } catch (const vitruvian::Error&) {
    const vitruvian::ViTConfig model = vitruvian::ViTConfig::from_json(text);
    if (!(vitruvian::ViTConfig::from_json(model.to_json()) == model)) std::abort();
    if (model.parameters() == 0 || model.macs() == 0) std::abort();
  }
}

[[maybe_unused]] void metrics(const ByteSource& source) {
  vitruvian::RunRecord run;
  read_metrics(source, run);
  read_timing(source, run);
  static_cast<void>(run.best());
  static_cast<void>(run.steps_an_epoch());
}

[[maybe_unused]] void state(const ByteSource& source) {
  const auto parsed = vitruvian::parse_checkpoint_state(source.text(1'000'000, "a state"), "f");
  if (parsed.state.best_epoch > parsed.state.epochs || !(parsed.state.lr <= 100)) std::abort();
}

}  // namespace

void read_one(const std::shared_ptr<const ByteSource>& source) { READ(*source); }
