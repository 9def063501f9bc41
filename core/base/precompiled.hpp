#pragma once

// What nearly every file reads that knows no precision; parsed once a build.
#include "vitruvian/core/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>
