#pragma once

#include "apps/command_line.hpp"
#include "apps/command_tree.hpp"
#include "vitruvian/core/base/resample.hpp"
#include "vitruvian/train/settings/options.hpp"
#include "vitruvian/vit/weights/weights.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// One function a command: it adds the command's flags, and sets `chosen` to what runs it.

namespace vitruvian {

void add_train(const Parser& app, std::function<void()>& chosen);
void add_eval(const Parser& app, std::function<void()>& chosen);
void add_models(const Parser& app, std::function<void()>& chosen);
void add_predict(const Parser& app, std::function<void()>& chosen);
void add_few_shot(const Parser& app, std::function<void()>& chosen);
void add_inspect(const Parser& app, std::function<void()>& chosen);
void add_convert(const Parser& app, std::function<void()>& chosen);
void add_compare(const Parser& app, std::function<void()>& chosen);
void add_report(const Parser& app, std::function<void()>& chosen);
void add_data(const Parser& app, std::function<void()>& chosen);
void add_weights(const Parser& app, std::function<void()>& chosen);
void add_trace(const Parser& app, std::function<void()>& chosen);
void add_completion(const Parser& app, std::function<void()>& chosen);
void add_man(const Parser& app, std::function<void()>& chosen);

/// A command whose flags live as long as it; where it is the chosen one, `run` is called with them.
template <class Flags, class Run>
std::pair<Parser, Flags&> add_command(const Parser& app, std::function<void()>& chosen,
                                      const std::string& name, const std::string& about, Run run) {
  const auto flags = std::make_shared<Flags>();
  const auto choose = [flags, run, &chosen] { chosen = [flags, run] { run(*flags); }; };
  return {app.add_command(name, about, choose), *flags};
}

/// Goes on in the program of that precision, with the same arguments, where this is the other one
/// and does not return then. Throws (Exit::failure) where it is not built, and says `why` it was
/// wanted, where nobody has asked for a precision.
void in_precision(Precision wanted, std::string_view why = "");

/// Adds --threads, which holds at once.
void add_threads(const Parser& command);

/// Adds --threads, and --precision, in which the command will run: what every command that computes
/// has.
void add_machine_flags(const Parser& command);

/// The lines that name what a run computes on: matrix product, instruction set, threads, precision.
/// A slow matrix product is said aloud, with its remedy.
void print_machine();

/// What whoever runs a command should know of it all the same, on standard error.
void note(const std::string& text);

/// Throws (Exit::usage) where a flag's safetensors file would have the name of another format.
void check_safetensors_name(const char* flag, const std::string& file);

/// The flags of commands that read weights of any origin. What makes no sense is Exit::usage.
void add_weights_flags(const Parser& command, WeightsRequest& request);

/// The flags of commands that read pictures.
template <class Options>
void add_picture_flags(const Parser& command, Options& options) {
  const std::vector<std::string> filters{"bilinear", "bicubic"};  // as Filter has them
  const auto take = [&options, filters](const std::string& name) {
    options.filter = static_cast<Filter>(index_of(name, filters, "interpolation"));
  };
  command.add_text("--interpolation", "NAME", take, "bilinear or bicubic, with antialias")
      .usual("bilinear")
      .offers(filters);
  const std::string from =
      "Of pixels in [0, 1]: one number, or R,G,B; without: as the file says, or "
      "as\nthe names' project has it";
  command.add_numbers("--mean", options.mean, from);
  command.add_numbers("--std", options.std, from);
  command.add_count("--max-pixels", options.max_pixels, "Refuse pictures with more",
                    1'000'000'000'000, 1);
}

}  // namespace vitruvian
