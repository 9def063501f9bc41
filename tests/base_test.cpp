#include "core/error.hpp"

#include <doctest/doctest.h>

TEST_CASE("an error carries its exit code") {
  CHECK(vitruvian::Error(vitruvian::Exit::data, "x").exit() == vitruvian::Exit::data);
}
