#include "vitruvian/nn/pickle.hpp"

#include "vitruvian/core/base/error.hpp"

#include <array>
#include <limits>
#include <unordered_map>
#include <utility>

namespace vitruvian {
namespace {

struct Refused {
  unsigned char code;
  std::string_view name;
};
constexpr std::array refused_ops{
    Refused{'0', "POP"},          Refused{'1', "POP_MARK"},       Refused{'2', "DUP"},
    Refused{'B', "BINBYTES"},     Refused{'C', "SHORT_BINBYTES"}, Refused{'F', "FLOAT"},
    Refused{'I', "INT"},          Refused{'L', "LONG"},           Refused{'P', "PERSID"},
    Refused{'S', "STRING"},       Refused{'T', "BINSTRING"},      Refused{'U', "SHORT_BINSTRING"},
    Refused{'V', "UNICODE"},      Refused{'d', "DICT"},           Refused{'g', "GET"},
    Refused{'i', "INST"},         Refused{'l', "LIST"},           Refused{'o', "OBJ"},
    Refused{'p', "PUT"},          Refused{0x81, "NEWOBJ"},        Refused{0x82, "EXT1"},
    Refused{0x83, "EXT2"},        Refused{0x84, "EXT4"},          Refused{0x8b, "LONG4"},
    Refused{0x8d, "BINUNICODE8"}, Refused{0x8e, "BINBYTES8"},     Refused{0x8f, "EMPTY_SET"},
    Refused{0x90, "ADDITEMS"},    Refused{0x91, "FROZENSET"},     Refused{0x92, "NEWOBJ_EX"},
    Refused{0x96, "BYTEARRAY8"},  Refused{0x97, "NEXT_BUFFER"},   Refused{0x98, "READONLY_BUFFER"}};

// What a pickle may name. The first three stand where Python would call something.
enum Callable : std::int64_t { ordered_dict, rebuild_tensor, rebuild_parameter, first_storage };
constexpr std::array<std::string_view, first_storage> callables{"collections.OrderedDict",
                                                                "torch._utils._rebuild_tensor_v2",
                                                                "torch._utils._rebuild_parameter"};
struct Storage {
  std::string_view name;
  FileType type;
  std::size_t bits;
};
constexpr std::array storages{
    Storage{"torch.FloatStorage", FileType::f32, 32},
    Storage{"torch.DoubleStorage", FileType::f64, 64},
    Storage{"torch.HalfStorage", FileType::f16, 16},
    Storage{"torch.BFloat16Storage", FileType::bf16, 16},
    Storage{"torch.LongStorage", FileType::other, 64},
    Storage{"torch.IntStorage", FileType::other, 32},
    Storage{"torch.ShortStorage", FileType::other, 16},
    Storage{"torch.CharStorage", FileType::other, 8},
    Storage{"torch.ByteStorage", FileType::other, 8},
    Storage{"torch.BoolStorage", FileType::other, 8},
};

// The entries of a checkpoint that hold its model, the likeliest first.
constexpr std::array<std::string_view, 6> model_keys{
    "model", "state_dict", "model_state_dict", "model_state", "net", "teacher"};

enum class Kind : unsigned char {
  none,
  number,  // a whole one; a float's or a boolean's value nobody needs
  text,
  tuple,
  list,
  dict,
  global,
  storage,
  tensor
};
// Values are small and know each other by index: so a pickle that refers to itself, or is nested a
// million deep, is nothing special.
struct Value {
  Kind kind = Kind::none;
  std::int64_t n = 0;  // a number, or an index into what the machine keeps of this kind
};

class Machine {
 public:
  Machine(std::string_view pickle, const std::string& what) : rest_(pickle), what_(what) {}

  std::vector<PickledTensor> run() {
    const std::size_t size = rest_.size();
    if (size < 2 || take(1) != "\x80") wrong("does not begin as a pickle does");
    if (const unsigned version = byte(); version < 2 || version > 5) {
      wrong(fmt::format("has protocol {}; 2 to 5 are read", version));
    }
    for (unsigned code = byte(); code != '.'; code = byte()) step(code);
    if (!rest_.empty()) wrong("goes on after its end");
    if (stack_.size() != 1 || !marks_.empty()) wrong("ends with more or less than one value");
    return state_dict(stack_.front());
  }

 private:
  [[noreturn]] void wrong(const std::string& problem) const {
    fail(Exit::checkpoint, "{}: its pickle {}", what_, problem);
  }
  [[noreturn]] void unneeded(const std::string& thing) const {
    wrong(thing +
          ", which no state dict needs; nothing of it was run (torch.save(model.state_dict(), "
          "FILE) writes one)");
  }

  // --- the bytes

  std::string_view take(std::uint64_t n) {
    if (n > rest_.size()) wrong("is cut short");
    const std::string_view bytes = rest_.substr(0, static_cast<std::size_t>(n));
    rest_.remove_prefix(bytes.size());
    return bytes;
  }
  unsigned byte() { return static_cast<unsigned char>(take(1).front()); }
  std::uint64_t whole(std::size_t bytes) { return little_endian(take(bytes)); }
  // The same in two's complement, of up to 8 bytes.
  std::int64_t with_sign(std::size_t bytes) {
    if (bytes == 0) return 0;
    const std::uint64_t unused = 64 - 8 * bytes;
    return static_cast<std::int64_t>(whole(bytes) << unused) >> unused;
  }
  std::string_view line() {
    const std::size_t n = rest_.find('\n');
    if (n == std::string_view::npos) wrong("is cut short");
    const std::string_view text = take(n);
    take(1);
    return text;
  }

  // --- the stack

  void push(Value value) {
    if (++made_ > most_pickled_values) {
      wrong(fmt::format("makes more than {} values", most_pickled_values));
    }
    stack_.push_back(value);
  }
  template <class Kept, class Element>
  void push(Kind kind, Kept& kept, Element element) {
    kept.push_back(std::move(element));
    push({kind, static_cast<std::int64_t>(kept.size()) - 1});
  }
  [[nodiscard]] std::size_t bottom() const { return marks_.empty() ? 0 : marks_.back(); }
  Value& top() {
    if (stack_.size() <= bottom()) wrong("takes a value where there is none");
    return stack_.back();
  }
  Value pop() {
    const Value value = top();
    stack_.pop_back();
    return value;
  }
  std::vector<Value> pop_values(std::size_t n) {
    if (stack_.size() < bottom() + n) wrong("takes a value where there is none");
    std::vector<Value> values(stack_.end() - static_cast<std::ptrdiff_t>(n), stack_.end());
    stack_.resize(stack_.size() - n);
    return values;
  }
  std::vector<Value> pop_to_mark() {
    if (marks_.empty()) wrong("takes values up to a mark that is not there");
    std::vector<Value> values = pop_values(stack_.size() - marks_.back());
    marks_.pop_back();
    return values;
  }

  [[nodiscard]] const std::vector<Value>& items(const Value& value) const {
    return containers_[static_cast<std::size_t>(value.n)];
  }
  void put_into_top(Kind kind, const std::vector<Value>& values) {
    if (top().kind != kind || (kind == Kind::dict && values.size() % 2 != 0)) {
      wrong("puts values into something else than they are for");
    }
    std::vector<Value>& into = containers_[static_cast<std::size_t>(top().n)];
    into.insert(into.end(), values.begin(), values.end());
  }

  void remember(std::uint64_t index) {
    if (memo_.size() >= most_pickled_values) wrong("remembers too much");
    memo_[index] = top();
  }
  void recall(std::uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) wrong(fmt::format("recalls a value {} that is not there", index));
    push(found->second);
  }

  void step(unsigned code) {
    switch (code) {  // the opcodes, by their names in Python's pickle.py
      case 0x95:     // FRAME
        return static_cast<void>(take(8));
      case '(':  // MARK
        if (marks_.size() >= most_pickled_values) wrong("sets too many marks");
        marks_.push_back(stack_.size());
        return;
      case 'N':   // NONE
      case 0x88:  // NEWTRUE
      case 0x89:  // NEWFALSE
        return push({});
      case 'G':  // BINFLOAT
        static_cast<void>(take(8));
        return push({});
      case 'J':  // BININT
        return push({Kind::number, with_sign(4)});
      case 'K':  // BININT1
        return push({Kind::number, static_cast<std::int64_t>(whole(1))});
      case 'M':  // BININT2
        return push({Kind::number, static_cast<std::int64_t>(whole(2))});
      case 0x8a: {  // LONG1
        const unsigned bytes = byte();
        if (bytes > 8) wrong(fmt::format("has a whole number of {} bytes", bytes));
        return push({Kind::number, with_sign(bytes)});
      }
      case 'X':  // BINUNICODE
        return push(Kind::text, texts_, take(whole(4)));
      case 0x8c:  // SHORT_BINUNICODE
        return push(Kind::text, texts_, take(byte()));
      case ']':  // EMPTY_LIST
        return push(Kind::list, containers_, std::vector<Value>());
      case '}':  // EMPTY_DICT
        return push(Kind::dict, containers_, std::vector<Value>());
      case ')':  // EMPTY_TUPLE
        return push(Kind::tuple, containers_, std::vector<Value>());
      case 't':  // TUPLE
        return push(Kind::tuple, containers_, pop_to_mark());
      case 0x85:  // TUPLE1
      case 0x86:  // TUPLE2
      case 0x87:  // TUPLE3
        return push(Kind::tuple, containers_, pop_values(code - 0x84));
      case 'a':  // APPEND
        return put_into_top(Kind::list, pop_values(1));
      case 'e':  // APPENDS
        return put_into_top(Kind::list, pop_to_mark());
      case 's':  // SETITEM
        return put_into_top(Kind::dict, pop_values(2));
      case 'u':  // SETITEMS
        return put_into_top(Kind::dict, pop_to_mark());
      case 'q':  // BINPUT
        return remember(whole(1));
      case 'r':  // LONG_BINPUT
        return remember(whole(4));
      case 0x94:  // MEMOIZE
        return remember(memo_.size());
      case 'h':  // BINGET
        return recall(whole(1));
      case 'j':  // LONG_BINGET
        return recall(whole(4));
      case 'c': {  // GLOBAL
        const std::string_view module = line();
        return push_global(module, line());
      }
      case 0x93: {  // STACK_GLOBAL
        const std::vector<Value> names = pop_values(2);
        return push_global(text(names[0]), text(names[1]));
      }
      case 'Q':  // BINPERSID
        return push_storage(pop());
      case 'R': {  // REDUCE
        const std::vector<Value> call = pop_values(2);
        return reduce(call[0], call[1]);
      }
      case 'b': {  // BUILD: the attributes of an OrderedDict: versions of PyTorch's modules
        const Value state = pop();
        if (top().kind != Kind::dict || state.kind != Kind::dict) {
          unneeded("sets the attributes of an object");
        }
        return;
      }
      default:
        for (const Refused& op : refused_ops) {
          if (op.code == code) unneeded(fmt::format("has the opcode {}", op.name));
        }
        wrong(fmt::format("has the byte 0x{:02x} where an opcode should be", code));
    }
  }

  // --- what PyTorch puts into it

  [[nodiscard]] std::string_view text(const Value& value) const {
    if (value.kind != Kind::text) wrong("has something else where a text should be");
    return texts_[static_cast<std::size_t>(value.n)];
  }
  [[nodiscard]] std::uint64_t count(const Value& value, const char* what) const {
    if (value.kind != Kind::number || value.n < 0) {
      wrong(fmt::format("has a tensor whose {} is {}", what,
                        value.kind == Kind::number ? std::to_string(value.n) : "no number"));
    }
    return static_cast<std::uint64_t>(value.n);
  }

  void push_global(std::string_view module, std::string_view name) {
    const std::string full = fmt::format("{}.{}", module, name);
    std::int64_t known = 0;
    for (const std::string_view callable : callables) {
      if (callable == full) return push({Kind::global, known});
      ++known;
    }
    for (const Storage& storage : storages) {
      if (storage.name == full) return push({Kind::global, known});
      ++known;
    }
    unneeded(fmt::format("names {}", printable(full)));
  }

  // ('storage', torch.FloatStorage, '0', 'cpu', 1000): the key, where it was, how many numbers.
  void push_storage(const Value& id) {
    if (id.kind != Kind::tuple || items(id).size() != 5) {
      wrong("has a storage that is not as PyTorch writes it");
    }
    const std::vector<Value>& parts = items(id);
    if (text(parts[0]) != "storage" || parts[1].kind != Kind::global ||
        parts[1].n < first_storage) {
      wrong("has a storage that is not as PyTorch writes it");
    }
    const std::string_view key = text(parts[2]);
    if (key.empty() || key.size() > 9 || key.find_first_not_of("0123456789") != key.npos) {
      wrong(fmt::format("has a storage called '{}', which is no number", printable(key)));
    }
    static_cast<void>(text(parts[3]));
    const Storage& storage = storages.at(static_cast<std::size_t>(parts[1].n - first_storage));
    PickledTensor tensor;
    tensor.type = {storage.type, storage.bits, std::string(storage.name)};
    tensor.storage = key;
    tensor.numbers = count(parts[4], "storage's length");
    push(Kind::storage, tensors_, std::move(tensor));
  }

  void reduce(const Value& callable, const Value& arguments) {
    if (callable.kind != Kind::global || callable.n >= first_storage) {
      unneeded("calls something else than PyTorch's two functions for tensors");
    }
    if (arguments.kind != Kind::tuple) wrong("calls a function with no tuple of arguments");
    const std::vector<Value> a = items(arguments);
    if (callable.n == ordered_dict) {
      if (!a.empty()) wrong("makes an OrderedDict of something");
      return push(Kind::dict, containers_, std::vector<Value>());
    }
    if (callable.n == rebuild_parameter) {
      if (a.size() != 3 || a[0].kind != Kind::tensor) wrong("has a parameter that is no tensor");
      return push(a[0]);
    }
    if (a.size() < 6 || a.size() > 7 || a[0].kind != Kind::storage || a[2].kind != Kind::tuple ||
        a[3].kind != Kind::tuple) {
      wrong("has a tensor that is not as PyTorch writes it");
    }
    PickledTensor tensor = tensors_[static_cast<std::size_t>(a[0].n)];
    tensor.offset = count(a[1], "offset");
    if (items(a[2]).size() > largest_rank || items(a[2]).size() != items(a[3]).size()) {
      wrong(fmt::format("has a tensor of {} axes and {} strides", items(a[2]).size(),
                        items(a[3]).size()));
    }
    for (const Value& n : items(a[2])) {
      const std::uint64_t length = count(n, "length");
      if (length > std::numeric_limits<std::size_t>::max()) wrong("has a tensor that is too long");
      tensor.shape.push_back(static_cast<std::size_t>(length));
    }
    for (const Value& n : items(a[3])) tensor.strides.push_back(count(n, "stride"));
    push(Kind::tensor, tensors_, std::move(tensor));
  }

  // --- the dictionary that counts

  [[nodiscard]] bool holds_tensors(const Value& dict) const {
    if (dict.kind != Kind::dict) return false;
    for (std::size_t i = 1; i < items(dict).size(); i += 2) {
      if (items(dict)[i].kind == Kind::tensor) return true;
    }
    return false;
  }

  [[nodiscard]] Value dict_of_the_model(const Value& whole) const {
    if (whole.kind == Kind::tensor) wrong("is a single tensor, not a state dict");
    if (whole.kind != Kind::dict) wrong("is no dictionary of tensors");
    if (holds_tensors(whole)) return whole;
    const std::vector<Value>& entries = items(whole);
    std::vector<std::pair<std::string_view, Value>> candidates;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < entries.size(); i += 2) {
      if (entries[i].kind != Kind::text) continue;
      const std::string_view name = text(entries[i]);
      names.push_back(fmt::format("'{}'", printable(name)));
      if (holds_tensors(entries[i + 1])) candidates.emplace_back(name, entries[i + 1]);
    }
    for (const std::string_view key : model_keys) {
      for (const auto& [name, dict] : candidates) {
        if (name == key) return dict;
      }
    }
    if (candidates.size() == 1) return candidates.front().second;
    if (names.empty()) wrong("holds no tensors");
    wrong(fmt::format("holds {}, and {} a dictionary of tensors", some_of(names),
                      candidates.empty() ? "none of them is" : "more than one is"));
  }

  [[nodiscard]] std::vector<PickledTensor> state_dict(const Value& whole) const {
    const std::vector<Value>& entries = items(dict_of_the_model(whole));
    std::vector<PickledTensor> result;
    for (std::size_t i = 0; i < entries.size(); i += 2) {
      if (entries[i + 1].kind != Kind::tensor) continue;
      PickledTensor tensor = tensors_[static_cast<std::size_t>(entries[i + 1].n)];
      tensor.name = text(entries[i]);
      result.push_back(std::move(tensor));
    }
    return result;
  }

  std::string_view rest_;
  const std::string& what_;
  std::size_t made_ = 0;
  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Value> memo_;
  std::vector<std::string_view> texts_;
  std::vector<std::vector<Value>> containers_;  // a dict's: key, value, key, value, ...
  std::vector<PickledTensor> tensors_;          // and storages, which are tensors without a shape
};

}  // namespace

std::vector<PickledTensor> parse_state_dict(std::string_view pickle, const std::string& what) {
  return Machine(pickle, what).run();
}

}  // namespace vitruvian
