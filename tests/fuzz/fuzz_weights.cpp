// libFuzzer's target for one reader of weights, READ: any bytes give tensors or an Error. What was
// read goes on to the names, and its numbers are asked for.

#include "core/error.hpp"
#include "nn/npz.hpp"
#include "nn/safetensors_file.hpp"
#include "vit/naming.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

// A file in memory, with a path.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : number_(::memfd_create("fuzz", 0)) {
    if (number_ < 0 || ::write(number_, data, size) != static_cast<::ssize_t>(size)) std::abort();
  }
  ~MemoryFile() { ::close(number_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }

 private:
  int number_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vitruvian;
  const MemoryFile memory(data, size);
  try {
    const TensorFile file = READ(memory.path());
    for (const StoredTensor& t : file.tensors) {
      if (t.size() < 100'000 && t.values().size() != t.size()) std::abort();
    }
    const Scheme scheme = detect_scheme(file);
    const Named named = to_timm(file, scheme, true);
    for (const StoredTensor& t : from_timm(named.file, Scheme::torchvision, 1).tensors) {
      if (t.size() < 100'000 && t.values().size() != t.size()) std::abort();
    }
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the way to refuse
  }
  return 0;
}
