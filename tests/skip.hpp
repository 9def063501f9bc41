#pragma once

#include <string>

/// Says that the case that is running cannot be tried here, and why. The program ends with 77 when
/// nothing failed, which ctest reports as skipped: give the case an entry of its own in ctest
/// (MAY_SKIP in tests/CMakeLists.txt), so that the others of its program are seen to pass.
void skip(const std::string& why);
