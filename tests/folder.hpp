#pragma once

#include "tests/expect.hpp"
#include "vitruvian/core/base/error.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

// What tests of files share.

namespace vitruvian {

// A folder of this test, gone when it ends.
struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "vitruvian-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
  [[nodiscard]] std::string file(const std::string& name) const { return (path / name).string(); }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
};

// Writes a file, and the folders that it is in. A new file each time: ext4 takes a file that is
// written over to the disk at once.
inline void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::filesystem::remove(path);
  std::ofstream file(path, std::ios::binary);
  file << text;
  REQUIRE(file);
}

// Bytes without a pattern.
inline std::string noise(std::size_t n) {
  std::string text;
  for (std::uint32_t x = 1; text.size() < n; x = x * 1664525 + 1013904223) {
    text.push_back(static_cast<char>(x >> 24U));
  }
  return text;
}

inline std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Every file below a folder, with what it holds.
inline std::map<std::string, std::string> contents(const std::string& folder) {
  std::map<std::string, std::string> all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = std::filesystem::relative(entry.path(), folder).string();
    if (entry.is_regular_file()) all[name] = content(entry.path().string());
  }
  return all;
}

struct Failure {
  std::string message;
  Exit exit = Exit::ok;
};

template <class F>
Failure failure_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return {error.what(), error.exit()};
  }
  return {};
}

// What is said as `f` ends with this exit code, by an Error or, with Exit::ok, without one.
template <class F>
std::string error_of(Exit exit, const F& f) {
  const Failure failure = failure_of(f);
  CAPTURE(failure.message);
  CHECK(failure.exit == exit);
  return failure.message;
}

// An Error with this exit code, whose one line holds every one of the parts.
inline void check_failure(const Failure& failure, Exit exit,
                          const std::vector<std::string>& parts) {
  CAPTURE(failure.message);
  CHECK(failure.exit == exit);
  CHECK(failure.message.find('\n') == std::string::npos);
  for (const std::string& part : parts) {
    CAPTURE(part);
    CHECK(says(failure.message, part));
  }
}

// The call must throw one.
template <class F>
void check_error(Exit exit, const std::vector<std::string>& parts, const F& call) {
  check_failure(failure_of(call), exit, parts);
}

// What a failure that is one line says behind the name of its file; "" where there is none.
inline std::string said_of(const std::string& name, const Failure& failure, Exit exit) {
  if (failure.message.empty()) return "";
  check_failure(failure, exit, {});
  CHECK(failure.message.starts_with(name + ": "));
  return failure.message.substr(name.size() + 2);
}

}  // namespace vitruvian
