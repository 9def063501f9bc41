// Every layout that is read, each under its publisher's names and shapes: PyTorch's logits, and the
// derivative by every tensor (golden_layouts.py), wherever reading puts it.

#include "tests/vit/weights_testing.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/vit/weights/written_out.hpp"

using namespace vitruvian;

namespace {

constexpr double exactly = in_double ? 1e-10 : 1e-5;
// The biases of keys have a gradient of zero but for rounding, which softmax does not see: shorter
// gradients than this are judged as if they were of this length.
constexpr double still = in_double ? 1e-4 : 1e-1;

const golden::Json& all_layouts() {
  static const golden::Json json = golden::read("layouts.json");
  return json;
}

std::size_t size_of(const std::vector<std::size_t>& shape) {
  std::size_t n = 1;
  for (const std::size_t length : shape) n *= length;
  return n;
}

bool begins_as_one(const std::string& name, std::size_t rank) {
  const auto ends = {"weight", "scale", "gamma", "lambda1", "gamma_1", "gamma_2"};
  return rank == 1 && std::any_of(ends.begin(), ends.end(),
                                  [&name](const char* end) { return name.ends_with(end); });
}

// The layout's tensors with values(name, shape, count of the numbers before it).
template <class Values>
TensorFile file_of(const golden::Json& layout, const Values& values) {
  TensorFile file{"f", {}, {}};
  std::size_t at = 0;
  for (const auto& [name, json] : layout["tensors"].items()) {  // in the order of their names
    const std::vector<std::size_t> shape = json;
    file.tensors.push_back(stored(name, shape, values(name, shape, at), Dtype::f64));
    at += size_of(shape);
  }
  return file;
}

TensorFile published(const golden::Json& layout) {
  return file_of(layout, [](const std::string& name, const auto& shape, std::size_t at) {
    std::vector<double> x = golden::numbers(at, size_of(shape));
    for (double& v : x) v = 0.5 * v + (begins_as_one(name, shape.size()) ? 1 : 0);
    return x;
  });
}

golden::Json layout_of(const std::string& name) {
  std::size_t i = 0;  // a name that is not there ends in an error of the list's end
  while (all_layouts()["layouts"][i]["name"].get<std::string>() != name) ++i;
  return all_layouts()["layouts"][i];
}

}  // namespace

TEST_CASE("each publisher's layout: the config, PyTorch's logits, the derivative by every tensor") {
  const std::size_t heads = all_layouts()["heads"];
  CHECK(all_layouts()["layouts"].size() == 23);
  const Array images = array({2, 3, 8, 8}, golden::numbers(1'000'003, 2 * 3 * 8 * 8));
  for (const golden::Json& layout : all_layouts()["layouts"]) {
    CAPTURE(layout["name"].get<std::string>());
    const VitWeights weights = opened(published(layout), {.heads = heads});
    CHECK(weights.config.to_json() == ViTConfig::from_json(layout["config"].dump()).to_json());
    const VisionTransformer model = model_of(weights);
    const Tensor logits = model(Tensor(images));
    CHECK(golden::difference(logits.value(), golden::tensor(layout["logits"])) < exactly);

    const Array cotangent = array(logits.shape(), golden::numbers(2'000'003, logits.size()));
    const std::vector<NamedParameter> parameters = named_parameters(model);
    const std::vector<Array> gradients = grad(logits, trainable(parameters), cotangent);
    // Reading is linear: a direction of a publisher's tensor is a direction of ours.
    for (const auto& [name, derivative] : layout["derivatives"].items()) {
      const std::string moved = name;  // clang 14 captures no structured binding
      CAPTURE(moved);
      const TensorFile one_alone =
          file_of(layout, [&](const std::string& tensor, const auto& shape, std::size_t) {
            const std::size_t n = size_of(shape);
            return tensor == moved ? golden::numbers(3'000'017, n) : std::vector<double>(n);
          });
      const auto directions = named_parameters(model_of(opened(one_alone, {.heads = heads})));
      double sum = 0;
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Array& direction = directions[i].tensor.value();
        for (std::size_t j = 0; j < direction.size(); ++j) {
          sum += double(gradients[i].data()[j]) * double(direction.data()[j]);
        }
      }
      const double expected = derivative[0], most = derivative[1];
      CHECK(std::abs(sum - expected) < exactly * std::max(most, still));
    }
  }
}

TEST_CASE("norms of q and k tell the heads; half of a part is damage") {
  CHECK(opened(published(layout_of("timm, qk_norm")), {}).config.h == 2);
  const auto lacking = [](const std::string& layout, const std::string& lost) {
    TensorFile file = published(layout_of(layout));
    std::erase_if(file.tensors, [&](const StoredTensor& t) { return t.name == lost; });
    const std::string message = error_of(Exit::checkpoint, [&] { return opened(file); });
    CHECK(says(message, "but it lacks '"));
    CHECK(message.ends_with(lost + "'"));
  };
  lacking("timm, init_values", "blocks.1.ls2.gamma");
  lacking("timm, qk_norm", "blocks.0.attn.k_norm.bias");
  lacking("timm, DeiT distilled", "dist_token");
  lacking("timm, DeiT distilled", "head_dist.bias");
  lacking("Hugging Face Dinov2", "encoder.layer.0.layer_scale1.lambda1");
  TensorFile one_head = published(layout_of("timm, DeiT distilled"));
  std::erase_if(one_head.tensors, [](auto& t) { return t.name.starts_with("head_dist."); });
  CHECK(error_of(Exit::checkpoint, [&] {
          return opened(one_head);
        }).ends_with("but it lacks 'head_dist.weight', 'head_dist.bias'"));
}

TEST_CASE("what is not as in the file is said") {
  const auto notes = [](const std::string& layout) {
    return opened(published(layout_of(layout))).notes;
  };
  using Notes = std::vector<std::string>;
  const std::string no_head =
      "there is no head: the model's output is y, what it sees; --classes K gives it one of zeros";
  CHECK(notes("timm, init_values") == Notes{});
  CHECK(notes("timm, DeiT distilled") == Notes{});
  CHECK(notes("DeiT III") == Notes{"the class token has no position: its row gets zeros"});
  CHECK(notes("timm, registers with positions") ==
        Notes{"the registers' positions are added to them: here they have none"});
  CHECK(notes("DINOv2 with registers") ==
        Notes{"'mask_token': only for training without labels, left out", no_head});
  // A head of both the class token and the patches is none of ours.
  TensorFile file = published(layout_of("Hugging Face Dinov2"));
  for (StoredTensor& t : file.tensors) t.name = "dinov2." + t.name;
  file.tensors.push_back(stored_zeros("classifier.weight", {3, 16}));
  file.tensors.push_back(stored_zeros("classifier.bias", {3}));
  const VitWeights wide = opened(file);
  CHECK(model_of(wide).config.head == Head::none);
  CHECK(wide.notes.size() == 3);
  CHECK(wide.notes[1].starts_with("the head is of the class token and the mean over"));
}

TEST_CASE("as others write them: a distilled model's names, and places of zeros for registers") {
  const TensorFile deit = published(layout_of("Hugging Face DeiT with its teacher"));
  const TensorFile again = from_timm(to_timm(deit, Scheme::hf).file, Scheme::hf, 2);
  CHECK(std::ranges::equal(again.tensors, deit.tensors, {}, &StoredTensor::name,
                           &StoredTensor::name));

  const TensorFile dino = published(layout_of("DINOv2 with registers"));  // places of 1 + 4 tokens
  std::vector<double> places = dino.at("pos_embed").values();
  places.insert(places.begin() + 8, 4 * 8, 0.0);
  const VitWeights timm = written_for(Scheme::timm, opened(dino, {.heads = 2}));
  CHECK(timm.tensors.at("pos_embed").shape == std::vector<std::size_t>{1, 9, 8});
  CHECK(timm.tensors.at("pos_embed").values() == places);
}

TEST_CASE("both heads of a distilled model are replaced where classes are, and so are positions") {
  const TensorFile file = published(layout_of("timm, DeiT distilled"));
  const VitWeights weights = opened(file, {.heads = 2, .height = 12, .width = 12, .classes = 5});
  CHECK(weights.tensors.at("head_dist.weight").shape == std::vector<std::size_t>{5, 8});
  CHECK(weights.tensors.at("pos_embed").shape == std::vector<std::size_t>{1, 11, 8});
  const auto old = file.at("pos_embed").values();
  const auto resized = weights.tensors.at("pos_embed").values();
  CHECK(std::equal(old.begin(), old.begin() + 16, resized.begin()));  // both tokens' rows
  CHECK(model_of(weights)(Tensor(zeros({1, 3, 12, 12}))).shape() == Shape{1, 5});
}
