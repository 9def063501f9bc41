#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

namespace vitruvian {

/// Parses, runs `body`, and turns whatever goes wrong into one line on standard error and the exit
/// code that belongs to it. An unknown flag is answered with the nearest one that exists.
int run_command_line(CLI::App& app, int argc, char** argv, const std::function<void()>& body);

}  // namespace vitruvian
