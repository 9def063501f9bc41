// The product of factors rounded to bfloat16: who computes it, and its readable twin. The product
// of float32s that are sums of bfloat16s.
#include "vitruvian/core/kernels/table.hpp"
#include "vitruvian/core/kernels/workspace.hpp"

namespace vitruvian::kernels {
namespace {

struct ForRoundedA;
struct ForRoundedB;
struct ForPairs;

// The rows x columns of a matrix, rounded, one row after the other.
template <class Tag>
const float* rounded(const float* x, std::size_t ld, std::size_t rows, std::size_t columns) {
  float* const to = workspace<float, Tag>(rows * columns);
  const auto body = table<float>().round_to_bfloat16;
  for (std::size_t i = 0; i < rows; ++i) body(x + i * ld, to + i * columns, columns);
  return to;
}

void twin(const Gemm<float>& g) {
  Gemm<float> of_rounded = g;
  of_rounded.lda = g.trans_a ? g.m : g.k;
  of_rounded.a = rounded<ForRoundedA>(g.a, g.lda, g.trans_a ? g.k : g.m, of_rounded.lda);
  of_rounded.ldb = g.trans_b ? g.k : g.n;
  of_rounded.b = rounded<ForRoundedB>(g.b, g.ldb, g.trans_b ? g.n : g.k, of_rounded.ldb);
  packed_product(of_rounded);
}

}  // namespace

#if VITRUVIAN_ALL_ISAS

bool bfloat16_available(Bfloat16Body body) {
  static const bool avx512 = has_avx512_bf16();
  static const bool amx = avx512 && has_amx();
  return body == Bfloat16Body::amx ? amx : body == Bfloat16Body::twin || avx512;
}

void bfloat16_product(const Gemm<float>& g, Bfloat16Body body) {
  if (body == Bfloat16Body::twin) return twin(g);
  if (body == Bfloat16Body::amx) {
    return bfloat16_product_amx(g, workspace<std::uint32_t, ForPairs>(amx_workspace(g, 1)));
  }
  bfloat16_product_avx512(g, workspace<std::uint32_t, ForPairs>(bfloat16_avx512_workspace));
}

std::size_t bfloat16_panels(std::size_t n, std::size_t k) {
  return bfloat16_body() == Bfloat16Body::avx512 ? bfloat16_avx512_panels(n, k) : 0;
}

void matrix_unit_product(const Gemm<float>& g) {
  float32_product_amx(g, workspace<std::uint32_t, ForPairs>(amx_workspace(g, 3)), packed_product);
}

#else

void matrix_unit_product(const Gemm<float>& g) { packed_product(g); }
bool bfloat16_available(Bfloat16Body body) { return body == Bfloat16Body::twin; }
void bfloat16_product(const Gemm<float>& g, Bfloat16Body) { twin(g); }
std::size_t bfloat16_panels(std::size_t, std::size_t) { return 0; }

#endif

Bfloat16Body bfloat16_body() {
  if (isa() != Isa::avx512) return Bfloat16Body::twin;
  if (bfloat16_available(Bfloat16Body::amx)) return Bfloat16Body::amx;
  return bfloat16_available(Bfloat16Body::avx512) ? Bfloat16Body::avx512 : Bfloat16Body::twin;
}

bool matrix_unit_available() {
  return isa() == Isa::avx512 && bfloat16_available(Bfloat16Body::amx);
}

}  // namespace vitruvian::kernels
