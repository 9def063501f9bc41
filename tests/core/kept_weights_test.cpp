// Panels that are kept: the bits of products that pack anew, whoever multiplies; and packed anew as
// soon as the weight has changed.
#include "vitruvian/core/kept_weights.hpp"

#include "kernel_cases.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/kernels/kept_panels.hpp"
#include "vitruvian/core/kernels/table.hpp"
#include "vitruvian/core/ops.hpp"

using namespace vitruvian;
using kernel_cases::Backend;
using kernel_cases::Product;
using kernel_cases::same_bits;
using kernels::Gemm;
using kernels::GemmBackend;
using kernels::GemmPrecision;
using kernels::KeptPanels;

namespace {

constexpr std::size_t plenty = 1U << 26U;

template <class T>
std::vector<T> product(const Product<T>& one, KeptPanels* kept) {
  std::vector<T> c = one.c;
  Gemm<T> p = one.into(c);
  p.kept = kept;
  kernels::gemm(p);
  return c;
}

// One row, less than a panel, several blocks of columns and of steps, sums cut into lanes.
constexpr std::array<std::array<std::size_t, 3>, 6> sizes = {
    {{1, 70, 5}, {7, 33, 65}, {197, 96, 385}, {40, 1100, 70}, {30, 600, 800}, {20, 64, 2080}}};

constexpr std::size_t all = 1U << 20U;  // columns

template <class T>
void check_every_size(std::size_t keeps_below) {
  for (const auto& size : sizes) {
    const std::size_t m = size[0], n = size[1], k = size[2];
    for (int variant = 0; variant < 4; ++variant) {
      INFO("n ", n, ", k ", k, ", variant ", variant);
      Product<T> one{m, n, k, (variant & 1) != 0, (variant & 2) != 0};
      const std::vector<T> expected = product(one, nullptr);
      KeptPanels kept(plenty);
      CHECK(same_bits(product(one, &kept), expected));
      CHECK(same_bits(product(one, &kept), expected));
      // Nobody may change B. Who does sees that nobody read it again.
      for (T& x : one.b) x += 1;
      CHECK(same_bits(product(one, &kept), n < keeps_below ? expected : product(one, nullptr)));
      KeptPanels no_room(0);
      CHECK(same_bits(product(one, &no_room), product(one, nullptr)));
      for (T& x : one.b) x += 1;
      CHECK(same_bits(product(one, &no_room), product(one, nullptr)));
    }
  }
}

}  // namespace

TEST_CASE_TEMPLATE("kept panels give the bits of those packed anew", T, float, double) {
  const Backend multiplies(GemmBackend::packed);
  kernel_cases::for_each_isa([] { check_every_size<T>(all); });
  if (kernels::gemm_backend_available(GemmBackend::onednn)) {
    const Backend library(GemmBackend::onednn);
    check_every_size<T>(sizeof(T) == sizeof(double) ? all
                                                    : 64);  // doubles and few columns are ours
  }
}

TEST_CASE("kept panels of bfloat16: of the instruction; the twin and the matrix unit keep none") {
  const kernels::GemmPrecisionScope scope(GemmPrecision::bfloat16);
  kernel_cases::for_each_isa([] {
    check_every_size<float>(kernels::bfloat16_body() == kernels::Bfloat16Body::avx512 ? all : 0);
  });
}

TEST_CASE("the faster of two products, one of which keeps panels: the same bits") {
  const Backend multiplies(GemmBackend::fastest);
  kernel_cases::for_each_isa([] {  // without AVX-512 there is no matrix unit, which keeps none
    for (const auto& [m, n, k] : sizes) {
      const Product<float> one{m, n, k, false, true};
      KeptPanels kept(plenty);
      const std::vector<float> expected = product(one, nullptr);
      for (int i = 0; i < 3; ++i) CHECK(same_bits(product(one, &kept), expected));
    }
  });
}

TEST_CASE("two precisions and two instruction sets keep panels of their own") {
  const Backend multiplies(GemmBackend::packed);
  const Product<float> one{30, 600, 800, false, true};
  KeptPanels kept(plenty);
  for (int round = 0; round < 2; ++round) {
    for (const GemmPrecision precision : {GemmPrecision::float32, GemmPrecision::bfloat16}) {
      const kernels::GemmPrecisionScope scope(precision);
      kernel_cases::for_each_isa(
          [&] { CHECK(same_bits(product(one, &kept), product(one, nullptr))); });
    }
  }
}

TEST_CASE("kept panels serve several threads at once") {
  const Backend multiplies(GemmBackend::packed);
  set_threads(4);
  const Product<float> one{64, 96, 400, false, true};
  std::vector<float> expected;
  parallel_for(2, 1, [&](std::size_t begin, std::size_t) {
    if (begin == 0) expected = product(one, nullptr);  // whole, as the loop below has it
  });
  for (int round = 0; round < 20; ++round) {
    KeptPanels kept(plenty);
    parallel_for(8, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        CHECK(same_bits(product(one, &kept), expected));
      }
    });
  }
}

TEST_CASE("a weight keeps its panels while its version lasts, and its place in memory") {
  KeptWeights kept;
  auto weight = std::make_shared<int>();
  const std::weak_ptr<int> alive = weight;
  KeptPanels* const panels = kept.of(weight, 1, 64);
  CHECK(panels != nullptr);
  CHECK(kept.of(weight, 1, 64) == panels);
  const auto other = std::make_shared<int>();
  CHECK(kept.of(other, 1, 64) != panels);
  weight.reset();
  CHECK(!alive.expired());
}

TEST_CASE("KeptWeights reaches the workers, ends with itself, and may be off") {
  CHECK(Context::here().kept == nullptr);
  {
    KeptWeights kept;
    CHECK(Context::here().kept == &kept);
    parallel_for(4, 1, [&](std::size_t, std::size_t) { CHECK(Context::here().kept == &kept); });
    const KeptWeights off(false);
    CHECK(Context::here().kept == nullptr);
  }
  CHECK(Context::here().kept == nullptr);
}

TEST_CASE("linear under KeptWeights: the same bits, and those of a weight that was changed") {
  const NoGrad no_grad;
  const Tensor x(random_normal({64, 400}, 1));
  const Tensor weight(random_normal({96, 400}, 2));
  const auto without = [&](const Tensor& w) {
    const KeptWeights off(false);
    return linear(x, w).value();
  };
  const KeptWeights kept;
  CHECK(linear(x, weight).value() == without(weight));
  CHECK(linear(x, weight).value() == without(weight));
  weight.mutable_value() = random_normal({96, 400}, 3);
  CHECK(linear(x, weight).value() == without(weight));
  // Behind the guard's back: whoever keeps does not see it.
  const Array before = without(weight);
  weight.node().value.fill(1);
  const GemmBackend who = kernels::gemm_backend();
  const bool ours =
      who == GemmBackend::packed || (who != GemmBackend::cblas && sizeof(real) == sizeof(double));
  const bool kept_it = linear(x, weight).value() == before;
  if (ours) CHECK(kept_it);
  // While it is being changed nothing of it is kept.
  const Tensor changing(random_normal({96, 400}, 4));
  {
    const WriteGuard value = changing.mutable_value();
    CHECK(linear(x, changing).value() == without(changing));
    value->fill(2);
    CHECK(linear(x, changing).value() == without(changing));
  }
  // A result is no weight that stays, and nothing of it does.
  std::optional<Tensor> result = neg(Tensor(random_normal({96, 400}, 5)));
  const std::weak_ptr<const Node> alive = result->node_ptr();
  CHECK(linear(x, *result).value() == without(*result));
  result.reset();
  CHECK(alive.expired());
}
