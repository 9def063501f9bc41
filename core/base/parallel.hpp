#pragma once

#include <cstddef>
#include <functional>

namespace vitruvian {

/// How many threads `parallel_for` uses, this one included. At the start: the processors that the
/// operating system grants this process. In a build without threads it is always 1.
std::size_t threads();
/// The processors that the operating system grants this process: not all, where it is bound to
/// some.
std::size_t processors();
/// Those of the whole machine.
std::size_t processors_of_machine();
/// Throws on 0 or more than 1024. Call it between parallel loops, not inside one.
void set_threads(std::size_t n);

/// One thread while it lives: for whoever takes times.
class OneThread {
 public:
  OneThread() { set_threads(1); }
  ~OneThread() { set_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  std::size_t before_ = threads();
};

/// Calls `body(begin, end)` for the ranges [0, chunk), [chunk, 2 chunk), ... that cover [0, count).
///
/// The ranges depend on `count` and `chunk` alone, each runs on one thread, and `chunk` must not be
/// computed from `threads()`: that is what makes results independent of the number of threads.
/// Whoever sums over chunks stores one partial sum a chunk and adds them in order afterwards.
/// What is true of the caller (its `Context`: modes, faults, profile, module path) is true of the
/// thread that runs a chunk. A loop inside a loop runs on the calling thread. An exception of the
/// lowest failing chunk is rethrown once every running chunk has ended.
void parallel_for(std::size_t count, std::size_t chunk,
                  const std::function<void(std::size_t begin, std::size_t end)>& body);

/// Whether the calling thread is in a `parallel_for` of more than one chunk, and so has what it
/// does to itself. The answer does not depend on the number of threads.
bool inside_parallel_for();

}  // namespace vitruvian
