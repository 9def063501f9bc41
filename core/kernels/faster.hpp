#pragma once

#include "vitruvian/core/kernels/gemm.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>

namespace vitruvian::kernels {

/// Which of two bodies of the product is the faster on this machine: each size is measured at its
/// first use, some milliseconds on numbers of our own, and kept in no file. A clock may answer
/// otherwise in the next run, so it is asked only where both bodies give the same bits on these
/// numbers; otherwise `usual` stays. No result depends on the choice.
class FasterProduct {
 public:
  using Body = void (*)(const Gemm<float>&);
  FasterProduct(Body usual, Body other) : usual_(usual), other_(other) {}

  /// The body for products of the sizes, strides and scales of `g`; beyond 256 of them, the usual
  /// one. Where B's panels are kept, the other one even if it is a little slower. From any thread.
  Body operator()(const Gemm<float>& g);

 private:
  using Key = std::array<std::size_t, 11>;
  [[nodiscard]] Body measured(const Gemm<float>& g) const;

  Body usual_, other_;
  // A model has some dozens of sizes. They are added one at a time, and read without a lock: a
  // thread that slept at every product would lose more than the faster body brings.
  std::array<std::pair<Key, Body>, 256> known_;
  std::atomic<std::size_t> count_ = 0;
  std::mutex adding_;
};

}  // namespace vitruvian::kernels
