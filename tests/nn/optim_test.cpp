// Optimizers, clipping and schedules by themselves. What PyTorch says of the same is in
// golden_test.cpp.

#include "vitruvian/nn/optim.hpp"
#include "tests/expect.hpp"
#include "vitruvian/core/kernels/gemm.hpp"
#include "vitruvian/core/ops.hpp"

using namespace vitruvian;

namespace {

constexpr bool is_float = sizeof(real) == sizeof(float);

// One parameter w = (2, -4) with gradient (0.5, 3), and one without a gradient.
std::vector<NamedParameter> two_parameters() {
  const Tensor w(array({2}, {2, -4}), true);
  w.set_grad(array({2}, {0.5, 3}));
  return {{"w", Role::weight, w}, {"idle", Role::bias, Tensor(array({1}, {5}), true)}};
}

void check_values(const std::vector<NamedParameter>& parameters, double w0, double w1) {
  const double epsilon = is_float ? 1e-6 : 1e-15;
  CHECK(near(static_cast<double>(parameters[0].tensor.value().data()[0]), w0, epsilon));
  CHECK(near(static_cast<double>(parameters[0].tensor.value().data()[1]), w1, epsilon));
  CHECK(parameters[1].tensor.value().data()[0] == 5);  // untouched: it has no gradient
}

TEST_CASE("the first steps, by hand") {
  const auto after = [](const char* name, auto optimizer, int steps, double w0, double w1) {
    INFO(name);
    for (int i = 0; i < steps; ++i) optimizer.step(0.1);
    check_values(optimizer.parameters(), w0, w1);
  };
  after("SGD", SGD(two_parameters()), 1, 2 - 0.1 * 0.5, -4 - 0.1 * 3);
  after("SGD with momentum: twice the same gradient, 1 and then 1.9 of it",
        SGD(two_parameters(), {.momentum = 0.9}), 2, 2 - 0.1 * 0.5 * 2.9, -4 - 0.1 * 3 * 2.9);
  after("SGD with Nesterov's momentum and decay",
        SGD(two_parameters(), {.momentum = 0.9, .nesterov = true, .weight_decay = 0.5}), 1,
        2 - 0.1 * 1.9 * (0.5 + 1), -4 - 0.1 * 1.9 * (3 - 2));
  after("Adam's first step is lr times the sign, whatever the gradient",
        Adam(two_parameters(), {.eps = 0}), 1, 2 - 0.1, -4 - 0.1);
  after("AdamW decays beside it", AdamW(two_parameters(), {.eps = 0, .weight_decay = 0.5}), 1,
        2 * 0.95 - 0.1, -4 * 0.95 - 0.1);
  after("AdamW spares roles",
        AdamW(two_parameters(), {.eps = 0, .weight_decay = 0.5, .undecayed = {Role::weight}}), 1,
        2 - 0.1, -4 - 0.1);
}

TEST_CASE("factors of the rate: of a name that is there, at least 0, and 1 of all others") {
  SGD sgd(two_parameters());
  sgd.set_rate_factors({{"w", 0.5}});
  sgd.parameters()[1].tensor.set_grad(array({1}, {0}));
  sgd.step(0.1);
  check_values(sgd.parameters(), 2 - 0.05 * 0.5, -4 - 0.05 * 3);
  sgd.set_rate_factors({{"idle", 3}});  // those of before are forgotten
  sgd.parameters()[1].tensor.set_grad(array({1}, {0}));
  sgd.step(0.1);
  check_values(sgd.parameters(), 2 - 0.15 * 0.5, -4 - 0.15 * 3);
  CHECK_SAYS(sgd.set_rate_factors({{"v", 1}}), "optimizer: there is no parameter 'v'");
  CHECK_FAILS_WITH(sgd.set_rate_factors({{"w", -1}}),
                   "a factor of the rate is -1, not in [0, inf)");
  CHECK_FAILS_WITH(sgd.set_rate_factors({{"w", std::nan("")}}), "a factor of the rate is nan");
}

TEST_CASE("orthogonalised keeps the singular vectors and brings the values near 1") {
  // [3 0; 0 4] turned by 30 degrees on the left: its singular values are known.
  const double c = std::sqrt(0.75), s = 0.5;
  const auto polynomial = [](double x) {
    for (int i = 0; i < 5; ++i) {
      x = 3.4445 * x - 4.7750 * std::pow(x, 3) + 2.0315 * std::pow(x, 5);
    }
    return x;
  };
  const Array u = orthogonalised(array({2, 2}, {3 * c, -4 * s, 3 * s, 4 * c}));
  const double three = polynomial(0.6), four = polynomial(0.8);
  CHECK(std::min(three, four) > 0.65);
  CHECK(std::max(three, four) < 1.25);
  const double epsilon = is_float ? 1e-5 : 1e-14;
  const double expected[] = {three * c, -four * s, three * s, four * c};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(near(static_cast<double>(u.data()[i]), expected[i], epsilon));
  }

  const Array none = orthogonalised(zeros({3, 2}));
  CHECK(std::all_of(none.begin(), none.end(), [](real x) { return x == 0; }));
  CHECK(orthogonalised(zeros({0, 2})).shape() == Shape{0, 2});
  CHECK_FAILS_WITH(orthogonalised(zeros({2})), "is no matrix");
}

TEST_CASE("Muon needs a block, and multiplies in float32 whatever else does not") {
  CHECK_FAILS_WITH(Muon(two_parameters()), "no parameter is a matrix with \"blocks.\"");
  const auto stepped = [](kernels::GemmPrecision precision) {
    const Tensor w(array({2, 2}, {1, 2, 3, 4}), true);
    w.set_grad(array({2, 2}, {0.3, -0.1, 0.7, 0.9}));
    Muon muon({{"blocks.0.proj.weight", Role::weight, w}});
    const kernels::GemmPrecisionScope scope(precision);
    muon.step(0.1);
    return w.value();
  };
  const Tensor odd(zeros({4, 2}), true);  // no q, k and v: 3 does not divide it
  odd.set_grad(full({4, 2}, 1));
  Muon({{"blocks.0.attn.qkv.weight", Role::weight, odd}}).step(0.1);
  CHECK(odd.value().data()[0] == odd.value().data()[6]);
  if (is_float) {  // doubles are never rounded
    CHECK(stepped(kernels::GemmPrecision::bfloat16) == stepped(kernels::GemmPrecision::float32));
  }
}

TEST_CASE("an optimizer that is given another's state goes on where that one stopped") {
  AdamW first(two_parameters());
  first.step(0.1);
  AdamW second(two_parameters());
  for (std::size_t i = 0; i < 2; ++i) {
    second.parameters()[i].tensor.mutable_value() = first.parameters()[i].tensor.value();
  }
  second.set_state(first.state());
  // Another gradient: while there is but one, Adam's steps do not tell what it remembers.
  for (AdamW* const one : {&first, &second}) {
    one->parameters()[0].tensor.set_grad(array({2}, {-2, 1}));
    one->step(0.01);
    CHECK(one->state().at("w").t == 2);
    CHECK(one->state().at("idle").t == 0);
  }
  CHECK(first.parameters()[0].tensor.value() == second.parameters()[0].tensor.value());

  auto state = first.state();
  state.at("w").m = zeros({3});
  CHECK_SAYS(second.set_state(state), "optimizer: the state of 'w' has shape (3,), not (2,)");
  auto renamed = first.state();
  renamed.erase("w");
  renamed["v"] = {};
  CHECK_SAYS(second.set_state(renamed), "optimizer: the state has no 'w'");
}

TEST_CASE(
    "a frozen parameter is neither stepped, decayed nor clipped, and its count stands still") {
  const auto check = [](auto optimizer) {
    const Tensor w = optimizer.parameters()[0].tensor;
    const Tensor idle = optimizer.parameters()[1].tensor;
    w.set_requires_grad(false);
    idle.set_grad(array({1}, {10}));
    CHECK(clip_grad_norm(optimizer.parameters(), 1e9) == doctest::Approx(10));
    optimizer.step(0.1);
    CHECK(w.value() == array({2}, {2, -4}));
    CHECK(optimizer.state().at("w").t == 0);
    CHECK(idle.value().data()[0] < real{5});
    w.set_requires_grad(true);  // what it had is forgotten: it waits for a backward
    optimizer.step(0.1);
    CHECK(w.value() == array({2}, {2, -4}));
    sum(w).backward();
    optimizer.step(0.1);
    CHECK(w.value() != array({2}, {2, -4}));
    CHECK(optimizer.state().at("w").t == 1);
  };
  check(SGD(two_parameters(), {.weight_decay = 0.5}));
  check(Adam(two_parameters(), {.weight_decay = 0.5}));
  check(AdamW(two_parameters(), {.weight_decay = 0.5}));
}

TEST_CASE("optimizers refuse what makes no sense") {
  CHECK_SAYS(SGD({}, {.nesterov = true}), "sgd: Nesterov needs a momentum");
  CHECK_SAYS(AdamW({}, {.beta2 = 1}), "adamw: beta2 is 1, not in [0, 1)");
  CHECK_SAYS(Adam({}, {.weight_decay = -1}), "adam: weight decay is -1, not in [0, inf)");
  CHECK(message_of([] {
          const Tensor w(zeros({1}), true);
          SGD({{"w", Role::weight, w}, {"w", Role::weight, w}});
        }) == "optimizer: two parameters are called 'w'");
  CHECK_SAYS(AdamW({{"w", Role::weight, Tensor()}}), "optimizer: 'w' is absent");
  const Tensor two(zeros({2}), true);
  two.set_grad(zeros({2}));
  *two.mutable_grad() = zeros({3});
  const std::string wrong = "optimizer: 'w' has shape (2,), and its gradient (3,)";
  CHECK_SAYS(AdamW({{"w", Role::weight, two}}).step(0), wrong);
  CHECK_SAYS(SGD({{"w", Role::weight, two}}).step(0), wrong);
  CHECK_SAYS(AdamW({{"w", Role::weight, square(Tensor(zeros({1}), true))}}),
             "optimizer: 'w' is no parameter: 'square' made it");
}

TEST_CASE(
    "a rate, a beta, an eps, a decay or a norm that no rule has is refused, and changes nothing") {
  for (const double lr :
       {-0.1, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const auto refuses = [lr](auto optimizer, const std::string& name) {
      const std::string message = message_of([&] { optimizer.step(lr); });
      CHECK(message.starts_with(name + ": a learning rate of "));
      CHECK(message.ends_with(" is not a finite number of at least 0"));
      CHECK(optimizer.parameters()[0].tensor.value() == array({2}, {2, -4}));
      CHECK(optimizer.state().at("w").t == 0);
    };
    refuses(SGD(two_parameters()), "sgd");
    refuses(Adam(two_parameters()), "adam");
    refuses(AdamW(two_parameters()), "adamw");
  }
  SGD still(two_parameters());
  still.step(0);  // where a schedule ends
  CHECK(still.parameters()[0].tensor.value() == array({2}, {2, -4}));

  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {-1.0, nan}) {
    CHECK_FAILS_WITH(SGD({}, {.momentum = bad}), "sgd: momentum is ");
    CHECK_FAILS_WITH(SGD({}, {.weight_decay = bad}), "sgd: weight decay is ");
    CHECK_FAILS_WITH(Adam({}, {.beta1 = bad}), "adam: beta1 is ");
    CHECK_FAILS_WITH(Adam({}, {.beta2 = bad}), "adam: beta2 is ");
    CHECK_FAILS_WITH(Adam({}, {.eps = bad}), "adam: eps is ");
    CHECK_FAILS_WITH(Adam({}, {.weight_decay = bad}), "adam: weight decay is ");
    CHECK_FAILS_WITH(AdamW({}, {.beta1 = bad}), "adamw: beta1 is ");
    CHECK_FAILS_WITH(AdamW({}, {.beta2 = bad}), "adamw: beta2 is ");
    CHECK_FAILS_WITH(AdamW({}, {.eps = bad}), "adamw: eps is ");
    CHECK_FAILS_WITH(AdamW({}, {.weight_decay = bad}), "adamw: weight decay is ");
  }

  for (const double norm : {-1.0, 0.0, nan}) {
    const auto parameters = two_parameters();
    CHECK_SAYS(
        clip_grad_norm(parameters, norm),
        fmt::format("clip_grad_norm: a largest norm of {} is not above 0; infinity clips nothing",
                    norm));
    CHECK(*parameters[0].tensor.grad() == array({2}, {0.5, 3}));
  }
}

TEST_CASE("clipping scales all gradients by one factor, and only when they are too long") {
  const auto parameters = two_parameters();
  const Tensor& w = parameters[0].tensor;
  w.set_grad(array({2}, {3, 4}));
  CHECK(near(clip_grad_norm(parameters, 10), 5, 1e-9));
  CHECK(*w.grad() == array({2}, {3, 4}));
  CHECK(near(clip_grad_norm(parameters, 1), 5, 1e-9));
  const double factor = 1 / (5 + 1e-6);
  const double epsilon = is_float ? 1e-6 : 1e-14;
  CHECK(near(static_cast<double>(w.grad()->data()[0]), 3 * factor, epsilon));
  CHECK(near(static_cast<double>(w.grad()->data()[1]), 4 * factor, epsilon));
  CHECK(clip_grad_norm({}, 1) == 0);

  w.set_grad(array({2}, {std::numeric_limits<double>::quiet_NaN(), 4}));
  CHECK(std::isnan(clip_grad_norm(parameters, std::numeric_limits<double>::infinity())));
  CHECK(w.grad()->data()[1] == 4);  // infinity only measures
}

// --- schedules ---------------------------------------------------------------------------------

TEST_CASE("schedules at their ends") {
  for (const auto schedule : {constant_schedule, linear_schedule, cosine_schedule}) {
    CHECK(near(schedule(0, 100, 10), 0.1, 1e-9));
    CHECK(schedule(9, 100, 10) == 1);
    CHECK(schedule(10, 100, 10) == 1);
    CHECK(schedule(0, 100, 0) == 1);
    CHECK(near(schedule(5, 10, 10), 0.6, 1e-9));  // nothing but warm-up
    CHECK(std::isfinite(schedule(10, 10, 10)));
    CHECK(std::isfinite(schedule(0, 0, 0)));
  }
  CHECK(constant_schedule(99, 100, 10) == 1);
  CHECK(near(linear_schedule(55, 100, 10), 0.5, 1e-9));
  CHECK(near(cosine_schedule(55, 100, 10), 0.5, 1e-9));
  CHECK(near(linear_schedule(99, 100, 10), 1.0 / 90, 1e-9));
  CHECK(near(cosine_schedule(99, 100, 10), (1 - std::cos(std::acos(-1.0) / 90)) / 2, 1e-9));
  for (const std::size_t after : {100, 1000}) {
    CHECK(linear_schedule(after, 100, 10) == 0);
    CHECK(near(cosine_schedule(after, 100, 10), 0, 1e-9));
  }
}

TEST_CASE("schedules name a negative number as it was given") {
  const auto minus = [](int n) { return static_cast<std::size_t>(n); };
  CHECK_SAYS(cosine_schedule(minus(-1), 10), "cosine_schedule: step is -1, a negative number");
  CHECK_SAYS(linear_schedule(0, minus(-2)), "linear_schedule: steps is -2, a negative number");
  CHECK_SAYS(constant_schedule(0, 10, minus(-3)),
             "constant_schedule: warmup is -3, a negative number");
}

}  // namespace
