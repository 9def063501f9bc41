#pragma once

#include <cstddef>
#include <string>
#include <vector>

// Fused ops and their readable twins at one list of shapes, compiled in both precisions, so that
// one program can hold float against double. Numbers go in and out as doubles.

namespace accuracy {

/// Numbers of a result, under the name that they are judged by.
struct Output {
  std::string name;  ///< "softmax" or "softmax, gradient 0"
  std::vector<double> values;
};

/// What a case computes, forward and backward.
using Outputs = std::vector<Output>;

#define ACCURACY_INTERFACE                                                                 \
  /* Every case as the fused op computes it, or as its twin does; the same inputs, rounded \
     to float, in both precisions. */                                                      \
  std::vector<Outputs> fused();                                                            \
  std::vector<Outputs> composed();

namespace f32 {
ACCURACY_INTERFACE
}
namespace f64 {
ACCURACY_INTERFACE
}
#undef ACCURACY_INTERFACE

}  // namespace accuracy
