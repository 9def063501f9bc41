#include "lessons/progress.hpp"

#include <cstdlib>
#include <system_error>

namespace vitruvian::lessons {
namespace {

namespace fs = std::filesystem;

// The XDG specification: an empty or relative path counts as unset.
fs::path state_home() {
  if (const char* const state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    return state;
  }
  const char* const home = std::getenv("HOME");
  return home == nullptr || *home != '/' ? fs::path() : fs::path(home) / ".local" / "state";
}

}  // namespace

fs::path state_file(const std::string& room, const std::string& name) {
  const fs::path state = state_home();
  return state.empty() ? state : state / "vitruvian" / room / name;
}

fs::path done_file(const Entry& entry) { return state_file("lessons", entry.id()); }

bool is_done(const Entry& entry) {
  std::error_code ignored;
  const fs::path file = done_file(entry);
  return !file.empty() && fs::exists(file, ignored);
}

}  // namespace vitruvian::lessons
