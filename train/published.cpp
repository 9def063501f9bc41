#include "vitruvian/train/published.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/safe_file.hpp"
#include "vitruvian/vit/weights/weights.hpp"

#include <filesystem>

namespace vitruvian {
namespace {

// Image and patch sides, width, depth, heads and classes (0: there is no head).
ViTConfig vit(std::size_t side, std::size_t P, std::size_t D, std::size_t L, std::size_t h,
              std::size_t K) {
  ViTConfig c;
  c.C = 3;
  c.H = c.W = side;
  c.P = P;
  c.D = D;
  c.L = L;
  c.h = h;
  c.M = 4 * D;
  c.K = K == 0 ? D : K;
  if (K == 0) c.head = Head::none;
  return c;
}

// DINOv2's, which have LayerScale: so much is what a file of it is taken to have begun with.
ViTConfig dinov2(std::size_t D, std::size_t h, std::size_t registers) {
  ViTConfig c = vit(518, 14, D, 12, h, 0);
  c.layer_scale = 1e-5;
  c.registers = registers;
  return c;
}

ViTConfig with_hidden_layer(ViTConfig c) {
  c.head = Head::tanh;
  return c;
}

constexpr std::size_t in1k = 1000;
constexpr std::size_t in21k = 21843;

const std::vector<double> half{0.5, 0.5, 0.5};
const std::vector<double> imagenet_mean{0.485, 0.456, 0.406};
const std::vector<double> imagenet_std{0.229, 0.224, 0.225};

PublishedModel google(const char* name, const char* about, const char* folder, const char* file,
                      const ViTConfig& config) {
  return {.name = name,
          .about = about,
          .page = "https://github.com/google-research/vision_transformer",
          .licence = "Apache-2.0",
          .place = std::string("https://storage.googleapis.com/vit_models/") + folder + "/",
          .file = file,
          .config = config,
          .mean = half,
          .std = half,
          .interpolation = "bilinear"};
}

PublishedModel torchvision(const char* name, const char* about, const char* digits, std::size_t P) {
  return {.name = name,
          .about = about,
          .page = "https://github.com/pytorch/vision",
          .licence = "BSD-3-Clause",
          .place = "https://download.pytorch.org/models/",
          .file = fmt::format("vit_b_{}-{}.pth", P, digits),
          .sha256 = digits,
          .config = vit(224, P, 768, 12, 12, in1k),
          .mean = imagenet_mean,
          .std = imagenet_std,
          .interpolation = "bilinear"};
}

PublishedModel meta(const char* project, const char* name, const char* about,
                    const std::string& folder, const std::string& file, const char* digits,
                    const ViTConfig& config) {
  return {.name = name,
          .about = about,
          .page = std::string("https://github.com/facebookresearch/") + project,
          .licence = "Apache-2.0",
          .place = std::string("https://dl.fbaipublicfiles.com/") + folder + "/",
          .file = file,
          .sha256 = digits,
          .config = config,
          .mean = imagenet_mean,
          .std = imagenet_std,
          .interpolation = "bicubic"};
}

PublishedModel deit(const char* name, const char* about, const char* size, const char* digits,
                    std::size_t D, bool distilled) {
  ViTConfig c = vit(224, 16, D, 12, D / 64, in1k);
  c.distilled = distilled;
  const char* const token = distilled ? "_distilled" : "";
  return meta("deit", name, about, "deit",
              fmt::format("deit_{}{}_patch16_224-{}.pth", size, token, digits), digits, c);
}

}  // namespace

bool PublishedModel::names_imagenet() const {
  return config.head != Head::none && config.K == in1k;
}

PublicDataset PublishedModel::download() const {
  constexpr std::uint64_t head_of_a_file = 16U << 20U;  // more than any format's list of tensors
  return {.name = name,
          .about = about,
          .folder = name,
          .mirrors = {place},
          .files = {{.name = file,
                     .sha256 = sha256,
                     .at_most = config.parameters() * sizeof(float) + head_of_a_file}}};
}

const std::vector<PublishedModel>& published_models() {
  const char* const both = "imagenet21k+imagenet2012";
  static const std::vector<PublishedModel> all{
      google("vit_b16_in21k", "the paper's ViT-B/16, of ImageNet-21k", "imagenet21k",
             "ViT-B_16.npz", with_hidden_layer(vit(224, 16, 768, 12, 12, in21k))),
      google("vit_l16_in21k", "the paper's ViT-L/16, of ImageNet-21k", "imagenet21k",
             "ViT-L_16.npz", with_hidden_layer(vit(224, 16, 1024, 24, 16, in21k))),
      google("vit_b16_384", "the paper's ViT-B/16 fine-tuned at 384", both, "ViT-B_16.npz",
             vit(384, 16, 768, 12, 12, in1k)),
      google("vit_l16_384", "the paper's ViT-L/16 fine-tuned at 384", both, "ViT-L_16.npz",
             vit(384, 16, 1024, 24, 16, in1k)),
      google("vit_b16_224", "the paper's ViT-B/16 fine-tuned at 224", both, "ViT-B_16-224.npz",
             vit(224, 16, 768, 12, 12, in1k)),
      google("vit_ti16", "timm's vit_tiny_patch16_224 (augreg)", "augreg",
             "Ti_16-i21k-300ep-lr_0.001-aug_none-wd_0.03-do_0.0-sd_0.0--"
             "imagenet2012-steps_20k-lr_0.03-res_224.npz",
             vit(224, 16, 192, 12, 3, in1k)),
      google("vit_s16", "timm's vit_small_patch16_224 (augreg)", "augreg",
             "S_16-i21k-300ep-lr_0.001-aug_light1-wd_0.03-do_0.0-sd_0.0--"
             "imagenet2012-steps_20k-lr_0.03-res_224.npz",
             vit(224, 16, 384, 12, 6, in1k)),
      torchvision("torchvision_b16", "torchvision's vit_b_16", "c867db91", 16),
      torchvision("torchvision_b32", "torchvision's vit_b_32", "d86f8d99", 32),
      deit("deit_ti16", "DeiT-Ti", "tiny", "a1311bcf", 192, false),
      deit("deit_s16", "DeiT-S", "small", "cd65a155", 384, false),
      deit("deit_b16", "DeiT-B", "base", "b5f2ef4d", 768, false),
      deit("deit_ti16_dist", "DeiT-Ti with a teacher's token", "tiny", "b40b3cf7", 192, true),
      deit("deit_s16_dist", "DeiT-S with a teacher's token", "small", "649709d9", 384, true),
      deit("deit_b16_dist", "DeiT-B with a teacher's token", "base", "df68dfff", 768, true),
      meta("dino", "dino_s16", "DINO's ViT-S/16, without labels", "dino/dino_deitsmall16_pretrain",
           "dino_deitsmall16_pretrain.pth", "", vit(224, 16, 384, 12, 6, 0)),
      meta("dino", "dino_s8", "DINO's ViT-S/8, without labels", "dino/dino_deitsmall8_pretrain",
           "dino_deitsmall8_pretrain.pth", "", vit(224, 8, 384, 12, 6, 0)),
      meta("dino", "dino_b16", "DINO's ViT-B/16, without labels", "dino/dino_vitbase16_pretrain",
           "dino_vitbase16_pretrain.pth", "", vit(224, 16, 768, 12, 12, 0)),
      meta("dinov2", "dinov2_s14", "DINOv2's ViT-S/14, without labels", "dinov2/dinov2_vits14",
           "dinov2_vits14_pretrain.pth", "", dinov2(384, 6, 0)),
      meta("dinov2", "dinov2_b14", "DINOv2's ViT-B/14, without labels", "dinov2/dinov2_vitb14",
           "dinov2_vitb14_pretrain.pth", "", dinov2(768, 12, 0)),
      meta("dinov2", "dinov2_s14_reg4", "DINOv2's ViT-S/14 with registers", "dinov2/dinov2_vits14",
           "dinov2_vits14_reg4_pretrain.pth", "", dinov2(384, 6, 4)),
      meta("dinov2", "dinov2_b14_reg4", "DINOv2's ViT-B/14 with registers", "dinov2/dinov2_vitb14",
           "dinov2_vitb14_reg4_pretrain.pth", "", dinov2(768, 12, 4)),
  };
  return all;
}

const PublishedModel& published_model(const std::string& name) {
  return named(name, published_models(), "published model");
}

const char* imagenet_classes() {
  return
#include "vitruvian/train/imagenet_classes.inc"
      ;
}

void check_holds(const std::string& path, const PublishedModel& model) {
  const ViTConfig found = open_weights(path).config;
  ViTConfig expected = model.config;
  expected.eps = found.eps;
  if (expected.head == Head::tanh) {  // no project says whether these files have their heads
    expected.head = found.head;
    expected.K = found.K;
  }
  if (found == expected) return;
  const auto sizes = [](const ViTConfig& c) {
    return fmt::format("{} x {}, P {}, D {}, L {}, h {}, {}{}{}", c.H, c.W, c.P, c.D, c.L, c.h,
                       c.head == Head::none ? "no head" : fmt::format("K {}", c.K),
                       c.distilled ? ", distilled" : "",
                       c.registers != 0 ? fmt::format(", {} registers", c.registers) : "");
  };
  fail(Exit::checkpoint, "{}: it holds a ViT of {}, but {} is one of {}", path, sizes(found),
       model.name, sizes(expected));
}

std::string fetch_model(const PublishedModel& model, const FetchOptions& options) {
  const std::filesystem::path folder = options.directory / model.name;
  const std::string path = (folder / model.file).string();
  const PublicDataset download = model.download();
  if (std::filesystem::is_regular_file(options.from_file)) {
    check_holds(options.from_file.string(), model);
  }
  fetch(download, options);
  try {
    check_holds(path, model);
  } catch (const Error&) {
    // Only a sum could have said so before.
    if (model.sha256.empty()) std::filesystem::remove(path);
    throw;
  }
  if (model.names_imagenet()) {
    write_file_safely((folder / "imagenet-1k.txt").string(), imagenet_classes());
  }
  return path;
}

}  // namespace vitruvian
