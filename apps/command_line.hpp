#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

namespace vitruvian {

/// Parses, then runs `body`, or prints the help that was asked for. Throws (Exit::usage) for what
/// cannot be parsed; an unknown flag is answered with the nearest one that exists.
void run_command_line(CLI::App& app, int argc, char** argv, const std::function<void()>& body);

}  // namespace vitruvian
