#pragma once

#include "lessons/exercises/judge.hpp"
#include "lessons/exercises/parts.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

// What the checks of a learner's own Vision Transformer share.

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {

/// From here on, the functions of parts.hpp that stand for this exercise are the learner's.
void take_part(const std::string& exercise, const Submission& answer);

/// The shapes of a ViT's parameters, by their names, for images of `C` channels and `side` pixels.
std::map<std::string, Shape> vit_shapes(const VitSizes& sizes, std::size_t C, std::size_t side);

/// A ViT so small that each of its numbers can be moved.
struct Tiny {
  VitSizes sizes;
  std::size_t B, C, side;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] Tensor images() const;
  [[nodiscard]] std::vector<std::size_t> labels() const;
  [[nodiscard]] Parameters parameters(std::uint64_t seed) const;
};
std::vector<Tiny> tiny_ones();

/// That of the exercise own_training, which trains: check_own_training.cpp.
void own_training_check(Judge& judge);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
