#pragma once

#include <string>

// What ends a learner's function before it returns, told in a sentence, with the line.

namespace vitruvian::lessons {

/// From here on a signal, what AddressSanitizer notices, an exit, more than `seconds` or more than
/// 2 GB end the program with 1, and with a sentence on standard error. `file` is the learner's: a
/// place in its folder is a line of theirs.
void watch_over(const char* file, int seconds);
/// What that sentence says was being worked on; "" where nothing of the learner's runs.
void working_on(const std::string& label);
/// Where what was thrown last was thrown: "Line 41 of softmax.cpp", or, where nobody knows, "Your
/// code".
std::string thrown_at();

}  // namespace vitruvian::lessons
