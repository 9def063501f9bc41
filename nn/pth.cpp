#include "vitruvian/nn/tensor_file.hpp"

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"

#if VITRUVIAN_HAS_LIBZIP
#include "vitruvian/nn/file_formats.hpp"
#include "vitruvian/nn/pickle.hpp"
#include "vitruvian/nn/zip.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>
#endif

namespace vitruvian {

#if VITRUVIAN_HAS_LIBZIP
namespace {

constexpr std::string_view pickle_name = "/data.pkl";
constexpr std::size_t most_tensors = 65'536;

// The entries of such an archive, all of them in one folder: its pickle, its storages by their
// keys, and notes of PyTorch's.
struct Entries {
  std::uint64_t pickle = 0;
  std::map<std::string, std::uint64_t> storages;
};

std::string bytes_of(const ZipArchive& archive, std::uint64_t index, std::uint64_t size,
                     const std::string& what) {
  std::string bytes(static_cast<std::size_t>(size), '\0');
  ZipEntry(archive, index, what).read_rest(bytes.data(), bytes.size());
  return bytes;
}

Entries entries_of(const ZipArchive& archive) {
  Entries result;
  std::map<std::string, std::uint64_t> all;
  std::string folder;
  for (std::uint64_t i = 0; i < archive.entries(); ++i) {
    const ZipArchive::Info info = archive.info(i);
    const std::string what = fmt::format("{}: entry {} of the zip archive", archive.path(), i);
    if (!is_tensor_name(info.name)) refuse(what, "it has no name for an entry");
    if (info.name.ends_with("/constants.pkl") || info.name.find("/code/") != info.name.npos) {
      refuse(archive.path(),
             "it is a program of TorchScript's (torch.jit.save), not a state dict, which "
             "torch.save(model.state_dict(), FILE) writes");
    }
    if (info.packing != ZipArchive::Packing::none) {
      refuse(what, "it is packed, which PyTorch does not do");
    }
    info.check_size(what);
    if (!all.emplace(info.name, i).second) {
      refuse(archive.path(), fmt::format("the entry '{}' comes twice", info.name));
    }
    if (info.name.ends_with(pickle_name)) {
      if (!folder.empty()) refuse(archive.path(), "it has more than one data.pkl");
      folder = info.name.substr(0, info.name.size() - pickle_name.size() + 1);
      if (folder.size() < 2 || folder.find('/') + 1 != folder.size())
        refuse(what, "it is not in a folder of its own");
      if (info.size > largest_pickle) {
        refuse(archive.path(),
               fmt::format("its pickle has {} bytes, above {}", info.size, largest_pickle));
      }
      result.pickle = i;
    }
  }
  for (const auto& [name, index] : all) {
    const std::string rest = name.starts_with(folder) ? name.substr(folder.size()) : "";
    if (rest.starts_with("data/")) {
      result.storages.emplace(rest.substr(5), index);
    } else if (rest == "byteorder") {
      const std::string order = bytes_of(
          archive, index, std::min<std::uint64_t>(archive.info(index).size, 16), archive.path());
      if (order != "little") refuse(archive.path(), "its numbers are not little-endian");
    } else if (rest != "data.pkl" && rest != "version" && !rest.starts_with('.')) {
      refuse(archive.path(), fmt::format("its entry '{}' is no part of a state dict", name));
    }
  }
  return result;
}

// The axes of a tensor whose numbers lie one beside the other, that of the longest steps first, and
// last those of length 1, whose steps say nothing; throws where they do not, as in a view of a
// larger tensor, or one whose rows are all the same.
std::vector<std::size_t> axes_in_memory(const PickledTensor& t, const std::string& what) {
  std::vector<std::size_t> axes(t.shape.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  const auto counts = [&t](std::size_t axis) { return t.shape[axis] > 1; };
  const auto steps = [&](std::size_t axis) { return counts(axis) ? t.strides[axis] : 0; };
  std::stable_sort(axes.begin(), axes.end(),
                   [&](std::size_t a, std::size_t b) { return steps(a) > steps(b); });
  std::uint64_t step = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (!counts(*axis)) continue;
    if (t.strides[*axis] != step) {
      refuse(what, fmt::format("a view of another tensor, by strides ({}); clone() before "
                               "torch.save makes it one of its own",
                               joined(t.strides)));
    }
    step *= t.shape[*axis];
  }
  return axes;
}

StoredTensor open_tensor(const ZipArchive& archive, const Entries& entries,
                         const PickledTensor& t) {
  if (!is_tensor_name(t.name)) {
    refuse(archive.path(), "a tensor of its pickle has a name that is no line, or too long");
  }
  const std::string what = fmt::format("{}: '{}'", archive.path(), t.name);
  const auto storage = entries.storages.find(t.storage);
  if (storage == entries.storages.end()) {
    refuse(what, fmt::format("its numbers, data/{}, are not in the archive", t.storage));
  }
  const std::uint64_t width = t.type.bits / 8;
  const std::uint64_t stored = archive.info(storage->second).size;
  if (stored / width != t.numbers || stored % width != 0) {
    refuse(what, fmt::format("its {} has {} numbers, but {} bytes are there", t.type.name,
                             t.numbers, stored));
  }
  const std::uint64_t bytes = bytes_of_shape(t.shape, t.type.bits, what);
  std::vector<std::size_t> axes;
  if (bytes != 0) axes = axes_in_memory(t, what);
  if (t.offset > t.numbers || bytes / width > t.numbers - t.offset) {
    refuse(what, fmt::format("its shape {} from number {} on is more than the {} that are stored",
                             shape_text(t.shape), t.offset, t.numbers));
  }
  const auto read = [archive, index = storage->second, t, bytes, width, what] {
    check_readable(t.type, what);
    ZipEntry entry(archive, index, what);
    Bytes numbers(static_cast<std::size_t>(bytes));
    if (bytes == t.numbers * width) {
      entry.read_rest(numbers.data(), numbers.size());
    } else if (bytes != 0) {  // a part of the storage, which has no checksum of its own
      entry.seek(t.offset * width);
      if (entry.read(numbers.data(), numbers.size()) != numbers.size()) {
        refuse(what, "the packed bytes are not as many as promised");
      }
    }
    return upcast(std::move(numbers), t.type.type);
  };
  StoredTensor tensor{t.name, dtype_of(t.type.type), t.shape, read};
  if (std::is_sorted(axes.begin(), axes.end())) return tensor;
  std::vector<std::size_t> back(axes.size());
  for (std::size_t k = 0; k < axes.size(); ++k) {
    tensor.shape[k] = t.shape[axes[k]];
    back[axes[k]] = k;
  }
  return permuted(tensor, back);
}

// Tensors may share numbers (tied weights do), but a small file must not become a large model.
void check_sharing(const std::vector<PickledTensor>& tensors, const TensorFile& file) {
  std::map<std::string, std::uint64_t> each;
  for (const PickledTensor& t : tensors) each[t.storage] = t.numbers;
  std::uint64_t numbers = 0;
  for (const auto& [key, n] : each) numbers += n;
  if (file.size() / 2 > numbers) {
    refuse(file.source, fmt::format("its tensors share their numbers: {} of {} that are stored",
                                    file.size(), numbers));
  }
}

}  // namespace

bool is_pth(const std::shared_ptr<const ByteSource>& file) {
  const ZipArchive archive(file);
  for (std::uint64_t i = 0; i < archive.entries(); ++i) {
    if (archive.info(i).name.ends_with(pickle_name)) return true;
  }
  return false;
}

TensorFile read_pth(const std::shared_ptr<const ByteSource>& file) {
  const ZipArchive archive(file);
  const Entries entries = entries_of(archive);
  const ZipArchive::Info info = archive.info(entries.pickle);
  if (!info.name.ends_with(pickle_name)) refuse(file->name(), "it has no data.pkl");
  const std::vector<PickledTensor> tensors = parse_state_dict(
      bytes_of(archive, entries.pickle, info.size, file->name() + ": its pickle"), file->name());
  if (tensors.size() > most_tensors) {
    refuse(file->name(), fmt::format("it has more than {} tensors", most_tensors));
  }
  TensorFile result{file->name(), {}, {}};
  for (const PickledTensor& t : tensors) {
    result.tensors.push_back(open_tensor(archive, entries, t));
  }
  sort_by_name(result.tensors);
  check_names_differ(result);
  check_sharing(tensors, result);
  return result;
}

#else

bool is_pth(const std::shared_ptr<const ByteSource>&) { return false; }

TensorFile read_pth(const std::shared_ptr<const ByteSource>& file) { return read_npz(file); }

#endif

}  // namespace vitruvian
