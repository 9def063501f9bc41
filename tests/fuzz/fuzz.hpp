#pragma once

#include "vitruvian/core/byte_source.hpp"
#include "vitruvian/core/error.hpp"

#include <cstdint>
#include <memory>

// A target of libFuzzer reads bytes in memory: any of them give a result or an Error, nothing else.

/// Each target's own: reads what it is handed.
void read_one(const std::shared_ptr<const vitruvian::ByteSource>& source);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vitruvian;
  const char* const bytes = reinterpret_cast<const char*>(data);
  try {
    read_one(std::make_shared<const MemorySource>(std::span(bytes, size), "f", Exit::data));
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the way to refuse
  }
  return 0;
}
