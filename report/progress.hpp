#pragma once

#include "vitruvian/charts/text.hpp"
#include "vitruvian/train/report.hpp"

#include <chrono>
#include <cstdio>
#include <string>

namespace vitruvian {

/// Prints how a run goes. On a terminal: a bar that is redrawn in place, with the course of the
/// loss and the time left. Elsewhere (a file, a pipe, CI): one plain line every `interval`, no
/// carriage returns. One line an epoch in both, no wider than the terminal, and the confusion
/// matrix at the end. Colours only on a terminal, and not with NO_COLOR set or TERM=dumb; the loss
/// is drawn where the locale is UTF-8.
class Progress : public Observer {
 public:
  explicit Progress(std::FILE* out = stdout);
  ~Progress() override;

  void started(const RunStart& start) override;
  void noted(const std::string& sentence) override;
  void stepped(const StepReport& step) override;
  void profiled(const ProfileReport& profile) override;
  void finished_epoch(const EpochReport& epoch) override;
  void tested(const TestReport& test) override;
  void predicted(const Predictions& predictions,
                 const std::vector<std::string>& class_names) override;

  /// The texts, for whoever wants to test or print them otherwise. A bar says as much as there is
  /// room for, and leaves the last column free; `losses` may be empty.
  static std::string bar(const StepReport& step, std::size_t columns, const Sparkline& losses = {});
  static std::string line(const StepReport& step);
  /// As much of it as fits into `columns` less one.
  static std::string line(const EpochReport& epoch, std::size_t columns = 80);

 private:
  using Clock = std::chrono::steady_clock;

  void clear_bar();
  // Prints in the place of the bar, and at once.
  template <class... Args>
  void tell(fmt::format_string<console::Shown<Args>...> format, const Args&... args) {
    clear_bar();
    console::write_to(out_, fmt::format(format, console::shown(args)...));
    std::fflush(out_);
  }

  std::FILE* out_;
  console::Terminal terminal_;
  bool bar_shown_ = false;
  Sparkline losses_;
  Clock::time_point last_;
};

}  // namespace vitruvian
