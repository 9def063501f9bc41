// Files are written whole or not at all, and nothing half-written stays behind.

#include "vitruvian/core/base/safe_file.hpp"

#include "tests/folder.hpp"
#include "vitruvian/core/base/error.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdio>

namespace vitruvian {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a file that cannot be written says so, and leaves no trace") {
  const Folder folder;
  const auto writing = [&](const std::string& path) {
    const Failure failure = failure_of([&] { write_file_safely(path, "new"); });
    CHECK(failure.exit == Exit::failure);
    return failure.message;
  };
  const std::string missing = folder.file("no/such/folder/file");
  CHECK(writing(missing) == missing + ": cannot be written: No such file or directory");
  write_file_safely(folder.file("old"), "old");
  const std::string beneath = folder.file("old") + "/file";
  CHECK(writing(beneath) == beneath + ": cannot be written: Not a directory");
  CHECK(writing(folder.path.string()) ==
        folder.path.string() + ": cannot be written: it is not a regular file");
  // Not a device of the machine: a guard that fails would replace it.
  const std::string pipe = folder.file("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(writing(pipe) == pipe + ": cannot be written: it is not a regular file");
  CHECK(folder.files() == std::vector<std::string>{"old", "pipe"});
}

TEST_CASE("when the disk is full, the old file stays and the temporary one goes") {
  const Folder folder;
  const std::string path = folder.file("weights");
  write_file_safely(path, "old");
  // A limit on the size of files is the full disk that needs no disk.
  auto* const before = std::signal(SIGXFSZ, SIG_IGN);
  ::rlimit limit = {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const ::rlimit small{1000, limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const Failure failure = failure_of([&] { write_file_safely(path, std::string(5000, 'n')); });
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  std::signal(SIGXFSZ, before);
  CHECK(failure.message == path + ": cannot be written: File too large");
  CHECK(content(path) == "old");
  CHECK(folder.files() == std::vector<std::string>{"weights"});
}

TEST_CASE("a link in a file's place is refused, a folder may be one") {
  const Folder folder;
  write_file_safely(folder.file("real"), "old");
  fs::create_symlink("real", folder.path / "link");
  fs::create_symlink("nothing", folder.path / "dangling");
  fs::create_symlink("loop", folder.path / "loop");
  for (const std::string name : {"link", "dangling", "loop"}) {
    const Failure failure = failure_of([&] { write_file_safely(folder.file(name), "new"); });
    CHECK(failure.exit == Exit::failure);
    CHECK(failure.message.find(folder.file(name) + ": cannot be written: it is a symbolic link") ==
          0);
    CHECK(fs::is_symlink(folder.path / name));
  }
  CHECK(content(folder.file("real")) == "old");
  CHECK(!fs::exists(folder.path / "nothing"));
  fs::create_directory(folder.path / "place");
  fs::create_directory_symlink("place", folder.path / "by");
  write_file_safely(folder.file("by") + "/file", "new");
  CHECK(content(folder.file("place") + "/file") == "new");
  CHECK(folder.files() ==
        std::vector<std::string>{"by", "dangling", "link", "loop", "place", "real"});
}

TEST_CASE("a path that stands for a descriptor is written to where that is") {
  const Folder folder;
  std::FILE* const file = std::fopen(folder.file("out").c_str(), "w");
  REQUIRE(file != nullptr);
  std::fputs("before ", file);
  write_file_safely(fmt::format("/dev/fd/{}", ::fileno(file)), "content");
  std::fputs(" behind", file);
  std::fclose(file);
  CHECK(content(folder.file("out")) == "before content behind");
  for (const std::string path : {"/dev/fd/", "/dev/fd/1x", "/dev/fd/987654"}) {
    CHECK(failure_of([&] { write_file_safely(path, "x"); }).exit == Exit::failure);
  }
}

TEST_CASE("a file that is replaced hands on its permissions, whatever the umask") {
  const Folder folder;
  const auto mode = [&](const char* name) {
    return static_cast<unsigned>(fs::status(folder.path / name).permissions());
  };
  const ::mode_t before = ::umask(027);
  for (const unsigned m : {0600U, 0444U, 0666U, 0755U}) {
    write_file_safely(folder.file("kept"), "old");
    REQUIRE(::chmod(folder.file("kept").c_str(), m) == 0);
    write_file_safely(folder.file("kept"), [&](const WriteBytes& write) {
      for (const std::string& name : folder.files()) CHECK(mode(name.c_str()) == m);
      write("new");
    });
    CHECK(mode("kept") == m);
    CHECK(content(folder.file("kept")) == "new");
  }
  write_file_safely(folder.file("new"), "new");
  ::umask(before);
  CHECK(mode("new") == 0640U);
}

TEST_CASE("writing replaces a file, and works in the current folder") {
  const Folder folder;
  write_file_safely(folder.file("real"), "old");
  write_file_safely(folder.file("real"), [](const WriteBytes& write) {
    for (const char* const piece : {"n", "", "ew"}) write(piece);
  });
  CHECK(content(folder.file("real")) == "new");
  const fs::path here = fs::current_path();
  fs::current_path(folder.path);
  write_file_safely("plain", "x");
  fs::current_path(here);
  CHECK(folder.files() == std::vector<std::string>{"plain", "real"});
}

}  // namespace
}  // namespace vitruvian
