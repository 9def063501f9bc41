#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vitruvian::kernels {

class KeptPanels;

/// One product C = alpha op(A) op(B) + beta C of row-major matrices. op(A) is m x k: A itself, or,
/// with `trans_a`, the transpose of A (k x m). op(B) is k x n likewise. `lda`, `ldb`, `ldc` are the
/// distances between rows. With beta 0, C is not read (it may hold NaN). T is float or double.
template <class T>
struct Gemm {
  std::size_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  std::size_t lda = 0;
  bool trans_a = false;
  const T* b = nullptr;
  std::size_t ldb = 0;
  bool trans_b = false;
  T* c = nullptr;
  std::size_t ldc = 0;
  T alpha = 1;
  T beta = 0;
  KeptPanels* kept = nullptr;  ///< of this B, which will multiply again (kept_panels.hpp)
  /// Set by `gemm` where B's panels are kept: their memory, and whether they are in it.
  void* panels = nullptr;
  bool packed = false;
};

/// Computes the product, cut into blocks whose size depends on m, n and k alone; each block is one
/// single-threaded call of the back end. Inside `parallel_for` it runs whole, on the calling
/// thread. The same bits for any number of threads. Sizes of 0 are fine (k = 0 gives beta C).
template <class T>
void gemm(const Gemm<T>& product);

/// `batch` products; the i-th reads a + i stride_a, b + i stride_b and writes c + i stride_c.
template <class T>
void gemm_batch(const Gemm<T>& first, std::size_t batch, std::size_t stride_a, std::size_t stride_b,
                std::size_t stride_c);

/// Who multiplies: our packed, register-blocked product; oneDNN (float only, double goes to
/// `packed`); CBLAS through xtensor-blas's `cxxblas` layer, the reference of the tests; or the
/// fastest. That is, of floats, the processor's matrix unit (AMX) where there is one and n and k
/// are at least 32; else, with the bits of `onednn`, the faster of that and `packed`, measured at a
/// size's first use; `packed` in builds without oneDNN, and where `ulimit -v` leaves less than 1
/// GB.
///
/// The matrix unit multiplies bfloat16s, and a float is the sum of three of them (24 significant
/// bits are 3 x 8): a product is six of theirs, summed in float32 (kernels/amx.cpp has the order).
/// A sum of dozens of terms has half the error that it has by `packed`, on average; a single
/// product may be two units of 2^-24 off instead of one. What is below 2^-126 counts as 0, as
/// factors, as parts of them and as sums, so that results below some 2^-102 are less exact; blocks
/// with Inf or NaN, or of factors so large that a sum might be Inf, are left to `packed`.
enum class GemmBackend { packed, onednn, cblas, fastest };

/// The one in use: `fastest`, or what the environment variable VITRUVIAN_GEMM (packed, onednn,
/// cblas, fastest) or `set_gemm_backend` asks for. Throws on a name that does not exist or is not
/// in this build.
GemmBackend gemm_backend();
void set_gemm_backend(GemmBackend backend);
bool gemm_backend_available(GemmBackend backend);
GemmBackend gemm_backend_named(std::string_view name);

/// What a product of floats rounds the elements of A and B to while it packs them; sums are float32
/// either way. bfloat16 is a float32 without the last 16 bits of its mantissa: 8 significant bits,
/// the same exponents. Products of two are exact in float32. They are added in the order of k, in
/// blocks of at most 384 steps, by the processor's own instruction (AVX512_BF16) or, to the same
/// bits, by our packed product of the rounded factors; by the processor's matrix unit, where it has
/// one (AMX), even and odd steps apart, 32 at a time. Double is never rounded.
///
/// To the nearest, ties to even; beyond the largest bfloat16 (3.39e38) to infinity; NaN stays NaN,
/// quiet; subnormals become zeros of their sign. The instructions also take sums below 2^-126 for
/// zeros, which the packed product keeps: nothing but this and the sign of a zero tells AVX512_BF16
/// and the packed product apart.
enum class GemmPrecision { float32, bfloat16 };

/// float32 unless set. For the whole process: set it between steps, not during one.
GemmPrecision gemm_precision();
void set_gemm_precision(GemmPrecision precision);

/// Sets it for as long as it lives.
class GemmPrecisionScope {
 public:
  explicit GemmPrecisionScope(GemmPrecision precision) : before_(gemm_precision()) {
    set_gemm_precision(precision);
  }
  ~GemmPrecisionScope() { set_gemm_precision(before_); }
  GemmPrecisionScope(const GemmPrecisionScope&) = delete;
  GemmPrecisionScope& operator=(const GemmPrecisionScope&) = delete;

 private:
  GemmPrecision before_;
};

/// For `--version` and the head of a run: "AMX or packed AVX-512 (float), packed AVX-512
/// (double)".
std::string gemm_description();

}  // namespace vitruvian::kernels
