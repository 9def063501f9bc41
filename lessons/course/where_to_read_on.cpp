#include "lessons/telling/lesson.hpp"
#include "vitruvian/vit/variants.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "What was simplified, and where to read on",
    .equation = "PyTorch, timm, JAX",
    .minutes = 10,
    .rows = "1-1 1-2 1-23 1-29 1-30 4-2 4-4 4-16 4-19",
    .breaks = {{"as-quoted", "takes GPT-3's size from the slides",
                "96 blocks of 12 D² numbers are 174 billion: quoted numbers can be recomputed."}},
};

// Table 5: top-1 accuracy in %, pre-trained on one set and fine-tuned on another, at 384 px: six
// tasks for each of three sets.
enum Data { imagenet, imagenet21k, jft };
struct Accuracies {
  Data pretrained;
  const char* task;
  double b16, b32, l16, l32, h14;  // 0 where the paper has none
};
const std::vector<Accuracies> table5 = {
    {imagenet, "CIFAR-10", 98.13, 97.77, 97.86, 97.94, 0},
    {imagenet, "CIFAR-100", 87.13, 86.31, 86.35, 87.07, 0},
    {imagenet, "ImageNet", 77.91, 73.38, 76.53, 71.16, 0},
    {imagenet, "ImageNet ReaL", 83.57, 79.56, 82.19, 77.83, 0},
    {imagenet, "Flowers-102", 89.49, 85.43, 89.66, 86.36, 0},
    {imagenet, "Pets", 93.81, 92.04, 93.64, 91.35, 0},
    {imagenet21k, "CIFAR-10", 98.95, 98.79, 99.16, 99.13, 99.27},
    {imagenet21k, "CIFAR-100", 91.67, 91.97, 93.44, 93.04, 93.82},
    {imagenet21k, "ImageNet", 83.97, 81.28, 85.15, 80.99, 85.13},
    {imagenet21k, "ImageNet ReaL", 88.35, 86.63, 88.40, 85.65, 88.70},
    {imagenet21k, "Flowers-102", 99.38, 99.11, 99.61, 99.19, 99.51},
    {imagenet21k, "Pets", 94.43, 93.02, 94.73, 93.09, 94.82},
    {jft, "CIFAR-10", 99.00, 98.61, 99.38, 99.19, 99.50},
    {jft, "CIFAR-100", 91.87, 90.49, 94.04, 92.52, 94.55},
    {jft, "ImageNet", 84.15, 80.73, 87.12, 84.37, 88.04},
    {jft, "ImageNet ReaL", 88.85, 86.27, 89.99, 88.28, 90.33},
    {jft, "Flowers-102", 99.56, 99.27, 99.56, 99.45, 99.68},
    {jft, "Pets", 95.80, 93.40, 97.11, 95.83, 97.56}};

Rows table5_as_printed() {
  const auto cell = [](double x) { return x == 0 ? std::string("-") : fmt::format("{:.2f}", x); };
  const char* const names[] = {"ImageNet", "ImageNet-21k", "JFT-300M"};
  Rows rows;
  for (const Accuracies& a : table5) {
    rows.push_back({names[a.pretrained], a.task, cell(a.b16), cell(a.b32), cell(a.l16), cell(a.l32),
                    cell(a.h14)});
  }
  return rows;
}

// Of the six tasks, for a model that was pre-trained on these data.
double mean(Data data, double Accuracies::*model) {
  double sum = 0;
  for (const Accuracies& row : table5) sum += row.pretrained == data ? row.*model : 0;
  return sum / 6;
}

// [region gpt-3]
// L blocks of 12 D^2 + 13 D numbers, 50,257 words, 2,048 positions, one norm.
double gpt3(double L, double D) { return L * (12 * D * D + 13 * D) + (50257 + 2048) * D + 2 * D; }

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text(
      "You have seen every equation of the paper run, from one derivative to a model that reads "
      "a page of digits and tells what its answer rests on. With that you can read the paper "
      "and the programs that others use. What did we leave out, what is it called elsewhere, "
      "and what came before and after?");

  say.heading("Where the ViT stands");
  say.table({"when", "what", "why it is on the way"},
            {{"June 2017", "Transformer", "attention alone, for translation (Vaswani et al.)"},
             {"October 2018", "BERT", "pre-train an encoder; the [class] token"},
             {"May 2020", "DETR", "a Transformer finds objects, on a CNN's features"},
             {"May 2020", "GPT-3", "size alone buys abilities"},
             {"October 2020", "ViT", "the image as a sequence of patches, no CNN"},
             {"End of 2020", "IPT, SETR, CLIP", "restoring, segmenting, images beside words"},
             {"2021", "DeiT, PVT, TNT, Swin", "less data; pyramids, windows, tokens in tokens"},
             {"2022", "DALL-E 2, Stable Diffusion", "images from words"},
             {"2023", "GPT-4", "text and images in one model"}});
  say.text("The dates are those of the slides, after a survey (arXiv 2012.12556, Figure 1).");
  say.sources_disagree(
      "B 29", "GPT-3 has 170 billion parameters, say the slides, VTAB nine tasks, "
              "says the blog post. GPT-3's paper says 175, and its sizes agree: 96 blocks of width "
              "12,288. VTAB has 7 natural, 4 specialised and 8 structured tasks.");
  say.code("gpt-3");
  const double quoted = say.broken("as-quoted") ? 170 : 175;
  say.check("GPT-3, in billions", {"from its sizes", gpt3(96, 12288) / 1e9}, {"quoted", quoted},
            0.005);
  say.check("tasks of VTAB", {"7 + 4 + 8", 7 + 4 + 8}, {"quoted", 19}, 0);

  say.heading("What the paper claims");
  say.text("Its abstract says three things.\n- \"Reliance on CNNs is not necessary and a pure "
           "transformer applied directly to sequences of image patches can perform very well\": "
           "you have run it. Nothing here is a convolution but the cutting of patches.\n- "
           "Pre-trained on large amounts of data, it \"attains excellent results compared to "
           "state-of-the-art convolutional networks\".\n- It does so \"while requiring "
           "substantially fewer computational resources to train\".");
  say.text("The blog post adds: the architecture is the Transformer's, so it grows as that does "
           "and keeps what is known of it; transfer costs less than a CNN's; but it assumes less "
           "(lesson #inductive_bias), and so needs more data.");

  say.heading("Transfer: quoted, not reproduced");
  say.text("The paper's point is what happens when the model is trained on very much and "
           "fine-tuned on little: ImageNet (1.3 million images), ImageNet-21k (14 million) or JFT "
           "(303 million), then ImageNet, CIFAR-10 and -100, Pets, Flowers and VTAB. JFT was never "
           "published: we quote these rows, Table 5, all fine-tuned at 384 x 384 pixels. The code "
           "they need is that of lessons #fine_tuning and #other_weights.");
  say.table({"pre-trained on", "fine-tuned on", "B/16", "B/32", "L/16", "L/32", "H/14"},
            table5_as_printed());
  say.text("/16 is the side of a patch: smaller patches, more tokens. As the paper reads it:");
  const auto larger_by = [](Data data) {
    return mean(data, &Accuracies::l16) - mean(data, &Accuracies::b16);
  };
  say.holds("on ImageNet alone the larger L/16 is worse than B/16 on average",
            larger_by(imagenet) < 0);
  say.holds("on JFT it is better", larger_by(jft) > 0);
  const auto with_32 = [](Data data) {
    return mean(data, &Accuracies::l32) - mean(data, &Accuracies::b32);
  };
  say.holds("the same of L/32 and B/32", with_32(imagenet) < 0 && with_32(jft) > 0);
  bool always = true;
  for (std::size_t i = 0; i < 6; ++i) always = always && table5[i].l16 < table5[i + 6].l16;
  say.holds("for L/16, ImageNet-21k is better than ImageNet in every one of the six tasks", always);
  say.holds("smaller patches are better: B/16 beats B/32 wherever pre-trained on JFT",
            std::all_of(table5.begin() + 12, table5.end(),
                        [](const Accuracies& a) { return a.b16 > a.b32; }));
  const std::vector<double> amounts = {1, 2, 3};
  const auto against = [&](const char* name, double Accuracies::*model) {
    return Series{
        name, amounts, {mean(imagenet, model), mean(imagenet21k, model), mean(jft, model)}};
  };
  say.figure(
      {"Mean accuracy in % over the six tasks, pre-trained on 1 ImageNet, 2 ImageNet-21k, 3 "
       "JFT: with little data the large models L are below the base models B, with much above.",
       Chart{.x_label = "data",
             .y_label = "%",
             .series = {against("B/16", &Accuracies::b16), against("L/16", &Accuracies::l16),
                        against("B/32", &Accuracies::b32), against("L/32", &Accuracies::l32)},
             .whole_x = true}});
  say.text("The blog post sums it up: medium data, below a ResNet of the size; large data, "
           "above. Of VTAB's tasks (natural, specialised, structured) H/14 leads in the first and "
           "the last. Table 2, at higher resolutions: H/14 88.55 % of ImageNet, L/16 87.76, BiT-L, "
           "a ResNet, 87.54, for 2,500, 680 and 9,900 TPUv3-core-days on JFT: the third claim.");
  say.text(
      "And without labels? Section 4.6 tries masked patch prediction, after BERT: half of the "
      "patches are spoilt (80 % of them by a learned [mask], 10 % by another patch, 10 % stay), "
      "and the model guesses the mean colour of each, 3 bits a channel, one of 512 classes. On "
      "ImageNet B/16 then reaches 79.9 %: 2 points more than from scratch, 4 less than after "
      "pre-training with labels. Quoted, too; MAE (below) is a later answer.");

  say.heading("What was simplified here");
  say.text(
      "- First derivatives only. A gradient is not on the tape, so there is no Hessian.\n- CPUs, "
      "one or many (lesson #many_hands), no GPU. The kernels are cut so that results repeat to the "
      "bit.\n- "
      "float32 and float64. bfloat16, which most large models train in, is for the factors of "
      "products alone.\n- Every op returns a "
      "new array. Larger frameworks fuse, reuse and recompute to save memory.\n- No compiler. "
      "PyTorch 2 and JAX trace the program and write a faster one.\n- Attention holds a whole row "
      "of scores at a time. FlashAttention (arXiv 2205.14135) walks over tiles and never has the "
      "row.\n- Digits and CIFAR-10, where the paper has 303 million images.");

  say.heading("What it is called elsewhere");
  say.table({"here", "PyTorch and timm", "JAX and Flax"},
            {{"Tensor, backward()", "torch.Tensor, backward()", "jax.grad, jax.vjp"},
             {"NoGrad", "torch.no_grad()", "lax.stop_gradient"},
             {"Rng, fork", "torch.Generator", "random.PRNGKey, split"},
             {"linear, layer_norm", "F.linear, F.layer_norm", "nn.Dense, nn.LayerNorm"},
             {"attention", "F.scaled_dot_product_attention", "nn.dot_product_attention"},
             {"Mlp", "timm: Mlp", "MlpBlock"},
             {"Block", "timm: Block; tv: EncoderBlock", "Encoder1DBlock"},
             {"VisionTransformer", "timm: vit_base_patch16_224", "models_vit.py"},
             {"", "torchvision: vit_b_16()", ""},
             {"AdamW", "optim.AdamW", "optax.adamw"},
             {"cosine_schedule", "CosineAnnealingLR", "cosine_decay_schedule"},
             {"gradcheck", "autograd.gradcheck", "test_util.check_grads"},
             {"Trace", "register_forward_hook", "capture_intermediates"}});
  say.check("parameters of what all four call ViT-B/16",
            {"here", double(variant("vit_b_16").config.parameters())},
            {"torchvision, timm", 86567656}, 0);

  say.heading("Where to read on");
  say.text("- The paper: arXiv 2010.11929, and its code, google-research/vision_transformer.\n- "
           "`timm/models/vision_transformer.py` of huggingface/pytorch-image-models: you can read "
           "all of it now.\n- Less data: DeiT (arXiv 2012.12877). How to train a ViT: Steiner et "
           "al. (2106.10270).\n- No labels: MAE (2111.06377) and DINO (2104.14294). Words beside "
           "images: CLIP (2103.00020).\n- Windows and pyramids: Swin (2103.14030). More variants: "
           "lucidrains/vit-pytorch.\n- An engine on one screen: karpathy/micrograd; autodiff as "
           "JAX does it: Autodidax.\n- Whole training in C: karpathy/llm.c.");

  say.pytorch("You can leave here with `torchvision.models.vit_b_16()`: lesson #other_weights "
              "holds a small model of its class against ours, number for number.");
  say.take_along(
      "Which equations would change for a video, for sound, for a sentence?",
      "Equation 1, which cuts the input into tokens and says where they lie: blocks of "
      "several frames, patches of a spectrogram, words from a table. Equations 2 to 4 stay "
      "as they are.");
}

int main(int argc, char** argv) { return tell(about, {lesson}, argc, argv); }
