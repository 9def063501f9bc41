// Files are written whole or not at all, and nothing half-written stays behind; bytes are read the
// same from a disk and from memory.

#include "tests/folder.hpp"
#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/safe_file.hpp"

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
    return error_of(Exit::failure, [&] { write_file_safely(path, "new"); });
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

TEST_CASE("ahead of the work it is said that its file cannot be written") {
  const Folder folder;
  const auto asking = [&](const std::string& path) {
    return error_of(Exit::failure, [&] { check_can_write(path); });
  };
  write_file_safely(folder.file("old"), "old");
  const std::string beneath = folder.file("old") + "/file";
  CHECK(asking(beneath) == beneath + ": its folder cannot be made: Not a directory");
  CHECK(asking(folder.path.string()) ==
        folder.path.string() + ": cannot be written: it is not a regular file");
  fs::create_symlink("old", folder.path / "link");
  CHECK(asking(folder.file("link")).find("it is a symbolic link, to old") != std::string::npos);
  const std::string long_name = folder.file(std::string(300, 'n'));
  CHECK(asking(long_name) == long_name + ": cannot be written: File name too long");
  check_can_write(folder.file("old"));
  check_can_write("/dev/stdout");
  check_can_write(folder.file("made/new"));
  CHECK(content(folder.file("old")) == "old");
  CHECK(folder.files() == std::vector<std::string>{"link", "made", "old"});
  CHECK(fs::is_empty(folder.path / "made"));
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
    CHECK(error_of(Exit::failure, [&] {
            write_file_safely(folder.file(name), "new");
          }).starts_with(folder.file(name) + ": cannot be written: it is a symbolic link"));
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
      CHECK(folder.files().size() == 2);  // the old file, and the one that is to replace it
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

TEST_CASE("bytes are the same in memory and on a disk, at any place and from front to back") {
  const Folder folder;
  const std::string bytes = noise(200'000);  // some buffers
  write(folder.path / "f", bytes);
  const RegularFile file(folder.file("f"), Exit::data);
  const MemorySource memory(bytes, "m", Exit::checkpoint);
  CHECK(file.name() == folder.file("f"));
  CHECK(file.exit() == Exit::data);
  for (const ByteSource* source :
       {static_cast<const ByteSource*>(&file), static_cast<const ByteSource*>(&memory)}) {
    CAPTURE(source->name());
    CHECK(source->size() == bytes.size());
    CHECK(source->text(bytes.size(), "noise") == bytes);
    std::string some(1000, '\0');
    source->read_at(123'456, some);
    CHECK(some == bytes.substr(123'456, 1000));
    source->read_at(bytes.size(), {some.data(), 0});
    for (const std::uint64_t begin : {bytes.size() - 999, bytes.size() + 1, ~std::size_t{0}}) {
      CHECK(error_of(source->exit(), [&] { source->read_at(begin, some); }) ==
            fmt::format("{}: expected 1000 bytes at offset {}, but it has 200000 in all",
                        source->name(), begin));
    }
    CHECK_SAYS(source->text(100, "a config"),
               source->name() + ": 200000 bytes are beyond reason for a config (at most 100)");

    ByteStream stream(*source);
    std::string all;
    for (std::size_t n = 1; all.size() < bytes.size(); n = 3 * n % 70'001 + 1) {
      if (n % 5 == 0) {
        all.push_back(static_cast<char>(stream.get()));
        const std::span<const char> next = stream.next();
        all.append(next.data(), next.size());
        continue;
      }
      std::string part(n, '\0');
      part.resize(stream.read(part.data(), n));
      all += part;
    }
    CHECK(all == bytes);
    CHECK(stream.get() == -1);
    CHECK(stream.next().empty());
    CHECK(stream.read(some.data(), 1) == 0);
  }
}

TEST_CASE("nothing in memory is an empty source") {
  const MemorySource nothing({}, "m", Exit::data);
  CHECK(nothing.text(0, "anything").empty());
  CHECK(ByteStream(nothing).get() == -1);
}

TEST_CASE("a file that shrinks while it is read says so") {
  const Folder folder;
  write(folder.path / "f", std::string(1000, 'x'));
  const RegularFile file(folder.file("f"), Exit::data);
  std::filesystem::resize_file(folder.path / "f", 10);
  std::string some(100, '\0');
  CHECK_SAYS(file.read_at(0, some), folder.file("f") + ": the file shrank while it was read");
}

}  // namespace
}  // namespace vitruvian
