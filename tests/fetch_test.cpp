// Fetching data sets from a server on loopback that cuts, stalls, lies, redirects and damages.
// Skipped where python3 or the program that fetches is missing.

#include "datasets/fetch.hpp"
#include "datasets/checksum.hpp"
#include "datasets/download.hpp"
#include "tests/fetch_testing.hpp"
#include "tests/skip.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

namespace vitruvian {
namespace {

namespace fs = std::filesystem;

// The server, gone with its standard input.
class Server {
 public:
  explicit Server(const fs::path& folder) {
    const fs::path port_file = folder / "port";
    const std::string command =
        fmt::format("exec python3 '{}/loopback_server.py' '{}' >'{}'", VITRUVIAN_TEST_DATA,
                    folder.string(), port_file.string());
    pipe_.reset(::popen(command.c_str(), "w"));
    for (int i = 0; i < 100 && port_ == 0; ++i) {
      ::usleep(100'000);
      std::ifstream(port_file) >> port_;
    }
    REQUIRE(port_ != 0);
  }
  [[nodiscard]] std::string url(const std::string& mode) const {
    return fmt::format("http://127.0.0.1:{}/{}/", port_, mode);
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe_{nullptr, &::pclose};
  int port_ = 0;
};

bool can_serve() {
  if (Checksum::available() && std::system("python3 -c 'import http.server' 2>/dev/null") == 0) {
    return true;
  }
  skip("no python3 or no OpenSSL");
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
  Failure fetch_from(const std::vector<std::string>& modes, double stall_seconds = 5) {
    fs::remove(folder.path / "served" / "log");
    FetchOptions options{.directory = folder.path / "data", .stall_seconds = stall_seconds};
    for (const std::string& mode : modes) options.mirrors.push_back(server->url(mode));
    return failure_of([&] { fetch(dataset, options); });
  }
  [[nodiscard]] bool is_right() const { return fs::exists(target()) && content(target()) == body; }
};

void check_with(const std::string& program) {
  ::setenv("VITRUVIAN_DOWNLOADER", program.c_str(), 1);
  if (downloader().empty()) {
    return skip("no " + program);
  }
  CAPTURE(program);
  Case test;
  const auto fresh = [&] { fs::remove_all(test.folder.path / "data"); };
  // These bring the right file, sooner or later.
  for (const std::string mode : {"good", "cut", "redirect", "no_ranges"}) {
    CAPTURE(mode);
    fresh();
    const Failure failure = test.fetch_from({mode});
    CHECK(failure.message == "");
    CHECK(test.is_right());
    CHECK(!fs::exists(test.part()));
  }
  // One that comes slowly, but longer than it may come to a stand, does not stall.
  fresh();
  CHECK(test.fetch_from({"trickle"}, 0.4).message == "");
  CHECK(test.is_right());
  // A partial file is continued from where it ends, or begun again where that cannot be.
  for (const std::string mode : {"good", "no_ranges"}) {
    CAPTURE(mode);
    fresh();
    write(test.part(), test.body.substr(0, 20'000));
    CHECK(test.fetch_from({mode}).message == "");
    CHECK(test.is_right());
    CHECK(test.log().find("bytes=20000-") != std::string::npos);
  }
  fresh();
  write(test.part(), std::string(20'000, 'x'));  // of something else
  CHECK(test.fetch_from({"good"}).message == "");
  CHECK(test.is_right());
  fresh();
  write(test.part(), test.body);  // whole already: nothing is asked for
  CHECK(test.fetch_from({"good"}).message == "");
  CHECK(!fs::exists(test.folder.path / "served" / "log"));
  CHECK(test.is_right());
  // What is there is left alone; what is there and wrong is replaced.
  CHECK(test.fetch_from({"missing"}).message == "");
  write(test.target(), "damaged");
  CHECK(test.fetch_from({"good"}).message == "");
  CHECK(test.is_right());
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
    CHECK(test.fetch_from({mode, "good"}, stalls ? 0.5 : 5).message == "");
    CHECK(test.is_right());
  }
  // A header that promises more than comes: the bytes are right all the same, or the mirror is
  // left.
  fresh();
  const Failure lied = test.fetch_from({"promises_more", "good"});
  CHECK(lied.message == "");
  CHECK(test.is_right());
  // Nobody listens.
  fresh();
  const Failure dead = failure_of([&] {
    fetch(test.dataset,
          {.directory = test.folder.path / "data", .mirrors = {"http://127.0.0.1:9"}});
  });
  CHECK(dead.exit == Exit::data);
  CHECK(dead.message.find("--from-file") != std::string::npos);
  CHECK(dead.message.find('\n') == std::string::npos);
  ::unsetenv("VITRUVIAN_DOWNLOADER");
}

TEST_CASE("fetching with curl") {
  if (can_serve()) check_with("curl");
}
TEST_CASE("fetching with wget") {
  if (can_serve()) check_with("wget");
}

TEST_CASE("from files, and what the flags refuse") {
  if (!Checksum::available()) return;
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
              [&] { download("curl", "file:///etc/passwd", folder.path / "x", {}); });
  check_error(Exit::usage, {"no http"}, [&] { download("curl", "-K", folder.path / "x", {}); });
  check_error(Exit::usage, {"'cifar1' to fetch; did you mean cifar10?"},
              [] { public_dataset("cifar1"); });
  CHECK(public_dataset("cifar100-coarse").name == "cifar100");
}

}  // namespace
}  // namespace vitruvian
