#include "vitruvian/train/report.hpp"

#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/json.hpp"
#include "vitruvian/core/base/text.hpp"

#include <algorithm>
#include <numeric>

namespace vitruvian {

std::string StepReport::to_json() const {
  return dump_json(Json{{"kind", "step"},
                        {"step", step},
                        {"epoch", epoch},
                        {"loss", loss},
                        {"lr", lr},
                        {"grad_norm", grad_norm}});
}

std::string EpochReport::to_json() const {
  return dump_json(Json{{"kind", "epoch"},
                        {"epoch", epoch},
                        {"step", step},
                        {"train_loss", train_loss},
                        {"train_accuracy", train_accuracy},
                        {validation ? "val_loss" : "test_loss", test_loss},
                        {validation ? "val_accuracy" : "test_accuracy", test_accuracy},
                        {"lr", lr},
                        {"grad_norm", grad_norm}});
}

std::string EpochReport::timing_to_json() const {
  return dump_json(Json{{"epoch", epoch},
                        {"after_step", after_step},
                        {"seconds", seconds},
                        {"images_per_second", images_per_second}});
}

std::string TestReport::to_json() const {
  return dump_json(
      Json{{"kind", "test"}, {"epoch", epoch}, {"test_loss", loss}, {"test_accuracy", accuracy}});
}

std::vector<std::size_t> largest_of(std::span<const double> values, std::size_t n) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [values](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  order.resize(std::min(n, order.size()));
  return order;
}

std::span<const double> Predictions::of(std::size_t i) const {
  if (i >= size() || probabilities.size() != size() * classes) {
    fail("Predictions: image {} of {}, {} probabilities of {} classes", i, size(),
         probabilities.size(), classes);
  }
  return std::span(probabilities).subspan(i * classes, classes);
}

std::size_t Predictions::guess(std::size_t i) const {
  const auto p = of(i);
  return static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
}

std::vector<std::size_t> Predictions::likeliest(std::size_t i, std::size_t n) const {
  return largest_of(of(i), n);
}

std::vector<std::size_t> Predictions::worst_mistakes(std::size_t n) const {
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < size(); ++i) {
    if (guess(i) != labels[i]) wrong.push_back(i);
  }
  std::stable_sort(wrong.begin(), wrong.end(), [this](std::size_t a, std::size_t b) {
    return of(a)[labels[a]] < of(b)[labels[b]];
  });
  wrong.resize(std::min(n, wrong.size()));
  return wrong;
}

namespace {

using Text = std::back_insert_iterator<std::string>;

double giga(std::uint64_t flops) { return static_cast<double>(flops) / 1e9; }

double share(double seconds, double whole) { return whole > 0 ? 100 * seconds / whole : 0; }

ProfileRow sum_of(const std::vector<ProfileRow>& rows) {
  ProfileRow sum{.name = "all ops"};
  for (const ProfileRow& row : rows) sum += row;
  return sum;
}

// Products have a rate, other ops have none.
void put(Text text, const ProfileRow& row, std::size_t width, double whole) {
  const double seconds = row.forward + row.backward;
  fmt::format_to(text, "{:<{}} {:>5} {:>10.3f} {:>11.3f} {:>5.1f} {:>9}", row.name, width,
                 row.calls, 1e3 * row.forward, 1e3 * row.backward, share(seconds, whole),
                 console::human_bytes(row.bytes));
  if (row.flops != 0) {
    fmt::format_to(text, " {:>7.3f} {:>7.1f}", giga(row.flops),
                   seconds > 0 ? giga(row.flops) / seconds : 0);
  }
  fmt::format_to(text, "\n");
}

void put_head(Text text, const char* what, std::size_t width) {
  fmt::format_to(text, "\n{:<{}} {:>5} {:>10} {:>11} {:>5} {:>9} {:>7} {:>7}\n", what, width,
                 "calls", "forward ms", "backward ms", "%", "values", "GFLOP", "GFLOP/s");
}

}  // namespace

double ProfileReport::seconds() const {
  const ProfileRow sum = sum_of(ops);
  double result = sum.forward + sum.backward;
  for (const Profile::Other& other : others) result += other.seconds;
  return result;
}

std::string ProfileReport::to_text() const {
  std::string result;
  const Text text(result);
  const double whole = seconds();
  const ProfileRow sum = sum_of(ops);
  std::vector<ProfileRow> by_op = ops;
  std::stable_sort(by_op.begin(), by_op.end(), [](const ProfileRow& a, const ProfileRow& b) {
    return a.forward + a.backward > b.forward + b.backward;
  });
  std::vector<ProfileRow> by_path = paths;
  std::size_t width = 19;  // of the first column: 80 in all
  for (ProfileRow& row : by_path) {
    if (row.name.empty()) row.name = "(no module)";
    width = std::max(width, row.name.size());
  }

  fmt::format_to(text, "profile  step {}: {}, {}, on one thread\n", step, counted(images, "image"),
                 counted(micro_batches, "micro-batch"));
  put_head(text, "op", width);
  for (const ProfileRow& row : by_op) put(text, row, width, whole);
  put_head(text, "module", width);
  for (const ProfileRow& row : by_path) put(text, row, width, whole);
  fmt::format_to(text, "\n");
  put(text, sum, width, whole);
  for (const Profile::Other& other : others) {
    fmt::format_to(text, "{:<{}} {:>28.3f} {:>5.1f}\n", other.name, width, 1e3 * other.seconds,
                   share(other.seconds, whole));
  }
  fmt::format_to(text, "{:<{}} {:>28.3f} {:>5.1f} {:>25.1f}\n", "the step", width, 1e3 * whole,
                 share(whole, whole), whole > 0 ? giga(sum.flops) / whole : 0);
  fmt::format_to(text,
                 "\narrays   {} before the step, {} at its peak (one micro-batch at a time)\n",
                 console::human_bytes(bytes_before), console::human_bytes(peak_bytes));
  fmt::format_to(text, "a node   {:.2f} microseconds to record, walk and free, arithmetic aside\n",
                 1e6 * node_seconds);
  return result;
}

}  // namespace vitruvian
