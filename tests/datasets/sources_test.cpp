// The data sets beside MNIST and CIFAR-10: their readers, folders of pictures, splits, checksums.

#include "tests/datasets/datasets_testing.hpp"
#include "vitruvian/datasets/formats/cifar.hpp"
#include "vitruvian/datasets/formats/digits.hpp"
#include "vitruvian/datasets/formats/folder.hpp"
#include "vitruvian/datasets/images.hpp"
#include "vitruvian/datasets/prefetcher.hpp"

namespace vitruvian {
namespace {

namespace fs = std::filesystem;

// A grey picture of one value.
std::string grey(std::size_t width, std::size_t height, char value) {
  return fmt::format("P5 {} {} 255\n", width, height) + std::string(width * height, value);
}

TEST_CASE("CIFAR-100 has two labels a picture") {
  std::string bytes;
  for (int i = 0; i < 3; ++i) {
    bytes += static_cast<char>(i + 1);
    bytes += static_cast<char>(90 + i);
    for (int p = 0; p < 3072; ++p) bytes += static_cast<char>(i + p);
  }
  const auto append = [](Dataset& data, const std::string& records) {
    append_cifar(data, MemorySource(records, "records", Exit::data), 3);
  };
  Dataset fine = empty_cifar100(false);
  append(fine, bytes);
  CHECK(fine.labels == Classes{90, 91, 92});
  CHECK(fine.class_names.at(fine.labels[1]) == "trout");
  CHECK(fine.image(2)[0] == 2);
  CHECK(fine.image(2)[3071] == static_cast<std::uint8_t>(3073));
  Dataset coarse = empty_cifar100(true);
  append(coarse, bytes);
  CHECK(coarse.labels == Classes{1, 2, 3});
  CHECK(coarse.pixels == fine.pixels);
  CHECK(coarse.class_names.size() == 20);
  const auto& names = fine.class_names;  // sorted, none twice
  CHECK(names.size() == 100);
  CHECK(std::adjacent_find(names.begin(), names.end(), std::greater_equal<>()) == names.end());

  for (const auto& [at, most] : {std::pair<std::size_t, int>{3074, 19}, {3075, 99}}) {
    std::string bad = bytes;
    bad[at] = static_cast<char>(most + 1);
    check_error(Exit::data,
                {fmt::format("at offset {} (record 1)", at),
                 fmt::format("from 0 to {}, found {}", most, most + 1)},
                [&] { append(coarse, bad); });
  }
  const Folder folder;
  check_error(Exit::data, {"train.bin", "cifar100"},
              [&] { load({.name = "cifar100", .directory = folder.path.string()}); });
}

TEST_CASE("Fashion-MNIST and KMNIST are MNIST's files in folders of their names") {
  const Folder folder;
  using namespace std::string_literals;
  for (const std::string name : {"fashion-mnist", "kmnist"}) {
    for (const std::string part : {"train", "t10k"}) {
      write(folder.path / name / (part + "-images-idx3-ubyte"),
            "\0\0\10\3\0\0\0\2\0\0\0\34\0\0\0\34"s + std::string(2 * 784, 'x'));
      write(folder.path / name / (part + "-labels-idx1-ubyte"), "\0\0\10\1\0\0\0\2\11\1"s);
    }
    const Split split = load({.name = name, .directory = folder.path.string()});
    CHECK(split.train.name == name);
    CHECK(split.test.labels == Classes{9, 1});
    CHECK(class_names(name) == split.train.class_names);
    CHECK(split.train.class_names.at(9) == (name == "kmnist" ? "wo" : "Ankle boot"));
    CHECK(load_test({.name = name, .directory = folder.path.string()}).size() == 2);
    CHECK(split.train.mean != empty_digit_dataset("mnist", 28, 28).mean);
  }
  check_error(Exit::usage, {"did you mean fashion-mnist"}, [] { load({.name = "fashionmnist"}); });
}

TEST_CASE("a validation split takes its share of every class") {
  std::vector<std::size_t> labels;
  for (std::size_t c = 0; c < 10; ++c) labels.insert(labels.end(), 90 + 5 * c, c);
  const std::size_t n = labels.size();  // 1125
  for (const double fraction : {0.02, 0.1, 0.333, 0.5, 0.98}) {
    CAPTURE(fraction);
    const Parts parts = split_validation(labels, fraction, 1);
    CHECK(parts.validation.size() ==
          static_cast<std::size_t>(fraction * static_cast<double>(n) + 0.5));
    std::vector<std::size_t> all = parts.train;
    all.insert(all.end(), parts.validation.begin(), parts.validation.end());
    std::sort(all.begin(), all.end());
    CHECK(all == natural_order(n));
    CHECK(std::is_sorted(parts.validation.begin(), parts.validation.end()));
    std::vector<double> counts(10);
    for (const std::size_t i : parts.validation) counts[labels[i]] += 1;
    for (std::size_t c = 0; c < 10; ++c) {
      CHECK(std::abs(counts[c] - fraction * static_cast<double>(90 + 5 * c)) < 1);
    }
    CHECK(parts.validation == split_validation(labels, fraction, 1).validation);
    CHECK(parts.validation != split_validation(labels, fraction, 2).validation);
  }
  for (const double fraction : {0.0, 1.0, -1.0, 1e-9, std::nan("")}) {
    check_error(Exit::usage, {"validation share"}, [&] { split_validation(labels, fraction, 1); });
  }
}

TEST_CASE("checksums are those of the standards") {
  if (!has_checksums()) return;
  std::size_t i = 0;
  const auto by_letter = [&i] { return i < 3 ? std::string_view("abc").substr(i++, 1) : ""; };
  CHECK(checksum_of(by_letter) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180
  const Folder folder;
  write(folder.file("abc"), "abc");
  CHECK(checksum_of_file(folder.file("abc"), ChecksumKind::md5) ==
        "900150983cd24fb0d6963f7d28e17f72");  // RFC 1321
  write(folder.file("million"), std::string(1'000'000, 'a'));
  CHECK(checksum_of_file(folder.file("million")) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  check_error(Exit::data, {"nowhere"}, [&] { checksum_of_file(folder.file("nowhere")); });
}

TEST_CASE("a folder: sorted classes, pictures in any depth, statistics, checksum") {
  const Folder folder;
  write(folder.path / "b cats" / "2.pgm", grey(8, 6, '\x40'));
  write(folder.path / "b cats" / "deep" / "1.pgm", grey(3, 9, '\x40'));
  write(folder.path / "a dogs" / "x.ppm", "P6 1 1 255\nABC");
  write(folder.path / "a dogs" / ".hidden", "no picture");
  write(folder.path / ".git" / "x", "no class");
  const FolderOptions options{.height = 4, .width = 5, .channels = 3};
  const FolderImages images(folder.path, options);
  CHECK(images.about().class_names == std::vector<std::string>{"a dogs", "b cats"});
  REQUIRE(images.size() == 3);
  CHECK(images.label(0) == 0);
  CHECK(images.label(2) == 1);
  CHECK(images.file(1) == folder.path / "b cats" / "2.pgm");
  CHECK(images.file(2) == folder.path / "b cats" / "deep" / "1.pgm");
  ByteVector pixels(60);
  images.read(0, {}, pixels.data());
  CHECK(std::string(pixels.begin(), pixels.end()) ==
        std::string(20, 'A') + std::string(20, 'B') + std::string(20, 'C'));
  // Red: A = 65 once, 64 twice.
  const double mean = (65.0 + 64 + 64) / 3 / 255;
  CHECK(std::abs(images.about().mean.at(0) - mean) < 1e-12);
  CHECK(images.about().std.at(0) == doctest::Approx(1.0 / 255));  // at least one level
  CHECK(images.about().std.at(2) == doctest::Approx(std::sqrt(2.0 / 9) * 3 / 255));
  CHECK(images.checksum() == FolderImages(folder.path, options).checksum());
  write(folder.path / "b cats" / "2.pgm", grey(8, 6, '\x41'));
  if (can_sum()) {
    CHECK(images.checksum() != FolderImages(folder.path, options).checksum());
  }
  // A part of the picture, as it chooses.
  const auto choose = [](std::size_t height, std::size_t width) {
    CHECK(height == 6);
    CHECK(width == 8);
    return Box{2, 3, 2, 4};
  };
  images.read(1, choose, pixels.data());
  CHECK(pixels == ByteVector(60, 0x41));
  // Gone meanwhile.
  fs::remove(folder.path / "a dogs" / "x.ppm");
  check_error(Exit::data, {"x.ppm"}, [&] { images.read(0, {}, pixels.data()); });
}

TEST_CASE("what cannot be used is named and counted, or left out") {
  const Folder folder;
  write(folder.path / "a" / "good.pgm", grey(8, 8, 'x'));
  write(folder.path / "b" / "good.pgm", grey(8, 8, 'y'));
  write(folder.path / "b" / "cut.pgm", "P5 8 8 255\nshort");
  write(folder.path / "b" / "huge.pgm", "P5 20000 20000 255\n");
  write(folder.path / "b" / "notes.txt", "these are cats");
  fs::create_directories(folder.path / "empty");
  const FolderOptions strict{.height = 8, .width = 8, .channels = 1};
  check_error(Exit::data,
              {"4 of 6 cannot be used", "--skip-bad", "cut.pgm", "cut short", "huge.pgm",
               "more than 100000000", "notes.txt", "not a picture", "and 1 more"},
              [&] { FolderImages(folder.path, strict); });
  FolderOptions lenient = strict;
  lenient.skip_bad = true;
  const FolderImages images(folder.path, lenient);
  CHECK(images.size() == 2);
  CHECK(says(images.note(), "cut.pgm"));
  CHECK(images.note().starts_with("4 left out: "));
  CHECK(images.label(1) == 1);
  fs::remove(folder.path / "a" / "good.pgm");
  fs::remove(folder.path / "b" / "good.pgm");
  check_error(Exit::data, {"no picture that can be used"},
              [&] { FolderImages(folder.path, lenient); });
  check_error(Exit::data, {"nowhere"}, [&] { FolderImages(folder.path / "nowhere", strict); });
  check_error(Exit::data, {"a folder for each class"},
              [&] { FolderImages(folder.path / "a", strict); });
}

TEST_CASE("a folder of train and test, and one without") {
  const Folder folder;
  for (const char* const part : {"train", "val", "other"}) {
    for (int i = 0; i < 10; ++i) {
      write(folder.path / part / "a" / fmt::format("{}.pgm", i), grey(4, 4, 'a'));
      write(folder.path / part / "b" / fmt::format("{}.pgm", i), grey(4, 4, 'b'));
    }
  }
  Source source{
      .name = "folder", .directory = folder.path.string(), .height = 4, .width = 4, .channels = 1};
  const ImageSplit parted = open_images(source);
  CHECK(parted.train->size() == 20);
  CHECK(parted.test.get() != parted.train.get());
  CHECK(parted.note.empty());
  const TestImages apart = open_test_images(source, {"a", "between", "b"});
  CHECK(apart.images->size() == 20);
  CHECK(apart.images->label(19) == 2);  // as the given classes have it
  CHECK(apart.subset.size() == 20);
  for (const char* const part : {"train", "val"}) write(folder.path / part / "a" / "notes", "");
  source.skip_bad = true;
  CHECK(count_of(open_images(source).note, "1 left out: ") == 2);  // of either part
  check_error(Exit::data, {"no class 'b'"}, [&] { open_test_images(source, {"a", "c"}); });
  source.directory = (folder.path / "other").string();
  source.train_size = 7;
  const ImageSplit split = open_images(source);
  CHECK(split.train == split.test);
  CHECK(split.train_subset.size() == 7);
  CHECK(std::is_sorted(split.train_subset.begin(), split.train_subset.end()));
  CHECK(split.test_subset.size() == 4);
  for (const std::size_t i : split.test_subset) {
    CHECK(std::count(split.train_subset.begin(), split.train_subset.end(), i) == 0);
  }
  const TestImages test = open_test_images(source);  // the same that training left alone
  CHECK(test.subset == split.test_subset);
  CHECK(test.images->size() == split.test->size());
  source.train_size = 17;
  check_error(Exit::usage, {"17", "16"}, [&] { open_images(source); });
  source.directory = folder.path.string();
  for (const char* const part : {"test", "val", "valid", "validation"}) {
    CAPTURE(part);
    write(folder.path / part / "c" / "1.pgm", grey(4, 4, 'c'));
    check_error(Exit::data, {"no class 'c'"}, [&] { open_images(source); });
    std::filesystem::remove_all(folder.path / part);
  }
  source.directory = "";
  check_error(Exit::usage, {"folder"}, [&] { open_images(source); });
  // What a loader makes of it.
  const Loader loader(split.train, {.subset = split.train_subset});
  const Dataset& about = loader.images().about();
  const double value = split.train->label(split.train_subset[0]) == 0 ? 'a' : 'b';
  CHECK(load_all(loader, 1)[0] == doctest::Approx((value / 255 - about.mean[0]) / about.std[0]));
}

TEST_CASE("pictures are prepared ahead, in a bounded number, and are the same") {
  const Folder folder;
  for (int i = 0; i < 60; ++i) {
    write(folder.path / std::to_string(i % 3) / fmt::format("{}.pgm", i),
          grey(9, 7, static_cast<char>(i + 1)));
  }
  const auto images = std::make_shared<FolderImages>(
      folder.path, FolderOptions{.height = 6, .width = 6, .channels = 1});
  const LoaderOptions options{.augment = {.random_resized_crop = true, .flip = 0.5, .mixup = 1}};
  const Loader plain(images, options);
  Loader hurried(images, options);
  const auto order = epoch_order(60, Rng(4), 1);
  std::vector<double> expected(60 * 36);
  std::vector<double> out(60 * 36);
  plain.load(order, 5, expected.data());
  for (const std::size_t bound : {1, 4, 1000}) {
    out.assign(out.size(), 0);
    hurried.announce(order, 5, bound);
    // Two threads ask for halves, so that one of them asks before the turn.
    parallel_for(6, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        hurried.load(std::span(order).subspan(10 * k, 10), 5, out.data() + 360 * k);
      }
    });
    CHECK(out == expected);
  }
  // And nobody asks: it ends all the same. Who asks for another epoch, and from the end, where the
  // first are ready when their turn comes, has that epoch's.
  hurried.announce(order, 6);
  const std::vector<std::size_t> back(order.rbegin(), order.rend());
  plain.load(back, 5, expected.data());
  hurried.load(back, 5, out.data());
  CHECK(out == expected);
}

TEST_CASE("never more than the bound are ahead, and an error comes to who asks") {
  for (int repeat = 0; repeat < 20; ++repeat) {
    Prefetcher ahead(
        [](std::size_t i, Prepared& prepared) {
          if (i == 7) fail(Exit::data, "seven");
          prepared.own = {static_cast<std::uint8_t>(i)};
        },
        natural_order(40), 5, 3);
    Prepared prepared;
    for (const std::size_t i : {30, 0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12}) {
      if (ahead.take(i, prepared)) CHECK(prepared.own == ByteVector{static_cast<std::uint8_t>(i)});
    }
    try {
      const bool taken = ahead.take(7, prepared);
      CHECK(!taken);  // no thread had come to it
    } catch (const Error& error) {
      CHECK(std::string(error.what()) == "seven");
    }
    CHECK(ahead.most_at_once() <= 5);
  }
}

TEST_CASE("pictures in memory are known by their pixels and by their labels") {
  if (!can_sum()) return;
  const Dataset data = digits(20, 1, "train");
  const std::string known = MemoryImages(data).checksum();
  CHECK(MemoryImages(data).checksum() == known);
  Dataset other = data;
  other.labels[3] = 9;
  CHECK(MemoryImages(other).checksum() != known);
  other = data;
  other.pixels[400] ^= 1U;
  CHECK(MemoryImages(other).checksum() != known);
}

TEST_CASE("a contact sheet shows what each operation does to the picture above") {
  const auto images = std::make_shared<MemoryImages>(digits(5, 1, "train"));
  const ContactSheet sheet = contact_sheet(images, 1, 1);
  const std::size_t cell = (sheet.picture.height + 1) / sheet.rows.size();  // with its line
  const auto row = [&](std::size_t i) {
    const auto begin =
        sheet.picture.pixels.begin() + static_cast<std::ptrdiff_t>(3 * i * cell * (cell - 1));
    return ByteVector(begin, begin + static_cast<std::ptrdiff_t>(3 * (cell - 1) * (cell - 1)));
  };
  for (const char* name :
       {"flip", "RandAugment's rotate, magnitude 9", "RandAugment's solarize, magnitude 9"}) {
    const auto found = std::find(sheet.rows.begin(), sheet.rows.end(), name);
    REQUIRE(found != sheet.rows.end());
    CHECK_MESSAGE(row(static_cast<std::size_t>(found - sheet.rows.begin())) != row(0), name);
  }
}

}  // namespace
}  // namespace vitruvian
