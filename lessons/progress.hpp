#pragma once

#include "apps/command_line.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace vitruvian::lessons {

// What a learner has read and solved, as one file: the book's page writes and reads the same. Its
// first line is `Vitruvian progress 1`; each further one is `lesson NAME` or `exercise NAME`.

/// The lessons and exercises that are done here, as that file's text.
std::string progress_text();

/// What the file holds is done here, too; what was done stays so. Returns a sentence on what came
/// of it. Throws, and has marked nothing, where the file cannot be read or is no such file
/// (Exit::data); and where there is no folder to remember it in (Exit::failure).
std::string take_over_progress(const std::filesystem::path& file);

/// Adds `progress`, which prints that text, and `progress FILE`, which takes FILE over. As
/// `add_exercise_commands`, it leaves what was asked for in `chosen`.
void add_progress_command(const Parser& app, std::function<int()>& chosen);

}  // namespace vitruvian::lessons
