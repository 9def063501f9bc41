// What is true of a thread is true of the workers of its loops: every mode has the same effect at
// 1, 2, 4 and 8 threads, to the bit, on bare ops and on a training step.

#include "tests/train/small.hpp"
#include "vitruvian/core/anomaly.hpp"
#include "vitruvian/core/base/scope.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/fault.hpp"
#include "vitruvian/core/profile.hpp"
#include "vitruvian/train/step.hpp"
#include "vitruvian/vit/model.hpp"

using namespace vitruvian;

namespace {

constexpr std::size_t chunks = 16;

// What `effect` says, the same at each number of threads.
template <class Effect>
auto at_any_number_of_threads(const Effect& effect) {
  const Threads restore(1);
  const auto expected = effect();
  for (const std::size_t n : {2, 4, 8}) {
    set_threads(n);
    CAPTURE(n);
    for (int again = 0; again < 3; ++again) CHECK(effect() == expected);
  }
  return expected;
}

// What `body(i)` returns in each of some chunks, in their order. Not a bool: the bits of a
// vector<bool> share their bytes, and threads that write neighbouring ones lose some.
template <class Body>
auto in_chunks(const Body& body) {
  using Result = decltype(body(std::size_t{}));
  static_assert(!std::is_same_v<Result, bool>);
  std::vector<Result> result(chunks);
  parallel_for(chunks, 1, [&](std::size_t i, std::size_t) { result[i] = body(i); });
  return result;
}

// Some ops, a leaf used several times, and axes that are stretched.
Tensor some_ops(const Tensor& x, std::size_t i) {
  const Tensor w(random_normal({3, 4}, i), true);
  const Tensor y = linear(x, w);
  return sum(y * y + sum(x) + square(y) * x[0][0]);
}

std::vector<std::vector<Array>> gradients_of_ops() {
  return in_chunks([](std::size_t i) {
    const Tensor x(random_normal({2, 4}, 100 + i), true);
    return grad(some_ops(x, i), {x});
  });
}

std::vector<MicroBatch> micro_batches(real first_pixel_of_some = 0) {
  std::vector<MicroBatch> parts;
  for (std::size_t i = 0; i < 8; ++i) {
    parts.push_back({random_normal({2, 2, 8, 8}, i), {i % 3, (i + 1) % 3}, Rng(i)});
    if (first_pixel_of_some != 0 && i >= 3) {
      const WriteGuard images = parts[i].images.mutable_value();
      images->data()[0] = first_pixel_of_some;
    }
  }
  return parts;
}

std::vector<Array> gradients_of_a_step() {
  const VisionTransformer model = tiny_vit_of_order_one(Rng(5));
  compute_gradients(model, micro_batches(), 0.1);
  return gradients_of(model);
}

// All of a profile that is no time.
using Counts = std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t>>;
Counts counts(const Profile& profile) {
  Counts result;
  for (const auto* rows : {&profile.ops(), &profile.paths()}) {
    for (const ProfileRow& r : *rows) result.emplace_back(r.name, r.calls, r.bytes, r.flops);
  }
  for (const Profile::Other& o : profile.others()) result.emplace_back(o.name, 0, 0, 0);
  return result;
}

std::string finding_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const NotFinite& caught) {
    return caught.finding.to_text();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("what Anomaly throws is an Error, for whoever catches no more") {
  const Anomaly anomaly;
  CHECK_FAILS_WITH(log(Tensor(full({2}, -1))), "NaN in 2 of 2 numbers of the value of 'log'");
}

TEST_CASE("NoGrad reaches every chunk, and leaves every worker again") {
  const auto recorded = [] {
    return in_chunks([](std::size_t i) {
      const Tensor x(random_normal({2, 4}, i), true);
      return some_ops(x, i).requires_grad() ? 1 : 0;
    });
  };
  const auto under = [&] {
    const NoGrad no_grad;
    return recorded();
  };
  CHECK(at_any_number_of_threads(under) == std::vector<int>(chunks, 0));
  CHECK(at_any_number_of_threads(recorded) == std::vector<int>(chunks, 1));
  const auto step = [] {
    const NoGrad no_grad;
    return message_of([] { gradients_of_a_step(); });
  };
  CHECK(says(at_any_number_of_threads(step), "was computed under NoGrad"));
}

TEST_CASE("Composed reaches every chunk and every micro-batch") {
  const auto op = [] {
    const Composed composed;
    return in_chunks([](std::size_t i) {
      return std::string(linear(random_normal({2, 4}, i), random_normal({3, 4}, i)).node().op);
    });
  };
  CHECK(at_any_number_of_threads(op) == std::vector<std::string>(chunks, "matmul"));
  const auto step = [](bool on) {
    const Composed composed(on);
    return gradients_of_a_step();
  };
  const auto twins = at_any_number_of_threads([&] { return step(true); });
  CHECK(twins != at_any_number_of_threads([&] { return step(false); }));
}

TEST_CASE("every kind of fault breaks every chunk and every micro-batch alike") {
  using Kind = Fault::Kind;
  struct Case {
    Kind kind;
    const char* bare;
    const char* in_a_model;
  };
  const auto clean = at_any_number_of_threads(gradients_of_ops);
  for (const Case& c : {Case{Kind::flip_sign, "linear", "linear"},
                        Case{Kind::drop_cotangent, "linear", "self_attention"},
                        Case{Kind::skip_accumulation, "mul", "select"},
                        Case{Kind::forget_unbroadcast, "add", "add"}}) {
    CAPTURE(c.bare);
    CAPTURE(static_cast<int>(c.kind));
    const auto broken = [&](const char* op, const auto& body) {
      return [&, op] {
        const Fault fault(op, c.kind);
        decltype(body()) result;
        const std::string error = c.kind == Kind::forget_unbroadcast
                                      ? message_of([&] { result = body(); })
                                      : (result = body(), "");
        return std::pair(result, error);
      };
    };
    const auto ops = at_any_number_of_threads(broken(c.bare, gradients_of_ops));
    if (c.kind == Kind::forget_unbroadcast) {
      CHECK(says(ops.second, "returned a cotangent of shape"));
    } else {
      for (std::size_t i = 0; i < chunks; ++i) CHECK(ops.first[i] != clean[i]);
    }
    // In the twins, q, k and v are selected from one array: three cotangents come to it.
    const Composed twins(c.kind == Kind::skip_accumulation);
    const auto step = at_any_number_of_threads(broken(c.in_a_model, gradients_of_a_step));
    CHECK(step.first != at_any_number_of_threads(gradients_of_a_step));
  }
}

TEST_CASE("what skip_accumulation remembers belongs to the pass") {
  const Tensor x(random_normal({3}, 1), true);
  const Fault fault("mul", Fault::Kind::skip_accumulation);
  const Tensor y = sum(x * x);
  const std::vector<Array> first = grad(y, {x}, std::nullopt, true);
  CHECK(first[0] == x.value());  // half of 2 x
  CHECK(grad(y, {x}) == first);
}

TEST_CASE("an anomaly is found in the first chunk that has one, whoever computes it") {
  const auto ops = [] {
    return finding_of([] {
      const Anomaly watch;
      in_chunks([](std::size_t i) {
        const Scope scope("chunk", i);
        const Tensor x(full({2}, i < 5 ? real{1} : real{-1}));
        return log(x).size();
      });
    });
  };
  CHECK(at_any_number_of_threads(ops) == "NaN in 2 of 2 numbers of the value of 'log' in chunk.5");
}

TEST_CASE("a watched step finds the same op at any number of threads") {
  const auto step = [] {
    return finding_of([] {
      const Anomaly watch;
      const VisionTransformer model = tiny_vit_of_order_one(Rng(5));
      compute_gradients(model, micro_batches(std::numeric_limits<real>::infinity()), 0.1);
    });
  };
  const std::string found = at_any_number_of_threads(step);
  CAPTURE(found);
  CHECK(says(found, "infinity in 1 of 256 numbers of input 0"));
}

TEST_CASE("a profile counts the same, in the same order, whoever computes") {
  const auto ops = [] {
    const Profile profile(true);
    gradients_of_ops();
    sum(Tensor(random_normal({4}, 1), true)).backward();
    return counts(profile);
  };
  const Counts counted = at_any_number_of_threads(ops);
  REQUIRE_FALSE(counted.empty());
  CHECK(counted[0] ==
        std::tuple("linear", chunks, chunks * 6 * sizeof(real), 3 * chunks * 2 * (2 * 4 * 3)));
  const auto step = [] {
    const Profile profile;
    gradients_of_a_step();
    double seconds = 0;
    for (const ProfileRow& row : profile.ops()) seconds += row.forward + row.backward;
    CHECK(seconds > 0);
    return counts(profile);
  };
  CHECK(at_any_number_of_threads(step).size() > 30);
}

TEST_CASE("operations of a loop inside an op are the op's, and nested loops are counted once") {
  const auto product = [] {
    const Profile profile;
    const Tensor big(random_normal({2, 160, 160}, 2));
    matmul(big, big);
    in_chunks([&](std::size_t) { return matmul(big, big).size(); });
    return counts(profile);
  };
  const Counts counted = at_any_number_of_threads(product);
  CHECK(std::get<1>(counted.at(0)) == chunks + 1);
  CHECK(std::get<3>(counted.at(0)) == (chunks + 1) * 2 * 2 * 160 * 160 * 160);
}

TEST_CASE("initialisers are off in every chunk") {
  const auto draw = [] {
    const init::Off off;
    return in_chunks([](std::size_t i) {
      const Tensor x(zeros({4}));
      init::normal(x, Rng(i), 1);
      return x.value();
    });
  };
  CHECK(at_any_number_of_threads(draw) == std::vector<Array>(chunks, zeros({4})));
}

TEST_CASE("the module's path reaches every chunk: nodes and errors name it") {
  const auto paths = [] {
    const Scope scope("blocks", 3);
    return in_chunks([](std::size_t i) {
      const Scope inner("head", i);
      return *Tensor(zeros({1})).node().path;
    });
  };
  CHECK(at_any_number_of_threads(paths)[7] == "blocks.3.head.7");
  const auto error = [] {
    const Scope scope("blocks", 3);
    return message_of([] {
      in_chunks([](std::size_t i) {
        const Scope inner("head", i);
        return i < 4 ? Tensor() : Tensor(zeros({2})) + Tensor(zeros({i}));
      });
    });
  };
  CHECK(at_any_number_of_threads(error) ==
        "add: shapes (2,) and (4,) do not broadcast: axis -1 is 2 against 4 - in blocks.3.head.4");
}
