// Libraries that bring threads of their own.
#include "vitruvian/core/kernels/gemm_backends.hpp"

#if VITRUVIAN_HAS_ONEDNN || VITRUVIAN_HAS_CBLAS
#include <dlfcn.h>
#endif

namespace vitruvian::kernels {

#if VITRUVIAN_HAS_ONEDNN || VITRUVIAN_HAS_CBLAS

namespace {

bool set_one_thread(const char* function) {
  const auto set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, function));
  if (set != nullptr) set(1);
  return true;
}

}  // namespace

void keep_libraries_on_this_thread() {
  // OpenMP, in oneDNN and in one of OpenBLAS's builds, keeps a number for each thread that calls.
  thread_local const bool openmp = set_one_thread("omp_set_num_threads");
  static_cast<void>(openmp);
}

#else

void keep_libraries_on_this_thread() {}

#endif

}  // namespace vitruvian::kernels
