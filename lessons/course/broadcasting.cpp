#include "lessons/telling/lesson.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Broadcasting's adjoint is a sum",
    .equation = "⟨g, A x⟩ = ⟨Aᵀ g, x⟩",
    .minutes = 10,
    .teaches = {"add", "mul", "sum", "broadcast_to", "unfold"},
    .breaks = {{"forget-unbroadcast", "a sum sends its cotangent back unsummed",
                "the cotangent still has the stretched shape, and no array takes a gradient of "
                "a shape that is not its own.",
                "add:forget_unbroadcast"},
               {"mean", "takes the mean over rows where the sum belongs",
                "b moves both rows at once, so both shares count in full."}},
    .play = {"Which lengths fit, and how many cotangents does each entry of b gather?",
             {{"axis 0 of a", 1, 4, 3, 1},
              {"axis 1 of a", 1, 5, 4, 1},
              {"axis 0 of b", 1, 4, 1, 1},
              {"axis 1 of b", 1, 5, 4, 1}}},
};

// [region matrix]
// Broadcasting (3) to (2, 3), as the matrix it is: y = A b.
Array broadcast_matrix() {
  Array A = zeros({6, 3});
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t d = 0; d < 3; ++d) A(row * 3 + d, d) = 1;
  }
  return A;
}

// [region dot test]
double dot(const Array& a, const Array& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
// For a linear map f: <g, f(x)> must equal <what comes back for g, x>.
void dot_product_test(Narrator& say, const char* what, const Function& f, const Tensor& x) {
  const Tensor y = f({x});
  const Array g = random_normal(y.shape(), say.seed() + 9);
  const Array back = grad(y, {x}, g)[0];
  say.check(what, {"<g, f(x)>", dot(g, y.value())}, {"<back, x>", dot(back, x.value())}, 1e-12);
}

// [region mistake]
// What comes back to b (3) from g (2, 3): the mean over rows, not the sum.
Array mean_over_rows(const Array& g) { return mean(Tensor(g), {0}).value(); }

// [end]

// a + b of these shapes, or what the library says; and what comes back to b from ones.
void play(Narrator& say, const std::vector<double>& at) {
  const auto n = [&](std::size_t i) { return std::size_t(at[i]); };
  const Shape of_a = {n(0), n(1)}, of_b = {n(2), n(3)};
  const Tensor a(full(of_a, 0), true), b(full(of_b, 0), true);
  const std::string no = refusal([&] { add(a, b); });
  if (!no.empty()) {
    say.text("{} and {} do not fit:\n\n- `{}`", to_string(of_a), to_string(of_b), no);
    say.bars("No sum, no gradient.", {{"a", double(a.size())}, {"b", double(b.size())}});
    return;
  }
  const Tensor y = a + b;
  const std::vector<Array> d = grad(y, {a, b}, full(y.shape(), 1));
  say.text("{} + {} gives {}.", to_string(of_a), to_string(of_b), to_string(y.shape()));
  say.bars("How many entries of y use each entry, when every entry of y sends back 1.",
           {{"an entry of a", d[0].data()[0]}, {"an entry of b", d[1].data()[0]}});
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text("Lesson #notation left a question: b is added to every token; what is its derivative? "
           "The answer is "
           "short, and it comes with a way to test derivatives that needs no differences at all.");

  say.heading("Broadcasting is a matrix");
  say.text(
      "To stretch three numbers to two rows of three is to copy each of them twice. Copying is "
      "linear, so it is a matrix, with a single 1 in every row:");
  say.code("matrix");
  const Tensor A(broadcast_matrix());
  const Tensor b(random_normal({3}, say.seed()), true);
  const Tensor y = broadcast_to(b, {2, 3});
  check_equal(say, "b (3) stretched to (2, 3)", "A b", reshape(matmul(A, b), {2, 3}), "library", y);

  say.heading("The adjoint");
  say.equation(R"(\langle g,\, A x \rangle = \langle A^\top g,\, x \rangle)",
               "⟨g, A x⟩ = ⟨Aᵀ g, x⟩");
  say.in_words("weigh the output with g and add up: one number. The same number comes out if g is "
               "first taken back through Aᵀ and then weighed against the input. What takes "
               "cotangents back through a linear map is its transpose, the adjoint.");
  say.text("The transpose of \"copy to every row\" has a 1 wherever A has one: it adds up all the "
           "places that a number was copied to. So the adjoint of broadcasting is a sum over the "
           "axes that were stretched.");
  const Array g = random_normal({2, 3}, say.seed() + 1);
  const Array by_matrix = matmul(transpose(A), reshape(Tensor(g), {6})).value();
  const Array back = say.broken("mean") ? mean_over_rows(g) : grad(y, {b}, g)[0];
  const auto numbers = [](const Array& a) { return entries_text(a, 2); };
  const auto in_rows = [&](const Array& a) {
    const std::string text = numbers(a);
    return std::vector<std::string>{text.substr(0, text.find('\n')),
                                    text.substr(text.find('\n') + 1)};
  };
  const auto titled = [](std::string title, std::vector<std::string> lines) {
    lines.insert(lines.begin(), std::move(title));
    return lines;
  };
  say.diagram("There, each number is copied down; back, each column is added up.",
              {.boxes = {{"b", titled("(3)", {numbers(b.value())}), 0, 0},
                         {"y", titled("(2, 3)", in_rows(y.value())), 1, 0},
                         {"g", titled("(2, 3)", in_rows(g)), 1, 1},
                         {"db", titled("(3)", {numbers(back)}), 0, 1}},
               .arrows = {{"b", "y", "copied"}, {"g", "db", "added up"}}});
  check_equal(say, "what comes back to b", "library", back, "Aᵀ g", by_matrix);

  say.heading("The dot-product test");
  say.text("The equation above holds for any x and any g, but for rounding. So a linear op can be "
           "checked with two dot products, whatever its size:");
  say.code("dot test");
  const auto x = [&](const Shape& shape) {
    return Tensor(random_normal(shape, say.seed() + 2), true);
  };
  using Inputs = std::vector<Tensor>;
  const Function stretch = [](const Inputs& t) { return broadcast_to(t[0], {2, 3}); };
  dot_product_test(say, "broadcast (3) to (2, 3)", stretch, x({3}));
  dot_product_test(say, "broadcast (2, 1) to (2, 3)", stretch, x({2, 1}));
  dot_product_test(
      say, "sum (4, 5) over rows", [](const Inputs& t) { return sum(t[0], {0}); }, x({4, 5}));
  dot_product_test(
      say, "transpose (4, 5)", [](const Inputs& t) { return transpose(t[0]); }, x({4, 5}));
  dot_product_test(
      say, "rows 1 and 2 of (4, 5)", [](const Inputs& t) { return slice(t[0], 0, 1, 3); },
      x({4, 5}));
  dot_product_test(
      say, "patches of (1, 2, 4, 4)",
      [](const Inputs& t) {
        return unfold(t[0], {2, 2, 2, 2});
      },
      x({1, 2, 4, 4}));
  say.text("Ops that only move numbers come in pairs, each the other's way back:");
  say.table({"forward", "back"}, {{"broadcast", "sum over what was stretched"},
                                  {"sum", "broadcast"},
                                  {"reshape, transpose", "reshape, transpose back"},
                                  {"slice", "put into zeros"},
                                  {"concatenate", "split"},
                                  {"cut into patches", "add the patches into an image"}});

  say.heading("Inside other ops, against numbers");
  say.text("Elementwise ops of two arrays broadcast first, so each of their rules ends with this "
           "sum. The library calls it `unbroadcast`.");
  const Tensor z = x({2, 4, 3});
  const Tensor row = x({3});
  const Tensor column = x({4, 1});
  check_gradients(say, [&] { return (z + row) * column; },
                  {{"z (2, 4, 3)", z}, {"a row (3)", row}, {"a column (4, 1)", column}});

  say.heading("What goes wrong");
  say.sources_disagree("B 5",
                       "A ViT puts a learned token in front of an image's, the class token (lesson "
                       "#class_and_positions). The slides make it an array of ones (batch size, 1, "
                       "D): one for each image of a batch, learned apart. The paper has one token, "
                       "(1, 1, D), which is stretched over the batch; its gradient is the sum over "
                       "the images. Below, the slides' token and the shared one:");
  const Tensor shared = x({1, 1, 4});
  const Tensor apart(broadcast_to(shared, {3, 1, 4}).value(), true);
  const Array weights = random_normal({3, 5, 4}, say.seed() + 3);
  const Array g_shared = grad(sum(Tensor(weights) * shared), {shared})[0];
  const Array g_apart = grad(sum(Tensor(weights) * apart), {apart})[0];
  say.table({"", "shape of its gradient"}, {{"one token, stretched", to_string(g_shared.shape())},
                                            {"one token an image", to_string(g_apart.shape())}});
  check_equal(say, "summed over the batch they are the same", "shared", g_shared, "apart, summed",
              sum(Tensor(g_apart), {0}, true));
  check_differs(say, "what one image's own token learns", "shared", select(Tensor(g_shared), 0, 0),
                "image 0", select(Tensor(g_apart), 0, 0));
  say.sources_disagree("", "A mean in place of the sum. It points the same way, so training even "
                           "works: more slowly with SGD, and with Adam as if nothing were wrong. "
                           "Only a check notices.");
  say.code("mistake");
  check_differs(say, "what comes back to b", "mean", mean_over_rows(g), "sum", by_matrix);

  say.pytorch("`torch.Tensor.expand` stretches without copying; its backward is `sum_to_size`, our "
              "`unbroadcast`.");
  say.question("The adjoint of a sum is broadcasting. What, then, is the derivative of a mean over "
               "n numbers?",
               "Broadcasting, divided by n: each of the n numbers moves the mean by 1/n.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
