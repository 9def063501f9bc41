#include "apps/fetching.hpp"
#include "apps/command_line.hpp"
#include "vitruvian/core/base/console.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>

namespace vitruvian {
namespace {

using Clock = std::chrono::steady_clock;

// "train-images-idx3-ubyte.gz  3.1 MB of 9.9 MB  1.2 MB/s  0:05 left", redrawn in place.
class FetchBar {
 public:
  void show(const std::string& file, std::uint64_t bytes, std::uint64_t total) {
    if (!console::terminal_of(stdout).there) return;
    const auto now = Clock::now();
    if (file != file_ || bytes < first_) {  // begun, or begun anew
      file_ = file;
      start_ = now;
      first_ = bytes;
    }
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double pace = seconds > 0.5 ? static_cast<double>(bytes - first_) / seconds : 0;
    const double left = total > bytes && pace > 0 ? static_cast<double>(total - bytes) / pace : -1;
    console::print("\r\033[K{}  {}{}{}", file, console::human_bytes(bytes),
                   total != 0 ? " of " + console::human_bytes(total) : "",
                   pace > 0 ? fmt::format("  {}/s  {} left",
                                          console::human_bytes(static_cast<std::uint64_t>(pace)),
                                          console::clock_time(left))
                            : "");
    console::flush();
    shown_ = true;
  }
  void clear() {
    if (std::exchange(shown_, false)) console::print("\r\033[K");
  }

 private:
  std::string file_;
  Clock::time_point start_;
  std::uint64_t first_ = 0;
  bool shown_ = false;
};

}  // namespace

void add_fetch_flags(const Parser& command, FetchFlags& flags) {
  command.add_value("--mirror", "URL", flags.mirrors,
                    "Instead of its own mirrors; several are tried in order");
  command.add_value("--from-file", "PATH", flags.from_file,
                    "A file, or a folder of them, fetched by other means");
  command
      .add_value("--timeout", "SECONDS", flags.timeout,
                 "Give up on a mirror that is silent for so long")
      .whole(1, 3600);
}

FetchOptions fetch_options(const FetchFlags& flags, const std::string& directory) {
  const auto bar = std::make_shared<FetchBar>();
  return {.directory = directory,
          .mirrors = flags.mirrors,
          .from_file = flags.from_file,
          .stall_seconds = flags.timeout,
          .say =
              [bar](const std::string& line) {
                bar->clear();
                console::print("{}\n", line);
                console::flush();
              },
          .progress = [bar](const std::string& file, std::uint64_t bytes,
                            std::uint64_t total) { bar->show(file, bytes, total); }};
}

}  // namespace vitruvian
