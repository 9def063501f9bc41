// The profile of a step: calls, bytes, paths, operations, and whose every moment is.

#include "tests/expect.hpp"
#include "vitruvian/core/anomaly.hpp"
#include "vitruvian/core/base/scope.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/train/run/run.hpp"
#include "vitruvian/train/step.hpp"
#include "vitruvian/vit/model.hpp"
#include "vitruvian/vit/variants.hpp"

#include <chrono>
#include <thread>

using namespace vitruvian;

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto nap = std::chrono::milliseconds(5);
constexpr double napped = 5e-3;

ProfileRow row(const std::vector<ProfileRow>& rows, std::string_view name) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const ProfileRow& one) { return one.name == name; });
  REQUIRE_MESSAGE(found != rows.end(), name);
  return *found;
}

double other(const Profile& profile, std::string_view name) {
  for (const Profile::Other& o : profile.others()) {
    if (o.name == name) return o.seconds;
  }
  return 0;
}

std::uint64_t flops(const std::vector<ProfileRow>& rows) {
  std::uint64_t sum = 0;
  for (const ProfileRow& r : rows) sum += r.flops;
  return sum;
}

std::vector<MicroBatch> images(const ViTConfig& c, std::size_t parts, std::size_t each) {
  std::vector<MicroBatch> result;
  for (std::size_t i = 0; i < parts; ++i) {
    result.push_back(
        {random_normal({each, c.C, c.H, c.W}, i), std::vector<std::size_t>(each, 1), Rng(i)});
  }
  return result;
}

// y = x, where both ways take a nap.
Tensor slow(const Tensor& x) {
  std::this_thread::sleep_for(nap);
  return record("slow", Array(x.value()), {x}, [](const Node&, const Array& g) {
    std::this_thread::sleep_for(nap);
    return cotangents(g);
  });
}

}  // namespace

TEST_CASE("a profile counts calls, bytes and operations by op and by path") {
  const Tensor a(random_normal({3, 4}, 1), true);
  const Tensor b(random_normal({4, 5}, 2), true);
  const Profile profile;
  {
    const Scope scope("blocks", 2);
    const Tensor ab = matmul(a, b);
    const Scope inner("norm");
    sum(ab + ab).backward();
  }
  CHECK(profile.ops().size() == 3);
  CHECK(row(profile.ops(), "matmul").calls == 1);
  CHECK(row(profile.ops(), "matmul").bytes == 15 * sizeof(real));
  CHECK(row(profile.ops(), "matmul").flops == 3 * 2 * 3 * 4 * 5);
  CHECK(row(profile.ops(), "add").calls == 1);
  CHECK(row(profile.ops(), "add").flops == 0);
  CHECK(row(profile.ops(), "sum").bytes == sizeof(real));
  CHECK(profile.paths().size() == 2);
  CHECK(row(profile.paths(), "blocks.2").calls == 1);
  CHECK(row(profile.paths(), "blocks.2").flops == 3 * 2 * 3 * 4 * 5);
  CHECK(row(profile.paths(), "blocks.2.norm").calls == 2);
}

TEST_CASE("products of a batch and of heads are counted as often as they are computed") {
  const Tensor a(random_normal({6, 3, 4}, 1), true);
  const Tensor b(random_normal({6, 4, 5}, 2), true);
  const Tensor big(random_normal({2, 128, 128}, 2));  // above what one thread is given
  const Tensor qkv(random_normal({2, 5, 24}, 3), true);
  const Profile profile;
  matmul(a, b).backward(random_normal({6, 3, 5}, 3));
  CHECK(flops(profile.ops()) == 3 * 2 * 6 * 3 * 4 * 5);
  matmul(big, big);
  CHECK(row(profile.ops(), "matmul").flops == 3 * 2 * 6 * 3 * 4 * 5 + 2 * 2 * 128 * 128 * 128);
  self_attention(qkv, 2).backward(random_normal({2, 5, 8}, 4));
  // q k^T and P v forwards; dv, dP, dq and dk backwards: each B h T T D_h multiply-adds.
  CHECK(row(profile.ops(), "self_attention").flops == 6 * 2 * (2 * 2 * 5 * 5 * 4));
}

TEST_CASE("an op's time is its own, both ways, and the rest is somebody else's") {
  const auto begin = Clock::now();
  const Tensor x(random_normal({4}, 1), true);
  const Profile profile;
  const Tensor y = slow(x);
  const Tensor z = sum(y);
  std::this_thread::sleep_for(nap);
  z.backward();
  std::this_thread::sleep_for(nap);
  Profile::mark("nobody");
  const double whole = std::chrono::duration<double>(Clock::now() - begin).count();
  CHECK(row(profile.ops(), "slow").forward >= napped);
  CHECK(row(profile.ops(), "slow").backward >= napped);
  CHECK(other(profile, "tape") >= napped);
  CHECK(other(profile, "nobody") >= napped);
  const ProfileReport report{.ops = profile.ops(), .paths = {}, .others = profile.others()};
  CHECK(report.seconds() >= 4 * napped);
  CHECK(report.seconds() <= whole);
  const double by_path = row(profile.paths(), "").forward + row(profile.paths(), "").backward;
  double by_op = 0;
  for (const ProfileRow& r : profile.ops()) by_op += r.forward + r.backward;
  CHECK(by_path == doctest::Approx(by_op));
}

TEST_CASE("nothing is recorded when nobody asks, from other threads, or twice") {
  CHECK(Profile::active() == nullptr);
  const Tensor x(random_normal({4}, 1), true);
  const Profile outer;
  {
    const Profile inner;
    sum(x).backward();
    CHECK(row(inner.ops(), "sum").calls == 1);
  }
  CHECK(outer.ops().empty());
  std::thread([&] {
    CHECK(Profile::active() == nullptr);
    sum(x).backward();
  }).join();
  CHECK(outer.ops().empty());
  CHECK(outer.others().empty());
  sum(x);
  CHECK(row(outer.ops(), "sum").calls == 1);
}

TEST_CASE("a training step's operations are those of the model, to the last one") {
  const ViTConfig c = tiny_vit();
  const VisionTransformer model = tiny_vit_of_order_one(Rng(5));
  const std::size_t before = threads();
  const std::vector<MicroBatch> parts = images(c, 3, 2);
  const ProfileReport report = profiled([&] { compute_gradients(model, parts, 0); });
  CHECK(threads() == before);

  // The published count of a forward pass, of which the head is no part; in the last block one
  // token asks: its queries, attention, projection and MLP have one row.
  const std::uint64_t T = c.T(), D = c.D, M = c.M;
  const std::uint64_t patches = c.N() * c.patch_length() * D;
  const std::uint64_t unread = (T - 1) * (2 * D * D + 2 * D * M + 2 * T * D);
  const std::uint64_t forward = c.macs() + D * c.K - unread;
  // Backwards every product has two; but nobody wants the gradient of the images, and what comes
  // back to the asking token from its key and value is computed with the others' and with its own.
  const std::uint64_t again = 2 * D * D;
  CHECK(flops(report.ops) == 6 * (2 * (3 * forward - patches + again)));
  CHECK(flops(report.paths) == flops(report.ops));

  CHECK(row(report.ops, "cross_entropy").calls == 3);
  CHECK(row(report.ops, "cross_entropy").bytes == 3 * sizeof(real));
  CHECK(row(report.ops, "self_attention").calls == 3 * c.L);
  CHECK(row(report.ops, "layer_norm").calls == 3 * (2 * c.L + 1));
  for (const char* path : {"", "patch_embed", "blocks.0.norm1", "blocks.0.attn.qkv",
                           "blocks.0.attn", "blocks.0.attn.proj", "blocks.0.mlp.fc1",
                           "blocks.0.mlp.fc2", "blocks.1.attn", "norm", "head"}) {
    CHECK(row(report.paths, path).name == path);
  }
  CHECK(row(report.paths, "blocks.0.mlp.fc1").bytes == 6 * T * M * sizeof(real));
  CHECK(report.peak_bytes >= report.bytes_before);

  const std::string text = report.to_text();
  for (const char* word : {"self_attention", "blocks.0.mlp.fc2", "(no module)", "GFLOP/s", "tape",
                           "sum of gradients", "the step", "arrays", "a node"}) {
    CAPTURE(word);
    CHECK(says(text, word));
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 80, line);
}

TEST_CASE("what happens in a loop between ops is the loop's, whoever runs its chunks") {
  for (const std::size_t n : {1, 2, 4}) {
    CAPTURE(n);
    set_threads(n);
    const Tensor x(random_normal({4}, 1), true);
    const Profile profile(true);
    std::vector<Tensor> values(4);
    parallel_for(4, 1, [&](std::size_t i, std::size_t) {
      std::this_thread::sleep_for(nap);
      Profile::mark("images");
      values[i] = sum(x);
      Profile::count_flops(10 + i);  // of an op that is not over
    });
    const Tensor y = x + x;
    CHECK(other(profile, "images") >= 4 * napped);
    CHECK(row(profile.ops(), "sum").calls == 4);
    CHECK(row(profile.ops(), "sum").flops == 0);
    CHECK(row(profile.ops(), "add").flops == 10 + 11 + 12 + 13);
    CHECK(row(profile.paths(), "").flops == 10 + 11 + 12 + 13);
    for (const Tensor& value : values) CHECK(profile.nodes().contains(value.node_ptr().get()));
  }
}

TEST_CASE("a watch for anomalies changes no bit") {
  const VisionTransformer model = tiny_vit_of_order_one(Rng(5));
  const std::vector<MicroBatch> parts = images(tiny_vit(), 3, 1);
  std::vector<Tensor> parameters;
  for (const auto& [name, role, p] : named_parameters(model)) parameters.push_back(p);
  const auto gradients = [&] { return grad(forward(model, parts[0], 0.1).loss, parameters); };
  const std::vector<Array> unwatched = gradients();
  const Anomaly anomaly;
  CHECK(gradients() == unwatched);
}

// What it may cost is for the benchmarks to say: a busy machine must not fail a test. That it is a
// time, of one node, in seconds, shows in its size.
TEST_CASE("the cost of a node is told in seconds") {
  const double seconds = seconds_a_node();
  CHECK(seconds > 1e-9);
  CHECK(seconds < 1e-4);
}
