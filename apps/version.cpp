#include "apps/commands.hpp"
#include "vitruvian/core/console.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/core/parallel.hpp"

#include <fmt/format.h>

// Its version alone; 0.26 moved its headers.
#if __has_include(<xtensor/core/xtensor_config.hpp>)
#include <xtensor/core/xtensor_config.hpp>
#else
#include <xtensor/xtensor_config.hpp>
#endif

namespace vitruvian {

void print_machine(Precision precision) {
  console::print("machine  {} threads, {}, {}, matrix product {}\n", threads(),
                 precision == Precision::float32 ? "float32" : "float64",
                 kernels::simd_description(), kernels::gemm_description());
  if (kernels::gemm_backend() == kernels::GemmBackend::cblas) {
    console::print(
        "note     the CBLAS product is the tests' reference, and slow; unset VITRUVIAN_GEMM\n");
  }
}

void print_version() {
  console::print("vitruvian {}\n", VITRUVIAN_VERSION);
#ifdef __clang__
  console::print("built    clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  console::print("built    g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
  console::print(", xtensor {}.{}.{}, fmt {}.{}.{}\n", XTENSOR_VERSION_MAJOR, XTENSOR_VERSION_MINOR,
                 XTENSOR_VERSION_PATCH, FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
                 FMT_VERSION % 100);
  print_machine(Precision::float32);
}

}  // namespace vitruvian
