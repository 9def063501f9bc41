#include "lessons/telling/lesson.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "The matrix product",
    .equation = "dA = g Bᵀ,  dB = Aᵀ g",
    .minutes = 10,
    .teaches = {"matmul"},
    .breaks = {{"forgotten-transpose", "a product goes back to A with B in place of its transpose",
                "row t of g must meet the rows of B, and it met the columns. The shapes are "
                "square, so nothing else complained."},
               {"lost-cotangent", "the product sends nothing to its second factor",
                "that factor is a weight: it would never learn anything.",
                "matmul:drop_cotangent:1"}},
    .play = {"Which of the three products costs most, and what does doubling one length do?",
             {{"rows of A", 1, 64, 12, 1},
              {"E, what is summed over", 1, 64, 16, 1},
              {"columns of B", 1, 64, 8, 1}}},
};

constexpr std::size_t B = 2, h = 3, T = 4, S = 5, E = 6;

// [region loops]
// C (T, S) = A (T, E) B (E, S). Returns how many multiply-adds it took.
std::size_t product(const Array& A, const Array& B_, Array& C) {
  std::size_t steps = 0;
  for (std::size_t t = 0; t < A.shape()[0]; ++t) {
    for (std::size_t s = 0; s < B_.shape()[1]; ++s) {
      C(t, s) = 0;
      for (std::size_t e = 0; e < A.shape()[1]; ++e, ++steps) {
        C(t, s) += A(t, e) * B_(e, s);
      }
    }
  }
  return steps;
}

// [region by hand]
Tensor back_to_A(const Tensor& g, const Tensor& B_) { return matmul(g, transpose(B_)); }
Tensor back_to_B(const Tensor& A, const Tensor& g) { return matmul(transpose(A), g); }

// [region mistake]
// A B, but what lies on the tape is A Bᵀ: what comes back to A is g B.
Tensor without_transpose(const Tensor& A, const Tensor& B_) {
  const Tensor wrong = matmul(A, transpose(B_));
  return wrong + (matmul(A, B_) - wrong).detach();
}

// [end]

// A (M, K) B (K, N): shapes and work, there and back, by the library.
void play(Narrator& say, const std::vector<double>& at) {
  const auto m = std::size_t(at[0]), k = std::size_t(at[1]), n = std::size_t(at[2]);
  const Tensor left(random_normal({m, k}, 1), true), right(random_normal({k, n}, 2), true);
  const Tensor C = matmul(left, right);
  const std::vector<Array> d = grad(C, {left, right}, random_normal({m, n}, 3));
  say.diagram("Forwards (full lines) and back (dashed).",
              {.boxes = {{"A", {to_string(left.shape())}, 0, 0},
                         {"B", {to_string(right.shape())}, 0, 1},
                         {"C", {to_string(C.shape())}, 1, 0}},
               .arrows = {{"A", "C", "", "g Bᵀ " + to_string(d[0].shape())},
                          {"B", "C", "", "Aᵀ g " + to_string(d[1].shape())}}});
  say.bars("Multiplications and additions.", {{"C = A B", double(2 * m * k * n)},
                                              {"dA = g Bᵀ", double(2 * m * n * k)},
                                              {"dB = Aᵀ g", double(2 * k * m * n)}});
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text("Nearly all of a ViT's arithmetic is matrix products: the linear layers, and inside "
           "attention q kᵀ and the probabilities times v. What comes back through "
           "one, and what "
           "does it cost?");

  say.heading("The product");
  say.symbols({{"B", B, "images in a batch; in the equation a matrix"},
               {"h", h},
               {"T", T, "rows of A"},
               {"S", S, "columns of B"},
               {"E", E, "what is summed over"}});
  say.equation(R"(C_{t,s} = \sum_{e} A_{t,e} B_{e,s})", "C[t,s] = Σₑ A[t,e] B[e,s]");
  say.in_words("row t of A meets column s of B: multiply element by element, add up. The length "
               "that is summed over must be the same in both, and it disappears.");
  say.code("loops");
  const Tensor A(random_normal({T, E}, say.seed()), true);
  const Tensor W(random_normal({E, S}, say.seed() + 1), true);
  const Tensor C = matmul(A, W);
  shapes(say, "A (T, E)", A, "B (E, S)", W, "C (T, S)", C);
  Array by_loops = empty({T, S});
  const std::size_t forward = product(A.value(), W.value(), by_loops);
  check_equal(say, "C", "library", C, "loops", by_loops);

  say.heading("The derivative by hand");
  say.text("A[t,e] was used once for each column s, with weight B[e,s]. So what comes back to it "
           "is Σ_s g[t,s] B[e,s]: row t of g meets row e of B. Rows with rows means that B is "
           "transposed. The same argument for B[e,s], which was used once for each row t:");
  say.equation(R"(dA = g B^\top, \qquad dB = A^\top g)", "dA = g Bᵀ,    dB = Aᵀ g");
  say.in_words(
      "to go back to one factor, multiply by the transpose of the other, on the same side. The "
      "shapes leave no other way: (T, S) must become (T, E), and only Bᵀ, (S, E), does that.");
  say.diagram("Three products, each along the axis that its two factors share.",
              {.boxes = {{"A", {fmt::format("(T, E) = ({}, {})", T, E)}, 0, 0},
                         {"B", {fmt::format("(E, S) = ({}, {})", E, S)}, 0, 1},
                         {"C = A B", {fmt::format("(T, S) = ({}, {})", T, S)}, 1, 0}},
               .arrows = {{"A", "C = A B", "", "g Bᵀ"}, {"B", "C = A B", "", "Aᵀ g"}}});
  say.code("by hand");
  const Array g = random_normal({T, S}, say.seed() + 2);
  const std::vector<Array> tape = grad(C, {A, W}, g, true);
  check_equal(say, "dA", "by hand", back_to_A(g, W.detach()), "tape", tape[0]);
  check_equal(say, "dB", "by hand", back_to_B(A.detach(), g), "tape", tape[1]);
  check_gradients(say, [&] { return matmul(A, W); }, {{"A", A}, {"B", W}});

  say.heading("What it costs");
  Array room = empty({T, E});
  Array room_too = empty({E, S});
  const std::size_t back =
      product(g, transpose(W).value(), room) + product(transpose(A).value(), g, room_too);
  say.check("multiply-adds, forward", {"counted", double(forward)}, {"T S E", T * S * E}, 0);
  say.check("multiply-adds, backward", {"counted", double(back)}, {"2 T S E", 2 * T * S * E}, 0);
  say.text("One product forwards, two of the same size backwards. Hence the rule of thumb that a "
           "training step costs three forward passes.");
  say.text("The loops above are right and slow. The library's product does the same multiply-adds "
           "in another order: it cuts the matrices into blocks that fit into the cache, and keeps "
           "a small block of C in registers. Sums in another order round differently, in the last "
           "digit; that is why our checks name the worst error, and do not say \"equal\".");

  say.heading("Many at once");
  say.text("Attention multiplies one small matrix for each image and each head. Leading axes are "
           "batches: they stay where they are, and they broadcast.");
  const Tensor q(random_normal({B, h, T, E}, say.seed() + 3), true);
  const Tensor k(random_normal({B, h, S, E}, say.seed() + 4), true);
  const Tensor shared(random_normal({E, S}, say.seed() + 5), true);
  const Tensor scores = matmul(q, transpose(k));
  shapes(say, "q (B, h, T, E)", q, "k (B, h, S, E)", k, "q k^T (B, h, T, S)", scores);
  Array one = empty({T, S});
  product(select(select(q, 0, 1), 0, 2).value(), transpose(select(select(k, 0, 1), 0, 2)).value(),
          one);
  check_equal(say, "image 1, head 2 of q k^T", "library", select(select(scores, 0, 1), 0, 2),
              "loops", one);
  check_gradients(say, [&] { return matmul(q, shared); },
                  {{"q (B, h, T, E)", q}, {"one matrix (E, S) for all", shared}});
  say.text("The matrix that all of them share was stretched over the batch, so its gradient is a "
           "sum over the batch: lesson #broadcasting again.");

  say.heading("What goes wrong");
  say.sources_disagree("", "A transpose forgotten on the way back. With lengths that differ it "
                           "cannot run; with square matrices it does. Below, A and B are (4, 4).");
  say.code("mistake");
  const Tensor A4(random_normal({4, 4}, say.seed() + 6), true);
  const Tensor B4(random_normal({4, 4}, say.seed() + 7), true);
  const Array g4 = random_normal({4, 4}, say.seed() + 8);
  const auto dA = [&](const auto& product) { return grad(product(A4, B4), {A4}, g4)[0]; };
  const auto times = say.broken("forgotten-transpose") ? without_transpose : matmul;
  const Array wrong = dA(without_transpose), ours = dA(times);
  say.table({"row 0 of", "its numbers"},
            {{"g Bᵀ", entries_text(select(back_to_A(g4, B4.detach()), 0, 0).value())},
             {"dA, the tape's", entries_text(select(Tensor(ours), 0, 0).value())},
             {"dA, without the transpose", entries_text(select(Tensor(wrong), 0, 0).value())}});
  check_equal(say, "dA for square matrices", "by hand", back_to_A(g4, B4.detach()), "tape", ours);
  check_differs(say, "dA for square matrices", "without the transpose", wrong, "by hand",
                back_to_A(g4, B4.detach()));
  check_gradients(say, [&] { return times(A4, B4); }, {{"A", A4}});

  say.pytorch("`torch.matmul`, or `a @ b`, with the same rules for batches. "
              "`torch.einsum(\"bhte,bhse->bhts\", q, k)` writes the sum of the equation out.");
  say.take_along(
      "A product is linear in A. Use ⟨g, A B⟩ = ⟨dA, A⟩ from lesson #broadcasting to find dA "
      "without writing a single index.",
      "⟨g, A B⟩ is the trace of gᵀ A B, and a trace lets its factors go round: that of (B gᵀ) A, "
      "which is ⟨g Bᵀ, A⟩. So dA = g Bᵀ.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
