#include "lessons/telling/lesson.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Notation, shapes, broadcasting",
    .equation = "(B, T, D) + (D) → (B, T, D)",
    .minutes = 8,
    .rows = "0-2 2-3 4-1",
    .teaches = {"add"},
};

// [region offset]
// Where the element (b, t, d) of an array (B, T, D) lies in memory: the last
// axis runs fastest.
using size = std::size_t;
size offset(size b, size t, size d, size T, size D) { return (b * T + t) * D + d; }

// [region by loops]
// z (B, T, D) + b (D): the one vector b is added to each of the B T tokens.
Array add_by_loops(const Array& z, const Array& b) {
  const std::size_t B = z.shape()[0], T = z.shape()[1], D = z.shape()[2];
  Array y = empty({B, T, D});
  for (std::size_t i = 0; i < B; ++i) {
    for (std::size_t t = 0; t < T; ++t) {
      for (std::size_t d = 0; d < D; ++d) y(i, t, d) = z(i, t, d) + b(d);
    }
  }
  return y;
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text(
      "A Vision Transformer, or ViT, is a handful of equations about arrays. They stand in a "
      "paper of 2020, which the lessons call the paper: \"An Image is Worth 16x16 Words\" (arXiv "
      "2010.11929). Before we meet them we "
      "settle three things: what their letters stand for, how an array lies in memory, and "
      "what it means to add two arrays whose shapes are not the same. At the end of the way "
      "stands a ViT that reads handwritten digits, every line of which you know.");
  say.text("Beside the paper we read five sources: notes on a simplified model, lecture slides, a "
           "notebook, an annotated code and a blog post. Where they disagree, with the paper or "
           "with each other, the lesson runs both. The blog post asks its readers to know "
           "attention and the Transformer, then goes through "
           "the model, its training, its results and what they mean, and code. Here nothing is "
           "asked but C++ and derivatives: parts I and II make the tools, III the model "
           "(attention is lesson #self_attention, the Transformer's block #block), IV trains it, V "
           "looks inside. The code is everywhere.");

  say.heading("The letters");
  say.text(
      "Nearly all are the paper's (its k heads are h here; T and M are ours), and they mean the "
      "same in every lesson and in every file of this project, unless a lesson gives one of "
      "them to a matrix or a quantity of its own. Their "
      "values here are those of ViT-Base, the smallest of the three in the "
      "paper's Table 1.");
  say.symbols({{"B", 2, "images in a batch"},
               {"C", 3, "channels of an image"},
               {"H", 224, "height of an image, in pixels"},
               {"W", 224, "width of an image"},
               {"P", 16, "side of a square patch"},
               {"N", 196, "patches of an image"},
               {"T", 197, "tokens: the patches and one class token"},
               {"D", 768, "width: how many numbers a token has"},
               {"h", 12, "attention heads"},
               {"D_h", 64, "width of one head"},
               {"M", 3072, "hidden width of the MLP"},
               {"L", 12, "depth: encoder blocks"},
               {"K", 1000, "classes"}});
  say.equation(R"(N = \frac{H W}{P^2}, \qquad T = N + 1, \qquad D_h = \frac{D}{h})",
               "N = H W / P²,   T = N + 1,   D_h = D / h");
  say.in_words("an image is cut into squares, each square becomes one token, and one more token is "
               "added that belongs to no square. The heads share the width between them.");

  const Tensor images = zeros({2, 3, 224, 224});
  const Tensor patches = unfold(images, {16, 16, 16, 16});
  shapes(say, "images (B, C, H, W)", images, "patches (B, N, C P^2)", patches);
  say.text("A shape is written twice: in letters, and in numbers. Whenever a lesson prints such a "
           "line, it has compared the two, and a line that does not hold is a failed check.");
  say.sources_disagree(
      "B 4",
      "The notes call the number of tokens N, and the number of patches N′; the notebook writes N "
      "where it means N + 1. We keep the paper's way: N patches, T = N + 1 tokens.");
  say.sources_disagree("B 17",
                       "The slides write (14, 14, 768) for what is (768, 14, 14) in their code, "
                       "and an image as \"224 x 244 x 3\". Here images are (C, H, W), always.");
  say.sources_disagree("B 27",
                       "The notebook uses H for the height, for the rows of the patch grid and for "
                       "the heads. Here H is a height in pixels; the heads are a small h.");

  say.heading("How an array lies in memory");
  say.text("An array is one row of numbers and a shape that says how to count through it. We count "
           "as C does: the last index runs fastest.");
  say.code("offset");
  const Array z = random_normal({2, 5, 4}, say.seed());
  say.check("z (2, 5, 4): element (1, 3, 2), by its offset and by its indices",
            {"memory", z.data()[offset(1, 3, 2, 5, 4)]}, {"indices", z(1, 3, 2)}, 0);
  say.text("So a token is D neighbours in memory, and a reshape that keeps the order moves "
           "nothing: (2, 5, 4) and (10, 4) are the same numbers in the same places.");

  say.heading("Broadcasting");
  say.equation(R"(y_{b,t,d} = z_{b,t,d} + b_d)", "y[b,t,d] = z[b,t,d] + b[d]");
  say.in_words(
      "line the shapes up at their last axis. Two lengths fit when they are equal or one of them "
      "is 1; an axis that is missing counts as 1. What has length 1 is used again and again.");
  say.code("by loops");
  const Array bias = random_normal({4}, say.seed() + 1);
  check_equal(say, "z (2, 5, 4) + b (4)", "library", add(z, bias), "loops", add_by_loops(z, bias));
  say.text("What does not fit is refused, in words:\n\n- `{}`", refusal([] {
             add(zeros({2, 3}), zeros({2}));
           }));

  say.heading("What no shape check can see");
  say.text(
      "When two axes happen to have the same length, a wrong axis fits as well as the right one. "
      "Below, z is (4, 4): one number for each feature, or one for each token? Both run.");
  const Tensor square = random_normal({4, 4}, say.seed() + 2);
  check_differs(say, "z (4, 4) + b (4) along features, and along tokens", "features",
                add(square, bias), "tokens", add(square, reshape(bias, {4, 1})));
  say.text("Hence a habit of this project: tests use lengths that all differ.");

  say.heading("A first derivative");
  say.text(
      "Move one element of z a little: the one element of y that stands in its place moves as "
      "much. The derivative is 1. But move one element of b, and B T elements move at once. To "
      "speak of one derivative, we need one number: we weigh the elements of y with random weights "
      "c and add up, L = Σ c y. Then ∂L/∂z is c itself, and ∂L/∂b gathers B T of them.");
  const Tensor a(z, true), b(bias, true);
  check_gradients(say, [&] { return a + b; }, {{"z", a}, {"b", b}});
  say.text(
      "That line compares what our derivative says with what we measure by moving the input; "
      "the worst error is their largest distance, in units of the larger of the two. `--all` "
      "shows the numbers. This lesson counts in float32, as training does: numbers of some seven "
      "digits. Lesson #differences and most later ones count in float64, some sixteen, and agree "
      "further. dx is short for ∂L/∂x in all lessons, the cotangent of x; papers "
      "write x̄ as well. How we measure, and how far to trust it, is lesson #differences.");

  say.pytorch("shapes, row-major order and broadcasting are the same: `x.shape`, `x.stride()`, "
              "`torch.broadcast_tensors`.");
  say.take_along(
      "b is used B T times. What must its derivative be, in terms of the B T derivatives of the "
      "places where it was used?",
      "Their sum. Lesson #broadcasting has the reason, and a name for it.");
}

int main(int argc, char** argv) { return tell(about, {lesson}, argc, argv); }
