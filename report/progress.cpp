#include "vitruvian/report/progress.hpp"

#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/wrapping.hpp"
#include "vitruvian/report/confusion.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vitruvian {
namespace {

constexpr std::chrono::milliseconds redraw{100};
constexpr std::chrono::seconds interval{10};

// Of all ranks, and the share of the time that goes into their communication.
std::string pace_of(const StepReport& s) {
  const std::string all = fmt::format("{:.0f} img/s", s.images_per_second);
  if (s.ranks == 1) return all;
  return fmt::format("{} of {} ranks, {:.0f} % waiting", all, s.ranks, 100 * s.waiting);
}

}  // namespace

Progress::Progress(std::FILE* out)
    : out_(out), terminal_(console::terminal_of(out)), last_(Clock::now()) {}

Progress::~Progress() { clear_bar(); }

void Progress::clear_bar() {
  if (!bar_shown_) return;
  console::print(out_, "\r\033[K");
  std::fflush(out_);
  bar_shown_ = false;
}

void Progress::started(const RunStart& start) {
  console::print(out_, "{}\n", console::entry(out_, "model    ", start.model));
  std::string costs;  // those of a program's own model are not known
  if (start.macs > 0) {
    costs += fmt::format(", {:.2f} million MACs an image", static_cast<double>(start.macs) / 1e6);
  }
  if (start.training_bytes > 0) {
    costs += fmt::format(", about {} to train", console::human_bytes(start.training_bytes));
  }
  console::print(out_, "         {} parameters{}\n", start.parameters, costs);
  console::print(out_, "data     {}: {} to train on, {}{} to test\n", start.dataset,
                 counted(start.train_images, "image"),
                 start.validation_images == 0
                     ? ""
                     : fmt::format("{} to validate on, ", start.validation_images),
                 start.test_images);
  if (start.ranks > 1) {
    console::print(out_, "ranks    {}, which share each step\n", start.ranks);
  }
  console::print(out_, "run      {}, {} ({} of warm-up), about {} an epoch{}\n",
                 counted(start.epochs, "epoch"), counted(start.steps, "step"), start.warmup,
                 console::clock_time(start.seconds_an_epoch),
                 start.done == 0 ? "" : fmt::format("; goes on after step {}", start.done));
  if (!start.directory.empty()) console::print(out_, "out      {}\n", start.directory);
  if (start.validation_images == 0 && start.epochs > 1) {
    noted("the test set is looked at after every epoch; --val-fraction keeps it unread to the end");
  }
  std::fflush(out_);
  last_ = Clock::now();
}

void Progress::noted(const std::string& sentence) {
  tell("{}\n", console::entry(out_, "note     ", sentence));
}

void Progress::tested(const TestReport& test) {
  tell("test     loss {:.4f}  accuracy {:.2f} %  with the weights of epoch {}\n", test.loss,
       100 * test.accuracy, test.epoch);
}

std::string Progress::line(const StepReport& s) {
  return fmt::format("epoch {}/{}  step {}/{}  loss {:.4f}  lr {:.2e}  |g| {:.2f}  {}  ETA {}",
                     s.epoch, s.epochs, s.step, s.steps, s.loss, s.lr, s.grad_norm, pace_of(s),
                     console::clock_time(s.seconds_left));
}

std::string Progress::bar(const StepReport& s, std::size_t columns, const Sparkline& losses) {
  constexpr std::size_t widest = 24;
  const auto room_beside = [columns](const std::string& text) {
    return columns > text.size() + 2 ? columns - text.size() - 2 : 0;
  };
  std::string text = line(s);
  if (room_beside(text) < widest + 2) {
    text = fmt::format("epoch {}/{}  loss {:.4f}  {}  ETA {}", s.epoch, s.epochs, s.loss,
                       pace_of(s), console::clock_time(s.seconds_left));
  }
  const std::size_t room = room_beside(text);
  if (room < 6) return text.substr(0, columns > 1 ? columns - 1 : 0);
  const std::size_t drawn = losses.empty() || room < 16 ? 0 : std::min(widest, (room - 3) / 2);
  const std::size_t width = std::min(widest, room - 2 - (drawn > 0 ? drawn + 1 : 0));
  const std::size_t done = s.steps == 0 ? 0 : width * s.step / s.steps;
  std::string result =
      fmt::format("[{}{}] ", std::string(done, '='), std::string(width - done, ' '));
  if (drawn > 0) {
    const std::string loss = losses.text(drawn);
    result += loss + std::string(drawn - loss.size() / 3, ' ') + " ";
  }
  return result + text;
}

void Progress::stepped(const StepReport& step) {
  const auto now = Clock::now();
  if (terminal_.utf8) losses_.add(step.loss);
  if (terminal_.there) {
    if (bar_shown_ && now - last_ < redraw && step.step != step.steps) return;
    console::print(out_, "\r\033[K{}", bar(step, console::terminal_of(out_).columns, losses_));
    bar_shown_ = true;
  } else {
    if (now - last_ < interval) return;
    console::print(out_, "{}\n", line(step));
  }
  std::fflush(out_);
  last_ = now;
}

void Progress::profiled(const ProfileReport& profile) {
  tell("{}\n", console::lines(profile.to_text()));
}

std::string Progress::line(const EpochReport& e, std::size_t columns) {
  const char* const held_out = e.validation ? "val" : "test";
  const std::string epoch = fmt::format("epoch {}/{}", e.epoch, e.epochs);
  const std::string train =
      fmt::format("  train loss {:.4f} acc {:.2f} %", e.train_loss, 100 * e.train_accuracy);
  const std::string test =
      fmt::format("  {} loss {:.4f} acc {:.2f} %", held_out, e.test_loss, 100 * e.test_accuracy);
  const std::string time = "  " + console::clock_time(e.seconds);
  const std::string pace = fmt::format("  {:.0f} img/s", e.images_per_second);
  for (const std::string& text : {epoch + train + test + pace + time, epoch + train + test + time,
                                  epoch + train + test, epoch + test + time, epoch + test}) {
    if (text.size() < columns) return text;
  }
  return epoch.substr(0, columns > 1 ? columns - 1 : 0);
}

void Progress::finished_epoch(const EpochReport& epoch) {
  const bool bold = terminal_.colour && epoch.epoch == epoch.epochs;
  tell("{}{}{}\n", console::raw(bold ? "\033[1m" : ""),
       line(epoch, console::terminal_of(out_).columns), console::raw(bold ? "\033[0m" : ""));
  last_ = Clock::now();
}

void Progress::predicted(const Predictions& predictions,
                         const std::vector<std::string>& class_names) {
  tell("{}", console::raw(to_text(confusion_of(predictions), class_names,
                                  console::terminal_of(out_).columns, terminal_.colour)));
}

}  // namespace vitruvian
