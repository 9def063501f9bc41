#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/ops/rows.hpp"
#include "vitruvian/core/ops/strided.hpp"

#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// A stack of matrices: the elements of an array, and the shape to see them under.
struct Matrices {
  const Array* array;
  Shape shape;  // (..., rows, columns)
  [[nodiscard]] std::size_t rows() const { return shape[shape.size() - 2]; }
  [[nodiscard]] std::size_t columns() const { return shape.back(); }
  [[nodiscard]] Shape batch() const { return {shape.begin(), shape.end() - 2}; }
};

// The shapes of `a` and `b` with at least two axes, and of their product with and without the axes
// that were added to vectors.
struct Plan {
  Shape a, b, full, result;
};

Plan plan(const Shape& a, const Shape& b) {
  if (a.empty() || b.empty()) {
    fail("matmul: {} and {}: a number has no rows or columns (use mul)", to_string(a),
         to_string(b));
  }
  Plan p{a, b, {}, {}};
  if (a.size() == 1) p.a.insert(p.a.begin(), 1);
  if (b.size() == 1) p.b.push_back(1);
  const std::size_t columns = p.a.back();
  const std::size_t rows = p.b[p.b.size() - 2];
  if (columns != rows) {
    fail("matmul: {} and {}: the inner sizes {} and {} differ", to_string(a), to_string(b), columns,
         rows);
  }
  const Shape batch = broadcast_shape("matmul (batch axes)", Shape(p.a.begin(), p.a.end() - 2),
                                      Shape(p.b.begin(), p.b.end() - 2));
  p.full = p.result = batch;
  p.full.push_back(p.a[p.a.size() - 2]);
  p.full.push_back(p.b.back());
  if (a.size() > 1) p.result.push_back(p.a[p.a.size() - 2]);
  if (b.size() > 1) p.result.push_back(p.b.back());
  return p;
}

// op(a) op(b), batch by batch, where op transposes or not. Batches broadcast.
Array product(Matrices a, bool trans_a, Matrices b, bool trans_b) {
  Shape shape = broadcast_shape("matmul", a.batch(), b.batch());
  std::size_t batch = count(shape);
  std::size_t rows = a.rows();
  shape.push_back(trans_a ? a.columns() : rows);
  shape.push_back(trans_b ? b.rows() : b.columns());
  Array c = empty(shape);

  // One matrix for the whole batch is not repeated: it is read again (a stride of 0), or, on the
  // right of untransposed matrices, meets all their rows in one product.
  if (count(b.batch()) == 1 && !trans_a) {
    rows *= batch;
    batch = 1;
  }
  const auto stride_in = [&](Matrices& x, Array& room) -> std::size_t {
    if (batch == 1 || count(x.batch()) == 1) return 0;
    if (x.batch() != Shape(shape.begin(), shape.end() - 2)) {
      Shape wider = shape;
      wider[shape.size() - 2] = x.rows();
      wider[shape.size() - 1] = x.columns();
      room = stretch(reshaped(*x.array, x.shape), wider);
      x.array = &room;
    }
    return x.rows() * x.columns();
  };
  Array room_a;
  Array room_b;
  const std::size_t stride_a = stride_in(a, room_a);
  const std::size_t stride_b = stride_in(b, room_b);
  multiply({a.array->data(), rows, a.columns(), trans_a},
           {b.array->data(), b.rows(), b.columns(), trans_b}, c.data(), 0, batch, stride_a,
           stride_b);
  return c;
}

}  // namespace

// y = a b                  da = unbroadcast(g b^T)   db = unbroadcast(a^T g)
Tensor matmul(const Tensor& a, const Tensor& b) {
  given("matmul", "a", a);
  given("matmul", "b", b);
  const Plan p = plan(a.shape(), b.shape());
  Array y = product({&a.value(), p.a}, false, {&b.value(), p.b}, false);
  return record("matmul", reshaped(std::move(y), p.result), {a, b},
                [p](const Node& n, const Array& g) {
                  Matrices va{&n.in(0), p.a};
                  const Matrices vb{&n.in(1), p.b};
                  Matrices vg{&g, p.full};
                  Cotangents gs(2);
                  const auto put = [&](std::size_t i, Array d, const Shape& shape) {
                    gs[i] = unbroadcast(std::move(d), shape);
                    if (gs[i]->shape() == shape) gs[i]->reshape(n.in_shape(i));
                  };
                  if (n.needs(0)) put(0, product(vg, false, vb, true), p.a);
                  if (count(vb.batch()) == 1) {  // a^T g sums over the batch by itself
                    va.shape = {count(va.batch()) * va.rows(), va.columns()};
                    vg.shape = {count(vg.batch()) * vg.rows(), vg.columns()};
                  }
                  if (n.needs(1)) {
                    Array db = product(va, true, vg, false);
                    if (count(vb.batch()) == 1) db.reshape(p.b);  // batch axes of length 1
                    put(1, std::move(db), p.b);
                  }
                  return gs;
                });
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
