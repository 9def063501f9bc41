// Fetching data sets from a server on loopback that cuts, stalls, lies, redirects and damages.
// Skipped where python3, libcurl or OpenSSL are missing.

#include "vitruvian/datasets/fetch/fetch.hpp"
#include "tests/datasets/datasets_testing.hpp"
#include "vitruvian/datasets/fetch/download.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
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
  if (Checksum::available() && can_download() &&
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
  PublicDataset dataset;
  std::unique_ptr<Server> server;

  Case() {
    write(folder.path / "served" / "f.bin", body);
    dataset = {"small", "", "small", {}, {{"f.bin", body.size(), sha256(body)}}};
    server = std::make_unique<Server>(folder.path / "served");
  }
  [[nodiscard]] fs::path target() const { return folder.path / "data" / "small" / "f.bin"; }
  [[nodiscard]] fs::path part() const { return target().string() + ".part"; }
  [[nodiscard]] std::string log() const {
    return content((folder.path / "served" / "log").string());
  }
  std::string said;
  double lowest = 100;
  Failure fetch_from(const std::vector<std::string>& modes, double stall_seconds = 5) {
    fs::remove(folder.path / "served" / "log");
    FetchOptions options{.directory = folder.path / "data",
                         .stall_seconds = stall_seconds,
                         .lowest_bytes_a_second = lowest,
                         .say = [this](const std::string& line) { said += line + "\n"; }};
    for (const std::string& mode : modes) options.mirrors.push_back(server->url(mode));
    return failure_of([&] { fetch(dataset, options); });
  }
  // The modes bring the right file, and nothing else.
  void brings(const std::vector<std::string>& modes, double stall_seconds = 5) {
    CHECK(fetch_from(modes, stall_seconds).message == "");
    CHECK(is_right());
  }
  [[nodiscard]] bool is_right() const { return fs::exists(target()) && content(target()) == body; }
};

TEST_CASE("from a server: the right file, or none") {
  if (!can_serve()) return;
  Case test;
  const auto fresh = [&] { fs::remove_all(test.folder.path / "data"); };
  // These bring the right file, sooner or later.
  for (const std::string mode : {"good", "cut", "redirect", "no_ranges"}) {
    CAPTURE(mode);
    fresh();
    test.brings({mode});
    CHECK(!fs::exists(test.part()));
  }
  // One that comes slowly, but longer than it may come to a stand, does not stall.
  fresh();
  test.brings({"trickle"}, 0.4);
  // A partial file is continued from where it ends, or begun again where that cannot be.
  for (const std::string mode : {"good", "no_ranges"}) {
    CAPTURE(mode);
    fresh();
    write(test.part(), test.body.substr(0, 20'000));
    test.brings({mode});
    CHECK(test.log().find("bytes=20000-") != std::string::npos);
  }
  fresh();
  write(test.part(), std::string(20'000, 'x'));  // of something else
  test.brings({"good"});
  fresh();
  write(test.part(), test.body);  // whole already: nothing is asked for
  test.brings({"good"});
  CHECK(!fs::exists(test.folder.path / "served" / "log"));
  // What is there is left alone; what is there and wrong is replaced.
  test.brings({"missing"});
  write(test.target(), "damaged");
  test.brings({"good"});
  // These never bring it: exit 3, nothing under the file's name, and the next mirror is asked.
  for (const std::string mode :
       {"damaged", "promises_less", "circle", "to_a_file", "endless", "missing", "stall"}) {
    CAPTURE(mode);
    fresh();
    const bool stalls = mode == "stall";
    const Failure failure = test.fetch_from({mode}, stalls ? 0.2 : 5);
    CHECK(failure.exit == Exit::data);
    CAPTURE(failure.message);
    CHECK(failure.message.find("put f.bin into " + test.target().parent_path().string()) !=
          std::string::npos);
    CHECK(!fs::exists(test.target()));
    CHECK((!fs::exists(test.part()) || fs::file_size(test.part()) <= test.body.size()));
    test.brings({mode, "good"}, stalls ? 0.5 : 5);
  }
  // A header that promises more than comes: the bytes are right all the same, or the mirror is
  // left.
  fresh();
  test.brings({"promises_more", "good"});
  // Nobody listens.
  fresh();
  const Failure dead = failure_of([&] {
    fetch(test.dataset,
          {.directory = test.folder.path / "data", .mirrors = {"http://127.0.0.1:9"}});
  });
  CHECK(dead.exit == Exit::data);
  CHECK(dead.message.find("--from-file") != std::string::npos);
  CHECK(dead.message.find('\n') == std::string::npos);
}

TEST_CASE("from a server: one that drips is left, as one that is silent") {
  if (!can_serve()) return;
  Case test;
  test.lowest = 500;
  test.brings({"drip", "good"}, 1.5);
  CHECK(test.said.find("bytes a second came, fewer than 500\n") != std::string::npos);
  CHECK(test.log().find("drip f.bin \ndrip f.bin bytes=") == 0);  // once again from where it was
}

TEST_CASE("from a server: no other protocol, no other range, no name that means several") {
  if (!can_serve()) return;
  Case test;
  const Failure ftp = test.fetch_from({"to_ftp"});
  CHECK(ftp.exit == Exit::data);
  CHECK(ftp.message.find("rotocol \"ftp\"") != std::string::npos);
  write(test.part(), test.body.substr(0, 20'000));
  test.brings({"another_range"});  // begun again
  // One file of that name, not two that a shell would make of it.
  write(test.folder.path / "served" / "{a,b}[1-2].bin", test.body);
  test.dataset.files[0].name = "{a,b}[1-2].bin";
  CHECK(test.fetch_from({"good"}).message == "");
  CHECK(content(test.target().parent_path() / "{a,b}[1-2].bin") == test.body);
  CHECK(test.log().find("%7Ba") == std::string::npos);
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
  CHECK(failure.message.find("returned error: 404") != std::string::npos);
  CHECK((failure.message + test.said).find("secret") == std::string::npos);
}

TEST_CASE("from a server: a link in the place of a partial file is not followed") {
  if (!can_serve()) return;
  Case test;
  const fs::path precious = test.folder.path / "precious";
  for (const std::string& held : {std::string("mine"), test.body}) {
    write(precious, held);
    fs::create_directories(test.part().parent_path());
    fs::remove(test.part());
    fs::create_symlink(precious, test.part());
    const Failure failure = test.fetch_from({"good"});
    CHECK(failure.exit == Exit::failure);
    CHECK(failure.message.find(test.part().string() + ": it is a symbolic link") == 0);
    CHECK(content(precious) == held);
    CHECK(!fs::exists(test.target()));
    const Failure direct = failure_of([&] { download(test.server->url("good"), test.part(), {}); });
    CHECK(direct.message.find("it is a symbolic link") != std::string::npos);
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
  CHECK(failure.exit == Exit::failure);
  CHECK(failure.message == test.part().string() + ": cannot be written: File too large");
  CHECK(!fs::exists(test.target()));
  test.brings({"good"});  // goes on from there
}

TEST_CASE("with checksums: of two fetches into one folder the second waits") {
  if (!has_checksums()) return;
  const Folder folder;
  const std::string body = noise(1000);
  write(folder.path / "a.bin", body);
  const PublicDataset one{"one", "", "one", {}, {{"a.bin", 1000, sha256(body)}}};
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
  const std::string body = noise(1000);
  write(folder.path / "usb" / "a.bin", body);
  write(folder.path / "usb" / "b.bin", "damaged");
  const PublicDataset one{"one", "", "one", {}, {{"a.bin", 1000, sha256(body)}}};
  const PublicDataset two{
      "two", "", "two", {}, {{"a.bin", 1000, sha256(body)}, {"b.bin", 0, "", "00"}}};
  FetchOptions options{.directory = folder.path / "data", .from_file = folder.path / "usb"};
  fetch(one, options);
  CHECK(content((folder.path / "data" / "one" / "a.bin").string()) == body);
  CHECK(verify(one, folder.path / "data").at(0).state == FileState::good);
  check_error(Exit::data, {"b.bin", "expected MD5 00, found"}, [&] { fetch(two, options); });
  CHECK(verify(two, folder.path / "data").at(1).state == FileState::missing);
  write(folder.path / "data" / "one" / "a.bin", "other");
  CHECK(verify(one, folder.path / "data").at(0).note == "expected 1000 bytes, found 5");
  options.from_file = folder.path / "usb" / "a.bin";
  fetch(one, options);
  check_error(Exit::usage, {"consists of 2 files"}, [&] {
    fetch(two, {.directory = folder.path / "new", .from_file = options.from_file});
  });
  options.from_file = folder.path / "nowhere";
  write(folder.path / "data" / "one" / "a.bin", "other");
  check_error(Exit::data, {"nowhere"}, [&] { fetch(one, options); });
  check_error(Exit::usage, {"no http"},
              [&] { download("file:///etc/passwd", folder.path / "x", {}); });
  check_error(Exit::usage, {"no http"}, [&] { download("-K", folder.path / "x", {}); });
  check_error(Exit::usage, {"'cifar1' to fetch; did you mean cifar10?"},
              [] { public_dataset("cifar1"); });
  CHECK(public_dataset("cifar100-coarse").name == "cifar100");
}

}  // namespace
}  // namespace vitruvian
