#pragma once

#include "vitruvian/core/base/error.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

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

inline std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
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

}  // namespace vitruvian
