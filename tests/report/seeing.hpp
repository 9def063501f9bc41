#pragma once

#include "vitruvian/report/confusion.hpp"
#include "vitruvian/train/report.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

// What the tests of what a run shows share.

// Three classes, six images: 0 right, 0 as 2, 1 right, 1 right, 2 as 0 (narrowly), 2 as 1.
inline vitruvian::Predictions six() {
  return {3,
          {0, 0, 1, 1, 2, 2},
          {0.8, 0.1, 0.1, 0.2, 0.2, 0.6, 0.1, 0.9, 0.0, 0.3, 0.4, 0.3, 0.45, 0.15, 0.4, 0.1, 0.85,
           0.05}};
}

inline bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}
