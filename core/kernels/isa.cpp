// Compiled once for each instruction set (see CMakeLists.txt) into the namespace VITRUVIAN_ISA.
// Everything here has internal linkage and no library function is instantiated: the linker keeps
// one copy of an inline function, and it might be the one for a processor that is not there.
#include "vitruvian/core/kernels/table.hpp"

#include <utility>  // types only: std::index_sequence

#if defined(__AVX512F__)
#define VITRUVIAN_VECTOR_BYTES 64
#define VITRUVIAN_TILE_ROWS 13
#elif defined(__AVX__)
#define VITRUVIAN_VECTOR_BYTES 32
#define VITRUVIAN_TILE_ROWS 6
#else
#define VITRUVIAN_VECTOR_BYTES 16
#define VITRUVIAN_TILE_ROWS 6
#endif

namespace vitruvian::kernels::VITRUVIAN_ISA {
namespace {

// Each needs those before it.
// clang-format off
#include "vitruvian/core/kernels/math.inl"
#include "vitruvian/core/kernels/product.inl"
#include "vitruvian/core/kernels/rows.inl"
#include "vitruvian/core/kernels/attention.inl"
// clang-format on

template <class T>
constexpr Table<T> bodies = {
    .name = VITRUVIAN_ISA_NAME,
    .product = product<T>,
    .product_workspace = product_workspace<T>,
    .panels = panels<T>,
    .transpose = transpose<T>,
    .exp = map<T, exponential<T>>,
    .log = map<T, logarithm<T>>,
    .erf = map<T, error_function<T>>,
    .tanh = map<T, hyperbolic_tangent<T>>,
    .gelu = map<T, gelu_of<T>>,
    .gelu_tanh = map<T, gelu_tanh_of<T>>,
    .round_to_bfloat16 = rounding<T>,
    .gelu_vjp = map_vjp<T, gelu_slope<T>>,
    .gelu_tanh_vjp = map_vjp<T, gelu_tanh_slope<T>>,
    .softmax = softmax<T>,
    .log_softmax = log_softmax<T>,
    .softmax_vjp = softmax_vjp<T>,
    .log_softmax_vjp = log_softmax_vjp<T>,
    .layer_norm = layer_norm<T>,
    .layer_norm_vjp = layer_norm_vjp<T>,
    .bias_gelu = bias_gelu<T>,
    .multiply = multiply<T>,
    .add = add<T>,
    .add_bias = add_bias<T>,
    .sum_rows = sum_rows<T>,
    .dropout = dropout<T>,
    .attention_row = attention_row<T>,
    .attention_workspace = attention_workspace<T>,
    .attention = attention<T>,
    .attention_vjp = attention_vjp<T>,
    .cross_entropy = cross_entropy<T>,
    .adamw = adamw<T>,
    .sum_of_squares = sum_of_squares<T>,
};

}  // namespace

extern const Tables tables;
const Tables tables = {bodies<float>, bodies<double>};

}  // namespace vitruvian::kernels::VITRUVIAN_ISA
