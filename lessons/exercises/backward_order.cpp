// Exercise. In which order the tape goes back (after tape, middle)
//
// A tape is a list of nodes; inputs[i] names the nodes that node i was computed from. `backward`
// starts at `output` and sends cotangents down to inputs. A node may pass its cotangent on only
// when all who used it have sent theirs: y = x·x + x uses x three times, and all three shares must
// be in.
//
// Return every node that `output` depends on, `output` included, each once, and each after all the
// nodes that use it. Nodes that the output does not depend on stay out, and what they use does not
// wait for them. A tape may be a million nodes long, so a function that calls itself for every
// input will run out of stack.

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

using Tape = std::vector<std::vector<std::size_t>>;

std::vector<std::size_t> backward_order(const Tape& inputs, std::size_t output) {
  // [gap]
  //| // Yours: about fifteen lines.
  //| return {};
  // [solution]
  std::vector<std::size_t> uses(inputs.size(), 0);
  std::vector<bool> needed(inputs.size(), false);
  std::vector<std::size_t> found = {output};
  needed[output] = true;
  for (std::size_t next = 0; next < found.size(); ++next) {
    for (const std::size_t input : inputs[found[next]]) {
      ++uses[input];
      if (!needed[input]) found.push_back(input);
      needed[input] = true;
    }
  }
  std::vector<std::size_t> order = {output};
  for (std::size_t next = 0; next < order.size(); ++next) {
    for (const std::size_t input : inputs[order[next]]) {
      if (--uses[input] == 0) order.push_back(input);
    }
  }
  return order;
  // [end]
}

EXERCISE(backward_order);

// [hint 1]
// Two walks. The first, from the output downwards, finds which nodes are needed at all, and how
// often each of them is used by needed ones. The second writes them down.
// [hint 2]
// In the second walk, a node is ready when everybody who uses it has been written down. Count down:
// whenever a node is written, take one off the count of each of its inputs (two off, if it uses
// the same input twice).
// [hint 3]
// Let the answer be its own queue: start with {output}; for (next = 0; next < order.size(); ++next)
// go through the inputs of order[next]; if (--uses[input] == 0) order.push_back(input).
