// What the rooms stand on and what knows no numbers: errors, scopes, faults, loops, storage.

#include "tests/folder.hpp"
#include "vitruvian/core/array.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/json.hpp"
#include "vitruvian/core/base/memory.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/base/scope.hpp"
#include "vitruvian/core/fault.hpp"

#include <atomic>
#include <mutex>
#include <new>
#include <thread>

using namespace vitruvian;

namespace {

using Ranges = std::multiset<std::pair<std::size_t, std::size_t>>;

Ranges ranges_of(std::size_t count, std::size_t chunk) {
  std::mutex mutex;
  Ranges ranges;
  parallel_for(count, chunk, [&](std::size_t begin, std::size_t end) {
    const std::scoped_lock lock(mutex);
    ranges.emplace(begin, end);
  });
  return ranges;
}

}  // namespace

TEST_CASE("words of a sentence") {
  CHECK(counted(0, "epoch") == "0 epochs");
  CHECK(counted(1, "micro-batch") == "1 micro-batch");
  CHECK(counted(2, "micro-batch") == "2 micro-batches");
  CHECK(counted(3, "class") == "3 classes");
}

TEST_CASE("an error carries its exit code and sentence") {
  CHECK(Error(Exit::data, "x").exit() == Exit::data);
  CHECK(message_of([] { fail("sizes {} and {}", 2, 3); }) == "sizes 2 and 3");
  const Scope scope("head");
  CHECK(message_of([] { fail("sizes {} and {}", 2, 3); }) == "sizes 2 and 3 - in head");
  CHECK(message_of([] { fail(Exit::usage, "--x: {}", 4); }) == "--x: 4");
  CHECK(error_of(Exit::checkpoint, [] { fail(Exit::checkpoint, "torn"); }) == "torn");
}

TEST_CASE("scopes nest into a path and leave it again") {
  CHECK(Scope::path().empty());
  CHECK(in_scope().empty());
  const std::string* kept = nullptr;
  {
    const Scope block("blocks", 3);
    CHECK(Scope::path() == "blocks.3");
    {
      const Scope attention("attn");
      CHECK(Scope::path() == "blocks.3.attn");
      CHECK(in_scope() == " - in blocks.3.attn");
      kept = &Scope::path();
    }
    CHECK(Scope::path() == "blocks.3");
    std::thread([] { CHECK(Scope::path().empty()); }).join();
  }
  CHECK(Scope::path().empty());
  CHECK(*kept == "blocks.3.attn");  // valid for ever: nodes keep the pointer
  const Scope block("blocks", 3);
  const Scope attention("attn");
  CHECK(&Scope::path() == kept);  // and there is one string for each path
}

TEST_CASE("JSON: null for what it does not know, a sign for what is no UTF-8, keys as they came") {
  Json json;
  json["b"] = std::numeric_limits<double>::infinity();
  json["a"] = "\xFF";
  CHECK(dump_json(json) == "{\"b\":null,\"a\":\"\xEF\xBF\xBD\"}");
  CHECK(dump_json(SortedJson(json)) == "{\"a\":\"\xEF\xBF\xBD\",\"b\":null}");
  CHECK(dump_json(Json{{"a", 1}}, 2) == "{\n  \"a\": 1\n}");
  CHECK(dump_json(parse_json("{\"b\": [1, 2.5], \"a\": true}")) == "{\"b\":[1,2.5],\"a\":true}");
  CHECK(parse_json<SortedJson>("{\"b\": 1", nullptr, false).is_discarded());
  CHECK_THROWS_AS(parse_json("{\"b\": 1"), Json::parse_error);
  const auto without_b = [](int, Json::parse_event_t event, const Json& part) {
    return event != Json::parse_event_t::key || part != "b";
  };
  CHECK(dump_json(parse_json("{\"b\": 1, \"a\": 2}", without_b)) == "{\"a\":2}");
}

TEST_CASE("a fault is the thread's, ends with its life, and does not nest") {
  CHECK(Fault::active() == nullptr);
  {
    const Fault fault("mul", Fault::Kind::flip_sign, 1);
    CHECK(Fault::active() == &fault);
    CHECK(fault.input() == 1);
    CHECK_FAILS_WITH(Fault("add", Fault::Kind::flip_sign), "fault: 'mul' is already broken");
    CHECK(Fault::active() == &fault);
    std::thread([] { CHECK(Fault::active() == nullptr); }).join();
  }
  CHECK(Fault::active() == nullptr);
}

TEST_CASE("parallel_for covers every index once, in chunks that do not depend on the threads") {
  for (const std::size_t count : {0U, 1U, 7U, 8U, 9U, 1000U}) {
    Ranges expected;
    for (std::size_t begin = 0; begin < count; begin += 8) {
      expected.emplace(begin, std::min<std::size_t>(count, begin + 8));
    }
    for (const std::size_t n : {1U, 2U, 3U, 8U}) {
      const Threads scoped(n);
      CHECK(ranges_of(count, 8) == expected);
    }
  }
}

TEST_CASE("parallel_for runs on as many threads as were asked for") {
  const Threads scoped(3);
  if (threads() == 1) return;  // a build without threads
  std::mutex mutex;
  std::set<std::thread::id> seen;
  // Each chunk waits until three threads have arrived: fewer would never end.
  std::atomic<int> arrived{0};
  parallel_for(3, 1, [&](std::size_t, std::size_t) {
    {
      const std::scoped_lock lock(mutex);
      seen.insert(std::this_thread::get_id());
    }
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
  });
  CHECK(seen.size() == 3);
}

TEST_CASE("a loop inside a loop runs on the calling thread") {
  const Threads scoped(4);
  std::atomic<std::size_t> sum{0};
  std::atomic<bool> moved{false};
  parallel_for(16, 1, [&](std::size_t i, std::size_t) {
    const auto outer = std::this_thread::get_id();
    parallel_for(100, 7, [&](std::size_t begin, std::size_t end) {
      if (std::this_thread::get_id() != outer) moved = true;
      sum += (end - begin) * (i + 1);
    });
  });
  CHECK_FALSE(moved);
  CHECK(sum == 100 * 136);
}

TEST_CASE("being inside a loop of several chunks does not depend on the threads") {
  for (const std::size_t n : {1U, 3U}) {
    const Threads scoped(n);
    std::atomic<std::size_t> inside{0};
    const auto count = [&] { inside += inside_parallel_for() ? 1 : 0; };
    count();
    CHECK(inside == 0);
    parallel_for(5, 5, [&](std::size_t, std::size_t) { count(); });
    CHECK(inside == 0);
    parallel_for(6, 2, [&](std::size_t, std::size_t) {
      count();
      parallel_for(1, 1, [&](std::size_t, std::size_t) { count(); });
      parallel_for(2, 1, [&](std::size_t, std::size_t) {});
      count();
    });
    CHECK(inside == 9);
    count();
    CHECK(inside == 9);
  }
}

TEST_CASE("the exception of the lowest failing chunk arrives, and the loop works again") {
  for (const std::size_t n : {1U, 2U, 4U}) {
    const Threads scoped(n);
    for (int repeat = 0; repeat < 50; ++repeat) {
      const std::string message = message_of([] {
        parallel_for(64, 2, [](std::size_t begin, std::size_t) {
          if (begin >= 10) fail("chunk {}", begin / 2);
        });
      });
      REQUIRE(message == "chunk 5");
    }
    CHECK(ranges_of(9, 4).size() == 3);
  }
}

TEST_CASE("several threads may loop at once") {
  const Threads scoped(2);
  std::vector<std::size_t> sums(4, 0);
  std::vector<std::thread> callers;
  for (std::size_t& sum : sums) {
    callers.emplace_back([&sum] {
      for (int repeat = 0; repeat < 200; ++repeat) {
        std::atomic<std::size_t> total{0};
        parallel_for(100, 9, [&](std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end; ++i) total += i;
        });
        sum += total;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(sums == std::vector<std::size_t>(4, 200 * 4950));
}

TEST_CASE("impossible numbers of threads and chunks are refused") {
  const std::size_t before = threads();
  CHECK_FAILS_WITH(set_threads(0), "threads: 0 is not between 1 and 1024");
  CHECK_FAILS_WITH(set_threads(1025), "threads: 1025 is not");
  CHECK(threads() == before);
  CHECK_FAILS_WITH(parallel_for(4, 0, [](std::size_t, std::size_t) {}), "a chunk of 0");
}

TEST_CASE("array storage is aligned, counted, and comes back") {
  memory::trim();
  const std::size_t start = memory::bytes();
  for (std::size_t bytes = 1024; bytes < 100'000; bytes = bytes * 9 / 8) {
    void* const block = memory::allocate(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % 64 == 0);
    CHECK(memory::bytes() - start >= bytes);
    CHECK(memory::bytes() - start <= bytes + bytes / 4);
    static_cast<char*>(block)[bytes - 1] = 1;
    memory::release(block, bytes);
    CHECK(memory::bytes() == start);
  }
  void* const small = memory::allocate(8);
  CHECK(small != nullptr);
  memory::release(small, 8);
  CHECK(memory::allocate(0) == nullptr);
  memory::release(nullptr, 0);
  memory::trim();
}

TEST_CASE("the peak of array storage is remembered until it is reset") {
  memory::reset_peak();
  const std::size_t start = memory::bytes();
  CHECK(memory::peak_bytes() == start);
  void* const a = memory::allocate(4096);
  void* const b = memory::allocate(8192);
  memory::release(b, 8192);
  CHECK(memory::bytes() == start + 4096);
  CHECK(memory::peak_bytes() == start + 4096 + 8192);
  memory::reset_peak();
  CHECK(memory::peak_bytes() == start + 4096);
  memory::release(a, 4096);
}

TEST_CASE("a released block is used again" * doctest::skip(sanitized)) {
  void* const a = memory::allocate(5000);
  memory::release(a, 5000);
  void* const b = memory::allocate(5100);  // the same class of sizes
  CHECK(a == b);
  void* const c = memory::allocate(5100);
  CHECK(b != c);
  memory::release(b, 5100);
  memory::release(c, 5100);
}

TEST_CASE("a block goes back to the thread that took it" * doctest::skip(sanitized)) {
  void* const mine = memory::allocate(5000);
  void* theirs = nullptr;
  std::thread([&] {
    memory::release(mine, 5000);
    theirs = memory::allocate(5000);
    CHECK(theirs != mine);
  }).join();
  CHECK(memory::allocate(5000) == mine);
  memory::release(mine, 5000);
  memory::release(theirs, 5000);
  // The thread is gone: the next one finds what it took.
  std::thread([&] {
    CHECK(memory::allocate(5000) == theirs);
    memory::release(theirs, 5000);
  }).join();
}

TEST_CASE("more storage than there is throws, and is not counted") {
  const std::size_t start = memory::bytes();
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  CHECK_THROWS_AS(memory::allocate(most), std::bad_alloc);
  // AddressSanitizer ends the program where the system would refuse.
  if (!sanitized) CHECK_THROWS_AS(memory::allocate(most / 2 - 100), std::bad_alloc);
  CHECK_THROWS_AS(ArrayAllocator<double>().allocate(most / 4), std::bad_array_new_length);
  CHECK(memory::bytes() == start);
}

TEST_CASE("storage may be taken and given back on different threads") {
  const std::size_t start = memory::bytes();
  std::vector<void*> blocks(64);
  std::vector<std::thread> workers;
  for (std::size_t t = 0; t < 4; ++t) {
    workers.emplace_back([&blocks, t] {
      for (std::size_t i = t; i < blocks.size(); i += 4) blocks[i] = memory::allocate(2000 + i);
    });
  }
  for (std::thread& worker : workers) worker.join();
  CHECK(std::set<void*>(blocks.begin(), blocks.end()).size() == blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) memory::release(blocks[i], 2000 + i);
  CHECK(memory::bytes() == start);
}
