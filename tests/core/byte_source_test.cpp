#include "vitruvian/core/base/byte_source.hpp"
#include "tests/expect.hpp"
#include "tests/folder.hpp"

namespace vitruvian {
namespace {

std::string noise(std::size_t n) {
  std::string text;
  for (std::uint32_t x = 1; text.size() < n; x = x * 1664525 + 1013904223) {
    text.push_back(static_cast<char>(x >> 24U));
  }
  return text;
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
      const Failure failure = failure_of([&] { source->read_at(begin, some); });
      CHECK(failure.exit == source->exit());
      CHECK(failure.message ==
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
