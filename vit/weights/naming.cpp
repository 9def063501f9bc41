#include "vitruvian/vit/weights/naming.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/vit/weights/naming_table.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace vitruvian {
namespace {

constexpr std::array schemes{Scheme::torchvision, Scheme::timm, Scheme::hf, Scheme::jax};
// The sizes that a shape's symbols stand for.
struct Symbols {
  StoredSizes sizes;
  std::size_t R = 0, F = 0;

  [[nodiscard]] std::size_t value(std::string_view symbol) const {
    const std::map<std::string_view, std::size_t> values{
        {"1", 1},
        {"C", sizes.C},
        {"P", sizes.P},
        {"W", sizes.P_w},
        {"D", sizes.D},
        {"3D", 3 * sizes.D},
        {"M", sizes.M},
        {"K", sizes.K},
        {"T", sizes.tokens},
        {"R", R},
        {"F", F},
        {"G", sizes.registers},
        {"D_h", sizes.h == 0 ? sizes.D : sizes.D / sizes.h}};
    return values.at(symbol);
  }

  // Our shape of a row's tensor.
  [[nodiscard]] std::vector<std::size_t> shape(const TensorRow& row) const {
    std::vector<std::size_t> result;
    for (std::string_view rest = row.shape; !rest.empty();) {
      const std::size_t n = std::min(rest.find(' '), rest.size());
      result.push_back(value(rest.substr(0, n)));
      rest.remove_prefix(std::min(n + 1, rest.size()));
    }
    return result;
  }
};

// The file's tensors at their places.
class Reader {
 public:
  Reader(const TensorFile& file, Scheme scheme) : file_(file), scheme_(scheme) {
    for (const StoredTensor& t : file.tensors) {
      const std::optional<Place> place = find_place(t.name, scheme);
      if (!place) {
        if (t.dtype == Dtype::other) continue;  // an index or a counter that is saved beside them
        extra_.push_back(fmt::format("'{}'", t.name));
        continue;
      }
      if (const auto [other, fresh] = tensors_.emplace(*place, &t); !fresh) {
        wrong(fmt::format("it has both '{}' and '{}', which are one tensor", other->second->name,
                          t.name));
      }
      if (place->block >= symbols_.sizes.L) symbols_.sizes.L = place->block + 1;
    }
  }

  Named read(const Without& without) {
    // An L of 0 is a file without blocks: those of one are missing.
    symbols_.sizes.L = std::max<std::size_t>(symbols_.sizes.L, 1);
    check_complete(without);
    measure();
    check_shapes();
    TensorFile result{file_.source, file_.metadata, {}};
    for (std::size_t row = 0; row < tensor_rows.size(); ++row) {
      for (std::size_t block = 0; block < blocks_of(row); ++block) {
        if (find({row, block, 0}) != nullptr) result.tensors.push_back(ours(row, block));
      }
    }
    sort_by_name(result.tensors);
    return {std::move(result), symbols_.sizes};
  }

 private:
  [[noreturn]] void wrong(const std::string& problem) const {
    fail(Exit::checkpoint, "{}: its names look like {}, but {}", file_.source, names_of(scheme_),
         problem);
  }

  [[nodiscard]] std::size_t blocks_of(std::size_t row) const {
    return tensor_rows.at(row).in_block ? symbols_.sizes.L : 1;
  }

  [[nodiscard]] const StoredTensor* find(const Place& place) const {
    const auto found = tensors_.find(place);
    return found == tensors_.end() ? nullptr : found->second;
  }

  // Whether one of a part's tensors is there. Half of a part is damage.
  [[nodiscard]] bool any(Need part) const {
    return std::any_of(tensors_.begin(), tensors_.end(),
                       [part](auto& t) { return tensor_rows.at(t.first.row).need == part; });
  }

  [[nodiscard]] bool needed(Need need, const Without& without) const {
    if (need == Need::always || need == Need::never) return need == Need::always;
    if (need == Need::class_token) return !without.class_token;
    if (need == Need::head) return !without.head || any(Need::head);
    if (need == Need::distilled) return any(Need::distilled) || any(Need::head_dist);
    return any(need) || (need == Need::head_dist && any(Need::distilled) && any(Need::head));
  }

  void check_complete(const Without& without) const {
    std::vector<std::string> missing;
    for (std::size_t row = 0; row < tensor_rows.size(); ++row) {
      const TensorRow& r = tensor_rows.at(row);
      const std::size_t parts = parts_of(r, scheme_);
      for (std::size_t block = 0; block < blocks_of(row); ++block) {
        bool some = needed(r.need, without);
        for (std::size_t part = 0; part < parts; ++part) some = some || find({row, block, part});
        for (std::size_t part = 0; some && part < parts; ++part) {
          if (find({row, block, part}) == nullptr) {
            missing.push_back(fmt::format("'{}'", name_in(r, scheme_, block, part)));
          }
        }
      }
    }
    if (missing.empty() && extra_.empty()) return;
    const std::string lacks = missing.empty() ? "" : "it lacks " + some_of(missing);
    const std::string has =
        extra_.empty() ? "" : fmt::format("it has {}, which no such ViT has", some_of(extra_));
    wrong(lacks + (lacks.empty() || has.empty() ? "" : ", and ") + has);
  }

  // The tensor at a row of this timm name in block 0, which must have so many axes.
  [[nodiscard]] const StoredTensor* measured(std::string_view timm, std::size_t rank) const {
    for (std::size_t row = 0; row < tensor_rows.size(); ++row) {
      if (tensor_rows.at(row).timm != timm) continue;
      const StoredTensor* const t = find({row, 0, 0});
      if (t != nullptr && t->shape.size() != rank) {
        wrong(fmt::format("'{}' of shape {} should have {} axes", t->name, shape_text(t->shape),
                          rank));
      }
      return t;
    }
    return nullptr;
  }

  void measure() {
    StoredSizes& s = symbols_.sizes;
    const bool jax = scheme_ == Scheme::jax;
    const auto& patch = measured("patch_embed.proj.weight", 4)->shape;
    s.D = jax ? patch[3] : patch[0];
    s.C = jax ? patch[2] : patch[1];
    s.P = jax ? patch[0] : patch[2];
    s.P_w = jax ? patch[1] : patch[3];
    s.tokens = measured("pos_embed", 3)->shape[1];
    s.M = measured("mlp.fc2.weight", 2)->shape[jax ? 0 : 1];
    symbols_.F = measured("mlp.fc1.bias", 1)->shape[0];
    s.swiglu = symbols_.F == 2 * s.M;
    if (!s.swiglu) symbols_.F = s.M;
    if (const StoredTensor* const more = measured("reg_token", 3)) s.registers = more->shape[1];
    const StoredTensor* const norm = measured("attn.q_norm.weight", 1);
    if (norm != nullptr && norm->shape[0] != 0) s.h = s.D / norm->shape[0];
    if (jax) s.h = measured("attn.qkv.bias", 2)->shape[0];
    if (const StoredTensor* const head = measured("head.bias", 1)) s.K = head->shape[0];
    const StoredTensor* const pre_logits = measured("pre_logits.bias", 1);
    symbols_.R = pre_logits == nullptr ? s.D : pre_logits->shape[0];
  }

  void check_shapes() const {
    std::vector<std::string> misshapen;
    for (const auto& [place, tensor] : tensors_) {
      const TensorRow& row = tensor_rows.at(place.row);
      std::vector<std::size_t> expected = symbols_.shape(row);
      expected[0] /= parts_of(row, scheme_);
      if (scheme_ == Scheme::jax) expected = jax_shape(expected, row.layout, symbols_.sizes.h);
      if (tensor->shape != expected) {
        misshapen.push_back(fmt::format("'{}' is {}, not {}", tensor->name,
                                        shape_text(tensor->shape), shape_text(expected)));
      }
    }
    if (!misshapen.empty()) wrong(some_of(misshapen));
  }

  [[nodiscard]] StoredTensor ours(std::size_t row, std::size_t block) const {
    const TensorRow& r = tensor_rows.at(row);
    std::vector<StoredTensor> parts;
    for (std::size_t part = 0; part < parts_of(r, scheme_); ++part) {
      const StoredTensor& t = *find({row, block, part});
      parts.push_back(scheme_ == Scheme::jax ? from_jax(t, r.layout) : t);
      if (t.dtype != parts.front().dtype) {
        wrong(fmt::format("'{}' and '{}' have different dtypes", parts.front().name, t.name));
      }
    }
    StoredTensor result = parts.size() == 1 ? parts.front() : concatenated(parts);
    result.name = name_in(r, Scheme::timm, block, 0);
    return result;
  }

  const TensorFile& file_;
  Scheme scheme_;
  std::map<Place, const StoredTensor*> tensors_;
  std::vector<std::string> extra_;
  Symbols symbols_;
};

// As Hugging Face's DeiTForImageClassificationWithTeacher has what its ViT calls otherwise.
std::string deit_name(const std::string& name) {
  if (name.starts_with("vit.")) return "deit." + name.substr(4);
  return name.starts_with("classifier.") ? "cls_" + name : name;
}

}  // namespace

const std::vector<std::string>& scheme_names() {
  static const std::vector<std::string> names{"torchvision", "timm", "hf", "jax", "vitruvian"};
  return names;
}

Scheme scheme_of(const std::string& name) {
  return static_cast<Scheme>(index_of(name, scheme_names(), "naming scheme"));
}

std::string name_of(Scheme scheme) { return scheme_names().at(static_cast<std::size_t>(scheme)); }

std::string names_of(Scheme scheme) {
  static const std::array<std::string, 5> possessives{"torchvision's", "timm's", "Hugging Face's",
                                                      "JAX's", "ours"};
  return possessives.at(static_cast<std::size_t>(scheme));
}

Scheme detect_scheme(const TensorFile& file) {
  Scheme best = Scheme::timm;
  std::size_t most = 0;
  for (const Scheme scheme : schemes) {
    const auto known = static_cast<std::size_t>(std::count_if(
        file.tensors.begin(), file.tensors.end(),
        [scheme](const StoredTensor& t) { return find_place(t.name, scheme).has_value(); }));
    if (known > most) {
      most = known;
      best = scheme;
    }
  }
  if (most == 0) {
    fail(Exit::checkpoint, "{}: {}; no ViT of torchvision, timm, Hugging Face or JAX", file.source,
         file.tensors.empty() ? "it holds no tensors"
                              : fmt::format("it holds '{}'", file.tensors.front().name));
  }
  return best;
}

Named to_timm(const TensorFile& file, Scheme scheme, const Without& without) {
  if (const Scheme found = detect_scheme(file); found != scheme) {
    fail(Exit::checkpoint, "{}: its names look like {}, not {}", file.source, names_of(found),
         names_of(scheme));
  }
  return Reader(file, scheme).read(without);
}

TensorFile from_timm(const TensorFile& file, Scheme scheme, std::size_t heads) {
  if (scheme == Scheme::timm || scheme == Scheme::vitruvian) return file;
  TensorFile result{file.source, file.metadata, {}};
  const bool distilled = file.find("dist_token") != nullptr;
  for (const StoredTensor& t : file.tensors) {
    const std::optional<Place> place = find_place(t.name, Scheme::timm);
    if (!place || !has_name(tensor_rows.at(place->row), scheme)) {
      fail(Exit::checkpoint, "{}: there is no name for '{}' among {}", file.source, t.name,
           names_of(scheme));
    }
    const TensorRow& row = tensor_rows.at(place->row);
    const std::size_t parts = parts_of(row, scheme);
    const std::size_t length = t.shape.empty() ? 0 : t.shape[0] / parts;
    for (std::size_t part = 0; part < parts; ++part) {
      StoredTensor one = parts == 1 ? t : rows(t, part * length, (part + 1) * length);
      if (scheme == Scheme::jax) one = to_jax(one, row.layout, heads);
      one.name = name_in(row, scheme, place->block, part);
      if (scheme == Scheme::hf && distilled) one.name = deit_name(one.name);
      result.tensors.push_back(std::move(one));
    }
  }
  sort_by_name(result.tensors);
  return result;
}

}  // namespace vitruvian
