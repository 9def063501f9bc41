#pragma once

#include "vitruvian/train/settings/options.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <map>
#include <string>

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
void print_version();

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

/// Adds --threads and --precision: what every command that computes has.
template <class Options>
void add_machine_flags(CLI::App& command, Options& options) {
  add_count(command, "--threads", options.threads, "Threads; 0 means one for each processor");
  command.add_option("--precision", options.precision, "float or double")
      ->transform(
          CLI::CheckedTransformer(std::map<std::string, Precision>{{"float", Precision::float32},
                                                                   {"double", Precision::float64}})
              .description(""))
      ->default_str("float");
}

/// The lines that name what a run computes on: matrix product, instruction set, threads, precision.
/// A slow matrix product is said aloud, with its remedy.
void print_machine(Precision precision);

}  // namespace vitruvian
