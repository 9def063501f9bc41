// What the readers of MNIST's and CIFAR's files take, and what they refuse, each at its offset.

#include "tests/datasets/datasets_testing.hpp"
#include "tests/nn/archives.hpp"
#include "vitruvian/datasets/dataset.hpp"
#include "vitruvian/datasets/formats/cifar.hpp"
#include "vitruvian/datasets/formats/idx.hpp"

namespace fs = std::filesystem;
using namespace vitruvian;

namespace {

std::string idx(const std::vector<std::uint32_t>& header, const ByteVector& data) {
  std::string bytes;
  for (const std::uint32_t word : header) bytes += big_endian(word);
  return bytes.append(data.begin(), data.end());
}

const ByteVector one_to_twelve{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
const std::string two_images = idx({0x803, 2, 2, 3}, one_to_twelve);
const std::string two_labels = idx({0x801, 2}, {7, 3});

IdxImages images_of(const std::string& bytes) {
  return read_idx_images(MemorySource(bytes, "the file", Exit::data));
}
ByteVector labels_of(const std::string& bytes) {
  return read_idx_labels(MemorySource(bytes, "the file", Exit::data), 10);
}

// A file that is refused: what it holds, and the words of the refusal beside its name.
struct Bad {
  std::string bytes;
  std::vector<std::string> parts;
};

void check_refused(const std::vector<Bad>& images, const std::vector<Bad>& labels = {}) {
  const auto check = [](Bad bad, const auto& read) {
    bad.parts.emplace_back("the file: ");
    check_error(Exit::data, bad.parts, [&] { read(bad.bytes); });
  };
  for (const Bad& bad : images) check(bad, images_of);
  for (const Bad& bad : labels) check(bad, labels_of);
}

// What `load` says of a folder.
void check_load(const Folder& folder, const std::vector<std::string>& parts,
                const std::string& inside = "", const std::string& name = "mnist") {
  check_error(Exit::data, parts,
              [&] { load({.name = name, .directory = (folder.path / inside).string()}); });
}

}  // namespace

// --- IDX -----------------------------------------------------------------------------------------

TEST_CASE("an IDX file reads the same plain and packed") {
  for (const std::string& bytes : {two_images, gzip(two_images)}) {
    const IdxImages images = images_of(bytes);
    CHECK(images.count == 2);
    CHECK(images.height == 2);
    CHECK(images.width == 3);
    CHECK(images.pixels == one_to_twelve);
  }
  for (const std::string& bytes : {two_labels, gzip(two_labels)}) {
    CHECK(labels_of(bytes) == ByteVector{7, 3});
  }
}

TEST_CASE("a gzip file of several members is one stream") {
  CHECK(images_of(gzip(two_images.substr(0, 9)) + gzip(two_images.substr(9))).pixels.back() == 12);
}

TEST_CASE("a truncated IDX file is refused, wherever it breaks off") {
  const std::string cut = two_images.substr(0, two_images.size() - 1);
  check_refused({{"", {"offset 0", "4 bytes", "found 0"}},
                 {idx({0x803, 2}, {}), {"offset 8", "rows", "found 0"}},
                 {cut, {"truncated", "offset 16", "12 bytes", "found 11"}},
                 {gzip(cut), {"truncated", "offset 16", "12 bytes", "found 11"}}},
                {{idx({0x801, 3}, {1, 2}), {"offset 8", "3 bytes", "found 2"}}});
}

TEST_CASE("trailing bytes are refused") {
  const std::string longer = two_images + std::string(2, '\0');
  check_refused({{longer, {"end at offset 28", "found 2 more bytes"}},
                 {gzip(longer), {"end of the unpacked data at offset 28"}}});
}

TEST_CASE("a wrong magic number says what the file is instead") {
  check_refused({{two_labels, {"offset 0", "0x00000803 (images)", "0x00000801 (labels)"}},
                 {idx({0x3080000}, {}), {"0x03080000"}}},
                {{two_images, {"offset 0", "0x00000801 (labels)", "0x00000803 (images)"}}});
}

TEST_CASE("absurd dimensions are refused before anything is allocated") {
  // The largest that pass one by one: 1.7e15 bytes, promised by a file of 20.
  const std::string huge = idx({0x803, 100'000'000, 4096, 4096}, {1, 2, 3, 4});
  check_refused({{idx({0x803, 0, 2, 3}, {}), {"offset 4", "number of images", "found 0"}},
                 {idx({0x803, 2, 0, 3}, {}), {"offset 8", "rows", "found 0"}},
                 {idx({0x803, 2, 2, 5000}, {}), {"offset 12", "columns", "found 5000"}},
                 {idx({0x803, 0xFFFFFFFF, 2, 3}, {}), {"offset 4", "found 4294967295"}},
                 {huge, {"1677721600000000 bytes", "found 4"}},
                 {gzip(huge), {"1677721600000000 bytes", "found 4"}}},
                {{idx({0x801, 0}, {}), {"offset 4", "found 0"}}});
}

TEST_CASE("a label that is no class is refused at its offset") {
  check_refused({}, {{idx({0x801, 3}, {9, 0, 10}), {"offset 10", "0 to 9", "found 10"}}});
}

TEST_CASE("damaged gzip is refused") {
  const std::string whole = gzip(idx({0x803, 1, 28, 28}, ByteVector(784)));
  std::string wrong_sum = whole;
  wrong_sum[whole.size() - 6] ^= 1;
  std::string garbled = whole;
  garbled.replace(10, 10, std::string(10, '\xFF'));
  check_refused({{whole.substr(0, whole.size() - 5), {"gzip", "breaks off"}},
                 {wrong_sum, {"gzip", "damaged", "data check"}},
                 {garbled, {"gzip", "damaged"}},
                 {whole + "hello", {"gzip", "damaged", "header"}}});
}

TEST_CASE("a gzip bomb is unpacked no further than its header promises") {
  // 64 MB of zeros in 64 kB, behind a header that promises 784 bytes.
  check_refused({{gzip(idx({0x803, 1, 28, 28}, ByteVector(std::size_t{64} << 20U))),
                  {"end of the unpacked data at offset 800"}}});
}

// --- MNIST as four files -------------------------------------------------------------------------

namespace {

void write_small_mnist(const Folder& folder, const std::string& prefix) {
  write(folder.path / (prefix + "train-images-idx3-ubyte"), two_images);
  write(folder.path / (prefix + "train-labels-idx1-ubyte.gz"), gzip(two_labels));
  write(folder.path / (prefix + "t10k-images-idx3-ubyte.gz"), gzip(two_images));
  write(folder.path / (prefix + "t10k-labels-idx1-ubyte"), two_labels);
}

}  // namespace

TEST_CASE("MNIST's files are found with and without .gz, in the folder or in its folder mnist") {
  for (const std::string prefix : {"", "mnist/"}) {
    const Folder folder;
    write_small_mnist(folder, prefix);
    const Split split = load({.name = "mnist", .directory = folder.path.string()});
    CHECK(split.train.size() == 2);
    CHECK(split.test.labels == Classes{7, 3});
    CHECK(load_test({.name = "mnist", .directory = folder.path.string()}).pixels ==
          split.test.pixels);
    CHECK(load({.name = "mnist", .directory = folder.path.string(), .test_size = 1}).test.size() ==
          1);
    check_error(Exit::usage, {"mnist", "3 training images", "it has 2"}, [&] {
      load({.name = "mnist", .directory = folder.path.string(), .train_size = 3});
    });
  }
}

TEST_CASE("a missing directory or file says which files belong there") {
  check_error(Exit::usage, {"mnist", "t10k-labels-idx1-ubyte"}, [] { load({.name = "mnist"}); });
  const Folder folder;
  check_load(folder, {"no such directory", "train-images-idx3-ubyte"}, "nowhere");
  check_load(folder, {"no train-images-idx3-ubyte", "t10k-labels-idx1-ubyte"});
  write_small_mnist(folder, "");
  fs::remove(folder.file("t10k-labels-idx1-ubyte"));
  check_load(folder, {"no t10k-labels-idx1-ubyte"});
  check_load(folder, {"expected a directory", "found a file"}, "t10k-images-idx3-ubyte.gz");
  fs::create_directory(folder.file("t10k-labels-idx1-ubyte"));
  check_load(folder, {"t10k-labels-idx1-ubyte: expected a file, found a directory"});
  check_load(folder, {"no data_batch_1.bin", "test_batch.bin"}, "", "cifar10");
}

TEST_CASE("images and labels must agree in number, train and test in size") {
  const Folder folder;
  write_small_mnist(folder, "");
  write(folder.path / "t10k-labels-idx1-ubyte", idx({0x801, 3}, {1, 2, 3}));
  check_load(folder, {"t10k-images-idx3-ubyte.gz holds 2 images", "holds 3 labels"});
  write_small_mnist(folder, "");
  write(folder.path / "t10k-images-idx3-ubyte.gz", idx({0x803, 2, 3, 2}, one_to_twelve));
  check_load(folder, {"2 x 3", "3 x 2"});
}

TEST_CASE("an unknown data set is met with the nearest one") {
  check_error(Exit::usage, {"there is no data set 'minst'; did you mean mnist?"},
              [] { load({.name = "minst"}); });
  check_error(Exit::usage, {"'cats'; there are digits, mnist, fashion-mnist, kmnist, cifar10"},
              [] { load({.name = "cats"}); });
}

// --- CIFAR-10 ------------------------------------------------------------------------------------

TEST_CASE("CIFAR-10 records: a label, then the planes; exactly as many as expected") {
  std::string records(2 * 3073, '\0');
  records[0] = 3;
  records[1] = 100;
  records[3073] = 9;
  records[2 * 3073 - 1] = '\xC8';
  Dataset data = empty_cifar10();
  const auto append = [&](std::size_t n) {
    append_cifar(data, MemorySource(records, "batch.bin", Exit::data), n);
  };
  append(2);
  CHECK(data.labels == Classes{3, 9});
  CHECK(data.pixels.size() == 2 * 3072);
  CHECK(data.pixels.front() == 100);
  CHECK(data.pixels.back() == 200);

  records[3073] = 10;
  check_error(Exit::data, {"batch.bin", "offset 3073", "record 1", "0 to 9", "found 10"},
              [&] { append(2); });
  check_error(Exit::data, {"batch.bin", "truncated", "9219 bytes of 3 records", "found 6146"},
              [&] { append(3); });
  check_error(Exit::data, {"batch.bin", "end at offset 3073", "found 3073 more bytes"},
              [&] { append(1); });
}
