#include "vitruvian/nn/tensor_file.hpp"

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"

#if VITRUVIAN_HAS_LIBZIP
#include "vitruvian/nn/file_formats.hpp"
#include "vitruvian/nn/zip.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#endif

namespace vitruvian {

#if VITRUVIAN_HAS_LIBZIP
namespace {

StoredTensor open_entry(const ZipArchive& archive, std::uint64_t index) {
  const ZipArchive::Info info = archive.info(index);
  std::string name = info.name;
  if (!name.ends_with(".npy") || !is_tensor_name(name)) {
    refuse(archive.path(),
           fmt::format("entry {} of the zip archive is not called NAME.npy", index));
  }
  name.resize(name.size() - 4);
  const std::string what = fmt::format("{}: '{}'", archive.path(), name);
  if (info.packing == ZipArchive::Packing::other) {
    refuse(what, "it is packed by a method that numpy does not use");
  }
  info.check_size(what);
  std::string start(
      static_cast<std::size_t>(std::min<std::uint64_t>(info.size, largest_npy_header)), '\0');
  start.resize(ZipEntry(archive, index, what).read(start.data(), start.size()));
  const NpyHeader header = parse_npy_header(start, what);
  if (header.begin + header.bytes != info.size) {
    refuse(what,
           fmt::format("its shape {} needs {} bytes but it has {}", shape_text(header.shape),
                       header.bytes, info.size - std::min<std::uint64_t>(header.begin, info.size)));
  }
  const auto read = [archive, index, header, what] {
    check_readable(header.type, what);
    ZipEntry entry(archive, index, what);
    Bytes bytes(header.begin);
    entry.read(bytes.data(), bytes.size());
    bytes.resize(static_cast<std::size_t>(header.bytes));
    entry.read_rest(bytes.data(), bytes.size());
    return upcast(std::move(bytes), header.type.type);
  };
  StoredTensor tensor{name, dtype_of(header.type.type), header.shape, read};
  if (header.fortran_order) {  // the bytes are those of the array with its axes turned round
    std::reverse(tensor.shape.begin(), tensor.shape.end());
    std::vector<std::size_t> axes(tensor.shape.size());
    std::iota(axes.rbegin(), axes.rend(), std::size_t{0});
    tensor = permuted(tensor, axes);
  }
  return tensor;
}

}  // namespace

TensorFile read_npz(const std::shared_ptr<const ByteSource>& file) {
  const ZipArchive archive(file);
  TensorFile result{file->name(), {}, {}};
  for (std::uint64_t i = 0; i < archive.entries(); ++i) {
    result.tensors.push_back(open_entry(archive, i));
  }
  sort_by_name(result.tensors);
  check_names_differ(result);
  return result;
}

#else

TensorFile read_npz(const std::shared_ptr<const ByteSource>& file) {
  fail(Exit::checkpoint,
       "{}: this build reads neither .npz nor .pth files: it was made without libzip",
       file->name());
}

#endif

}  // namespace vitruvian
