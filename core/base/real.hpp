#pragma once

// One source, two precisions: gradients are checked in float64, models train in float32, and no
// line of the rooms that hold numbers says <T>. They are compiled twice; the inline namespace keeps
// the two apart, so that mixing them is a link error and a program may still link both. What is
// linked tells its users which of the two it is.
#if defined(VITRUVIAN_FLOAT32) && defined(VITRUVIAN_FLOAT64)
#error \
    "one target gets both precisions of the library: link one of them PRIVATE, in a target of its own"
#endif
#ifdef VITRUVIAN_FLOAT64
#define VITRUVIAN_PRECISION f64
#else
#define VITRUVIAN_PRECISION f32
#endif

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

#ifdef VITRUVIAN_FLOAT64
using real = double;
#else
using real = float;
#endif

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
