// Attention in its three layouts against its readable twins.

#include "tests/core/twins.hpp"
#include "vitruvian/core/composed.hpp"

using namespace vitruvian;

namespace {

using Shapes = std::vector<Shape>;
using Inputs = std::vector<Tensor>;

// Of each row the first key, and some 60 % of the others.
Array random_mask(const Shape& shape) {
  const Array draw = random_uniform(shape, 0, 1, 3);
  Array mask = empty(shape);
  for (std::size_t i = 0; i < mask.size(); ++i) {
    mask.data()[i] = i % shape.back() == 0 || draw.data()[i] > real(0.4) ? 1 : 0;
  }
  return mask;
}

// The options that a row of attention asks for: a mask unless its shape is empty, and dropout.
class Asked {
 public:
  Asked(const Shape& mask, double p)
      : masked_(!mask.empty()), mask_(random_mask(masked_ ? mask : Shape{1})), p_(p) {}
  AttentionOptions operator()(const Tensor& bias) const {
    return {.mask = masked_ ? Tensor(mask_) : Tensor(), .bias = bias, .dropout = p_, .rng = &rng_};
  }

 private:
  bool masked_;
  Array mask_;
  double p_;
  Rng rng_{22};
};

}  // namespace

TEST_CASE("attention, with and without mask, bias and dropout") {
  struct Row {
    Shapes shapes;  // q, k, v, perhaps a bias
    Shape mask;     // empty: none
    double p;
  };
  for (const Row& row :
       {Row{{{3, 4}, {3, 4}, {3, 4}}, {}, 0},
        {{{2, 3, 4}, {2, 5, 4}, {2, 5, 3}}, {}, 0},
        {{{2, 3, 4, 2}, {2, 3, 5, 2}, {2, 3, 5, 6}}, {4, 5}, 0},
        {{{2, 3, 4, 2}, {2, 3, 5, 2}, {2, 3, 5, 6}}, {2, 1, 1, 5}, 0},
        {{{2, 3, 4, 2}, {2, 3, 5, 2}, {2, 3, 5, 6}}, {1, 3, 4, 5}, 0.3},
        {{{2, 3, 4, 2}, {2, 3, 5, 2}, {2, 3, 5, 6}, {4, 5}}, {}, 0},
        {{{2, 3, 4, 2}, {2, 3, 5, 2}, {2, 3, 5, 6}, {3, 4, 5}}, {}, 0},
        {{{2, 3, 4, 2}, {2, 3, 5, 2}, {2, 3, 5, 6}, {2, 1, 4, 5}}, {3, 1, 5}, 0},
        {{{2, 3, 4, 2}, {2, 3, 5, 2}, {2, 3, 5, 6}, {2, 3, 4, 5}}, {2, 3, 4, 5}, 0.5},
        {{{2, 3, 4, 2}, {2, 3, 5, 2}, {2, 3, 5, 6}, {3, 1, 5}}, {}, 0.1},
        {{{2, 2, 3, 4, 2}, {2, 2, 3, 4, 2}, {2, 2, 3, 4, 2}, {2, 1, 4, 4}}, {}, 0},
        {{{2, 2, 3, 4, 2}, {2, 2, 3, 4, 2}, {2, 2, 3, 4, 2}, {2, 1, 1, 4, 4}},
         {1, 2, 3, 1, 4},
         0.2},
        {{{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}}, {}, 0},
        {{{1, 2, 1, 3}, {1, 2, 1, 3}, {1, 2, 1, 3}}, {1}, 0},
        {{{0, 2, 3, 4}, {0, 2, 3, 4}, {0, 2, 3, 4}}, {}, 0},
        {{{2, 0, 4}, {2, 3, 4}, {2, 3, 4}}, {}, 0},
        {{{2, 4, 65, 32}, {2, 4, 65, 32}, {2, 4, 65, 32}}, {}, 0},
        {{{3, 2, 50, 17}, {3, 2, 33, 17}, {3, 2, 33, 9}, {50, 33}}, {50, 33}, 0.1}}) {
    const Asked asked(row.mask, row.p);
    const auto options = [&](const Inputs& x) { return asked(given(x, 3)); };
    CAPTURE(to_string(row.mask));
    check_twins(
        row.shapes, [&](const Inputs& x) { return attention(x[0], x[1], x[2], options(x)); },
        [&](const Inputs& x) { return composed::attention(x[0], x[1], x[2], options(x)).output; });
  }
}

TEST_CASE("self_attention reads heads where a linear layer left them") {
  struct Row {
    Shapes shapes;  // qkv, perhaps a bias
    std::size_t heads;
    Shape mask;
    double p;
  };
  for (const Row& row : {Row{{{2, 3, 12}}, 2, {}, 0},
                         {{{2, 3, 12}}, 1, {}, 0},
                         {{{2, 3, 12}}, 4, {3, 3}, 0},
                         {{{2, 5, 12}}, 2, {2, 1, 1, 5}, 0.3},
                         {{{2, 5, 12}, {2, 5, 5}}, 2, {}, 0},
                         {{{2, 5, 12}, {2, 1, 5, 5}}, 2, {5, 5}, 0.2},
                         {{{2, 1, 12}}, 2, {}, 0},
                         {{{1, 1, 3}}, 1, {}, 0},
                         {{{0, 4, 12}}, 2, {}, 0},
                         {{{3, 65, 96}}, 4, {}, 0.1},
                         {{{2, 17, 192}, {17, 17}}, 4, {}, 0}}) {
    const Asked asked(row.mask, row.p);
    const auto options = [&](const Inputs& x) { return asked(given(x, 1)); };
    check_twins(
        row.shapes, [&](const Inputs& x) { return self_attention(x[0], row.heads, options(x)); },
        [&](const Inputs& x) {
          return composed::self_attention(x[0], row.heads, options(x)).output;
        });
  }
}

TEST_CASE("multi_head_attention reads heads that lie side by side") {
  struct Row {
    Shapes shapes;  // q, k, v, perhaps a bias
    std::size_t heads;
    Shape mask;
    double p;
  };
  for (const Row& row : {Row{{{2, 3, 12}, {2, 3, 12}, {2, 3, 12}}, 2, {}, 0},
                         {{{2, 1, 12}, {2, 5, 12}, {2, 5, 8}}, 4, {}, 0},
                         {{{2, 4, 6}, {2, 3, 6}, {2, 3, 3}}, 3, {4, 3}, 0.3},
                         {{{2, 4, 6}, {2, 5, 6}, {2, 5, 6}, {2, 1, 5}}, 2, {2, 1, 1, 5}, 0.2},
                         {{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, 1, {}, 0},
                         {{{0, 1, 4}, {0, 3, 4}, {0, 3, 4}}, 2, {}, 0},
                         {{{3, 1, 128}, {3, 65, 128}, {3, 65, 128}}, 4, {}, 0},
                         {{{2, 17, 64}, {2, 17, 64}, {2, 17, 64}}, 4, {}, 0.1}}) {
    const Asked asked(row.mask, row.p);
    const auto options = [&](const Inputs& x) { return asked(given(x, 3)); };
    check_twins(
        row.shapes,
        [&](const Inputs& x) {
          return multi_head_attention(x[0], x[1], x[2], row.heads, options(x));
        },
        [&](const Inputs& x) {
          return composed::multi_head_attention(x[0], x[1], x[2], row.heads, options(x)).output;
        });
  }
}
