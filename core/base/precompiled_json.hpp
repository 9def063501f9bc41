#pragma once

// The same for files that read or write JSON, which others would wait for in vain.
#include "vitruvian/core/base/json.hpp"
#include "vitruvian/core/base/precompiled.hpp"
