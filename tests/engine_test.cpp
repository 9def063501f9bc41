#include "core/tensor.hpp"

#include <doctest/doctest.h>

using namespace vitruvian;

TEST_CASE("a leaf is a leaf") { CHECK(Tensor(scalar(1)).is_leaf()); }
