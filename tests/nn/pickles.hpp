#pragma once

#include "tests/nn/archives.hpp"

// PyTorch's files for tests of readers, opcode by opcode, so that each can be wrong in one place.

namespace vitruvian {

/// A pickle that grows. What it pushes, the next opcodes take.
struct Pickle {
  std::string bytes = "\x80\2";

  Pickle& raw(const std::string& opcodes) {
    bytes += opcodes;
    return *this;
  }
  Pickle& text(const std::string& s) { return raw("X" + little(s.size(), 4) + s); }
  Pickle& number(std::int64_t n) {
    return raw("\x8a\x08" + little(static_cast<std::uint64_t>(n), 8));
  }
  Pickle& numbers(const std::vector<std::int64_t>& all) {
    raw("(");
    for (const std::int64_t n : all) number(n);
    return raw("t");
  }
  Pickle& global(const std::string& module, const std::string& name) {
    return raw("c" + module + "\n" + name + "\n");
  }
  Pickle& ordered_dict() { return global("collections", "OrderedDict").raw(")R"); }
  Pickle& storage(const std::string& type, const std::string& key, std::int64_t numbers) {
    raw("(").text("storage").global("torch", type).text(key).text("cpu").number(numbers);
    return raw("tQ");
  }
};

/// What of a tensor is said in a pickle.
struct Said {
  std::int64_t numbers = 2;  // in the storage
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape{2}, strides{1};
  std::string type = "FloatStorage", key = "0";
};

inline std::string opcodes_of(const Said& t) {
  Pickle p{""};
  p.global("torch._utils", "_rebuild_tensor_v2").raw("(").storage(t.type, t.key, t.numbers);
  p.number(t.offset).numbers(t.shape).numbers(t.strides).raw("\x89").ordered_dict();
  return p.raw("tR").bytes;
}

/// The pickle of an OrderedDict of tensors.
inline std::string state_dict(const std::vector<std::pair<std::string, Said>>& tensors) {
  Pickle p;
  p.ordered_dict().raw("(");
  for (const auto& [name, said] : tensors) p.text(name).raw(opcodes_of(said));
  return p.raw("u.").bytes;
}

/// The archive around a pickle and the bytes of its storages 0, 1, ...
inline std::string pth(const std::string& pickle, const std::vector<std::string>& storages = {}) {
  std::vector<Member> members{{"archive/data.pkl", pickle}, {"archive/byteorder", "little"}};
  for (std::size_t i = 0; i < storages.size(); ++i) {
    members.push_back({"archive/data/" + std::to_string(i), storages[i]});
  }
  members.push_back({"archive/version", "3\n"});
  return zip(members, true);
}

}  // namespace vitruvian
