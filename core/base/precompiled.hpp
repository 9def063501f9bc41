#pragma once

// What nearly every file without tensors reads; parsed once.
#include "vitruvian/core/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>
