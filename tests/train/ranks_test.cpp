// Several ranks are one run: the same bytes, whatever their number. Threads stand for processes
// here; tests/mpi has the processes.

#include "vitruvian/train/ranks/ranks.hpp"
#include "tests/train/small.hpp"
#include "vitruvian/train/ranks/as_ranks.hpp"
#include "vitruvian/train/train.hpp"

#include <atomic>

using namespace vitruvian;

namespace {

// All ranks say the same of a run; rank 0's is returned.
RunResult train_on(std::size_t ranks, const TrainOptions& options,
                   Observer& observer = nobody_looks) {
  RunResult result;
  as_ranks(ranks, [&](RankThread& rank) {
    RunResult own = VITRUVIAN_PRECISION::train(options, observer, {}, rank);
    const std::vector<double> accuracies = all_of(rank, own.last.test_accuracy);
    CHECK(accuracies == std::vector<double>(ranks, accuracies[0]));
    if (rank.rank() == 0) result = own;
  });
  return result;
}

constexpr Network network{20e-6, 1.25e9};  // 10 Gb/s

// The clock of the slowest of so many ranks on this network, when each has done it.
double seconds_of(std::size_t ranks, const std::function<void(RankThread&)>& body) {
  std::vector<double> clocks(ranks);
  const auto timed = [&](RankThread& rank) {
    body(rank);
    clocks[rank.rank()] = rank.clock();
  };
  as_ranks(ranks, timed, network);
  return *std::max_element(clocks.begin(), clocks.end());
}

TrainOptions laned(const std::string& out) {
  TrainOptions o = small_options(out);
  o.lanes = 4, o.micro_batch = 3, o.log_every = 1, o.checkpoint_every = 2;
  return o;
}

}  // namespace

TEST_CASE("what ranks say to one another") {
  if (one_thread_only()) return;
  for (std::size_t n = 1; n <= 9; ++n) {
    CAPTURE(n);
    std::atomic<std::size_t> right = 0;
    as_ranks(n, [&](RankThread& rank) {
      const std::size_t r = rank.rank();
      std::vector<double> given;
      std::string word;
      if (r == 0) given = {1.5, -2}, word = "go";
      broadcast(rank, given);
      broadcast(rank, word);
      std::vector<std::size_t> parts(2 * n + 1, 100);
      const auto owner = [n](std::size_t i) { return (i + 1) % n; };
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (owner(i) == r) parts[i] = i;
      }
      exchange(rank, parts, owner);
      std::vector<std::size_t> counted(parts.size());
      std::iota(counted.begin(), counted.end(), std::size_t{0});
      const std::vector<std::string> texts = all_texts(rank, std::string(r, 'x'));
      bool fits = given == std::vector<double>{1.5, -2} && word == "go" && parts == counted;
      for (std::size_t i = 0; i < n; ++i) fits = fits && texts[i] == std::string(i, 'x');
      right += fits && rank.size() == n ? 1 : 0;
    });
    CHECK(right == n);
  }
}

TEST_CASE("an error of one rank ends all, and is the one that is seen") {
  if (one_thread_only()) return;
  for (std::size_t bad = 0; bad < 4; ++bad) {
    CHECK_SAYS(as_ranks(4,
                        [bad](RankThread& rank) {
                          if (rank.rank() == bad) fail("rank {} gave up", bad);
                          all_of(rank, 0);
                        }),
               fmt::format("rank {} gave up", bad));
  }
}

TEST_CASE("the lanes' sum is its formula's, on any number of ranks") {
  if (one_thread_only()) return;
  // Two slices and a bit in the first, and numbers whose sum depends on the order.
  const std::vector<Shape> shapes{{3, 20001}, {1}, {5, 2}};
  const auto number = [](std::size_t turn, std::size_t i) {
    return static_cast<real>(Rng(turn).normal(i) * (i % 3 == 0 ? 1e6 : 1));
  };
  std::vector<std::vector<Array>> gradients(13);
  for (std::size_t turn = 0; turn < gradients.size(); ++turn) {
    std::size_t at = 0;
    for (const Shape& shape : shapes) {
      gradients[turn].push_back(zeros(shape));
      for (real& x : gradients[turn].back()) x = number(turn, at++);
    }
  }
  const std::vector<std::array<std::size_t, 3>> rows{{1, 1, 1}, {7, 1, 1},  {7, 3, 1}, {7, 3, 2},
                                                     {7, 3, 3}, {8, 8, 2},  {8, 8, 3}, {8, 8, 5},
                                                     {8, 8, 8}, {5, 16, 4}, {2, 4, 4}, {13, 6, 4}};
  for (const auto& row : rows) {
    const std::size_t turns = row[0], lanes = row[1], ranks = row[2];
    INFO("turns ", turns, ", lanes ", lanes, ", ranks ", ranks);
    const std::size_t L = std::min(lanes, turns);
    const auto begin = [L, n = turns](std::size_t l) { return l * (n / L) + std::min(l, n % L); };
    std::vector<Array> expected;
    for (std::size_t l = 0; l < L; ++l) {
      std::vector<Array> lane = gradients[begin(l)];
      for (std::size_t i = begin(l) + 1; i < begin(l + 1); ++i) {
        const std::vector<Array>& next = gradients[i];
        for (std::size_t p = 0; p < lane.size(); ++p) add_in_place(lane[p], next[p]);
      }
      if (l == 0) {
        expected = lane;
      } else {
        for (std::size_t p = 0; p < lane.size(); ++p) add_in_place(expected[p], lane[p]);
      }
    }
    // A micro-batch may have its gradients in another order than its neighbours, and messages may
    // come while it has them.
    const std::vector<std::vector<std::size_t>> order{{2, 1, 0}, {2, 0, 1}, {0, 1, 2}};
    std::vector<std::atomic<std::size_t>> computed(turns);
    std::atomic<std::size_t> right = 0;
    as_ranks(ranks,
             [&](RankThread& rank) {
               std::vector<Tensor> own;
               for (const Shape& shape : shapes) own.emplace_back(zeros(shape), true);
               LaneSum sum(turns, {lanes, &rank});
               Reducer reducer(own, sum);
               for (std::size_t p = 0; p < sum.turns().size(); ++p) {
                 ++computed[sum.turns()[p]];
                 CHECK(sum.owner(sum.turns()[p]) == rank.rank());
                 std::vector<Array> its = gradients[sum.turns()[p]];
                 for (const std::size_t i : order[sum.turns()[p] % order.size()]) {
                   reducer.add(p, i, std::move(its[i]));
                   rank.spend(1e-5 * static_cast<double>(1 + sum.turns()[p] % 3));
                 }
               }
               reducer.finish();
               bool same = true;
               for (std::size_t p = 0; p < own.size(); ++p)
                 same = same && *own[p].grad() == expected[p];
               right += same ? 1 : 0;
             },
             {1e-6, 1e10});
    CHECK(right == ranks);
    for (const auto& times : computed) CHECK(times == 1);
  }
}

TEST_CASE("a run on ranks leaves the bytes of one process") {
  if (one_thread_only()) return;
  const Folder folder;
  std::vector<TrainOptions> kinds(4, laned(""));
  kinds[0].augment.mixup = 0.3, kinds[0].ema = 0.9, kinds[0].model.stochastic_depth = 0.2;
  kinds[1].optimizer = OptimizerKind::adam, kinds[1].accumulate = 2, kinds[1].model.dropout = 0.1;
  kinds[3].optimizer = OptimizerKind::muon;
  kinds[2].optimizer = OptimizerKind::sgd, kinds[2].val_fraction = 0.2, kinds[2].patience = 2;
  kinds[3].train_size = 41, kinds[3].micro_batch = 11;  // a last step of one micro-batch
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    CAPTURE(kind);
    TrainOptions o = kinds[kind];
    o.out = folder.file(fmt::format("{}-1", kind));
    train_here(o);
    const auto alone = files_of(o.out);
    CHECK(alone.size() >= 5);
    for (const std::size_t ranks : {2, 3, 4}) {
      CAPTURE(ranks);
      o.out = folder.file(fmt::format("{}-{}", kind, ranks));
      const RunResult result = train_on(ranks, o);
      CHECK(result.directory == o.out);
      CHECK((files_of(o.out) == alone));
    }
  }
}

TEST_CASE("ranks stop after the same step, and as many or others go on") {
  if (one_thread_only()) return;
  const Folder folder;
  TrainOptions o = laned(folder.file("alone"));
  o.val_fraction = 0.2, o.patience = 9, o.ema = 0.5, o.epochs = 3;
  train_here(o);
  const auto alone = files_of(o.out);
  o.out = folder.file("stopped");
  for (const auto& [step, ranks] : {std::pair{2, 4}, std::pair{5, 3}, std::pair{6, 1}}) {
    StopAt stop(static_cast<std::size_t>(step));
    const auto R = static_cast<std::size_t>(ranks);
    CHECK(failure_of([&] { train_on(R, o, stop); }).exit == Exit::interrupted);
    o = resumed_settings(o.out, {});
  }
  train_on(4, o);
  CHECK((files_of(o.out) == alone));
  CHECK(train_on(2, o).was_finished);
  CHECK(error_of(Exit::usage, [&] { train_on(5, o); }) ==
        "5 ranks, but the sum of a step has 4 lanes: a run keeps its lanes, so that no more ranks "
        "can go on with it");
}

TEST_CASE("a program's own model learns on ranks, too, and all have its weights") {
  if (one_thread_only()) return;
  const Folder folder;
  TrainOptions o;
  o.batch_size = 20, o.epochs = 2, o.lanes = 4, o.micro_batch = 3, o.out = folder.file("own");
  const TrainOptions images = laned("");
  std::vector<std::vector<Array>> weights(4);
  std::atomic<std::size_t> looked_at = 0;  // images: one to try the model, 30 in an evaluation
  const auto run = [&](Ranks& rank) {
    const VisionTransformer vit(images.model, Rng(3));
    Learner learner = vit;
    learner.name = "mine", learner.vit = nullptr;
    learner.logits = [&](const Tensor& part, const Pass& pass) {
      if (pass.rng == nullptr) looked_at += part.size(0);
      return vit(part, pass);
    };
    const TrainingData data = training_data(images);
    VITRUVIAN_PRECISION::train(o, learner, data.images, nobody_looks, {}, rank);
    weights[rank.rank()] = values_of(learner.parameters);
  };
  run(one_rank());
  const auto alone = weights[0];
  CHECK(looked_at.load() == 1 + 3 * 30);  // after each epoch, and at the end
  for (const bool resume : {false, true}) {
    o.resume = resume, o.out = folder.file("shared");
    weights.assign(4, {});
    looked_at = 0;
    as_ranks(4, run);
    for (const auto& own : weights) CHECK(own == alone);
    CHECK(looked_at.load() == 4 + (resume ? 0 : 3 * 30));  // each by one rank
  }
  o.resume = false, o.out = "", o.lanes = 1;
  run(one_rank());
  CHECK(weights[0] != alone);  // the sum of a step in another order
}

TEST_CASE("ranks that would compute something else are refused before anything is written") {
  if (one_thread_only()) return;
  const Folder folder;
  const auto message = [&](const std::function<void(TrainOptions&)>& change) {
    std::string said = error_of(Exit::usage, [&] {
      as_ranks(3, [&](RankThread& rank) {
        TrainOptions o = laned(folder.file("run"));
        if (rank.rank() == 2) change(o);
        VITRUVIAN_PRECISION::train(o, nobody_looks, {}, rank);
      });
    });
    CHECK(folder.files().empty());
    return said;
  };
  CHECK(message([](TrainOptions& o) { o.lr = 0.5; }) ==
        "rank 2 of 3 on a thread is not as rank 0 of 3 on a thread: its 'lr' is 0.5, not 0.002; "
        "all ranks must compute the same");
  CHECK(says(message([](TrainOptions& o) { o.test_size = 29; }), "'test_size' is 29, not 30"));

  for (const std::size_t lanes : {1, 8}) {
    TrainOptions few = small_options(folder.file("run"));
    CHECK(few.lanes == 8);
    few.lanes = lanes;
    CHECK(error_of(Exit::usage, [&] { train_on(lanes + 1, few); }) ==
          fmt::format("{} ranks, but the sum of a step has {}: lanes {} or more, a setting of "
                      "the run, lets them share it",
                      lanes + 1, lanes == 1 ? "one lane" : "8 lanes", lanes + 1));
  }
  CHECK(folder.files().empty());

  const std::string one = R"({"made_by": {"version": "1", "instruction_set": "AVX2"}})";
  const std::string other = R"({"made_by": {"version": "1", "instruction_set": "AVX-512"}})";
  CHECK(disagreement(one, other) == "'instruction_set' is AVX2, not AVX-512");
  CHECK(disagreement(one, one).empty());
}

TEST_CASE("more threads than processors are noticed, and ranks without work") {
  if (one_thread_only()) return;
  const auto heard = [](std::size_t ranks, std::size_t batch_size, const std::string& part) {
    Listener notes;
    TrainOptions o = laned("");
    o.lanes = ranks, o.train_size = 20, o.epochs = 1, o.batch_size = batch_size;
    train_on(ranks, o, notes);
    return notes.heard(part);
  };
  CHECK(!heard(3, 9, "nothing to do"));  // three micro-batches of three images
  CHECK(heard(3, 6, "a step has 2 micro-batches for 3 ranks"));
  CHECK(heard(2, 3, "a step has 1 micro-batch for 2 ranks"));
  const auto said = [&](std::size_t ranks) {
    return heard(
        ranks, 10,
        fmt::format("its ranks have {} threads on {} processors", ranks, processors_of_machine()));
  };
  if (processors() < processors_of_machine()) return;  // bound to some: other numbers
  CHECK(!said(1));
  CHECK(said(processors_of_machine() + 1));
}

TEST_CASE("the observer hears of a file that all ranks read once") {
  if (one_thread_only()) return;
  const Folder folder;
  TrainOptions o = laned("");
  o.epochs = 1;
  ViTConfig three_classes = o.model;
  three_classes.K = 3;
  o.init = folder.file("three.safetensors");
  save_weights(VisionTransformer(three_classes, Rng(1)), {"digits", {0.4}, {0.3}}, o.init);
  Listener notes;
  train_on(3, o, notes);
  CHECK(std::ranges::count(notes.said, "the head for 3 classes is replaced by zeros for 10") == 1);
}

TEST_CASE("a rank whose weights are not the others' is named") {
  if (one_thread_only()) return;
  for (const std::size_t wrong : {0, 1, 2}) {
    const std::string message = message_of([&] {
      as_ranks(3, [&](RankThread& rank) {
        const TrainOptions o = laned("");
        const TrainingData data = training_data(o);
        const VisionTransformer vit = initial_model(o, nobody_looks);
        Run run(o, vit, data, nobody_looks, nullptr, rank);
        if (rank.rank() == wrong) {
          const WriteGuard w = vit.head.weight.tensor().mutable_value();
          *w->begin() += real(1e-3);
        }
        run.epoch();
      });
    });
    CHECK(message.starts_with(fmt::format("after step 3 the weights of rank {} of 3 ", wrong)));
  }
}

TEST_CASE("a pretended network takes the time that its model says") {
  if (one_thread_only()) return;
  const std::size_t numbers = 3'000'000;
  for (const std::size_t R : {2, 3, 4, 5, 6, 7, 8}) {
    if (sanitized && R != 3 && R != 8) continue;  // ten times as long, and the same code
    CAPTURE(R);
    double bytes_a_slice = 0, slices = 0;
    const double seconds = seconds_of(R, [&](RankThread& rank) {
      const Tensor like(zeros({numbers}), true);
      LaneSum sum(R, {R, &rank});
      sum.expect({like});
      sum.add(0, full({numbers}, real(1)));
      const std::vector<Array> total = sum.finish();
      CHECK(total[0](numbers - 1) == static_cast<real>(R));
      if (rank.rank() == 0) {
        bytes_a_slice = static_cast<double>(sum.slice_size() * sizeof(real));
        slices = static_cast<double>((numbers + sum.slice_size() - 1) / sum.slice_size());
      }
    });
    const double hop = network.latency + bytes_a_slice / network.bandwidth;
    const auto n = static_cast<double>(R);
    const double model = (R == 2 ? slices + 1 : 2 * slices + n - 3) * hop;
    INFO("slices ", slices, ", seconds ", seconds, ", model ", model);
    CHECK(std::abs(seconds / model - 1) < 0.15);
  }
}

TEST_CASE("what is sent while a backward goes on is not waited for") {
  if (one_thread_only()) return;
  // 150 parameters, as ViT-B has, each final as far after the one before it.
  const std::size_t parameters = 150, numbers = 20'000;
  const auto seconds = [&](std::size_t R, double backward) {
    return seconds_of(R, [&](RankThread& rank) {
      LaneSum sum(R, {R, &rank});
      sum.expect(std::vector<Tensor>(parameters, Tensor(zeros({numbers}), true)));
      for (std::size_t i = parameters; i-- > 0;) {
        rank.spend(backward / static_cast<double>(parameters));
        sum.add(i, full({numbers}, static_cast<real>(i)));
      }
      const std::vector<Array> total = sum.finish();
      bool right = true;
      for (std::size_t i = 0; i < parameters; ++i) {
        right = right && total[i](numbers - 1) == static_cast<real>(i * R);
      }
      CHECK(right);
    });
  };
  for (const std::size_t R : {2, 4, 8}) {
    if (sanitized && R == 8) continue;
    CAPTURE(R);
    const double sending = seconds(R, 0);
    const double backward = 2 * sending;
    const double both = seconds(R, backward);
    if (R == 2) CHECK(both == seconds(R, backward));  // by the messages alone
    const double waited = (both - backward) / sending;
    CAPTURE(waited);
    CHECK(waited < 0.25);  // the last slices' way: 2 (R - 1) of 2 m + R - 3 hops
  }
}
