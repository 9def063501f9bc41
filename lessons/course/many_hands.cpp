#include "lessons/telling/lesson.hpp"

#include <cstring>

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "Many hands",
    .equation = "g = (..(s₀ + s₁) + ..) + s_{L−1}",
    .minutes = 12,
    .breaks =
        {{"cut-by-rank", "cuts the gradients into as many sums as there are ranks",
          "where the cuts lie decides how numbers are rounded: the order is part of the sum."}},
    .play = {"How many machines does it take until the sum costs as much as the step?",
             {{"ranks R", 2, 64, 8, 1}, {"megabytes", 1, 400, 346, 1}, {"Gb/s", 1, 100, 10, 1}}},
};

constexpr std::size_t n = 24, N = 3000, L = 8;

using Numbers = std::vector<float>;
using Sums = std::vector<Numbers>;

void add(Numbers& sum, const Numbers& more) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}
bool same_bits(const Numbers& a, const Numbers& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}
std::size_t others(const Numbers& a, const Numbers& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] == b[i] ? 0 : 1;
  return count;
}

// [region lanes]
// The sums of `lanes` groups of neighbouring gradients.
Sums sums_of(const Sums& g, std::size_t lanes) {
  Sums s;
  for (std::size_t l = 0; l < lanes; ++l) {
    const std::size_t begin = l * g.size() / lanes;
    const std::size_t end = (l + 1) * g.size() / lanes;
    s.push_back(g[begin]);
    for (std::size_t i = begin + 1; i < end; ++i) add(s[l], g[i]);
  }
  return s;
}

// [region chain]
// Lane after lane, wherever each was computed: rank l mod R has lane l, adds
// it to what it was sent, and sends that on. Nothing here depends on R.
Numbers chain(const Sums& s) {
  Numbers sent = s[0];
  for (std::size_t l = 1; l < s.size(); ++l) {
    Numbers own = s[l];  // of rank l mod R
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = sent[i] + own[i];
    sent = own;
  }
  return sent;
}

// [region ring]
// R ranks, R parts of every array. Part p begins at rank p + 1 and collects
// the others' on its way round: all lines are busy in every round.
Numbers ring(const Sums& of_rank) {
  const std::size_t R = of_rank.size();
  Numbers sum(of_rank[0].size());
  for (std::size_t p = 0; p < R; ++p) {
    const std::size_t end = (p + 1) * sum.size() / R;
    for (std::size_t i = p * sum.size() / R; i < end; ++i) {
      sum[i] = of_rank[(p + 1) % R][i];
      for (std::size_t k = 2; k <= R; ++k) sum[i] += of_rank[(p + k) % R][i];
    }
  }
  return sum;
}

// [region clock]
// When the last of m slices has gone round: hop h is from rank h mod R to the
// next, the first R - 1 add, the others bring the sum to who lacks it. A line
// carries one slice at a time, which takes it `slice` seconds.
double seconds_of_chain(std::size_t R, std::size_t m, double slice) {
  std::vector<double> line_free(R), there(m);
  for (std::size_t h = 0; h < 2 * R - 2; ++h) {
    for (std::size_t s = 0; s < m; ++s) {
      line_free[h % R] = std::max(line_free[h % R], there[s]) + slice;
      there[s] = line_free[h % R];
    }
  }
  return there[m - 1];
}
double seconds_by_formula(std::size_t R, std::size_t m, double slice) {
  return (R == 2 ? double(m) + 1 : double(2 * m + R) - 3) * slice;
}
// Everybody to rank 0, and back.
double seconds_of_one(std::size_t R, double whole) {
  return 2 * double(R - 1) * whole;  // its line takes all of it
}
// [end]

double seconds_chained(std::size_t R, double whole) {  // in 32 slices a rank
  return seconds_by_formula(R, 32 * R, whole / double(32 * R));
}
double seconds_ringed(std::size_t R, double whole) { return 2 * double(R - 1) / double(R) * whole; }

void play(Narrator& say, const std::vector<double>& at) {
  const auto R = std::size_t(at[0]);
  const double whole = at[1] * 1e6 / (at[2] * 1e9 / 8);
  const double chained = seconds_chained(R, whole);
  say.bars("Seconds of a sum, beside a step of 0.7 s.", {{"a step", 0.7},
                                                         {"to one", seconds_of_one(R, whole)},
                                                         {"ring", seconds_ringed(R, whole)},
                                                         {"chain", chained}});
  say.text("{} ranks compute {:.0f} % of the time, where the sum goes round in slices.", R,
           100 * 0.7 / (0.7 + chained));
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text("A step's gradient is a sum over images. So the images can be shared out: each of R "
           "machines, called ranks, computes the gradient of its own, all of them add theirs up, "
           "and each takes the same step. That is data parallelism, and it looks as if the number "
           "of ranks could not matter. It does, in the last digits; and after a thousand steps "
           "these are another model. This lesson finds where they come from, and a sum that has "
           "the same bits for any number of hands. `mpirun -n 8 vitruvian train --lanes 8` uses "
           "it.");
  say.symbols({{"n", n, "gradients, one a micro-batch"},
               {"L", L, "lanes: sums that are fixed beforehand"},
               {"R", 4, "ranks: processes that share the work"}});

  say.heading("1. A sum has an order");
  const float huge = 1e8F;
  const float one = 1;
  const float first = (one + huge) - huge;
  const float last = (huge - huge) + one;
  say.text("A float has 24 significant bits, some 7 digits. 100,000,000 + 1 needs 9, and is "
           "rounded to 100,000,000:");
  say.table({"in this order", "is"}, {row("(1 + 1e8) - 1e8", first), row("(1e8 - 1e8) + 1", last)});
  say.check("the small one first", {"is", first}, {"expected", 0}, 0);
  say.check("the small one last", {"is", last}, {"expected", 1}, 0);
  Sums gradients(n, Numbers(N));
  for (std::size_t i = 0; i < n; ++i) {
    const Rng rng = Rng(say.seed()).fork("gradient", {i});
    for (std::size_t k = 0; k < N; ++k) gradients[i][k] = float(rng.normal(k));
  }
  say.text("Now {} gradients of {} numbers each. The usual way: each rank adds its own, then the "
           "ranks' sums are added. How many of the {} numbers come out otherwise than on one "
           "rank?",
           n, N, N);
  const Numbers alone = chain(sums_of(gradients, 1));
  Rows rows;
  bool all_differ = true;
  for (const std::size_t R : {2, 3, 4, 8}) {
    const std::size_t count = others(chain(sums_of(gradients, R)), alone);
    all_differ = all_differ && count > N / 10;
    rows.push_back(row(R, fmt::format("more than {} %", count > N / 4    ? 25
                                                        : count > N / 10 ? 10
                                                                         : 0)));
  }
  say.table({"ranks", "other numbers"}, rows);
  say.holds("another number of ranks, other bits", all_differ);

  say.heading("2. Cut the sum before you know who adds");
  say.equation(
      R"(g = (\ldots(s_0 + s_1) + \ldots) + s_{L-1}, \quad s_l = g_{b_l} + \ldots + g_{b_{l+1}-1})",
      "g = (..(s₀ + s₁) + ..) + s_{L−1},  s_l = g_{b_l} + .. + g_{b_{l+1}−1}");
  say.in_words("cut the gradients into L lanes by their number alone, add up each lane from its "
               "first to its last, and then the lanes in their order.");
  say.code("lanes");
  say.text("L is a setting of the run, like its learning rate. Rank r computes the lanes r, r + R, "
           "r + 2R, and so on: fewer ranks have more lanes each, and the sum is the same one.");
  say.code("chain");
  const Numbers eight = chain(sums_of(gradients, L));
  bool same = true;
  for (const std::size_t R : {1, 2, 3, 4, 8}) {
    Sums by_lane(L);
    for (std::size_t r = 0; r < R; ++r) {  // each rank, on its own
      const Sums s = sums_of(gradients, say.broken("cut-by-rank") ? R : L);
      for (std::size_t l = r; l < L; l += R) by_lane[l] = s[l % s.size()];
    }
    if (say.broken("cut-by-rank")) by_lane.resize(R);
    same = same && same_bits(chain(by_lane), eight);
  }
  say.holds("1, 2, 3, 4 and 8 ranks have the same bits", same);

  say.heading("3. All-reduce: a chain, and a ring");
  say.text("That everybody has the sum of what everybody had is called all-reduce. Rank 0 could "
           "collect it all, but its line would carry everything. A ring shares the lines out: the "
           "arrays are cut into R parts, and each part goes round by itself.");
  say.code("ring");
  const auto ring_of = [&](std::size_t R) { return ring(sums_of(gradients, R)); };
  say.text(
      "It is the fastest there is, and what `MPI_Allreduce` and NCCL do with large arrays. But "
      "part p begins at rank p + 1: each part has an order of its own, which moves with R.");
  say.holds("the ring's bits for 4 ranks are not those of the chain",
            !same_bits(ring_of(4), chain(sums_of(gradients, 4))));
  say.text("The chain sends through the same lines, always from rank r to r + 1: first what the "
           "lanes so far have come to, then, once more round, the whole sum. It travels in m "
           "slices, so that rank 3 adds the first slice while rank 0 still sends the fourth.");
  say.diagram(
      "Four ranks, four lanes: each adds its lane to what it is sent; the whole sum goes on "
      "from the last to the first.",
      {.boxes = {{"rank 0", {"s₀"}, 0, 0},
                 {"rank 1", {"+ s₁"}, 1, 0},
                 {"rank 2", {"+ s₂"}, 2, 0},
                 {"rank 3", {"+ s₃ = g"}, 3, 0}},
       .arrows = {{"rank 0", "rank 1", ""}, {"rank 1", "rank 2", ""}, {"rank 2", "rank 3", ""}}});

  say.heading("4. What it costs");
  say.equation(R"(t = (2m + R - 3)\left(a + \frac{b}{B}\right))", "t = (2m + R − 3) (a + b/B)");
  say.in_words(
      "with m slices of b bytes, a line's latency a and bandwidth B, the time hardly "
      "grows with the ranks: of many slices it is twice the bytes over the bandwidth. (Two "
      "ranks have a line for each direction: m + 1 in the place of 2m + R − 3.)");
  say.text("A clock for every line says the same:");
  say.code("clock");
  double worst = 0;
  for (const std::size_t R : {2, 3, 4, 8, 16}) {
    const double counted = seconds_of_chain(R, 64, 1e-3);
    worst = std::max(worst, std::abs(counted / seconds_by_formula(R, 64, 1e-3) - 1));
  }
  say.is_zero("the clock against the formula, 2 to 16 ranks", {"off by", worst}, 1e-9);
  const double whole = 346e6 / 1.25e9;  // ViT-B over 10 Gb/s
  const auto against_ranks = [&](const char* name, double (*seconds)(std::size_t, double)) {
    return graph_of(name, {2, 4, 8, 16, 32, 64},
                    [&](double R) { return seconds(std::size_t(R), whole); });
  };
  const Series chained = against_ranks("chain", seconds_chained);
  const Series ringed = against_ranks("ring", seconds_ringed);
  say.curves("Seconds to add the gradients of ViT-B (346 MB) over 10 Gb/s, against the number of "
             "ranks: chain and ring climb from half of it at two to twice the bytes over the "
             "bandwidth, 0.55 s.",
             {against_ranks("all to one", seconds_of_one), chained, ringed}, true);
  say.check("64 ranks, chain over ring", {"chain", chained.y.back()}, {"ring", ringed.y.back()},
            0.05);
  say.question(
      "A step of ViT-B takes a machine 0.7 s. With 8 machines at 10 Gb/s, is the run "
      "eight times as fast?",
      "No. The sum takes about 0.55 s more, so that each computes 0.7 / 1.25 = 56 % of the "
      "time: four and a half times as fast. At 100 Gb/s it is 93 %.");
  say.pytorch("`DistributedDataParallel` lets NCCL or MPI add the gradients while the way back "
              "still goes on, in an order that depends on the number of processes: a run on 8 is "
              "not, to the bit, a run on 4.");
  say.take_along(
      "Why is it m + 1 slices of time for two ranks, and not 2m − 1?",
      "There is one line in each direction: what goes to the last rank, and what comes "
      "back, do not share one. With three, the second rank gets both over the same line.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
