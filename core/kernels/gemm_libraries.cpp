// The back ends that are libraries: oneDNN, and the reference, CBLAS, or the plain loops of
// xtensor-blas where there is none, through its `cxxblas` layer, which takes explicit strides and
// transposes. CBLAS is loaded when somebody asks for it: OpenBLAS takes memory and starts threads
// as soon as it is there.
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/kernels/table.hpp"

#if VITRUVIAN_HAS_CXXBLAS
#if VITRUVIAN_HAS_CBLAS
#define HAVE_CBLAS
#define cblas_sgemm vitruvian_cblas_sgemm  // what the layer calls: defined below
#define cblas_dgemm vitruvian_cblas_dgemm
#endif
#include <complex>  // which the next one uses and does not include
#include <xflens/cxxblas/cxxblas.cxx>
#endif
#if VITRUVIAN_HAS_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif
#if VITRUVIAN_HAS_ONEDNN || VITRUVIAN_HAS_CBLAS
#include <dlfcn.h>
#endif

#include <limits>

namespace vitruvian::kernels {

// The threads are ours: a library that started its own in each of them would fight us. Called
// before every product; costs something in a thread's first.
[[maybe_unused]] static void keep_libraries_on_this_thread() {
#if VITRUVIAN_HAS_ONEDNN || VITRUVIAN_HAS_CBLAS
  // OpenMP, in oneDNN and in one of OpenBLAS's builds, keeps a number for each thread that calls.
  thread_local const bool told = [] {
    const auto set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    if (set != nullptr) set(1);
    return true;
  }();
  static_cast<void>(told);
#endif
}

// --- oneDNN

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

// --- CBLAS

#if VITRUVIAN_HAS_CXXBLAS

namespace {

#if VITRUVIAN_HAS_CBLAS
void* library() {
  static void* const loaded = dlopen(VITRUVIAN_CBLAS_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
  return loaded;
}

template <class Function>
Function* find(const char* name) {
  return library() == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library(), name));
}

template <class Function>
Function& found(const char* name) {
  Function* const function = find<Function>(name);
  if (function == nullptr) fail("gemm: {} has no {}", VITRUVIAN_CBLAS_LIBRARY, name);
  if (auto* const set = find<void(int)>("openblas_set_num_threads")) set(1);
  return *function;
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

#if VITRUVIAN_HAS_CBLAS
bool has_cblas() { return library() != nullptr; }
#else
bool has_cblas() { return true; }
#endif
void cblas_product(const Gemm<float>& g) { multiply(g); }
void cblas_product(const Gemm<double>& g) { multiply(g); }

std::string cblas_description() {
#if VITRUVIAN_HAS_CBLAS
  if (auto* const core = find<char*()>("openblas_get_corename")) {
    return fmt::format("CBLAS (OpenBLAS, core {})", core());
  }
  return "CBLAS";
#else
  return "the plain loops of xtensor-blas";
#endif
}

#if VITRUVIAN_HAS_CBLAS
extern "C" void cblas_sgemm(CBLAS_ORDER order, CBLAS_TRANSPOSE trans_a, CBLAS_TRANSPOSE trans_b,
                            CBLAS_INT m, CBLAS_INT n, CBLAS_INT k, float alpha, const float* a,
                            CBLAS_INT lda, const float* b, CBLAS_INT ldb, float beta, float* c,
                            CBLAS_INT ldc) {
  static auto& product = found<decltype(cblas_sgemm)>("cblas_sgemm");
  product(order, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
extern "C" void cblas_dgemm(CBLAS_ORDER order, CBLAS_TRANSPOSE trans_a, CBLAS_TRANSPOSE trans_b,
                            CBLAS_INT m, CBLAS_INT n, CBLAS_INT k, double alpha, const double* a,
                            CBLAS_INT lda, const double* b, CBLAS_INT ldb, double beta, double* c,
                            CBLAS_INT ldc) {
  static auto& product = found<decltype(cblas_dgemm)>("cblas_dgemm");
  product(order, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
#endif

#else

bool has_cblas() { return false; }
void cblas_product(const Gemm<float>&) { fail("gemm: this build has no CBLAS"); }
void cblas_product(const Gemm<double>&) { fail("gemm: this build has no CBLAS"); }
std::string cblas_description() { return "no CBLAS"; }

#endif

}  // namespace vitruvian::kernels
