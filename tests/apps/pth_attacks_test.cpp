// .pth files that somebody made on purpose (see tests/apps/attacks.hpp): programs in the place of
// numbers, bombs, and tensors that are not there. Each ends in one sentence, and nothing is run.

#include "tests/apps/attacks.hpp"
#include "tests/nn/pickles.hpp"

namespace vitruvian {
namespace {

#if VITRUVIAN_HAS_LIBZIP

const char* const trace = "vitruvian_ran_a_pickle";

void check_all(const std::vector<Attack>& all) {
  for (const Attack& attack : all) {
    check(attack, 4, {"predict", digit_model, "--weights"});
    CHECK(!std::filesystem::exists(trace));
  }
}

// Calls a function with the command on which a shell would leave a trace.
std::string call(const std::string& module, const std::string& name) {
  return Pickle{""}
      .global(module, name)
      .raw("(")
      .text("touch " + std::string(trace))
      .raw("tR")
      .bytes;
}
std::string calls(const std::string& module, const std::string& name) {
  return pth("\x80\2" + call(module, name) + ".");
}
std::string opcodes(const std::string& opcodes) { return pth("\x80\2" + opcodes); }
std::string repeated(const std::string& part, std::size_t n) {
  std::string all;
  for (std::size_t i = 0; i < n; ++i) all += part;
  return all;
}

TEST_CASE("a .pth that is a program") {
  const std::string dict = state_dict({{"a", {}}});
  check_all({
      {"os.system", "names os.system, which no state dict needs; nothing of it was run",
       [] { return calls("os", "system"); }},
      {"posix.system", "names posix.system", [] { return calls("posix", "system"); }},
      {"nt.system", "names nt.system", [] { return calls("nt", "system"); }},
      {"eval", "names builtins.eval", [] { return calls("builtins", "eval"); }},
      {"exec", "names builtins.exec", [] { return calls("builtins", "exec"); }},
      {"of Python 2", "names __builtin__.eval", [] { return calls("__builtin__", "eval"); }},
      {"subprocess", "names subprocess.Popen", [] { return calls("subprocess", "Popen"); }},
      {"getattr", "names builtins.getattr", [] { return calls("builtins", "getattr"); }},
      {"runpy", "names runpy._run_code", [] { return calls("runpy", "_run_code"); }},
      {"torch.load", "names torch.load", [] { return calls("torch", "load"); }},
      {"a function of PyTorch's that is none of the two", "names torch._utils._rebuild_tensor,",
       [] { return calls("torch._utils", "_rebuild_tensor"); }},
      {"a name that goes on where a known one ends", "names torch._utils._rebuild_tensor_v2.x",
       [] { return calls("torch._utils", "_rebuild_tensor_v2.x"); }},
      {"a module in the place of a name", "names torch._utils._rebuild_tensor_v2.system",
       [] { return calls("torch._utils._rebuild_tensor_v2", "system"); }},
      {"numpy's arrays", "names numpy.core.multiarray._reconstruct",
       [] { return calls("numpy.core.multiarray", "_reconstruct"); }},
      {"a layer", "names torch.nn.modules.linear.Linear",
       [] { return calls("torch.nn.modules.linear", "Linear"); }},
      {"settings", "names argparse.Namespace", [] { return calls("argparse", "Namespace"); }},
      {"a name that would steer a terminal", "names ?[2Jos.?]0;x?system",
       [] { return calls("\x1b[2Jos", "\x1b]0;x\asystem"); }},
      {"a name of 10 MB", "x..., which no state dict needs",
       [] { return calls("os", std::string(10'000'000, 'x')); }},
      {"STACK_GLOBAL", "names os.system",
       [] { return pth(Pickle{"\x80\4"}.text("os").text("system").raw("\x93.").bytes); }},
      {"INST", "opcode INST",
       [] { return pth(Pickle{"\x80\2("}.text("x").raw("ios\nsystem\n.").bytes); }},
      {"OBJ", "opcode OBJ", [] { return opcodes("(o."); }},
      {"NEWOBJ", "opcode NEWOBJ,",
       [] { return opcodes(Pickle{""}.global("collections", "OrderedDict").raw(")\x81.").bytes); }},
      {"NEWOBJ_EX", "opcode NEWOBJ_EX",
       [] {
         return opcodes(Pickle{""}.global("collections", "OrderedDict").raw(")}\x92.").bytes);
       }},
      {"EXT1", "opcode EXT1", [] { return opcodes("\x82\1."); }},
      {"PERSID", "opcode PERSID", [] { return opcodes("Pos.system\n."); }},
      {"a text called", "calls something else",
       [] { return opcodes(Pickle{""}.text("os.system").raw(")R.").bytes); }},
      {"a storage called", "calls something else",
       [] { return opcodes(Pickle{""}.global("torch", "FloatStorage").raw(")R.").bytes); }},
      {"the attributes of a tensor", "sets the attributes of an object",
       [] { return pth("\x80\2" + opcodes_of({}) + "}b.", {std::string(8, 'x')}); }},
      {"an OrderedDict with a state that is code", "names os.system",
       [] { return opcodes(Pickle{""}.ordered_dict().bytes + call("os", "system") + "b."); }},
      {"an OrderedDict of something", "makes an OrderedDict of something",
       [] {
         return opcodes(Pickle{""}.global("collections", "OrderedDict").raw("]\x85R.").bytes);
       }},
      {"a tensor of a number", "has a tensor that is not as PyTorch writes it",
       [] {
         Pickle p{"\x80\2"};
         p.global("torch._utils", "_rebuild_tensor_v2").raw("(").number(1 << 30).number(0);
         return pth(p.numbers({2}).numbers({1}).raw("\x89").ordered_dict().raw("tR.").bytes);
       }},
      {"hooks that are code", "names os.system",
       [] {
         std::string hooks = opcodes_of({});
         hooks.insert(hooks.size() - 2, call("os", "system"));
         return opcodes(hooks + ".");
       }},
      {"code beside the model", "names os.system",
       [=] {
         Pickle p{"\x80\2}("};
         p.text("model").raw(dict.substr(2, dict.size() - 3)).text("args");
         return pth(p.raw(call("os", "system") + "u.").bytes, {std::string(8, 'x')});
       }},
      {"code as the storage's place", "names os.system",
       [] { return opcodes(Pickle{"("}.text("storage").raw(call("os", "system") + "tQ.").bytes); }},
      {"code behind the end", "goes on after its end",
       [=] { return pth(dict + call("os", "system") + ".", {std::string(8, 'x')}); }},
      {"code in an archive of TorchScript", "a program of TorchScript's",
       [=] {
         return zip({{"a/data.pkl", dict}, {"a/code/x.py", "import os"}}, true);
       }},
  });
}

TEST_CASE("a .pth that wears a reader out") {
  check_all({
      {"an empty pickle", "does not begin as a pickle does", [] { return pth(""); }},
      {"a pickle of one byte", "does not begin", [] { return pth("\x80"); }},
      {"text", "does not begin", [] { return pth("(lp0\n."); }},
      {"a protocol of tomorrow", "has protocol 9", [] { return pth("\x80\x09."); }},
      {"nothing but the end", "less than one value", [] { return opcodes("."); }},
      {"no end", "is cut short", [] { return opcodes("}"); }},
      {"two values", "more or less than one", [] { return opcodes("}}."); }},
      {"a mark that is left", "more or less than one", [] { return opcodes("}(."); }},
      {"a call of nothing", "takes a value where there is none", [] { return opcodes("R."); }},
      {"a tuple without its mark", "up to a mark that is not there", [] { return opcodes("t."); }},
      {"values of below the mark", "takes a value where there is none",
       [] { return opcodes("}}(\x86."); }},
      {"a value that nobody put", "recalls a value 7", [] { return opcodes("h\7."); }},
      {"an opcode that is none", "the byte 0xff", [] { return opcodes("\xff"); }},
      {"half of a pair", "puts values into something else", [] { return opcodes("}(NNNu."); }},
      {"a pair into a list", "puts values into something else", [] { return opcodes("](NNu."); }},
      {"a value into a tuple", "puts values into something else", [] { return opcodes(")Na."); }},
      {"a text of 4 GB", "is cut short", [] { return opcodes("X\xff\xff\xff\xff."); }},
      {"a number of 255 bytes", "a whole number of 255 bytes",
       [] { return opcodes("\x8a\xff" + std::string(255, '\1') + "."); }},
      {"a memo at 4 billion", "no dictionary of tensors",
       [] { return opcodes("]r\xff\xff\xff\xff."); }},
      {"a memo of three million", "remembers too much",
       [] {
         std::string ops = "]";
         for (std::uint64_t i = 0; i < 3'000'000; ++i) ops += "r" + little(i, 4);
         return opcodes(ops + ".");
       }},
      {"15 million values", "more than 500000 values",
       [] { return opcodes(std::string(15'000'000, 'N')); }},
      {"15 million marks", "too many marks", [] { return opcodes(std::string(15'000'000, '(')); }},
      {"15 million lists in one another", "more than 500000 values",
       [] { return opcodes(std::string(15'000'000, ']')); }},
      {"400,000 tuples in one another", "no dictionary of tensors",
       [] { return opcodes(")" + std::string(400'000, '\x85') + "."); }},
      {"a tuple of 2^60", "no dictionary of tensors",
       [] { return opcodes(")" + repeated(std::string("q\0h\0\x86", 5), 60) + "."); }},
      {"a list that holds itself", "no dictionary of tensors",
       [] { return opcodes(std::string("]q\0h\0a.", 7)); }},
      {"a dictionary that holds itself", "none of them is a dictionary",
       [] { return opcodes(std::string("}q\0X\1\0\0\0xh\0s.", 13)); }},
      {"a dictionary that is its own key", "holds no tensors",
       [] { return opcodes(std::string("}q\0h\0h\0s.", 9)); }},
      {"a pickle of 17 MB", "above 16777216", [] { return pth(std::string(17U << 20U, 'N')); }},
      {"a single tensor", "a single tensor",
       [] { return pth("\x80\2" + opcodes_of({}) + ".", {std::string(8, 'x')}); }},
      {"a hundred thousand tensors", "more than 500000 values",
       [] {
         std::vector<std::pair<std::string, Said>> many(100'000, {"a", {0, 0, {0}}});
         return pth(state_dict(many), {""});
       }},
      {"a state dict of one tensor 20,000 times", "comes twice",
       [] {
         std::string all = Pickle{"\x80\2}("}.text("a").raw(opcodes_of({}) + "q\1").bytes;
         for (int i = 0; i < 20'000; ++i) all += std::string("X\1\0\0\0ah\1", 8);
         return pth(all + "u.", {std::string(8, 'x')});
       }},
  });
}

TEST_CASE("tensors of a .pth that are not there") {
  struct Wrong {
    const char *name, *message;
    Said said;
    std::size_t bytes = 8;  // of the storage
  };
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const std::vector<Wrong> wrong{
      {"a negative stride", "whose stride is -1", {2, 1, {2}, {-1}}},
      {"a negative length", "whose length is -2", {2, 0, {-2}}},
      {"a negative offset", "whose offset is -4", {2, -4}},
      {"a negative storage", "storage's length is -2", {-2}},
      {"a stride of 0", "a view of another tensor, by strides (0)", {2, 0, {2}, {0}}},
      {"rows that overlap", "by strides (1, 1)", {4, 0, {2, 2}, {1, 1}}, 16},
      {"100 million rows that are one", "by strides (0, 1)", {2, 0, {100'000'000, 2}, {0, 1}}},
      {"a shape that wraps to zero", "overflows", {2, 0, {1LL << 32, 1LL << 32}, {1, 1}}},
      {"a shape of 2^63", "overflows", {2, 0, {huge, 2}, {1, 1}}},
      {"an offset of 2^63", "is more than the 2", {2, huge, {2}}},
      {"one number behind the end", "is more than the 2", {2, 1, {2}}},
      {"100 GB in a storage", "has 25000000000 numbers, but 8 bytes are there", {25'000'000'000}},
      {"a storage that ends in a number", "has 2 numbers, but 9 bytes", {2}, 9},
      {"bytes as if they were floats",
       "has 2 numbers, but 8 bytes are there",
       {2, 0, {2}, {1}, "DoubleStorage"}},
      {"17 axes",
       "17 axes and 17 strides",
       {2, 0, std::vector<std::int64_t>(17, 1), std::vector<std::int64_t>(17, 1)}},
      {"more strides than axes", "1 axes and 2 strides", {2, 0, {2}, {1, 1}}},
      {"a storage that is not there",
       "data/3, are not in the archive",
       {2, 0, {2}, {1}, "FloatStorage", "3"}},
      {"a path as a storage's key",
       "called '../../../../etc/passwd', which is no number",
       {2, 0, {2}, {1}, "FloatStorage", "../../../../etc/passwd"}},
      {"a storage's key that is negative", "called '-1'", {2, 0, {2}, {1}, "FloatStorage", "-1"}},
      {"a storage's key that is nothing", "called ''", {2, 0, {2}, {1}, "FloatStorage", ""}},
      {"complex numbers",
       "names torch.ComplexFloatStorage",
       {2, 0, {2}, {1}, "ComplexFloatStorage"}},
      {"quantized numbers", "names torch.QInt8Storage", {2, 0, {2}, {1}, "QInt8Storage"}},
      {"storages without a type", "names torch.UntypedStorage", {2, 0, {2}, {1}, "UntypedStorage"}},
      {"a model of one tensor", "it lacks", {2}},
  };
  std::vector<Attack> all;
  for (const Wrong& w : wrong) {
    all.push_back({w.name, w.message, [w] {
                     return pth(state_dict({{"cls_token", w.said}}), {std::string(w.bytes, 'x')});
                   }});
  }
  // Tensors of these names, all of the same two numbers.
  const auto named = [](const std::vector<std::string>& names) {
    return [names] {
      std::vector<std::pair<std::string, Said>> tensors;
      for (const std::string& name : names) tensors.push_back({name, {}});
      return pth(state_dict(tensors), {std::string(8, 'x')});
    };
  };
  std::vector<std::string> hundred;
  for (int i = 0; i < 100; ++i) hundred.push_back(std::to_string(i));
  all.insert(
      all.end(),
      {{"a hundred tensors of the same numbers", "share their numbers: 200 of 2", named(hundred)},
       {"a name twice", "'a' comes twice", named({"a", "a"})},
       {"a name of two lines", "a name that is no line", named({"a\nb"})},
       {"a name of 10 MB", "or too long", [=] { return named({std::string(10'000'000, 'x')})(); }},
       {"a tensor for a name", "something else where a text should be", [] {
          const std::string t = opcodes_of({});
          return pth("\x80\2}" + t + t + "s.", {std::string(8, 'x')});
        }}});
  check_all(all);
}

TEST_CASE("archives of a .pth that are none") {
  const std::string dict = state_dict({{"cls_token", {}}});
  const std::string good = pth(dict, {std::string(8, 'x')});
  const auto zipped = [](const std::vector<Member>& members) {
    return [members] { return zip(members, true); };
  };
  const auto with = [&](const Member& other) {
    return zipped({{"a/data.pkl", dict}, {"a/data/0", "12345678"}, other});
  };
  // A field of the 64-bit directory, or of where it is, as somebody wants it.
  const auto patched = [=](std::size_t from_end, std::uint64_t n) {
    return [=] {
      std::string bytes = good;
      return bytes.replace(bytes.size() - from_end, 8, little(n, 8));
    };
  };
  constexpr std::size_t record = 22 + 20 + 56;
  std::vector<Attack> all{
      {"cut in the middle", "cut short", [=] { return good.substr(0, good.size() / 2); }},
      {"without its last byte", "cut short", [=] { return good.substr(0, good.size() - 1); }},
      {"with more behind it", "cut short, or has more", [=] { return good + "x"; }},
      {"nothing but a beginning", "cut short", [] { return std::string("PK\3\4"); }},
      {"a 64-bit directory that lies outside", "lies outside", patched(34, 1ULL << 40U)},
      {"a 64-bit directory that is none", "has no 64-bit directory", patched(34, 0)},
      {"10^18 entries", "entries in", patched(record - 32, 1'000'000'000'000'000'000)},
      {"a directory of 2^60 bytes", "a directory of", patched(record - 40, 1ULL << 60U)},
      {"30,000 entries", "a directory of",
       [] {
         return zip(std::vector<Member>(30'000, {"a/data.pkl", ""}), true);
       }},
      {"two pickles", "more than one data.pkl", with({"b/data.pkl", dict})},
      {"an entry twice", "'a/data/0' comes twice", with({"a/data/0", "12345678"})},
      {"an entry above the folder", "'../../x' is no part", with({"../../x", "x"})},
      {"an entry at the root", "'/etc/passwd' is no part", with({"/etc/passwd", "x"})},
      {"a pickle above the folder", "not in a folder of its own",
       zipped({{"../a/data.pkl", dict}})},
      {"a pickle at the root", "not in a folder of its own", zipped({{"/data.pkl", dict}})},
      {"an entry with a second line", "no name for an entry", with({"a/b\nc", ""})},
      {"a script beside it", "'a/setup.py' is no part", with({"a/setup.py", "import os"})},
      {"the other order of bytes", "not little-endian", with({"a/byteorder", "big"})},
      {"a packed pickle of 100 MB", "it is packed",
       [] {
         return zip({{"a/data.pkl", std::string(100'000'000, 'N'), true}});
       }},
      {"a packed storage", "it is packed", with({"a/data/1", std::string(100'000, 'x'), true})},
      {"a pickle whose size is a lie", "packed bytes cannot hold",
       zipped({{"a/data.pkl", dict, false, 4'000'000'000}})},
      {"damage in the pickle", "cannot be unpacked: ",
       [=] {
         std::string bytes = good;
         bytes[bytes.find("cls_token")] ^= 1;
         return bytes;
       }},
      {"a tar archive", "first form, a tar archive",
       [] { return std::string(257, 'x') + "ustar" + std::string(1000, '\0'); }},
      {"a bare pickle of before 1.6", "form before 1.6",
       [] { return "\x80\2\x8a\nl\xfc\x9c\x46\xf9\x20j\xa8P\x19." + std::string(100, '\0'); }},
      {"a bare pickle", "a pickle, which may be any program",
       [] { return "\x80\4" + call("os", "system") + "."; }},
  };
  check_all(all);
}

TEST_CASE("the model of the project as a .pth, for comparison") {
  const TensorFile model = read_tensor_file(digit_model);
  std::vector<std::pair<std::string, Said>> said;
  std::vector<std::string> storages;
  for (const StoredTensor& t : model.tensors) {
    Said one{static_cast<std::int64_t>(t.size()), 0, {}, {}, "FloatStorage",
             std::to_string(storages.size())};
    std::int64_t step = 1;
    for (auto n = t.shape.rbegin(); n != t.shape.rend(); ++n) {
      one.shape.insert(one.shape.begin(), static_cast<std::int64_t>(*n));
      one.strides.insert(one.strides.begin(), step);
      step *= static_cast<std::int64_t>(*n);
    }
    said.emplace_back(t.name, one);
    const Bytes bytes = t.read();
    storages.emplace_back(bytes.begin(), bytes.end());
  }
  const Folder folder;
  write(folder.path / "m.pth", pth(state_dict(said), storages));
  const Ending ending = run(folder, {"convert", "--from", folder.file("m.pth"), "--heads", "4",
                                     "--to", folder.file("m"), "--scheme", "timm"});
  CAPTURE(ending.error);
  CHECK(ending.exit == 0);
  const TensorFile back = read_tensor_file(folder.file("m"));
  REQUIRE(back.tensors.size() == model.tensors.size());
  for (const StoredTensor& t : model.tensors) CHECK(back.at(t.name).read() == t.read());
}

#endif

}  // namespace
}  // namespace vitruvian
