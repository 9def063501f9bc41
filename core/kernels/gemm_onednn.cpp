#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/kernels/gemm_backends.hpp"

#if VITRUVIAN_HAS_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

namespace vitruvian::kernels {

#if VITRUVIAN_HAS_ONEDNN

bool has_onednn() { return true; }

void onednn_product(const Gemm<float>& g) {
  keep_libraries_on_this_thread();
  const auto size = [](std::size_t n) { return static_cast<dnnl_dim_t>(n); };
  const dnnl_status_t status =
      dnnl_sgemm(g.trans_a ? 'T' : 'N', g.trans_b ? 'T' : 'N', size(g.m), size(g.n), size(g.k),
                 g.alpha, g.a, size(g.lda), g.b, size(g.ldb), g.beta, g.c, size(g.ldc));
  if (status != dnnl_success) {
    fail("gemm: oneDNN refused ({}, {}) x ({}, {}) with status {}", g.m, g.k, g.k, g.n,
         static_cast<int>(status));
  }
}

std::string onednn_description() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}", v->major, v->minor, v->patch);
}

#else

bool has_onednn() { return false; }
void onednn_product(const Gemm<float>&) { fail("gemm: this build has no oneDNN"); }
std::string onednn_description() { return "no oneDNN"; }

#endif

}  // namespace vitruvian::kernels
