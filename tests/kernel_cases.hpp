#pragma once

#include "core/kernels/table.hpp"

#include <string>

namespace kernel_cases {

/// Runs `body(name)` with the kernels of each instruction set that this machine has.
template <class Body>
void for_each_isa(const Body& body) {
  using vitruvian::kernels::Isa;
  const Isa before = vitruvian::kernels::isa();
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (!vitruvian::kernels::isa_available(isa)) continue;
    vitruvian::kernels::set_isa(isa);
    body(vitruvian::kernels::simd_description());
  }
  vitruvian::kernels::set_isa(before);
}

}  // namespace kernel_cases
