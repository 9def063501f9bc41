// Which instruction set's bodies run.
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/kernels/table.hpp"

#include <atomic>
#include <cstdlib>

namespace vitruvian::kernels {

namespace baseline {
extern const Tables tables;
}
#if VITRUVIAN_ALL_ISAS
namespace avx2 {
extern const Tables tables;
}
namespace avx512 {
extern const Tables tables;
}
#endif

namespace {

Isa best() {
  for (const Isa isa : {Isa::avx512, Isa::avx2}) {
    if (isa_available(isa)) return isa;
  }
  return Isa::baseline;
}

Isa wanted_isa() {
  const char* set = std::getenv("VITRUVIAN_SIMD");
  if (!set || !*set) return best();
  constexpr Isa isas[] = {Isa::baseline, Isa::baseline, Isa::avx2, Isa::avx512};
  const Isa isa = isas[index_of(set, {"portable", "sse2", "avx2", "avx512"}, "VITRUVIAN_SIMD")];
  if (!isa_available(isa)) {
    fail(Exit::usage, "VITRUVIAN_SIMD: this processor or this build has no {}", set);
  }
  return isa;
}

std::atomic<Isa>& current_isa() {
  static std::atomic<Isa> isa = wanted_isa();
  return isa;
}

const Tables& tables() {
#if VITRUVIAN_ALL_ISAS
  if (isa() == Isa::avx512) return avx512::tables;
  if (isa() == Isa::avx2) return avx2::tables;
#endif
  return baseline::tables;
}

}  // namespace

bool isa_available(Isa isa) {
#if VITRUVIAN_ALL_ISAS
  if (isa == Isa::avx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == Isa::avx512) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("fma");
  }
#endif
  return isa == Isa::baseline;
}

Isa isa() { return current_isa(); }

void set_isa(Isa isa) {
  if (!isa_available(isa))
    fail("set_isa: this processor or this build has not that instruction set");
  current_isa() = isa;
}

template <>
const Table<float>& table() {
  return tables().of_float;
}
template <>
const Table<double>& table() {
  return tables().of_double;
}

std::string simd_description() { return table<float>().name; }

}  // namespace vitruvian::kernels
