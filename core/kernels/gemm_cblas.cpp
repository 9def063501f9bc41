// The reference: CBLAS, or the plain loops of xtensor-blas where there is none, through its
// `cxxblas` layer, which takes explicit strides and transposes.
#include "core/error.hpp"
#include "core/kernels/gemm_backends.hpp"

#if VITRUVIAN_HAS_CXXBLAS
#if VITRUVIAN_HAS_CBLAS
#define HAVE_CBLAS
#endif
#include <complex>  // which the next one uses and does not include
#include <xflens/cxxblas/cxxblas.cxx>
#endif
#if VITRUVIAN_HAS_CBLAS
#include <dlfcn.h>
#endif

#include <limits>

namespace vitruvian::kernels {

#if VITRUVIAN_HAS_CXXBLAS

namespace {

#if VITRUVIAN_HAS_CBLAS
template <class Function>
Function find(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}
#endif

int narrow(std::size_t n) {
  if (n > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    fail("gemm: CBLAS counts to {}, this product needs {}", std::numeric_limits<int>::max(), n);
  }
  return static_cast<int>(n);
}

template <class T>
void multiply(const Gemm<T>& g) {
  keep_libraries_on_this_thread();
  if (g.beta == T{0}) {  // 0 * NaN would stay
    for (std::size_t i = 0; i < g.m; ++i) {
      for (std::size_t j = 0; j < g.n; ++j) g.c[i * g.ldc + j] = 0;
    }
  }
  const auto transpose = [](bool yes) { return yes ? cxxblas::Trans : cxxblas::NoTrans; };
  cxxblas::gemm(cxxblas::RowMajor, transpose(g.trans_a), transpose(g.trans_b), narrow(g.m),
                narrow(g.n), narrow(g.k), g.alpha, g.a, narrow(g.lda), g.b, narrow(g.ldb), g.beta,
                g.c, narrow(g.ldc));
}

}  // namespace

bool has_cblas() { return true; }
void cblas_product(const Gemm<float>& g) { multiply(g); }
void cblas_product(const Gemm<double>& g) { multiply(g); }

std::string cblas_description() {
#if VITRUVIAN_HAS_CBLAS
  if (const auto core = find<char* (*)()>("openblas_get_corename")) {
    return fmt::format("CBLAS (OpenBLAS, core {})", core());
  }
  return "CBLAS";
#else
  return "the plain loops of xtensor-blas";
#endif
}

#else

bool has_cblas() { return false; }
void cblas_product(const Gemm<float>&) { fail("gemm: this build has no CBLAS"); }
void cblas_product(const Gemm<double>&) { fail("gemm: this build has no CBLAS"); }
std::string cblas_description() { return "no CBLAS"; }

#endif

}  // namespace vitruvian::kernels
