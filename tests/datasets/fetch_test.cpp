// Fetching data sets from a server on loopback that cuts, stalls, lies, redirects and damages.
// Skipped where python3, libcurl or OpenSSL are missing.

#include "vitruvian/datasets/fetch/fetch.hpp"
#include "tests/datasets/datasets_testing.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <thread>

namespace vitruvian {
namespace {

namespace fs = std::filesystem;

// The server, gone with its standard input.
class Server {
 public:
  explicit Server(const fs::path& folder) {
    const fs::path port_file = folder / "port";
    const std::string command =
        fmt::format("exec python3 '{}/datasets/loopback_server.py' '{}' >'{}'", VITRUVIAN_TEST_DATA,
                    folder.string(), port_file.string());
    pipe_.reset(::popen(command.c_str(), "w"));
    for (int i = 0; i < 100 && port_ == 0; ++i) {
      ::usleep(100'000);
      std::ifstream(port_file) >> port_;
    }
    REQUIRE(port_ != 0);
  }
  [[nodiscard]] std::string url(const std::string& mode) const {
    return fmt::format("http://{}127.0.0.1:{}/{}/", login, port_, mode);
  }
  std::string login;  // "name:password@"

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe_{nullptr, &::pclose};
  int port_ = 0;
};

bool can_serve() {
  if (can_sum() && can_download() &&
      std::system("python3 -c 'import http.server' 2>/dev/null") == 0) {
    return true;
  }
  skip("no python3, no libcurl or no OpenSSL");
  return false;
}

// A data set of one small file, with its content on a server.
struct Case {
  Folder folder;
  std::string body = noise(50'000);
  PublicDataset dataset{"small", "", "small", {}, {{"f.bin", body.size(), checksum_of(body)}}};
  fs::path served = folder.path / "served", data = folder.path / "data";
  fs::path target = data / "small" / "f.bin", part = target.string() + ".part";
  std::unique_ptr<Server> server;
  std::string said;
  long lowest = 200;

  Case() {
    write(served / "f.bin", body);
    server = std::make_unique<Server>(served);
  }
  [[nodiscard]] std::string log() const { return content(served / "log"); }
  // Nothing is there but so much of a partial file.
  void begin_with(const std::string& bytes) const {
    fs::remove_all(data);
    if (!bytes.empty()) write(part, bytes);
  }
  Failure fetch_from(const std::vector<std::string>& modes, long stall_seconds = 5) {
    fs::remove(served / "log");
    FetchOptions options{.directory = data,
                         .stall_seconds = stall_seconds,
                         .lowest_bytes_a_second = lowest,
                         .say = [this](const std::string& line) { said += line + "\n"; }};
    for (const std::string& mode : modes) options.mirrors.push_back(server->url(mode));
    return failure_of([&] { fetch(dataset, options); });
  }
  // The modes bring the right file, and nothing else.
  void brings(const std::vector<std::string>& modes, long stall_seconds = 5) {
    CHECK(fetch_from(modes, stall_seconds).message == "");
    REQUIRE(fs::exists(target));
    CHECK(content(target) == body);
    CHECK(!fs::exists(part));
  }
};

TEST_CASE("from a server: the right file, or none") {
  if (!can_serve()) return;
  Case test;
  const std::string some = test.body.substr(0, 20'000);
  // These bring the right file, sooner or later, whatever is there of it: a partial file is
  // continued from where it ends, or begun again where that cannot be. What comes slowly, but
  // longer than it may come to a stand, does not stall.
  struct Row {
    std::string mode, there{};
    long stall_seconds = 5;
  };
  for (const Row& row : {Row{"good"}, Row{"cut"}, Row{"redirect"}, Row{"no_ranges"},
                         Row{"trickle", "", 1}, Row{"good", some}, Row{"no_ranges", some},
                         Row{"another_range", some}, Row{"good", std::string(20'000, 'x')}}) {
    const auto& [mode, there, stall_seconds] = row;
    INFO(row.mode, ", ", row.there.size(), " bytes there");
    test.begin_with(there);
    test.lowest =
        mode == "trickle" ? 20 : 200;  // a server that waits for a processor is no slow one
    test.brings({mode}, stall_seconds);
    CHECK((test.log().find("bytes=20000-") != std::string::npos) == !there.empty());
  }
  test.begin_with(test.body);  // whole already: nothing is asked for
  test.brings({"good"});
  CHECK(!fs::exists(test.served / "log"));
  // What is there is left alone; what is there and wrong is replaced.
  test.brings({"missing"});
  write(test.target, "damaged");
  test.brings({"good"});
  // These never bring it: exit 3, nothing under the file's name, and the next mirror is asked.
  for (const std::string mode :
       {"damaged", "promises_less", "circle", "to_a_file", "endless", "missing", "stall"}) {
    CAPTURE(mode);
    test.begin_with("");
    const bool stalls = mode == "stall";
    check_failure(test.fetch_from({mode}, stalls ? 1 : 5), Exit::data,
                  {"put f.bin into " + test.target.parent_path().string()});
    CHECK(!fs::exists(test.target));
    const std::uintmax_t left = fs::exists(test.part) ? fs::file_size(test.part) : 1;
    CHECK((left > 0 && left <= test.body.size()));  // nothing, or what can be continued
    test.brings({mode, "good"}, stalls ? 1 : 5);
  }
  // A header that promises more than comes: the bytes are right all the same, or the mirror is
  // left.
  test.begin_with("");
  test.brings({"promises_more", "good"});
  // Nobody listens.
  test.begin_with("");
  check_error(Exit::data, {"--from-file"}, [&] {
    fetch(test.dataset, {.directory = test.data, .mirrors = {"http://127.0.0.1:9"}});
  });
}

TEST_CASE("from a server: one that drips is left, as one that is silent") {
  if (!can_serve()) return;
  Case test;
  test.lowest = 500;
  test.brings({"drip", "good"}, 1);
  CHECK(says(test.said, "Less than 500 bytes/sec"));
  CHECK(test.log().find("drip f.bin \ndrip f.bin bytes=") == 0);  // once again from where it was
}

TEST_CASE("from a server: no other protocol, no name that means several") {
  if (!can_serve()) return;
  Case test;
  check_failure(test.fetch_from({"to_ftp"}), Exit::data, {"rotocol \"ftp\""});
  // One file of that name, not two that a shell would make of it.
  write(test.served / "{a,b}[1-2].bin", test.body);
  test.dataset.files[0].name = "{a,b}[1-2].bin";
  CHECK(test.fetch_from({"good"}).message == "");
  CHECK(content(test.target.parent_path() / "{a,b}[1-2].bin") == test.body);
  CHECK_FALSE(says(test.log(), "%7Ba"));
}

TEST_CASE("a password in an address is not shown") {
  CHECK(without_password("http://u:secret@h/x") == "http://h/x");
  CHECK(without_password("https://u:se@cret@h:8/x@y?a@b") == "https://h:8/x@y?a@b");
  CHECK(without_password("ftp://token@h") == "ftp://h");
  CHECK(without_password("u:secret@h/x") == "h/x");
  CHECK(without_password("http://h/x@y") == "http://h/x@y");
  CHECK(without_password("http://h?x@y") == "http://h?x@y");
  CHECK(without_password("") == "");
  check_error(Exit::usage, {"'ftp://h/' is no http"}, [] { check_address("ftp://u:secret@h/"); });
}

TEST_CASE("from a server: a password in its address is not said") {
  if (!can_serve()) return;
  Case test;
  test.server->login = "u:secret@";
  const Failure failure = test.fetch_from({"missing"});
  CHECK(says(failure.message, "returned error: 404"));
  CHECK_FALSE(says(failure.message + test.said, "secret"));
}

TEST_CASE("from a server: a link in the place of a partial file is not followed") {
  if (!can_serve()) return;
  Case test;
  const fs::path precious = test.folder.path / "precious";
  for (const std::string& held : {std::string("mine"), test.body}) {
    write(precious, held);
    fs::create_directories(test.part.parent_path());
    fs::remove(test.part);
    fs::create_symlink(precious, test.part);
    check_failure(test.fetch_from({"good"}), Exit::failure,
                  {test.part.string() + ": it is a symbolic link"});
    CHECK(content(precious) == held);
    CHECK(!fs::exists(test.target));
    check_error(Exit::failure, {"it is a symbolic link"},
                [&] { download(test.server->url("good"), test.part, {}); });
    CHECK(content(precious) == held);
  }
}

TEST_CASE("from a server: what cannot be written is a sentence") {
  if (!can_serve()) return;
  Case test;
  auto* const before = std::signal(SIGXFSZ, SIG_IGN);
  ::rlimit limit = {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const ::rlimit small{10'000, limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const Failure failure = test.fetch_from({"good"});
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  std::signal(SIGXFSZ, before);
  check_failure(failure, Exit::failure,
                {test.part.string() + ": cannot be written: File too large"});
  CHECK(!fs::exists(test.target));
  test.brings({"good"});  // goes on from there
}

TEST_CASE("with checksums: of two fetches into one folder the second waits") {
  if (!has_checksums()) return;
  const Folder folder;
  const std::string body = noise(1000);
  write(folder.path / "a.bin", body);
  const PublicDataset one{"one", "", "one", {}, {{"a.bin", 1000, checksum_of(body)}}};
  const fs::path place = folder.path / "data" / "one";
  fs::create_directories(place);
  const int other = ::open(place.c_str(), O_RDONLY | O_DIRECTORY);
  REQUIRE(::flock(other, LOCK_EX) == 0);
  std::vector<std::string> said;
  bool early = false;
  std::thread the_other;
  fetch(one, {.directory = folder.path / "data",
              .from_file = folder.path / "a.bin",
              .say = [&](const std::string& line) {
                said.push_back(line);
                if (said.size() > 1) return;
                the_other = std::thread([&] {  // ends, after a while
                  ::usleep(200'000);
                  early = fs::exists(place / "a.bin");
                  ::close(other);
                });
              }});
  the_other.join();
  CHECK(!early);
  REQUIRE(said.size() == 2);
  CHECK(said[0] == "another fetch is at work in " + place.string() + ": waiting for it to end");
  CHECK(content(place / "a.bin") == body);
}

TEST_CASE("with checksums: from files, and what the flags refuse") {
  if (!has_checksums()) return;
  const Folder folder;
  const fs::path usb = folder.path / "usb", data = folder.path / "data",
                 there = data / "one" / "a.bin";
  const std::string body = noise(1000);
  write(usb / "a.bin", body);
  write(usb / "b.bin", "damaged");
  const KnownFile a{"a.bin", 1000, checksum_of(body)};
  const PublicDataset one{"one", "", "one", {}, {a}};
  const PublicDataset two{"two", "", "two", {}, {a, {"b.bin", 0, "", "00"}}};
  const auto refused = [&](const PublicDataset& set, const fs::path& from, Exit exit,
                           const char* why) {
    check_error(exit, {why}, [&] { fetch(set, {.directory = data, .from_file = from}); });
  };
  fetch(one, {.directory = data, .from_file = usb});
  CHECK(content(there) == body);
  CHECK(verify(one, data).at(0).state == FileState::good);
  refused(two, usb, Exit::data, "expected MD5 00, found");
  CHECK(verify(two, data).at(1).state == FileState::missing);
  write(there, "other");
  CHECK(verify(one, data).at(0).note == "expected 1000 bytes, found 5");
  fetch(one, {.directory = data, .from_file = usb / "a.bin"});
  CHECK(content(there) == body);
  fs::remove(data / "two" / "a.bin");
  refused(two, usb / "a.bin", Exit::usage, "consists of 2 files");
  write(there, "other");
  refused(one, folder.path / "nowhere", Exit::data, "nowhere");
  for (const char* const url : {"file:///etc/passwd", "-K"}) {
    check_error(Exit::usage, {"no http"}, [&] { download(url, folder.path / "x", {}); });
  }
  check_error(Exit::usage, {"'cifar1' to fetch; did you mean cifar10?"},
              [] { public_dataset("cifar1"); });
  CHECK(public_dataset("cifar100-coarse").name == "cifar100");
}

TEST_CASE("with checksums: the first digits of one, or none") {
  if (!has_checksums()) return;
  const Folder folder;
  const std::string body = noise(1000);
  write(folder.path / "a.bin", body);
  std::string said;
  const auto bring = [&](const std::string& sum) {
    const PublicDataset one{"one", "", "one", {}, {{"a.bin", 0, sum}}};
    return failure_of([&] {
      fetch(one, {.directory = folder.path / "data",
                  .from_file = folder.path / "a.bin",
                  .say = [&](const std::string& line) { said = line; }});
    });
  };
  const std::string sum = checksum_of(body);
  const fs::path there = folder.path / "data" / "one" / "a.bin";
  std::string other = sum.substr(0, 8);
  other[7] = other[7] == '0' ? '1' : '0';
  check_failure(bring(other), Exit::data, {"expected SHA-256 " + other + ", found " + sum});
  CHECK(!fs::exists(there));
  CHECK(bring(sum.substr(0, 8)).message == "");
  CHECK(said == there.string() + " is right");
  CHECK(bring("").message == "");
  CHECK(said == there.string() + " is there; no sum of it is published: its SHA-256 is " + sum);
  write(there, "anything");  // nobody can tell
  CHECK(bring("").message == "");
  CHECK(content(there) == "anything");
}

TEST_CASE("from a server: no more than a file of unknown length may have") {
  if (!can_serve()) return;
  Case test;
  test.dataset.files[0] = {"f.bin", 0, checksum_of(test.body)};
  test.dataset.files[0].at_most = test.body.size() - 1;
  CHECK(test.fetch_from({"good"}).exit == Exit::data);
  CHECK(!fs::exists(test.target));
  test.dataset.files[0].at_most = test.body.size();
  test.brings({"good"});
}

}  // namespace
}  // namespace vitruvian
