#pragma once

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/resample.hpp"
#include "vitruvian/train/settings/options.hpp"
#include "vitruvian/vit/weights/weights.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// One function a command: it adds the command's flags, and sets `chosen` to what runs it.

namespace vitruvian {

void add_train(CLI::App& app, std::function<void()>& chosen);
void add_eval(CLI::App& app, std::function<void()>& chosen);
void add_models(CLI::App& app, std::function<void()>& chosen);
void add_predict(CLI::App& app, std::function<void()>& chosen);
void add_inspect(CLI::App& app, std::function<void()>& chosen);
void add_convert(CLI::App& app, std::function<void()>& chosen);
void add_compare(CLI::App& app, std::function<void()>& chosen);
void add_report(CLI::App& app, std::function<void()>& chosen);
void add_data(CLI::App& app, std::function<void()>& chosen);
void add_trace(CLI::App& app, std::function<void()>& chosen);

/// A command whose flags live as long as it; where it is the chosen one, `run` is called with them.
template <class Flags, class Run>
std::pair<CLI::App&, Flags&> add_command(CLI::App& app, std::function<void()>& chosen,
                                         const std::string& name, const std::string& about,
                                         Run run) {
  const auto flags = std::make_shared<Flags>();
  CLI::App& command = *app.add_subcommand(name, about);
  command.callback([flags, run, &chosen] { chosen = [flags, run] { run(*flags); }; });
  return {command, *flags};
}

/// A flag that takes a whole number up to `largest`, not a negative one (which CLI11 would wrap
/// around).
template <class Count>
CLI::Option* add_count(CLI::App& command, const std::string& name, Count& count,
                       const std::string& description, std::uint64_t largest = 1'000'000) {
  return command.add_option(name, count, description)
      ->type_name("N")
      ->check(CLI::Validator(
          [largest](const std::string& text) {
            const bool whole = !text.empty() && text.size() <= 19 &&
                               text.find_first_not_of("0123456789") == std::string::npos;
            if (whole && std::stoull(text) <= largest) return std::string();
            return "'" + text + "' is not a whole number from 0 to " + std::to_string(largest);
          },
          ""));
}

/// Goes on in the program of that precision, with the same arguments, where this is the other one
/// and does not return then. Throws (Exit::failure) where it is not built.
void in_precision(Precision wanted);

/// Adds --threads and --precision: what every command that computes has.
template <class Options>
void add_machine_flags(CLI::App& command, Options& options) {
  add_count(command, "--threads", options.threads, "Threads; 0 means one for each processor");
  command
      .add_option_function<std::string>(
          "--precision",
          [](const std::string& name) {
            if (name != "float" && name != "double")
              fail(Exit::usage, "--precision: '{}' is neither float nor double", name);
            in_precision(name == "float" ? Precision::float32 : Precision::float64);
          },
          "float or double")
      ->default_str("float");
}

/// The lines that name what a run computes on: matrix product, instruction set, threads, precision.
/// A slow matrix product is said aloud, with its remedy.
void print_machine();

/// The flags of commands that read weights of any origin.
struct WeightsFlags {
  std::string scheme, image_size, pos_resize;
  std::size_t heads = 0, classes = 0;
};

void add_weights_flags(CLI::App& command, WeightsFlags& flags);
/// Throws (Exit::usage) where a flag makes no sense.
WeightsRequest request_of(const WeightsFlags& flags);

/// The flags of commands that read pictures.
struct PictureFlags {
  std::string mean, std;
};

template <class Options>
void add_picture_flags(CLI::App& command, Options& options, PictureFlags& flags) {
  command.add_option("--interpolation", options.filter, "bilinear or bicubic, with antialias")
      ->transform(
          CLI::CheckedTransformer(std::map<std::string, Filter>{{"bilinear", Filter::bilinear},
                                                                {"bicubic", Filter::bicubic}})
              .description(""))
      ->default_str("bilinear");
  for (auto [name, text] : {std::pair{"--mean", &flags.mean}, {"--std", &flags.std}}) {
    command
        .add_option(name, *text,
                    "Of pixels in [0, 1]: one number, or R,G,B; without: as the file says, or as\n"
                    "the names' project has it")
        ->type_name("X[,X,X]");
  }
  add_count(command, "--max-pixels", options.max_pixels, "Refuse pictures with more",
            1'000'000'000'000)
      ->capture_default_str();
}

/// "0.5" or "0.485,0.456,0.406". Throws (Exit::usage), naming the flag.
std::vector<double> numbers_of(const char* flag, const std::string& text);

template <class Options>
void read_picture_flags(const PictureFlags& flags, Options& options) {
  options.mean = numbers_of("--mean", flags.mean);
  options.std = numbers_of("--std", flags.std);
}

}  // namespace vitruvian
