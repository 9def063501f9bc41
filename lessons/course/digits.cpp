#include "lessons/experiments/exhibits.hpp"
#include "lessons/telling/lesson.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/nn/optim.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Training on digits",
    .equation = "L at step 100, foretold",
    .minutes = 10,
    .breaks = {{"equal-shares", "the loop counts every micro-batch alike, whatever its size",
                "4 images of 64 then have a third of the gradient: another run."}},
    .play = {"Which digits does it doubt?", {{"picture", 0, 199, 0, 1}}},
};

constexpr std::size_t B = 64, S = 100, N = 16, D = 64, L = 4, K = 10;
// Foretold: what step 100 of `vitruvian train --seed 1 --train-size 6400 --epochs 1` says.
constexpr double foretold = 0.98;

TrainOptions options(std::uint64_t seed) {
  TrainOptions o = default_options("digits");
  o.train_size = B * S, o.test_size = 1000, o.epochs = 1, o.seed = seed;
  return o;
}

// [region gradients]
// Adds up the gradients of a batch's micro-batches, and their losses, n images by their `share`.
using Share = std::function<double(std::size_t n, std::size_t parts)>;
double in_parts(const VisionTransformer& model, const Loader& data,
                std::span<const std::size_t> images, const Share& share) {
  const auto groups = batches(images, 30);  // 30, 30 and 4 of 64
  double mean = 0;
  for (const auto& indices : groups) {
    const MicroBatch part = micro_batch(data, indices);
    const Tensor loss = cross_entropy(model(part.images), part.labels);
    const double weight = share(indices.size(), groups.size());
    loss.backward(scalar(real(weight)));  // adds to what is there
    mean += weight * double(loss.item());
  }
  return mean;
}
double by_images(std::size_t n, std::size_t) { return double(n) / B; }

// [region loop]
// Training; there is no more to it than this. Returns the loss of each step.
std::vector<double> train_by_hand(const VisionTransformer& model, const TrainOptions& o,
                                  const Loader& data, const Share& share) {
  const Rng rng(o.seed);
  const std::vector<NamedParameter> theta = named_parameters(model);
  AdamW optimizer(theta, {.weight_decay = o.weight_decay, .undecayed = all_but_weights});
  std::vector<double> losses;
  const auto order = epoch_order(data.size(), rng.fork("order"), 1);
  for (const auto images : batches(std::span(order), B)) {
    const std::size_t t = losses.size();
    zero_grad(theta);
    losses.push_back(in_parts(model, data, images, share));  // the gradients
    clip_grad_norm(theta, o.clip);                           // lesson recipes
    optimizer.step(o.lr * cosine_schedule(t, S, 5));         // lessons optimizers, recipes
  }
  return losses;
}

// [end]

double loss_of(const VisionTransformer& model, const Loader& data,
               std::span<const std::size_t> images) {
  const MicroBatch batch = micro_batch(data, images);
  const NoGrad no_grad;
  return double(cross_entropy(model(batch.images), batch.labels).item());
}

// [region equal shares]
// A mean of the micro-batches' means: 30, 30 and 4 images count alike.
double by_parts(std::size_t, std::size_t parts) { return 1.0 / double(parts); }

// [end]

// What the kept model says of one of 200 digits that it never saw.
void play(Narrator& say, const std::vector<double>& at) {
  static const VisionTransformer kept = digits_model();
  const Dataset data = load({.name = "digits", .seed = 1, .train_size = 1, .test_size = 200}).test;
  const std::vector<std::size_t> one = {std::size_t(at[0])};
  const MicroBatch batch = micro_batch(Loader(data), one);
  const Array p = softmax(kept(batch.images)).value();
  say.figure(picture_of(fmt::format("Drawn as a {}.", batch.labels[0]), {batch.images}));
  std::vector<std::pair<std::string, double>> sure;
  for (std::size_t k = 0; k < K; ++k)
    sure.emplace_back(fmt::format("{}", k), std::round(1e4 * p(0, k)) / 1e4);
  say.bars("How probable the model finds each class.", sure);
}

void lesson(Narrator& say) {
  const TrainOptions o = options(say.seed());
  say.heading("What we want to know");
  say.text(
      "Here it comes together: tape, layers, ViT, optimizer and recipe learn to read digits, "
      "in some seconds. At the end stands a model that reads a page of them." +
      std::string(say.seed() != 1
                      ? ""
                      : " But first we write down what the loss will be after 100 steps, to two "
                        "digits: a run that can be foretold is one that can be debugged."));
  say.symbols({{"B", B}, {"S", S, "steps"}, {"N", N}, {"D", D}, {"L", L}, {"K", K}});
  if (say.seed() == 1)
    say.text(
        "Foretold, for step 100: a loss of {:.2f}. So an earlier run with this seed said; it is "
        "no theory, but a promise that the run can be repeated.",
        foretold);

  say.heading("The loop");
  say.code("loop");
  say.text("A batch of 64 goes through the net in micro-batches of 30, 30 and 4: their gradients "
           "add up to the whole batch's, if each counts as much as it has images.");
  say.equation(R"(d\theta = \sum_i \frac{n_i}{B}\, \frac{\partial L_i}{\partial \theta})",
               "dθ = Σᵢ (nᵢ/B) ∂Lᵢ/∂θ");
  say.in_words("a mean of means is the mean only if every part has its weight.");
  say.code("gradients");

  say.heading("What a step does to the loss");
  say.text("Is the gradient worth following? To first order, one step of plain descent with a "
           "small η lowers the loss by η times the squared length of the gradient.");
  say.equation(R"(L(\theta - \eta g) \approx L(\theta) - \eta \lVert g \rVert^2)",
               "L(θ − η g) ≈ L(θ) − η ‖g‖²");
  const Split data = load({.name = "digits", .seed = 1, .train_size = B * S, .test_size = 1000});
  VisionTransformer model(o.model, Rng(say.seed()).fork("weights"));
  const Loader images(data.train);
  const std::vector<std::size_t> first = natural_order(B);
  const auto theta = named_parameters(model);
  const double before = gradients(model, images, first);
  const double length = clip_grad_norm(theta, 1e9), eta = 0.01 / (length * length);
  SGD(theta).step(eta);
  const double after = gradients(model, images, first);
  const std::vector<double> far = places(0, 2, 0.1);
  const Series real_loss = graph_of("L(θ − s g / ‖g‖²)", far, [&](double s) {
    const VisionTransformer moved(o.model, Rng(say.seed()).fork("weights"));
    gradients(moved, images, first);
    SGD(named_parameters(moved)).step(s / (length * length));
    return rounded(loss_of(moved, images, first), 3);
  });
  const Series tangent =
      graph_of("L(θ) − s", far, [&](double s) { return rounded(before - s, 3); });
  say.figure({"The loss of 64 digits along the gradient, s = η ‖g‖². Near 0 the tangent foretells "
              "it; further on the landscape bends, which is why steps are small.",
              Chart{.x_label = "s", .y_label = "L", .series = {real_loss, tangent}}});
  say.check("the loss falls by", {"measured", rounded(before - after, 2)},
            {"η ‖g‖²", eta * length * length}, 0.05);

  say.heading("One hundred steps");
  const Diary one = trained(o, 1);
  const Share share = say.broken("equal-shares") ? by_parts : by_images;
  const VisionTransformer own(o.model, Rng(say.seed()).fork("weights"));
  const std::vector<double> mine = train_by_hand(own, o, images, share);
  say.figure({"The loss of each step: the library's trainer, and the loop above. One line should "
              "lie on the other.",
              Chart{.x_label = "step",
                    .y_label = "loss",
                    .series = {curve_of("trainer", one.losses), curve_of("this loop", mine)}}});
  Rows rows;
  for (const std::size_t step : {1, 2, 3, 4, 5, 10}) {
    rows.push_back(row(step, fmt::format("{:.4f}", one.losses[step - 1]),
                       fmt::format("{:.4f}", mine[step - 1])));
  }
  say.table({"step", "trainer's loss", "this loop's"}, rows);
  say.check("the first loss", {"trainer", rounded(one.losses.front(), 5)},
            {"ln 10", std::log(10.0)}, 1e-4);
  if (say.seed() == 1) {
    say.check("the loss at step 100", {"this loop", std::round(100 * mine.back()) / 100},
              {"foretold", foretold}, 0.03);
  }
  const auto first_ten = [](const std::vector<double>& losses) {
    return slice(Tensor(array({S}, losses)), 0, 0, 10);
  };
  check_equal(say, "the first ten losses", "this loop", first_ten(mine), "trainer",
              first_ten(one.losses), 1e-3);
  say.text("On 1000 digits that it never saw, the test set, this loop's model now reads {:.0f} in "
           "a hundred: its accuracy.",
           std::round(20 * score(own, Loader(data.test)).accuracy) * 5);

  say.heading("Why it can be foretold");
  say.text("Weights, order and dropout are functions of the seed. Work is cut into pieces whose "
           "size does not depend on the machine, and partial sums are added in order. So one "
           "thread, two and three give the same bits:");
  TrainOptions brief = o;
  brief.train_size = 20 * B, brief.test_size = 100;
  const std::vector<double> alone = trained(brief, 1).losses;
  say.holds("the losses of twenty steps, 2 threads: the same", trained(brief, 2).losses == alone);
  say.holds("the losses of twenty steps, 3 threads: the same", trained(brief, 3).losses == alone);
  say.text("Another processor or matrix product adds up in another order: in float32 1e-7 of each "
           "sum, and a hundred steps make it grow. So " +
           std::string(say.seed() == 1 ? "the prophecy has two digits, and " : "") +
           "gradients are checked in float64.");

  say.heading("What goes wrong");
  say.sources_disagree(
      "",
      fmt::format("When the batch does not divide evenly, the last part is small, and a mean of "
                  "means gives each of its four images 1/12 in place of 1/64: {:.2f} times its "
                  "weight. The loss falls; it is that of another problem.",
                  by_parts(4, 3) / 4 * B));
  say.code("equal shares");
  const VisionTransformer fresh(o.model, Rng(say.seed()).fork("weights"));
  const auto order = epoch_order(data.train.size(), Rng(say.seed()).fork("order"), 1);
  const auto of_head = [&](const Share& shares) {
    zero_grad(named_parameters(fresh));
    in_parts(fresh, images, std::span(order).first(B), shares);
    return *fresh.head.weight.grad();
  };
  check_differs(say, "dL/dW of the head, first batch", "equal shares", of_head(by_parts),
                "by images", of_head(by_images), 0.01);

  say.heading("The model that is kept");
  say.text(
      "`models/digits.safetensors` is this run with all its 40,000 digits, four times over: "
      "half a minute of `build/bin/vitruvian train`. Lessons #fine_tuning, #filters_and_positions "
      "and #attention_maps look inside it.");
  const VisionTransformer kept = digits_model();
  say.holds("it reads more than 95 in a hundred", score(kept, Loader(data.test)).accuracy > 0.95);

  say.pytorch("`loss.backward(); clip_grad_norm_(...); optimizer.step(); optimizer.zero_grad()`. "
              "The same bits on every run take `torch.use_deterministic_algorithms(True)`, seeds, "
              "and a fixed number of threads.");
  say.take_along(
      "At which step does the loss leave 2.3? Why not at once?",
      "Within the first ten. The warm-up keeps the first steps short, and below a head of zeros "
      "nothing hears a gradient at first (lesson #sanity): the head must move before the rest "
      "can.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
