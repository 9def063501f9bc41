#include "lessons/experiments/exhibits.hpp"
#include "lessons/telling/lesson.hpp"
#include "vitruvian/datasets/formats/digits.hpp"

#include <array>

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "A 3 or an 8?",
    .equation = "w ← w − η ∂L/∂w",
    .minutes = 5,
    .breaks = {{"uphill", "every step goes along the slope, not against it",
                "the loss is what each step makes smaller; this one makes it larger."},
               {"forgotten-input", "the slope of a weight without the ink that it is multiplied by",
                "a weight over white paper changes nothing, and one over ink much."},
               {"too-far", "a learning rate a hundred times as large",
                "each step jumps over the lowest place, to where it is as steep the other way."}},
    .play = {"How large may the learning rate be before the loss jumps instead of falling?",
             {{"learning rate η", 0.5, 100, 5, 0.5}, {"steps", 10, 300, 100, 10}}},
};

constexpr std::size_t side = 4, pixels = 28 / side;  // 4 x 4 squares of 7 x 7 pixels
constexpr std::size_t squares = side * side;

// A picture as 16 numbers, how much ink each square holds; and whether it is an 8.
struct Example {
  std::array<double, squares> ink{};
  bool eight = false;
};

std::vector<Example> threes_and_eights(const Dataset& data) {
  std::vector<Example> examples;
  for (std::size_t n = 0; n < data.size(); ++n) {
    if (data.labels[n] != 3 && data.labels[n] != 8) continue;
    Example e;
    e.eight = data.labels[n] == 8;
    for (std::size_t i = 0; i < 28 * 28; ++i) {
      const std::size_t square = i / 28 / pixels * side + i % 28 / pixels;
      e.ink[square] += data.image(n)[i] / 255.0 / (pixels * pixels);
    }
    examples.push_back(e);
  }
  return examples;
}

// [region network]
// The parameters: a weight for each square, and one number more.
struct Network {
  std::array<double, squares> w{};
  double b = 0;

  // How sure it is that this is an 8, from 0 to 1.
  [[nodiscard]] double operator()(const Example& e) const {
    double sum = b;
    for (std::size_t i = 0; i < squares; ++i) sum += w[i] * e.ink[i];
    return 1 / (1 + std::exp(-sum));
  }
};

// [region loss]
// Right and sure costs 0; wrong and sure costs much. The mean of all it sees.
double loss(const Network& network, std::span<const Example> shown) {
  double sum = 0;
  for (const Example& e : shown) {
    const double p = network(e);
    sum -= std::log(e.eight ? p : 1 - p);
  }
  return sum / double(shown.size());
}

// [region slopes]
// How much the loss rises for each parameter that rises, in one pass.
Network gradient(const Network& network, std::span<const Example> shown) {
  Network slope;
  for (const Example& e : shown) {
    double excess = network(e) - (e.eight ? 1 : 0);
    excess /= double(shown.size());
    for (std::size_t i = 0; i < squares; ++i) slope.w[i] += excess * e.ink[i];
    slope.b += excess;
  }
  return slope;
}

// [region step]
// Every parameter goes a little against its slope.
void step(Network& network, const Network& slope, double eta) {
  for (std::size_t i = 0; i < squares; ++i) network.w[i] -= eta * slope.w[i];
  network.b -= eta * slope.b;
}
// [end]

// As if the ink did not matter.
Network forgetful(const Network& network, std::span<const Example> shown) {
  Network slope;
  slope.b = gradient(network, shown).b;
  slope.w.fill(slope.b);
  return slope;
}

double accuracy(const Network& network, std::span<const Example> shown) {
  std::size_t right = 0;
  for (const Example& e : shown) right += (network(e) > 0.5) == e.eight ? 1 : 0;
  return double(right) / double(shown.size());
}

Tensor picture(const Dataset& data, std::size_t label) {
  std::size_t n = 0;
  while (data.labels[n] != label) ++n;
  Array pixels_of = empty({1, 1, 28, 28});
  std::copy(data.image(n).begin(), data.image(n).end(), pixels_of.begin());
  return {std::move(pixels_of)};
}

// Trained anew at this rate: 200 pictures, 20 a step.
void play(Narrator& say, const std::vector<double>& at) {
  const std::vector<Example> all =
      threes_and_eights(load({.name = "digits", .seed = 1, .train_size = 1000}).train);
  const std::size_t n = std::min<std::size_t>(all.size(), 200) / 20 * 20;
  Network network;
  Series line{"loss", {}, {}};
  for (std::size_t t = 0; t < std::size_t(at[1]); ++t) {
    const std::span<const Example> batch(all.data() + t * 20 % n, 20);
    line.x.push_back(double(t)), line.y.push_back(loss(network, batch));
    step(network, gradient(network, batch), at[0]);
  }
  for (double& y : line.y) y = std::isfinite(y) ? std::min(y, 5.0) : 5;
  say.figure({"The loss of each batch, step by step; what is above 5 is drawn as 5.",
              Chart{.x_label = "step", .y_label = "loss", .series = {line}, .from_zero = true}});
  const double left = loss(network, all);
  say.text("After the last step the loss of all pictures is {}, and {:.1f} % of them are on the "
           "right side of one half. Where it is wrong, too large a rate makes it wrong and sure: "
           "only the loss tells.",
           std::isfinite(left) ? fmt::format("{:.2f}", left) : "infinite",
           100 * accuracy(network, all));
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text(
      "At the end of this course stands a Vision Transformer, built and understood to its last "
      "number, that reads handwritten digits. Today, in five minutes, a much smaller machine "
      "learns to tell a 3 from an 8. It learns in the same way, and nearly every word of the "
      "course appears.");
  const Dataset drawn = digits(1000, say.seed(), "train");
  const std::vector<Example> examples = threes_and_eights(drawn);
  const std::vector<Example> others = threes_and_eights(digits(1000, say.seed(), "test"));
  say.figure(picture_of("A 3 and an 8, of 28 x 28 pixels. Where do they differ?",
                        {picture(drawn, 3), picture(drawn, 8)}));

  say.heading("A network");
  say.text("We lay a grid of 4 x 4 squares over the picture, and count how much ink is in each: 16 "
           "numbers. The machine multiplies each by a weight, adds them up, and bends the sum "
           "into a number between 0 and 1: how sure it is of an 8.");
  say.equation(R"(p = \frac{1}{1 + e^{-(b + \sum_i w_i x_i)}})",
               "p = 1 / (1 + exp(−(b + Σᵢ wᵢ xᵢ)))");
  say.in_words("x is the ink of a square, w its weight. A large sum gives nearly 1, an 8; a very "
               "negative one nearly 0, a 3; zero gives one half, which is no opinion.");
  say.code("network");
  say.text(
      "Such a function with numbers to be found is a network, or model, and the numbers are its "
      "parameters. This one has 17. The Vision Transformer at the end has {}; they are "
      "found in the same way.",
      count_parameters(digits_model()));
  Network network;
  say.text("At the beginning all of them are 0, and it says {} to everything.",
           network(examples[0]));

  say.heading("The loss");
  say.text("To become better, it has to know how bad it is. That is one number, the loss: minus "
           "the natural logarithm of the probability that it gave to the right answer.");
  say.equation(R"(L = -\frac{1}{n} \sum \ln p_{\text{right}})", "L = −(1/n) Σ ln p_right");
  say.in_words("sure of what is right costs nothing; no opinion costs ln 2 = 0.69; sure of what is "
               "wrong costs more and more.");
  say.code("loss");
  say.check("the loss of no opinion", {"measured", loss(network, examples)},
            {"ln 2", std::log(2.0)}, 1e-12);

  say.heading("The gradient");
  say.text("Now take one weight, that of the second square in the third row: there an 8 closes its "
           "lower loop, and a 3 is open. Raise it by 1, and look at what the loss does.");
  const std::span<const Example> batch(examples.data(), 20);
  constexpr std::size_t there = 2 * side + 1;
  const auto measured = [&](std::size_t i) {
    constexpr double h = 1e-5;
    Network ahead = network, behind = network;
    ahead.w[i] += h, behind.w[i] -= h;
    return (loss(ahead, batch) - loss(behind, batch)) / (2 * h);
  };
  Network raised = network;
  raised.w[there] += 1;
  say.table({"its weight", "the loss of the first 20 pictures"},
            {row("0", fmt::format("{:.4f}", loss(network, batch))),
             row("1", fmt::format("{:.4f}", loss(raised, batch)))});
  say.text(
      "The loss falls, but not evenly: the more the weight is raised, the less each further bit "
      "helps. Divide the change by the move, for a move of next to nothing, and it is {:.4f}: the "
      "slope at 0. Every parameter has such a slope, and all of them "
      "together are "
      "the gradient. To nudge 17 parameters one by one is quick; to nudge millions is not. But "
      "one pass over the pictures gives all slopes at once, by a rule that lesson #softmax "
      "derives: what the machine said minus what is right, times the ink.",
      measured(there));
  say.code("slopes");
  const auto slopes_of = say.broken("forgotten-input") ? forgetful : gradient;
  const Network slope = slopes_of(network, batch);
  Check slopes{.what = "the 16 slopes: by the rule, and by nudging each weight",
               .left_name = "rule",
               .left = slope.w[there],
               .right_name = "nudged",
               .right = measured(there)};
  slopes.compared = squares;
  slopes.tolerance = 1e-6;
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < squares; ++i) {
    largest = std::max(largest, std::abs(measured(i)));
    worst = std::max(worst, std::abs(measured(i) - slope.w[i]));
  }
  slopes.error = worst / largest;
  slopes.passed = slopes.error <= slopes.tolerance;
  say.check(slopes);
  say.text("That check is the heart of this course: every derivative in it is found twice, by a "
           "rule and by nudging, and the two must agree. Finding the rule for a whole network, "
           "layer by layer from its end to its beginning, is called backpropagation.");

  say.heading("A step, and many");
  say.text("A negative slope means: raise this weight, and the loss falls. So every parameter goes "
           "a little against its slope. That is a step; how far it goes is the learning rate "
           "η, and the pictures that it looks at are its batch, here 20 of {}.",
           examples.size());
  say.equation(R"(w \leftarrow w - \eta \frac{\partial L}{\partial w})", "w ← w − η ∂L/∂w");
  say.code("step");
  const double eta = say.broken("uphill") ? -5 : say.broken("too-far") ? 500 : 5;
  const std::size_t batches = examples.size() / batch.size();
  constexpr std::size_t epochs = 30;
  std::vector<double> losses;
  Rows rows;
  for (std::size_t epoch = 0; epoch <= epochs; ++epoch) {
    if (epoch == 0 || epoch == 1 || epoch == 3 || epoch == 10 || epoch == epochs) {
      rows.push_back(row(epoch, epoch * batches, fmt::format("{:.3f}", loss(network, examples)),
                         fmt::format("{:.1f} %", 100 * accuracy(network, others))));
    }
    if (epoch == epochs) break;
    for (std::size_t i = 0; i < batches; ++i) {
      const std::span<const Example> shown(examples.data() + i * batch.size(), batch.size());
      losses.push_back(rounded(loss(network, shown), 4));
      step(network, slopes_of(network, shown), eta);
    }
  }
  say.curves(
      "The loss of the batch that is looked at, step by step. It falls, and not evenly: some "
      "batches are harder than others.",
      {curve_of("loss", losses)});
  say.text("Once through all pictures is an epoch, {} steps here. The last column is what counts: "
           "how many of {} digits, drawn anew, that it never saw, it reads rightly.",
           batches, others.size());
  say.table({"epoch", "steps", "loss", "of new digits"}, rows);
  say.holds("the loss has fallen below half of what no opinion costs",
            loss(network, examples) < std::log(2.0) / 2);
  say.holds("more than eight of ten new digits are read", accuracy(network, others) > 0.8);

  say.heading("What it has learned");
  Matrix weights{side, side, {network.w.begin(), network.w.end()}};
  say.figure(
      {"Its weights, each where its square lies. Light: ink here speaks for an 8; dark: for a "
       "3. Nobody told it where to look.",
       weights});
  const auto most = std::max_element(network.w.begin(), network.w.end()) - network.w.begin();
  say.text(
      "The largest weight, {:.1f}, is the brightest square, {} down and {} across as the picture "
      "counts from 0: where an 8 closes its loop and a 3 is open.",
      network.w[static_cast<std::size_t>(most)], most / 4, most % 4);

  say.heading("What comes");
  const VisionTransformer vit = digits_model();
  const Dataset unseen = digits(8, 1, "test");
  ImageGrid page{.columns = 4, .width = 84};
  std::string answers;
  for (std::size_t i = 0; i < unseen.size(); ++i) {
    page.images.push_back(from_planes(unseen.image(i).data(), 1, 28, 28));
    const NoGrad no_grad;
    const Array logits = vit(digit_image(i)).value();
    answers += fmt::format("{}{}", answers.empty() ? "" : " ",
                           std::max_element(logits.begin(), logits.end()) - logits.begin());
  }
  say.figure(
      {"Eight digits that the trained Vision Transformer never saw. It reads: " + answers + ".",
       page});
  say.holds("it reads all eight", answers == "0 1 2 3 4 5 6 7");
  say.text("It cuts a picture into the same 4 x 4 squares, and learns by the same steps. What is "
           "between is the course: I, how slopes are found through any computation, by a tape; II, "
           "the layers; III, how squares become tokens that look at each other; IV, training; V, "
           "what it has learned. The next lesson names the letters.");
  say.question(
      "With a learning rate of 0 the loss stays as it is. What would you expect of one that "
      "is far too large?",
      "Each step jumps over the lowest place, to where the slope is as steep the other way: "
      "the loss jumps up and down, or grows. The mistake `too-far` shows it.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
