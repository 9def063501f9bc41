// Archives made to break out of their folder, to be too large, or to lack what was promised.

#include "tests/datasets/datasets_testing.hpp"
#include "tests/nn/archives.hpp"
#include "vitruvian/datasets/fetch/fetch.hpp"

namespace vitruvian {
namespace {

namespace fs = std::filesystem;

struct Entry {
  std::string name;
  std::string data{};
  char type = '0';
  std::string link{};
};

[[maybe_unused]] std::string tar(const std::vector<Entry>& entries) {
  std::string all;
  for (const Entry& entry : entries) {
    std::string head(512, '\0');
    const auto put = [&](std::size_t at, const std::string& text) {
      head.replace(at, text.size(), text);
    };
    put(0, entry.name.substr(0, 100));
    put(100, "0000644");
    put(108, "0000000");
    put(116, "0000000");
    put(124, fmt::format("{:011o}", entry.data.size()));
    put(136, "00000000000");
    put(148, std::string(8, ' '));
    head[156] = entry.type;
    put(157, entry.link.substr(0, 100));
    put(257, std::string("ustar\0", 6) + "00");
    unsigned sum = 0;
    for (const char c : head) sum += static_cast<unsigned char>(c);
    put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
    all += head + entry.data + std::string((512 - entry.data.size() % 512) % 512, '\0');
  }
  return all + std::string(1024, '\0');
}

#if VITRUVIAN_HAS_LIBARCHIVE
// Unpacks these bytes, a.tar.gz in the folder, into its folder "in".
Failure unpack(const Folder& folder, const std::string& bytes) {
  write(folder.path / "a.tar.gz", bytes);
  fs::create_directories(folder.path / "in");
  return failure_of([&] { unpack_tar(folder.path / "a.tar.gz", folder.path / "in", 100'000); });
}

TEST_CASE("an archive that is cut short is refused, wherever it breaks off") {
  const Folder folder;
  const std::string bytes = gzip(tar({{"d/", "", '5'}, {"./d/x", "hello"}, {"y", noise(3000)}}));
  CHECK(unpack(folder, bytes).message == "");
  CHECK(content(folder.file("in/d/x")) == "hello");
  CHECK(content(folder.file("in/y")) == noise(3000));
  check_failure(unpack(folder, bytes), Exit::data, {"'d/x' is there already"});
  for (std::size_t n = 0; n < bytes.size(); n += 7) {
    CAPTURE(n);
    fs::remove_all(folder.path / "in");
    const Failure failure = unpack(folder, bytes.substr(0, n));
    // Past the files only the archive's end and the gzip's sum are missing.
    if (n < bytes.size() - 40) CHECK(failure.exit == Exit::data);
  }
}

TEST_CASE("archives stay in their folder, or are refused") {
  std::vector<Entry> crowd;
  for (int i = 0; i < 10'001; ++i) crowd.push_back({fmt::format("d{}/", i % 5), "", '5'});
  const std::vector<std::pair<std::string, const char*>> attacks = {
      {tar({{"../evil", "x"}}), "'../evil' would leave the folder"},
      {tar({{"d/../../evil", "x"}}), "would leave the folder"},
      {tar({{"/tmp/evil", "x"}}), "would leave the folder"},
      {tar({{"l", "", '2', "/tmp"}}), "'l' is a link"},
      {tar({{"l", "", '2', ".."}}), "'l' is a link"},
      {tar({{"l", "", '1', "../a.tar.gz"}}), "'l' is a link"},
      {tar({{"dev", "", '3'}}), "'dev' is a link or a device"},
      {tar({{"pipe", "", '6'}}), "'pipe' is a link or a device"},
      {tar({{"big", std::string(100'001, '\0')}}), "more than 100000 bytes"},
      {tar({{"z", std::string(50'000'000, '\0')}}), "more than 100000 bytes"},  // in 50 KB
      {tar({{"x", "1"}, {"./x", "2"}}), "'x' comes twice"},
      {tar({{"d/", "", '5'}}), "no file in it"},
      {tar(crowd), "more than 10000 entries"},
      {"no archive", "damaged archive"},
  };
  for (const auto& [archive, wanted] : attacks) {
    const Folder folder;
    check_failure(unpack(folder, gzip(archive)), Exit::data, {"a.tar.gz", wanted});
    CHECK(!fs::exists("/tmp/evil"));
    CHECK(folder.files() == std::vector<std::string>{"a.tar.gz", "in"});
    CHECK(!fs::exists(folder.file("in/big")));
    CHECK(!fs::exists(folder.file("in/z")));
  }
  const Folder folder;
  CHECK(unpack(folder, "no archive").exit == Exit::data);
  CHECK(unpack(folder, "").exit == Exit::data);
}

TEST_CASE("with checksums: an archive's data set is unpacked whole or not at all") {
  if (!has_checksums()) return;
  const Folder folder;
  const std::string good = gzip(tar({{"set/train.bin", noise(500)},
                                     {"set/test.bin", noise(200)},
                                     {"set/readme.html", "read me"}}));
  const std::string lacking = gzip(tar({{"set/train.bin", noise(500)}}));
  const auto dataset = [](const std::string& archive) {
    return PublicDataset{"set",
                         "",
                         "set",
                         {},
                         {{"set.tar.gz", archive.size(), checksum_of(archive)}},
                         {{"train.bin", 500}, {"test.bin", 200}}};
  };
  FetchOptions options{.directory = folder.path / "data", .from_file = folder.path};
  write(folder.path / "set.tar.gz", lacking);
  check_error(Exit::data, {"there is no set/test.bin"}, [&] { fetch(dataset(lacking), options); });
  CHECK(!fs::exists(folder.path / "data" / "set"));
  CHECK(!fs::exists(folder.path / "data" / "set.part"));
  write(folder.path / "set.tar.gz", good);
  write(folder.path / "data" / "set" / "mine.txt", "not theirs");
  fetch(dataset(good), options);
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.path / "data" / "set")) {
    names.insert(entry.path().filename());
  }
  CHECK(names == std::set<std::string>{"SHA256SUMS", "mine.txt", "test.bin", "train.bin"});
  CHECK(!fs::exists(folder.path / "data" / "set.part"));
  const auto states = [&] {
    std::vector<FileState> all;
    for (const auto& report : verify(dataset(good), folder.path / "data"))
      all.push_back(report.state);
    return all;
  };
  CHECK(states() == std::vector<FileState>{FileState::good, FileState::good});
  std::string damaged = noise(500);
  damaged[100] ^= 1;
  write(folder.path / "data" / "set" / "train.bin", damaged);
  CHECK(states() == std::vector<FileState>{FileState::wrong, FileState::good});
  fetch(dataset(good), options);  // puts it right
  CHECK(states() == std::vector<FileState>{FileState::good, FileState::good});
  fs::remove(folder.path / "data" / "set" / "SHA256SUMS");
  CHECK(states() == std::vector<FileState>{FileState::unknown, FileState::unknown});
}
#endif

}  // namespace
}  // namespace vitruvian
