#pragma once

// xtensor's arithmetic and functions on arrays, for the .cpp files that write expressions. They are
// lazy: each one is materialised into an `Array` in the statement that made it. 0.26 moved the
// headers; both layouts are met here.
#if __has_include(<xtensor/core/xmath.hpp>)
#include <xtensor/core/xmath.hpp>
#else
#include <xtensor/xmath.hpp>
#endif
