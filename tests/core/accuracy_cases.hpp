#pragma once

#include <string>
#include <vector>

// Fused ops and their readable twins at one list of shapes, compiled in both precisions, so that
// one program can hold float against double. Numbers go in and out as doubles.

namespace accuracy {

/// Numbers of a result, under the name that they are judged by: "softmax", "softmax, gradient 0".
struct Output {
  std::string name;
  std::vector<double> values;
};

// Value and gradients of every case as the fused op computes them, or as its twin does; from the
// same inputs, rounded to float, in both precisions.
namespace f32 {
std::vector<Output> results(bool composed);
}
namespace f64 {
std::vector<Output> results(bool composed);
}

}  // namespace accuracy
