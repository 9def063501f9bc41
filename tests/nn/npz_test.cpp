// .npz files: what numpy writes is read, what is malformed is refused in one line.

#include "tests/folder.hpp"
#include "tests/nn/archives.hpp"
#include "vitruvian/nn/file_formats.hpp"
#include "vitruvian/nn/tensor_file.hpp"

namespace vitruvian {
namespace {

const std::string two =
    npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", bytes_of<float>({1.5F, -2}));

// What reading a file of these bytes, numbers and all, ends in; without the path.
std::string failure(const std::string& bytes) {
  const Folder folder;
  const std::string path = folder.file("w.npz");
  write(path, bytes);
  const Failure failure = failure_of([&] {
    for (const StoredTensor& t :
         read_npz(std::make_shared<const RegularFile>(path, Exit::checkpoint)).tensors)
      static_cast<void>(t.read());
  });
  return said_of(path, failure, Exit::checkpoint);
}

TEST_CASE("arrays as numpy writes them, stored and packed, in every type and order") {
  const Folder folder;
  const std::string matrix = bytes_of<double>({0, 1, 2, 3, 4, 5});
  write(
      folder.path / "w.npz",
      zip({{"Transformer/x.npy", two},
           {"packed.npy", two, true},
           {"c.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", matrix)},
           {"f.npy", npy("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }", matrix)},
           {"half.npy", npy("{'shape': (1, 1), 'fortran_order': False, 'descr': '<f2'}",
                            bytes_of<std::uint16_t>({0x3C00}))},
           {"brain.npy", npy("{'descr': '|V2', 'fortran_order': False, 'shape': (1,), }",
                             bytes_of<std::uint16_t>({0xBF00}))},
           {"scalar.npy",
            npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", bytes_of<float>({7}))},
           {"none.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 5), }", "")}}));
  const TensorFile file = read_tensor_file(folder.file("w.npz"));
  CHECK(file.tensors.size() == 8);
  CHECK(file.at("Transformer/x").values() == std::vector<double>{1.5, -2});
  CHECK(file.at("packed").values() == std::vector<double>{1.5, -2});
  CHECK(file.at("c").values() == std::vector<double>{0, 1, 2, 3, 4, 5});
  // In Fortran's order the first axis runs fastest: [[0, 2, 4], [1, 3, 5]].
  CHECK(file.at("f").shape == std::vector<std::size_t>{2, 3});
  CHECK(file.at("f").values() == std::vector<double>{0, 2, 4, 1, 3, 5});
  CHECK(file.at("half").values() == std::vector<double>{1});
  CHECK(file.at("half").dtype == Dtype::f32);
  CHECK(file.at("brain").values() == std::vector<double>{-0.5});
  CHECK(file.at("scalar").shape.empty());
  CHECK(file.at("scalar").values() == std::vector<double>{7});
  CHECK(file.at("none").values().empty());
}

TEST_CASE("malformed archives are refused in one line that says why") {
  CHECK(failure(zip({{"x.npy", two}})) == "");
  CHECK(failure("PK\3\4") ==
        "the zip archive is cut short, or has more than its directory at its end");
  CHECK(failure(zip({{"x.npy", two}}) + "!") ==
        "the zip archive is cut short, or has more than its directory at its end");
  CHECK(failure(zip({{"x.npy", two}, {"x.npy", two}})) == "the name 'x' comes twice");
  CHECK(failure(zip({{"readme", "hello"}})) == "entry 0 of the zip archive is not called NAME.npy");
  CHECK(failure(zip({{"a\nb.npy", two}})) == "entry 0 of the zip archive is not called NAME.npy");
  CHECK(failure(zip({{"x.npy", two, true, 100'000}})) ==
        "'x': " + std::to_string(deflated(two).size()) + " packed bytes cannot hold 100000");
  CHECK(failure(zip({{"x.npy", two, true, 5'000}})) ==
        "'x': its shape (2,) needs 8 bytes but it has " + std::to_string(5'000 - (two.size() - 8)));
  CHECK(failure(zip({{"x.npy", two, true, 0, 93}})) ==
        "'x': it is packed by a method that numpy does not use");
  std::string flipped = zip({{"x.npy", two}});
  flipped[flipped.find("shape") + 15] ^= 1;
  CHECK(failure(flipped) == "'x': its .npy header has more after the dictionary");
  // Damaged numbers: the checksum says so.
  std::string damaged = zip({{"x.npy", two}});
  damaged[30 + 5 + two.size() - 3] ^= 1;
  CHECK(failure(damaged).starts_with("'x': cannot be unpacked: "));
  std::vector<Member> many;
  for (int i = 0; i < 20'000; ++i) many.push_back({std::to_string(i) + ".npy", ""});
  CHECK(says(failure(zip(many)), " bytes, above 1048576"));
}

TEST_CASE("malformed .npy headers are refused") {
  const auto refused = [](const std::string& bytes) {
    return error_of(Exit::checkpoint, [&] { return parse_npy_header(bytes, "f"); });
  };
  const std::string start = "{'descr': '<f4', 'fortran_order': False, ";
  CHECK(refused("") == "f: it does not start as a .npy file does");
  CHECK(refused(two.substr(0, 9)) == "f: it does not start as a .npy file does");
  CHECK(says(refused(two.substr(0, 30)), "cut short"));
  CHECK(refused("\x93NUMPY" + std::string("\7\0\0\0\0\0\0", 7)) ==
        "f: .npy version 7.0; 1.0, 2.0 and 3.0 are known");
  CHECK(says(refused("\x93NUMPY" + std::string("\2\0\xFF\xFF\xFF\xFF", 6)), "too long"));
  for (const auto& [descr, shown] :
       {std::pair{"|O", "|O"}, {"\n", "?"}, {"", ""}, {"f4", "f4"}, {"<f", "<f"}, {"<f0", "<f0"}}) {
    CHECK(
        refused(npy(fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (1,)}}", descr),
                    "")) ==
        fmt::format("f: dtype '{}' has no fixed number of bytes; <f2, <f4, <f8, |V2 are read",
                    shown));
  }
  CHECK(refused(npy(start + "'shape': (1,), 'shape': (1,)}", "")) ==
        "f: its .npy header has an unknown key or one that comes twice");
  CHECK(refused(npy(start + "}", "")) == "f: its .npy header has no descr, fortran_order or shape");
  CHECK(refused(npy(start + "'shape': (1,)} x", "")) ==
        "f: its .npy header has more after the dictionary");
  CHECK(refused(npy(start + "'shape': (-1,)}", "")) ==
        "f: its .npy header has a length that is not a number, or too large");
  CHECK(refused(npy(start + "'shape': (9999999999999999999,)}", "")) ==
        "f: its .npy header has a length that is not a number, or too large");
  CHECK(refused(npy(start + "'shape': (4294967296, 4294967296)}", "")) ==
        "f: its shape (4294967296, 4294967296) overflows");
  CHECK(refused(npy(start + "'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}", "")) ==
        "f: its .npy header has too many axes");
  CHECK(refused(npy("{'descr': '<f4', 'fortran_order': 1, 'shape': (1,)}", "")) ==
        "f: its .npy header has a fortran_order that is neither True nor False");
  CHECK(refused(npy("{'descr': '<f4", "")) == "f: its .npy header has a text without end");
  CHECK(refused(npy("[]", "")) == "f: its .npy header has no dictionary as numpy writes it");
}

TEST_CASE("arrays of other types are listed, and refused when somebody asks for their numbers") {
  const auto array = [](const char* descr, std::size_t bytes) {
    return npy(fmt::format("{{'descr': '{}', 'fortran_order': True, 'shape': (2, 1)}}", descr),
               std::string(bytes, 'x'));
  };
  const std::string bytes = zip({{"i.npy", array("<i8", 16)},
                                 {"s.npy", array("<U3", 24)},
                                 {"b.npy", array(">f4", 8)},
                                 {"x.npy", array("<f4", 8)}});
  const TensorFile file =
      read_tensor_file(std::make_shared<const MemorySource>(bytes, "f", Exit::checkpoint));
  REQUIRE(file.tensors.size() == 4);
  CHECK(file.at("x").read() == Bytes(8, 'x'));
  for (const auto& [name, descr] : {std::pair{"i", "<i8"}, {"s", "<U3"}, {"b", ">f4"}}) {
    const StoredTensor& t = file.at(name);
    CHECK(t.dtype == Dtype::other);
    CHECK(t.shape == std::vector<std::size_t>{2, 1});
    CHECK_SAYS(
        t.read(),
        fmt::format("f: '{}' has dtype '{}'; float64, float32, float16 and bfloat16 are read", name,
                    descr));
  }
}

TEST_CASE("every truncation and every flipped bit is refused or harmless") {
  check_damaged(zip({{"x.npy", two}, {"y.npy", two, true}}), failure);
}

}  // namespace
}  // namespace vitruvian
