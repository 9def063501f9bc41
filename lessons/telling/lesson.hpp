#pragma once

#include "lessons/telling/tensors.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/ops.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

// What every lesson begins with: ops, their composed twins, random arrays, and the words in which
// all that is told. Whoever uses the namespace of the lessons sees the library's as well.

namespace vitruvian::lessons {
using namespace vitruvian;
}
