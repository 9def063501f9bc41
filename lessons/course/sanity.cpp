#include "lessons/experiments/exhibits.hpp"
#include "lessons/telling/lesson.hpp"
#include "vitruvian/datasets/formats/digits.hpp"
#include "vitruvian/nn/init.hpp"
#include "vitruvian/vit/model.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Sanity before training",
    .equation = "L₀ = ln K",
    .minutes = 10,
    .breaks = {{"loud-head", "the head starts from N(0, 1) in place of zero",
                "large logits are confident guesses; wrong ones cost more than ln K."},
               {"batch-first", "hands (B, T, D) to attention that expects (T, B, D)",
                "token t then looks at token t of all images: their pixels count."}},
    .play = {"What must the first loss be for as many classes, and what if the head is not zero?",
             {{"classes K", 2, 1000, 10, 1}, {"size of the logits", 0, 5, 0, 0.1}}},
};

constexpr std::size_t B = 20, D = 32, K = 10;

const ViTConfig config = {.D = D, .L = 2, .M = 2 * D};

// [region first gradient]
// dL/db_k = 1/K - n_k / B: what the model says of class k, minus how often
// it comes.
Array first_gradient(const std::vector<std::size_t>& labels) {
  Array g = full({K}, real(1.0 / K));
  for (const std::size_t k : labels) g(k) -= real(1.0 / B);
  return g;
}

// [region one question each]
// K questions of yes or no, of which one is a yes, to a head whose weights are 0 and whose biases
// are b: -log sigmoid(b) - (K - 1) log(1 - sigmoid(b)).
double first_loss(double b, double classes) {
  return std::log1p(std::exp(-b)) + (classes - 1) * std::log1p(std::exp(b));
}

// [region leak]
using Encoder = std::function<Tensor(const VisionTransformer&, Tensor)>;
Tensor each_image(const VisionTransformer& m, Tensor z) {
  for (const Block& block : m.blocks) z = block(z);
  return z;
}
// The same for a module that expects (T, B, D), and is given (B, T, D): the
// images of a batch attend to each other.
Tensor across_batch(const VisionTransformer& m, Tensor z) {
  for (const Block& block : m.blocks) z = transpose(block(transpose(z, 0, 1)), 0, 1);
  return z;
}
// How much of what image 0's tokens z (T, D) depend on lies in other images,
// and whether they depend on any image at all.
struct Seen {
  double own = 0, others = 0;
  std::vector<double> by_image = std::vector<double>(B);
  [[nodiscard]] double share() const { return others / (own + others); }
};
Seen seen(const Tensor& z, const Tensor& x) {
  const Tensor dx(grad(sum(square(z)), {x})[0]);
  const Array sums = sum(abs(dx), {1, 2, 3}).value();
  Seen s;
  for (std::size_t b = 0; b < B; ++b) {
    s.by_image[b] = double(sums(b));
    (b == 0 ? s.own : s.others) += s.by_image[b];
  }
  return s;
}
// [end]

double loss_of(const VisionTransformer& model, const MicroBatch& batch) {
  const NoGrad no_grad;
  return double(cross_entropy(model(batch.images), batch.labels).item());
}

// The mean loss of 500 guesses with logits of this size, by the library.
void play(Narrator& say, const std::vector<double>& at) {
  const auto classes = std::size_t(at[0]);
  const Tensor logits = Tensor(random_normal({500, classes}, 1)) * real(at[1]);
  std::vector<std::size_t> labels(500);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = i % classes;
  const double loss = double(cross_entropy(logits, labels).item());
  say.bars("A model that knows nothing should begin at ln K. More is false confidence.",
           {{"first loss", loss}, {"ln K", std::log(double(classes))}});
  say.text("{:.3f}, and ln {} = {:.3f}.", loss, classes, std::log(double(classes)));
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text("The ViT is built and the optimizer of lesson #optimizers stands ready. But a wrong "
           "model often trains, too, a little and slowly, and its loss curve looks like any other. "
           "So before the run that is to read digits come five questions whose answers we know "
           "beforehand. Each takes seconds, and each finds a mistake that would cost days.");
  say.symbols({{"B", B}, {"D", D}, {"K", K}});
  const VisionTransformer model(config, Rng(say.seed()).fork("weights"));
  const Dataset twenty = digits(B, say.seed(), "train");
  const MicroBatch batch = all_of(twenty);
  shapes(say, "images (B, 1, 28, 28)", batch.images);

  say.heading("1. What does knowing nothing cost?");
  say.equation(R"(L_0 = -\frac{1}{B} \sum_b \log \frac{1}{K} = \ln K)", "L₀ = −log(1/K) = ln K");
  say.in_words("a model that gives every class the same probability loses ln K on every image.");
  say.text("With a head of zeros (section 3.2 of the paper) the first loss is ln K exactly. A head "
           "that starts large is confident before it has seen anything, and wrong.");
  const VisionTransformer loud(config, Rng(say.seed()).fork("weights"));
  const auto shout = [&](const VisionTransformer& m) {
    init::normal(m.head.weight, Rng(say.seed()).fork("loud"), 1);
  };
  shout(loud);
  if (say.broken("loud-head")) shout(model);
  say.check("the first loss", {"measured", rounded(loss_of(model, batch), 5)},
            {"ln 10", std::log(10.0)}, 1e-4);
  say.differs("the same with head weights from N(0, 1)",
              {"measured", rounded(loss_of(loud, batch), 3)}, {"ln 10", std::log(10.0)}, 0.1);
  const auto says = [&](const char* name, const VisionTransformer& m) {
    const NoGrad no_grad;
    const Array p = softmax(m(batch.images)).value();
    return graph_of(
        name, places(0, K - 1),
        [&](double k) { return std::round(100 * p(0, std::size_t(k))) / 100; }, Mark::dots);
  };
  say.figure({"What an untrained model says of the first digit: with zeros, a tenth of everything; "
              "with large weights, it is sure of something that it cannot know.",
              Chart{.x_label = "class",
                    .y_label = "probability",
                    .series = {says("a head of zeros", model), says("a head from N(0, 1)", loud)},
                    .from_zero = true,
                    .whole_x = true}});
  say.text(
      "The head's bias begins at 0, too. Not so where each class is a question of its own, "
      "answered by a sigmoid: there 0 says \"half of all classes\", and the first loss is K ln "
      "2. To say \"one of K\" the bias must be about -ln K. timm offers that, and the authors "
      "pre-train from -10, which is it for ImageNet-21k:");
  say.code("one question each");
  const double of_21k = 21843;
  say.check("-ln K for K = 21,843", {"measured", -std::log(of_21k)}, {"the authors'", -10}, 1e-3);
  say.check("loss, bias 0", {"measured", first_loss(0, of_21k)}, {"K ln 2", of_21k * std::log(2)},
            1e-12);
  say.check("loss, bias -10", {"measured", first_loss(-10, of_21k)},
            {"1 + ln K", 1 + std::log(of_21k)}, 1e-3);
  say.text(
      "The other weights begin as small random numbers, and which, each code base decides for "
      "itself. `vitruvian train --initialisation` knows that of the authors' JAX code (the "
      "default), "
      "torchvision's, timm's, Hugging Face's, and mimetic, after Trockman and Kolter. timm has one "
      "more, \"moco\", which is not offered here. It draws matrices as the authors do, its head as "
      "well, and sets the MLP's biases to 0.");

  say.heading("2. Is the first gradient the one that it must be?");
  say.equation(R"(\frac{\partial L}{\partial b_k} = \frac{1}{K} - \frac{n_k}{B})",
               "∂L/∂b_k = 1/K − n_k/B");
  say.in_words(
      "at first the head's bias learns how common a class is: n_k images of B are of class k.");
  say.code("first gradient");
  MicroBatch skewed = batch;
  for (std::size_t b = 0; b < 8; ++b) skewed.labels[b] = 3;
  compute_gradients(model, std::vector{skewed}, 0);
  check_equal(say, "dL/db, eight labels turned into 3", "by hand", first_gradient(skewed.labels),
              "tape", *model.head.bias.grad(), 1e-5);
  const Array& first = *model.blocks[0].mlp.fc1.weight.grad();
  say.is_zero("sum of |dL/dW| of block 0", {"tape", double(sum(abs(Tensor(first))).item())}, 0);
  say.text("Below the head the first gradient is exactly zero: W = 0 in y Wᵀ sends nothing back.");

  say.heading("3. Can it learn twenty images by heart?");
  say.text(
      "A model with thousands of numbers must. If not, something is broken, or the rate is wrong.");
  const FitOptions how{.steps = 200, .batch_size = B, .lr = 3e-3, .weight_decay = 0};
  const std::vector<double> losses = fit(model, twenty, how);
  Dataset blank = twenty;
  std::fill(blank.pixels.begin(), blank.pixels.end(), std::uint8_t{0});
  const VisionTransformer blind(config, Rng(say.seed()).fork("weights"));
  const std::vector<double> control = fit(blind, blank, how);
  say.curves("The loss of 200 steps on the same twenty images, and on blank ones.",
             {curve_of("loss", losses), curve_of("blank images", control)});
  say.check("learned, of 20", {"counted", B * score(model, Loader(twenty)).accuracy}, {"all", B},
            0);
  say.is_zero("the loss at the end, to a tenth", {"measured", std::round(10 * losses.back()) / 10},
              0.05);

  say.heading("4. Does it look at the images?");
  say.text(
      "The second curve is the control: the same labels, every pixel black. When every class comes "
      "equally often, nobody can be below ln K now without having seen the labels otherwise.");
  say.check("the last loss on blank images", {"measured", rounded(control.back(), 4)},
            {"ln 10", std::log(10.0)}, 1e-2);
  Dataset random = twenty;
  const auto shuffled = Rng(say.seed()).fork("labels").permutation(B);
  for (std::size_t i = 0; i < B; ++i) random.labels[i] = twenty.labels[shuffled[i]];
  const VisionTransformer parrot(config, Rng(say.seed()).fork("weights"));
  fit(parrot, random, how);
  const Dataset unseen = digits(500, say.seed(), "test");
  say.text("A warning: with shuffled labels, which mean nothing, it learns the twenty just as "
           "well. To learn by heart is overfitting: here it proves that the machine works, not "
           "that it understands:");
  say.check("learned with shuffled labels, of 20",
            {"counted", B * score(parrot, Loader(random)).accuracy}, {"all", B}, 0);
  say.holds("of 500 unseen digits it reads at most a quarter",
            score(parrot, Loader(unseen)).accuracy <= 0.25);

  say.heading("5. Do the images keep to themselves?");
  say.text("What comes out for image 0 may depend on image 0 alone. Differentiate it by all pixels "
           "of the batch, and see where the derivative is not zero.");
  say.code("leak");
  const Tensor x(batch.images.value(), true);
  const auto of_image_0 = [&](const Encoder& encoder) {
    return select(encoder(model, model.embed(x)), 0, 0);
  };
  const Encoder encoder = say.broken("batch-first") ? across_batch : each_image;
  const Seen ours = seen(of_image_0(encoder), x), exchanged = seen(of_image_0(across_batch), x);
  say.is_zero("share of the derivative in other images", {"measured", ours.share()}, 0);
  Matrix where{2, B, {}};
  for (const Seen* s : {&ours, &exchanged}) {
    const double most = *std::max_element(s->by_image.begin(), s->by_image.end());
    for (const double d : s->by_image) where.values.push_back(rounded(d / most, 1));
  }
  say.figure({"Which of the 20 images (columns) the output for image 0 hears. Above, this encoder: "
              "image 0 alone. Below, with batch and tokens exchanged: all of them.",
              where});
  say.sources_disagree(
      "B 22",
      fmt::format(
          "`nn.MultiheadAttention` expects (T, B, D) unless it is told `batch_first=True`, and the "
          "slides do not say so. Given (B, T, D) it attends across the batch, and every shape "
          "fits: {:.0f} % "
          "of the derivative then lies in other images.",
          100 * rounded(exchanged.share(), 1)));
  say.holds("batch and tokens exchanged, a tenth and more lies in others", exchanged.share() > 0.1);
  say.text("Worse than a leak: the class token sees only other class tokens, and never a patch:");
  const Seen blind_token = seen(select(of_image_0(across_batch), 0, 0), x);
  say.is_zero("all that the class token sees of any image",
              {"tape", blind_token.own + blind_token.others}, 0);

  say.pytorch(
      "Nothing to call: these are habits. Karpathy's \"A Recipe for Training Neural Networks\" and "
      "the CS231n notes list more. `torch.autograd.grad(y[0].sum(), x)` answers question 5.");
  say.take_along(
      "Which would have noticed that positions, or the class token, were never added?",
      "None. Without positions the model learns twenty digits by heart, looks at the images, and "
      "mixes none. Two more questions do: has every parameter a gradient (lesson "
      "#every_parameter), and do the logits change when two patches are exchanged (lesson "
      "#miniature)?");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
