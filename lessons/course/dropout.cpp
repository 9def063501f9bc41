#include "lessons/telling/lesson.hpp"
#include "vitruvian/nn/layers.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Dropout",
    .equation = "y = m ⊙ x / (1 − p)",
    .minutes = 8,
    .rows = "4-15",
    .teaches = {"dropout"},
    .breaks = {{"unscaled", "drops without enlarging what stays",
                "a quarter of the sum is gone: the next layer would see smaller numbers in "
                "training than at inference."},
               {"new-mask", "the tape goes back with a mask that was drawn anew",
                "the cotangent must pass where the number passed, and nowhere else."}},
    .play = {"The mean stays. What does not?", {{"p", 0, 0.9, 0.5, 0.05}, {"seed", 1, 20, 1, 1}}},
};

// [region loops]
// y = m x / (1 - p). The mask m is a function of the stream and the place.
Array by_mask(const Array& x, const Array& mask, double p) { return mask * x / (1 - p); }
// What dropout leaves of ones tells the mask.
Array mask_of(const Shape& shape, double p, const Rng& rng) {
  Array kept = dropout(full(shape, 1), p, rng).value();
  for (double& value : kept) value = value == 0 ? 0 : 1;
  return kept;
}

// [region unscaled]
Array unscaled(const Array& x, const Array& mask) { return by_mask(x, mask, 0); }

// [region new mask]
// The same y; but what lies on the tape is a dropout with another mask.
Tensor new_mask(const Tensor& x, double p, const Rng& rng) {
  const Tensor other = dropout(x, p, rng.fork("again"));
  return other + (dropout(x, p, rng) - other).detach();
}

// [end]

// A thousand ones through dropout; the first sixteen are drawn.
void play(Narrator& say, const std::vector<double>& at) {
  const double p = at[0];
  const Array y = dropout(full({1000}, 1), p, Rng(std::uint64_t(at[1])).fork("dropout")).value();
  std::vector<std::pair<std::string, double>> first;
  for (std::size_t i = 0; i < 16; ++i) first.emplace_back(fmt::format("y{}", i), y(i));
  say.bars("The first 16 of 1,000 ones, after dropout.", first);
  double sum = 0, squares = 0;
  for (const double value : y) sum += value, squares += value * value;
  const double mean = sum / 1000;
  say.table({"of 1,000", "measured", "expected"},
            {row("mean", fmt::format("{:.3f}", mean), "1"),
             row("variance", fmt::format("{:.3f}", squares / 1000 - mean * mean),
                 fmt::format("{:.3f}", p / (1 - p))),
             row("kept", std::count_if(y.begin(), y.end(), [](double v) { return v != 0; }),
                 fmt::format("{:.0f}", 1000 * (1 - p)))});
}

void lesson(Narrator& say) {
  const double p = 0.25;
  say.heading("What we want to know");
  say.text("Our ViT has only so many digits to learn from, and a network that leans on one number "
           "too much learns them by heart instead of learning to read. Dropout takes numbers away "
           "at random while it trains, so that none is indispensable. What must be done to the "
           "others, and what comes back through the holes?");

  say.heading("The equation");
  say.equation(R"(y_i = \frac{m_i\, x_i}{1 - p}, \qquad m_i = 0 \text{ with probability } p,)"
               R"( \text{ else } 1)",
               "yᵢ = mᵢ xᵢ / (1 − p),    mᵢ = 0 with probability p, else 1");
  say.in_words("throw away each number with probability p, and make up for it by enlarging what "
               "stays. On average, nothing has changed.");
  say.code("loops");
  const Tensor x(random_normal({3, 8}, say.seed()), true);
  const Rng stream = Rng(say.seed()).fork("lesson");
  const Array mask = mask_of({3, 8}, p, stream);
  const bool anew = say.broken("new-mask");
  const auto drop_out = [&] { return anew ? new_mask(x, p, stream) : dropout(x, p, stream); };
  if (anew) say.code("new mask");
  const Tensor y = drop_out();
  say.figure({"A mask for (3, 8) at p = 0.25: 1 (full, or yellow) stays, 0 is dropped.",
              Matrix{3, 8, {mask.begin(), mask.end()}}});
  check_equal(say, "y", "library", y, "m x / (1 - p)", by_mask(x.value(), mask, p));

  say.heading("On average, nothing has changed");
  say.text("A sum over a hundred thousand dropped ones should be a hundred thousand. How far off "
           "may chance be? Each y is 1/(1 − p) or 0, so its variance is p / (1 − p), and the mean "
           "of n of them has a standard deviation of √(p / (1 − p) / n). We allow four of those.");
  const std::size_t n = 100'000;
  const Tensor ones(full({n}, 1));
  const Array many = say.broken("unscaled") ? unscaled(ones.value(), mask_of({n}, p, stream))
                                            : dropout(ones, p, stream).value();
  if (say.broken("unscaled")) say.code("unscaled");
  const double chance = 4 * std::sqrt(p / (1 - p) / double(n));
  say.check("mean of dropped ones", {"measured", mean(Tensor(many)).item()}, {"expected", 1},
            chance);
  say.check("their variance", {"measured", var(Tensor(many)).item()}, {"p / (1 - p)", p / (1 - p)},
            0.02);
  say.text("So at inference there is nothing to correct: dropout is simply left out. Older texts "
           "scale at inference instead; then a forgotten factor shows only when it is too late.");

  say.heading("The derivative by hand");
  say.equation(R"(dx_i = \frac{m_i\, g_i}{1 - p})", "dxᵢ = mᵢ gᵢ / (1 − p)");
  say.in_words("where a number was dropped, it had no influence, and nothing comes back; where it "
               "stayed, its slope is 1/(1 − p). The mask is the same one: to go back is to drop "
               "the cotangent with it.");
  const Array g = random_normal({3, 8}, say.seed() + 1);
  const Array dx = grad(y, {x}, g)[0];
  std::vector<double> arrives;
  for (const double value : dx) arrives.push_back(value == 0 ? 0 : 1);
  say.figure({"Where something comes back to x: only where the mask above let it pass.",
              Matrix{3, 8, arrives}});
  check_equal(say, "dx", "by hand", by_mask(g, mask, p), "tape", dx);
  check_gradients(say, drop_out, {{"x, the stream held", x}});
  say.text("Differences can only judge this because the mask holds still while x moves. Our random "
           "numbers are a function of (key, place), with no hidden state that advances: the same "
           "stream gives the same mask, in any order, on any number of threads. The backward pass "
           "draws it again instead of keeping it.");
  check_equal(say, "the same stream, a second time", "again", dropout(x, p, stream), "before", y,
              0);
  check_differs(say, "another stream", "other", dropout(x, p, stream.fork("other")), "before", y);

  say.heading("In a layer");
  say.text("Whether a model trains is not written inside of it. A forward call is handed a source "
           "of randomness, or none; without one, dropout is the identity.");
  const Dropout drop{p};
  check_equal(say, "no randomness in the pass", "dropout", drop(x), "x", x, 0);
  const Pass training{.rng = &stream};
  check_differs(say, "with it", "dropout", drop(x, training), "x", x);

  say.heading("Where the ViT drops");
  say.sources_disagree(
      "B 14", "The paper drops after every dense layer but qkv, and once after the "
              "position embeddings are added. The notebook builds a dropout for attention, "
              "never hands it its rate, and leaves the one after the positions out.");
  say.sources_disagree(
      "B 15", "The blog post says \"except qkv\" and then drops the attention probabilities. "
              "The original code has a rate of its own for those, and it is 0. Here they "
              "are two settings, `dropout` and `attention_dropout`.");

  say.heading("Maps before dropout");
  say.sources_disagree(
      "B 7",
      "Who shows attention maps must take the probabilities before dropout. After it, as "
      "the annotated code and PyTorch's own attention return them, a row no longer sums to 1:");
  const Tensor probs = softmax(x);
  check_equal(say, "rows of probabilities, before", "sum", sum(probs, {1}), "1", full({3}, 1));
  check_differs(say, "rows of probabilities, after", "sum", sum(dropout(probs, p, stream), {1}),
                "1", full({3}, 1), 1e-2);

  say.pytorch("`torch.nn.Dropout(p)`; `model.train()` and `model.eval()` switch it, by a flag "
              "inside every module.");
  say.take_along("With p = 0.1 after each of 24 dense layers, how likely is it that a given path "
                 "through all of them survives? Why does the model learn all the same?",
                 fmt::format("0.9²⁴ = {:.3f}. But there are very many paths, each step draws "
                             "others, and skip connections (lesson #residuals) lead around the "
                             "holes.",
                             std::pow(0.9, 24)));
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
