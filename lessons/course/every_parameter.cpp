#include "lessons/experiments/exhibits.hpp"
#include "lessons/telling/lesson.hpp"
#include "vitruvian/core/fault.hpp"

#include "vitruvian/vit/variants.hpp"

#include <set>

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Every parameter checked",
    .equation = "∂L/∂θ, all of them",
    .minutes = 8,
    .teaches = {"add", "concat", "cross_entropy", "layer_norm", "linear", "self_attention"},
    .breaks =
        {{"first-image", "the class token hears from the first image alone",
          "all images share it."},
         {"constant-sums", "softmax and layer norm take what they divide by for a constant",
          "their divisor is made of the very numbers that it divides, and moves with them.",
          "div:drop_cotangent:1"},
         {"no-way-around",
          "nothing comes back along the residual connections around the MLPs, nor to the positions",
          "a sum hands its cotangent to both of its terms.", "add:drop_cotangent:1"},
         {"deaf", "nothing comes back through attention",
          "what a token learned from others depends on their values, keys and queries.",
          "self_attention:drop_cotangent"}},
    .play =
        {"How small a mistake in one derivative can differences still see, and with which step h?",
         {{"parameter", 0, 31, 4, 1}, {"mistake, power of ten", -12, 0, -4, 0.5}}},
};

constexpr std::size_t B = 2;
const std::vector<std::size_t> labels = {2, 0};

// [region loss]
Tensor loss_of(const VisionTransformer& vit, const Tensor& images) {
  return cross_entropy(vit(images), labels);
}
// The gradient of every parameter, in the order of their names' list.
std::vector<Array> gradients(const VisionTransformer& vit, const Tensor& loss) {
  std::vector<Tensor> theta;
  for (const auto& p : named_parameters(vit)) theta.push_back(p.tensor);
  return grad(loss, theta);
}

// [region first image]
Tensor loss_of_one(const VisionTransformer& vit, const Tensor& images, std::size_t b) {
  return cross_entropy(vit(index_select(images, 0, {b})), std::vector<std::size_t>{labels[b]});
}
// The loss of all, but only the first image sends something back to what is put in front of its
// patches.
Tensor first_image_alone(const VisionTransformer& vit, const Tensor& images) {
  Tensor loss = loss_of_one(vit, images, 0);
  const Fault fault("concat", Fault::Kind::drop_cotangent, 0);
  for (std::size_t b = 1; b < B; ++b) loss = loss + loss_of_one(vit, images, b);
  return loss / B;
}
// [end]

// How many parameters get another gradient when the op's rule has the wrong sign.
double hit_by(const std::string& op, const VisionTransformer& vit, const Tensor& images) {
  const std::vector<Array> right = gradients(vit, loss_of(vit, images));
  const Fault fault(op, Fault::Kind::flip_sign);
  const std::vector<Array> wrong = gradients(vit, loss_of(vit, images));
  double hit = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    const double apart = amax(abs(Tensor(right[i]) - Tensor(wrong[i]))).item();
    if (apart > 1e-9 && distance(right[i], wrong[i]) > 1e-6) ++hit;  // no rounding
  }
  return hit;
}

// [region walk]
// What any backward pass from y must go through.
std::vector<std::string> ops_of(const Tensor& y) {
  std::set<std::string> ops;
  std::set<const Node*> seen;
  std::vector<const Node*> todo = {&y.node()};
  while (!todo.empty()) {
    const Node* node = todo.back();
    todo.pop_back();
    if (!seen.insert(node).second) continue;
    if (!node->inputs.empty()) ops.insert(node->op);
    for (const Node::Input& input : node->inputs) {
      if (input.node) todo.push_back(input.node.get());
    }
  }
  return {ops.begin(), ops.end()};
}

// [end]

// One derivative of the model, right and wrong by 10^at[1], against differences of many steps h.
void play(Narrator& say, const std::vector<double>& at) {
  const ViTConfig c = tiny_vit();
  const VisionTransformer vit(c, Rng(say.seed()));
  const std::vector<NamedParameter> all = named_parameters(vit);
  draw(all, Rng(say.seed()));
  const Tensor images(random_normal({B, c.C, c.H, c.W}, say.seed()));
  const NamedParameter& theta = all[std::size_t(at[0])];
  const Array g = grad(loss_of(vit, images), {theta.tensor})[0];
  const std::size_t i = largest_of(g);
  const double right = g.data()[i], wrong = right * (1 + std::pow(10, at[1]));
  const Array kept = theta.tensor.value();
  const auto loss_at = [&](double x) {
    Array moved = kept;
    moved.data()[i] += x;
    theta.tensor.mutable_value() = moved;
    return loss_of(vit, images).item();
  };
  const std::vector<double> powers = places(-10, -1, 0.5);
  Series of_right{"the tape's", powers, {}}, of_wrong{"with the mistake", powers, {}};
  for (const double power : powers) {
    const double h = std::pow(10, power);
    const double slope = (loss_at(h) - loss_at(-h)) / (2 * h);
    of_right.y.push_back(std::max(1e-16, std::abs(slope - right) / std::abs(right)));
    of_wrong.y.push_back(std::max(1e-16, std::abs(slope - wrong) / std::abs(right)));
  }
  say.figure({fmt::format("{}, its largest derivative, {:.4g}: how far differences of step h are "
                          "from it. Where the two curves part, the mistake shows.",
                          theta.name, right),
              Chart{.x_label = "log₁₀ h",
                    .y_label = "relative error",
                    .series = {of_right, of_wrong},
                    .log_y = true}});
  const auto least = [](const Series& s) { return *std::min_element(s.y.begin(), s.y.end()); };
  say.text("The best h leaves {:.0e} of the tape's derivative, {:.0e} of the wrong one.",
           least(of_right), least(of_wrong));
}

void lesson(Narrator& say) {
  // The fused forms divide inside: the mistake is one of the division's rule.
  const Composed primitive_ops(say.broken("constant-sums"));
  say.heading("What we want to know");
  say.text(
      "In the next lessons the ViT learns to read digits; a wrong derivative would make it learn "
      "badly, without a word. Every op, every layer, the block was checked. But correct parts "
      "can be put together wrongly. So take a ViT that is small enough, and check every "
      "derivative.");

  say.heading("The equation");
  const ViTConfig c = tiny_vit();
  say.symbols(symbols_of(B, c));
  say.equation(R"(\frac{\partial y_k}{\partial \theta_i} \approx)"
               R"( \frac{y_k(\theta + \delta e_i) - y_k(\theta - \delta e_i)}{2\delta})"
               R"( \quad \text{for every logit } y_k \text{ and every } \theta_i)",
               "∂yₖ/∂θᵢ ≈ (yₖ(θ + δ eᵢ) − yₖ(θ − δ eᵢ)) / 2δ    for all k and i");
  say.in_words("move one of the model's numbers a little both ways, look at the logits, put it "
               "back; so for all of them, and for the loss, one op more.");

  say.heading("The model that is checked");
  say.code("loss");
  const VisionTransformer vit(c, Rng(say.seed()));
  const std::vector<NamedParameter> parameters = named_parameters(vit);
  draw(parameters, Rng(say.seed()));
  const Tensor images(random_normal({B, c.C, c.H, c.W}, say.seed()), true);
  Trace trace;
  {
    const Composed probabilities_too;
    vit(images, {.trace = &trace});
  }
  shapes(say, "images (B, C, H, H)", images, "z_0 (B, N + 1, D)", trace.at("z_0"),
         "attention of a block (B, h, N + 1, N + 1)", trace.at("blocks.1.attn.probs"),
         "logits (B, K)", trace.at("logits"));

  say.heading("All of them");
  std::vector<Leaf> leaves = leaves_of(parameters);
  say.check("parameters in the list", {"counted", double(count_parameters(vit))},
            {"formula", double(c.parameters())}, 0);
  leaves.push_back({"the images", images});
  const auto logits = [&] { return vit(images); };
  check_gradients(say, logits, leaves);
  const Tensor y(vit(images).value(), true);
  check_gradients(say, [&] { return cross_entropy(y, labels); }, {{"the logits, in the loss", y}});

  say.heading("What is worth knowing about them by hand");
  say.text("Two things are known without computing.\n- Class token and positions are shared by all "
           "images: their gradient is the sum of what each alone would give.\n- The key's bias "
           "does nothing: it adds q·b to all scores of a query alike, which softmax does not see.");
  say.equation(R"(\mathrm{softmax}_j\big(q \cdot (k_j + b)\big) =)"
               R"( \mathrm{softmax}_j\big(q \cdot k_j + q \cdot b\big) =)"
               R"( \mathrm{softmax}_j(q \cdot k_j))",
               "softmaxⱼ(q · (kⱼ + b)) = softmaxⱼ(q · kⱼ + q · b) = softmaxⱼ(q · kⱼ)");
  say.in_words("a constant in the exponent of numerator and denominator cancels.");
  const auto loss_in_use = say.broken("first-image") ? first_image_alone : loss_of;
  if (say.broken("first-image")) say.code("first image");
  const std::vector<Array> right = gradients(vit, loss_in_use(vit, images));
  const auto gradient_of = [&](std::string_view name) {
    std::size_t i = 0;
    while (parameters[i].name != name) ++i;
    return Tensor(right[i]);
  };
  Array each = zeros({1, 1, c.D});
  Rows token;
  for (std::size_t b = 0; b < B; ++b) {
    const Array one = grad(loss_of_one(vit, images, b), {vit.cls_token})[0];
    add_in_place(each, mul(one, 1.0 / B).value());
    token.push_back({fmt::format("image {} alone", b), entries_text(mul(one, 1.0 / B).value())});
  }
  token.push_back({"added", entries_text(each)});
  token.push_back({"the tape's, of both", entries_text(gradient_of("cls_token").value())});
  say.table({"class token", "∂L/∂θ, D numbers"}, token);
  check_equal(say, "gradient of the class token", "each image alone, added", each, "tape",
              gradient_of("cls_token"), 1e-11);
  const auto qkv = split(gradient_of("blocks.0.attn.qkv.bias"), {c.D, c.D, c.D}, 0);
  say.is_zero("gradient of the key's bias", {"largest", amax(abs(qkv[1])).item()}, 1e-12);
  const Tensor bias = vit.blocks[0].attn.qkv.bias.tensor();
  const Array kept = bias.value(), before = logits().value();
  Array moved = kept;
  for (std::size_t i = c.D; i < 2 * c.D; ++i) moved(i) += 3;
  bias.mutable_value() = moved;
  check_equal(say, "logits, key's bias + 3", "after", logits(), "before", before, 1e-11);
  bias.mutable_value() = kept;
  say.text("A relative error of that gradient is noise divided by noise. So ours judges an entry "
           "below a thousandth of its parameter's largest against that thousandth.");

  say.heading("Can this check fail?");
  say.text("For each op on the tape of the loss, turn the sign of its rule. How many of the {} "
           "parameters get a wrong gradient?",
           parameters.size());
  say.code("walk");
  std::vector<std::pair<std::string, double>> wrong;
  double missed = 0;
  if (Fault::active() == nullptr) {  // faults do not nest
    for (const std::string& op : ops_of(loss_of(vit, images))) {
      wrong.emplace_back(op, hit_by(op, vit, images));
      if (wrong.back().second == 0 && op != "unfold") ++missed;
    }
    say.bars("Parameters with a wrong gradient when an op's first cotangent has the wrong sign.",
             wrong);
  }
  say.text("Only pixels stand before unfold: its mistake shows in their gradient.");
  say.is_zero("ops whose mistake goes unnoticed", {"counted", missed}, 0);

  say.heading("What goes wrong");
  say.sources_disagree("", "To check a model as it is initialised: its head is zero, nothing comes "
                           "back below it, and zero against zero passes, whatever the rules say. "
                           "That is why every number here was drawn at random, of size 1/2 or so.");
  const VisionTransformer fresh(c, Rng(say.seed()));
  if (Fault::active() == nullptr) {
    const double noticed = hit_by("layer_norm", fresh, images);
    say.table({"layer norm's rule has the wrong sign", "wrong gradients"},
              {row("parameters drawn at random", hit_by("layer_norm", vit, images)),
               row("freshly initialised", noticed)});
    say.is_zero("wrong gradients that are seen when fresh", {"counted", noticed}, 0);
  }

  say.heading("What no gradient check can see");
  say.sources_disagree(
      "B 5",
      "A class token for each place in the batch would pass every comparison with differences "
      "above. They prove that code computes the derivative of its function, not that it is the "
      "right one. For "
      "that there are equations, shapes, and the numbers of others: lesson #other_weights.");

  say.pytorch("`torch.autograd.gradcheck(f, inputs)`, in double; it compares with an absolute and "
              "a relative tolerance, and wants inputs of order one for the same reason.");
  say.take_along("With B = 1000 images, which work here grows, and which does not? And what "
                 "mistake does only a batch of more than one image show?",
                 "Each forward pass takes 500 times as long; there are as many derivatives as "
                 "before. With one image nobody sees what is shared by all: a class token of its "
                 "own for each, a forgotten sum or 1/B, images that attend to each other.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
