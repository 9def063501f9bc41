// Long graphs: a million nodes on a small stack, and ten thousand training steps in flat memory.

#include "tests/expect.hpp"
#include "vitruvian/core/base/memory.hpp"
#include "vitruvian/core/ops.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>

using namespace vitruvian;

namespace {

// A sanitizer's frames and bookkeeping are many times larger.
constexpr std::size_t length = sanitized ? 50'000 : 1'000'000;
constexpr std::size_t stack_bytes = std::size_t{256} * 1024 * (sanitized ? 4 : 1);

// Runs `body` on a thread with a small stack: recursion along the graph would overflow it.
void on_small_stack(const std::function<void()>& body) {
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, stack_bytes) == 0);
  pthread_t thread{};
  const auto call = [](void* f) -> void* {
    (*static_cast<const std::function<void()>*>(f))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, call,
                         const_cast<std::function<void()>*>(&body)) == 0);  // NOLINT
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

// Resident bytes of this process; 0 where the system does not tell.
double resident() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  unsigned long total = 0;
  unsigned long pages = 0;
  const int read = std::fscanf(file, "%lu %lu", &total, &pages);
  std::fclose(file);
  return read == 2 ? static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) : 0;
}

// y = x + 0 + 0 + ...; `middle` receives the node half-way.
Tensor chain(const Tensor& x, Tensor* middle = nullptr) {
  Tensor y = x;
  for (std::size_t i = 0; i < length; ++i) {
    y = y + real{0};
    if (middle != nullptr && i == length / 2) *middle = y;
  }
  return y;
}

Tensor start() { return Tensor(scalar(1), true); }

}  // namespace

// The first test of this program: later ones would find memory that earlier ones gave back.
TEST_CASE("a node costs at most 600 bytes beyond its array" * doctest::skip(sanitized)) {
  const double before = resident();
  if (before == 0) return;
  const Tensor y = chain(start());
  const double each = (resident() - before) / static_cast<double>(length);
  MESSAGE("bytes a node with its array of one number: " << each);
  CHECK(each <= 600 + 32);  // the smallest block of malloc, for the array
}

TEST_CASE("a chain of a million nodes: forward, backward, destruction on a 256 KB stack") {
  const std::pair<const char*, std::function<void()>> ways[] = {
      {"the head goes first",
       [] {
         const Tensor x = start();
         Tensor y = chain(x);
         CHECK(live_nodes() == length + 1);
         y = {};
         CHECK(live_nodes() == 1);
       }},
      {"the leaf's handle goes first",
       [] {
         Tensor x = start();
         const Tensor y = chain(x);
         x = {};
         CHECK(live_nodes() == length + 1);
       }},
      {"after a backward that retained the graph, and one that frees as it goes",
       [] {
         const Tensor x = start();
         const Tensor y = chain(x);
         y.backward(true);
         CHECK(live_nodes() == length + 1);
         CHECK(*x.grad()->data() == real{1});
         y.backward();
         CHECK(live_nodes() == 2);
         CHECK(*x.grad()->data() == real{2});
       }},
      {"after a backward that retained the graph", [] { chain(start()).backward(true); }},
      {"in two halves, the upper one first",
       [] {
         Tensor middle;
         Tensor y = chain(start(), &middle);
         y = {};
         CHECK(live_nodes() == length / 2 + 2);
       }},
      {"with the middle's handle gone before the head",
       [] {
         Tensor middle;
         const Tensor y = chain(start(), &middle);
         middle = {};
         CHECK(live_nodes() == length + 1);
       }},
      {"a tree whose every node is held by its consumer and by the one after that",
       [] {
         Tensor a = start();
         Tensor b = a;
         for (std::size_t i = 0; i < length / 4; ++i) a = std::exchange(b, a + b);
       }},
  };
  for (const auto& way : ways) {
    CAPTURE(way.first);
    REQUIRE(live_nodes() == 0);
    on_small_stack(way.second);
    CHECK(live_nodes() == 0);
  }
}

TEST_CASE("ten thousand training steps leave nothing behind") {
  REQUIRE(live_nodes() == 0);
  Tensor w(full({16, 16}, real(0.01)), true);
  const Tensor x(full({8, 16}, real(0.5)));
  const auto step = [&] {
    const Tensor h = tanh(matmul(x, w));
    mean(square(h - x)).backward();
    const WriteGuard value = w.mutable_value();
    *value -= real(0.1) * *w.grad();
    w.zero_grad();
  };
  constexpr int steps = sanitized ? 1'000 : 10'000;
  for (int i = 0; i < steps / 10; ++i) step();
  const double settled = resident();
  const std::size_t blocks = memory::bytes();
  for (int i = steps / 10; i < steps; ++i) step();
  CHECK(live_nodes() == 2);
  CHECK(memory::bytes() == blocks);
  if (!sanitized) CHECK(resident() - settled < 1 << 20);
  w = {};
  CHECK(live_nodes() == 1);
}
