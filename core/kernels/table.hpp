#pragma once

#include "vitruvian/core/kernels/gemm.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

// The seam between the kernels' faces, compiled once, and their bodies, compiled once for each
// instruction set. A body works on one chunk on the calling thread and allocates nothing.

namespace vitruvian::kernels {

/// One (image, head) of an attention call: matrices whose rows lie `*_ld` elements apart. `matrix`
/// is its number among all of them, by which dropout knows it.
template <class T>
struct HeadMatrices {
  std::size_t T_q = 0, S = 0, E = 0, F = 0;
  const T *q = nullptr, *k = nullptr, *v = nullptr;
  std::size_t q_ld = 0, k_ld = 0, v_ld = 0;
  void (*product)(const Gemm<T>&, T* workspace) = nullptr;  // who multiplies: `Table::product`
};

/// Element i of a dropout is kept where its 32-bit word is above `limit`, and then times `scale`.
template <class T>
struct DropoutRule {
  bool active = false;
  std::uint32_t limit = 0;
  T scale = 1;
  std::uint64_t key = 0;
};

/// The numbers of an AdamW step, rounded to T once.
template <class T>
struct AdamWNumbers {
  T keep, beta1, rest1, beta2, rest2, root2, eps, rate;
};

template <class T>
struct Table {
  const char* name;

  /// One product on this thread; `workspace` holds `product_workspace` elements.
  void (*product)(const Gemm<T>&, T* workspace);
  std::size_t product_workspace;
  /// Elements of all panels of a B of k x n.
  std::size_t (*panels)(std::size_t n, std::size_t k);
  /// to[p][i] = from[i][p] for i < rows, p < columns; rows lie `*_step` elements apart.
  void (*transpose)(const T* from, std::size_t from_step, std::size_t rows, std::size_t columns,
                    T* to, std::size_t to_step);

  using Map = void (*)(const T* x, T* y, std::size_t n);
  Map exp, log, erf, tanh;
  Map gelu, gelu_tanh;
  Map round_to_bfloat16;  // null for double, which is never rounded
  using MapVjp = void (*)(const T* x, const T* g, T* dx, std::size_t n);
  MapVjp gelu_vjp, gelu_tanh_vjp;

  using Rows = void (*)(const T* x, T* y, std::size_t rows, std::size_t n);
  Rows softmax, log_softmax;
  using RowsVjp = void (*)(const T* y, const T* g, T* dx, std::size_t rows, std::size_t n);
  RowsVjp softmax_vjp, log_softmax_vjp;
  void (*layer_norm)(const T* x, const T* w, const T* b, double eps, T* y, T* mean, T* rstd,
                     std::size_t rows, std::size_t n);
  /// Adds to dw and db, each null or of n elements.
  void (*layer_norm_vjp)(const T* x, const T* w, const T* mean, const T* rstd, const T* g, T* dx,
                         T* dw, T* db, std::size_t rows, std::size_t n);
  void (*bias_gelu)(T* y, const T* b, T* slope, std::size_t rows, std::size_t n);
  void (*multiply)(T* y, const T* x, std::size_t n);
  void (*add)(const T* a, const T* b, T* y, std::size_t n);
  void (*add_bias)(T* y, const T* b, std::size_t rows, std::size_t n);
  /// Sums `width` columns of rows that lie n apart.
  void (*sum_rows)(const T* g, T* db, std::size_t rows, std::size_t n, std::size_t width);

  /// Elements first, first + 1, ... of a matrix; `first` is a multiple of 4.
  void (*dropout)(const T* x, T* y, std::uint64_t matrix, std::uint64_t first, std::size_t n,
                  const DropoutRule<T>&);
  /// Elements of a row of `probs`, at least one for each query.
  std::size_t (*attention_row)(std::size_t T_q);
  /// Elements of `workspace` below, to which product_workspace come.
  std::size_t (*attention_workspace)(const HeadMatrices<T>&, const DropoutRule<T>&);
  void (*attention)(const HeadMatrices<T>&, const T* bias, const DropoutRule<T>&,
                    std::uint64_t matrix, T* o, std::size_t o_ld, T* probs, T* workspace);
  void (*attention_vjp)(const HeadMatrices<T>&, const T* probs, const DropoutRule<T>&,
                        std::uint64_t matrix, const T* go, std::size_t go_ld, T* dq,
                        std::size_t dq_ld, T* dk, std::size_t dk_ld, T* dv, std::size_t dv_ld,
                        T* dscores, T* workspace);

  /// `labels` or `targets`, the other null.
  void (*cross_entropy)(const T* x, const std::size_t* labels, const T* targets, double smoothing,
                        T* loss, T* dx, std::size_t rows, std::size_t n);
  void (*adamw)(T* w, const T* g, T* m, T* v, std::size_t n, const AdamWNumbers<T>&);
  double (*sum_of_squares)(const T* x, std::size_t n);
};

struct Tables {
  Table<float> of_float;
  Table<double> of_double;
};

/// Steps of a sum of floats that stays in registers, of k in all: up to 384, or two halves, or 384
/// again and again. As oneDNN has it: its kernels for AVX-512 then give the bits of ours.
constexpr std::size_t most_steps = 384;
[[maybe_unused]] static constexpr std::size_t block_of_steps(std::size_t k) {
  return k > most_steps && k < 2 * most_steps ? (k + 1) / 2 : most_steps;
}

/// The instruction set in use: "AVX-512", "AVX2", "SSE2", or "portable". VITRUVIAN_SIMD=portable
/// (or sse2, avx2, avx512) in the environment lowers it, for tests.
std::string simd_description();

/// The instruction sets a build may hold; the first is what its compiler produces unasked.
enum class Isa { baseline, avx2, avx512 };
bool isa_available(Isa isa);
/// The best available one, unless VITRUVIAN_SIMD or `set_isa` lowers it.
Isa isa();
void set_isa(Isa isa);

/// The bodies in use.
template <class T>
const Table<T>& table();
template <>
const Table<float>& table();
template <>
const Table<double>& table();

/// Who multiplies factors rounded to bfloat16: the readable twin, which rounds, then multiplies in
/// float32, or the kernel of an instruction.
enum class Bfloat16Body { twin, avx512, amx };
/// Whether this build and this processor have it; the first time, asks the system for AMX.
bool bfloat16_available(Bfloat16Body body);
/// The best available one; the twin where VITRUVIAN_SIMD or `set_isa` takes AVX-512 away.
Bfloat16Body bfloat16_body();
/// The product of factors rounded to bfloat16, on the calling thread.
void bfloat16_product(const Gemm<float>& g, Bfloat16Body body = bfloat16_body());
/// The nearest bfloat16, as a float.
inline float round_to_bfloat16(float x) {
  table<float>().round_to_bfloat16(&x, &x, 1);
  return x;
}
/// The words of B's panels of that body which stay as they are from product to product; 0 if it has
/// none to keep.
std::size_t bfloat16_panels(std::size_t n, std::size_t k);

/// Whether the processor's matrix unit (AMX) multiplies float32s: it is there, and VITRUVIAN_SIMD
/// or `set_isa` does not take AVX-512 away.
bool matrix_unit_available();
/// The product of float32s by the matrix unit, each as the sum of three bfloat16s, on the calling
/// thread (gemm.hpp says how exact it is).
void matrix_unit_product(const Gemm<float>& g);
/// `Table::product` on the calling thread, with scratch memory of its own.
template <class T>
void packed_product(const Gemm<T>& g);

// The kernels, in builds for x86; `workspace` holds as many words as the constant or function says.
bool has_avx512_bf16();
void bfloat16_product_avx512(const Gemm<float>& g, std::uint32_t* workspace);
constexpr std::size_t bfloat16_avx512_workspace = (256 + 512) * most_steps / 2 + 512;
std::size_t bfloat16_avx512_panels(std::size_t n, std::size_t k);  // words
bool has_amx();
/// Words for its panels, whose elements are of so many pieces: 1 if they are rounded, or 3.
std::size_t amx_workspace(const Gemm<float>& g, std::size_t pieces);
void bfloat16_product_amx(const Gemm<float>& g, std::uint32_t* workspace);
/// Blocks of factors whose pieces or sums may be beyond float32 are multiplied by `otherwise`.
void float32_product_amx(const Gemm<float>& g, std::uint32_t* workspace,
                         void (*otherwise)(const Gemm<float>&));

// The bodies of the matrix product that are libraries. Sizes are at least 1; the product runs on
// the calling thread.
bool has_onednn();
void onednn_product(const Gemm<float>& g);
std::string onednn_description();

bool has_cblas();
void cblas_product(const Gemm<float>& g);
void cblas_product(const Gemm<double>& g);
std::string cblas_description();

}  // namespace vitruvian::kernels
