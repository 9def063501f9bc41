#pragma once

// What nearly every file of the rooms reads; parsed once a build and precision.
#include "core/error.hpp"
#include "core/ops.hpp"
#include "core/tensor.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>
