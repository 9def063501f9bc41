// The checks of the exercises that make up the learner's own Vision Transformer.

#include "lessons/exercises/own.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"

#include <cmath>

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {
namespace {

// --- a tape

// What a walk back gives; `forgetful` keeps the last share alone.
std::vector<Tensor> walked(const OwnTape& tape, std::size_t loss, bool forgetful) {
  std::vector<Tensor> bars;
  for (const Recorded& entry : tape) bars.emplace_back(zeros(entry.value.shape()));
  bars[loss] = full(tape[loss].value.shape(), 1);
  for (std::size_t i = loss + 1; i-- > 0;) {
    if (!tape[i].back) continue;
    const std::vector<Tensor> shares = tape[i].back(bars[i]);
    for (std::size_t n = 0; n < shares.size(); ++n) {
      Tensor& bar = bars[tape[i].inputs[n]];
      bar = forgetful ? shares[n] : bar + shares[n];
    }
  }
  return bars;
}

Var times(const Var& a, const Var& b) {
  const Tensor x = a.value(), y = b.value();
  return record({a, b}, x * y, [x, y](const Tensor& g) {
    return std::vector<Tensor>{g * y, g * x};
  });
}
Var plus(const Var& a, const Var& b) {
  return record({a, b}, a.value() + b.value(), [](const Tensor& g) {
    return std::vector<Tensor>{g, g};
  });
}
Var total(const Var& a) {
  const Shape shape = a.value().shape();
  return record({a}, sum(a.value()),
                [shape](const Tensor& g) { return std::vector<Tensor>{broadcast_to(g, shape)}; });
}

void walk_back_check(Judge& judge) {
  const auto yours = judge.yours<std::vector<Tensor>(const OwnTape&, std::size_t)>();
  const auto in_case = [&](const std::string& label, const std::function<Var(OwnTape&)>& build) {
    judge.in_case(label, [&] {
      OwnTape tape;
      const Var loss = build(tape);
      const std::vector<Tensor> got = yours(tape, loss.place);
      if (got.size() != tape.size()) {
        return judge.wrong(
            fmt::format("The tape has {} entries, and yours returns {} cotangents. {}", tape.size(),
                        got.size(), open_gap));
      }
      const std::vector<Tensor> right = walked(tape, loss.place, false);
      const std::vector<Tensor> last = walked(tape, loss.place, true);
      for (std::size_t i = 0; i < tape.size(); ++i) {
        judge.compare(fmt::format("the cotangent of entry {}", i), got[i], right[i],
                      "the chain rule says",
                      {{"That is what its last user said: what all of them say is added.", last[i]},
                       {"The walk begins with 1 at the loss.", right[i] * 0.0}});
      }
    });
  };
  in_case("a leaf alone: y = x", [](OwnTape& tape) { return leaf(tape, scalar(1)); });
  in_case("y = a b", [](OwnTape& tape) {
    const Var a = leaf(tape, scalar(2)), b = leaf(tape, scalar(3));
    return times(a, b);
  });
  in_case("y = x x, one entry used twice", [](OwnTape& tape) {
    const Var x = leaf(tape, scalar(3));
    return times(x, x);
  });
  in_case("y = sum(x x + x), x (2, 3)", [](OwnTape& tape) {
    const Var x = leaf(tape, normal({2, 3}, 1));
    return total(plus(times(x, x), x));
  });
  in_case("entries that the loss does not need, before it and behind it", [](OwnTape& tape) {
    const Var x = leaf(tape, normal({2}, 2)), other = leaf(tape, normal({2}, 3));
    times(other, x);
    const Var loss = total(times(x, x));
    times(loss, loss);
    return loss;
  });
  in_case("a chain of 1,000 entries", [](OwnTape& tape) {
    Var x = leaf(tape, scalar(1));
    for (int i = 0; i < 999; ++i) x = i % 2 == 0 ? plus(x, x) : times(x, leaf(tape, scalar(0.5)));
    return x;
  });
}

// --- layers: a value, and what goes back to every input

// Every way back gives a tensor for each input, of its shape: said here, as adding would stretch
// it.
void guard_ways_back(OwnTape& tape) {
  for (Recorded& entry : tape) {
    if (!entry.back) continue;
    std::vector<Shape> shapes;
    for (const std::size_t input : entry.inputs) shapes.push_back(tape[input].value.shape());
    entry.back = [back = entry.back, shapes](const Tensor& g) {
      std::vector<Tensor> shares = back(g);
      if (shares.size() != shapes.size()) {
        fail("a way back returns {} cotangents for {} inputs. {}", shares.size(), shapes.size(),
             open_gap);
      }
      for (std::size_t i = 0; i < shares.size(); ++i) {
        if (!shares[i]) fail("a way back returns an empty cotangent. {}", open_gap);
        if (shares[i].shape() != shapes[i]) {
          fail("a way back returns {} for input {}, which is {}: are they in the order of the "
               "inputs?",
               to_string(shares[i].shape()), i, to_string(shapes[i]));
        }
      }
      return shares;
    };
  }
}

// The equations, on tensors, with the mistake of this number, from 1 on; 0 is none.
using Equations = std::function<Tensor(const Parameters&, int slip)>;

// `mistakes` is what is to be said of each, in the order of their numbers.
void judge_layer(Judge& judge, const Parameters& inputs,
                 const std::function<Var(const Weights&)>& yours, const Equations& equations,
                 const std::vector<std::string>& mistakes) {
  OwnTape tape;
  Weights w;
  for (const auto& [name, value] : inputs) w[name] = leaf(tape, value);
  const Var got = yours(w);
  if (got.tape != &tape) {
    return judge.wrong(
        "What comes back lies on no tape. The gap is still open; look for \"Yours\" in the file.");
  }
  std::vector<Guess> guesses;
  for (int slip = 1; slip <= std::ssize(mistakes); ++slip) {
    guesses.push_back({mistakes[static_cast<std::size_t>(slip) - 1], equations(inputs, slip)});
  }
  const Tensor value = equations(inputs, 0);
  judge.compare("the value", got.value(), value, "the equation says", guesses);
  if (got.value().shape() != value.shape()) return;
  const Tensor g = normal(value.shape(), 99);
  guard_ways_back(tape);
  const Var loss = record({got}, sum(got.value() * g),
                          [g](const Tensor& bar) { return std::vector<Tensor>{bar * g}; });
  const std::vector<Tensor> bars = walk_back(tape, loss.place);
  for (const auto& [name, x] : inputs) {
    const auto moved = [&, name = name](const Tensor& there) {
      Parameters all = inputs;
      all[name] = there;
      return equations(all, 0);
    };
    judge.compare_gradient("the cotangent of " + name, bars.at(w.at(name).place), moved, x, g);
  }
}

using Shapes = std::map<std::string, Shape>;
Parameters drawn(const Shapes& shapes, std::uint64_t seed) {
  Parameters result;
  for (const auto& [name, shape] : shapes) result[name] = normal(shape, seed++);
  return result;
}

void own_linear_check(Judge& judge) {
  const auto yours = judge.yours<Var(const Var&, const Var&, const Var&)>();
  std::uint64_t seed = 1;
  for (const Shape& x : {Shape{1, 2}, Shape{4, 3}, Shape{2, 3, 4}}) {
    const Parameters inputs = drawn({{"x", x}, {"W", {5, x.back()}}, {"b", {5}}}, seed += 10);
    judge.in_case(fmt::format("x {}, W (5, {})", to_string(x), x.back()), [&] {
      judge_layer(
          judge, inputs, [&](const Weights& w) { return yours(w.at("x"), w.at("W"), w.at("b")); },
          [](const Parameters& p, int) {
            return matmul(p.at("x"), transpose(p.at("W"))) + p.at("b");
          },
          {});
    });
  }
}

// The equations of the layers; `slip` as in Equations.
Tensor layer(const Parameters& p, const std::string& name, const Tensor& x) {
  return matmul(x, transpose(p.at(name + ".weight"))) + p.at(name + ".bias");
}
Tensor normed(const Parameters& p, const std::string& name, const Tensor& x) {
  const Tensor centred = x - mean(x, {-1}, true);
  return centred * rsqrt(mean(square(centred), {-1}, true) + 1e-6) * p.at(name + ".weight") +
         p.at(name + ".bias");
}
Tensor gelu_of(const Tensor& x) { return x * (erf(x / std::sqrt(2.0)) + 1) / 2; }

Tensor mlp_of(const Parameters& p, const std::string& name, const Tensor& x, int slip = 0) {
  const Tensor hidden = layer(p, name + ".fc1", slip == 4 || slip == 5 ? gelu_of(x) : x);
  if (slip == 7) return gelu_of(hidden);
  const bool bends = slip != 1 && slip != 3 && slip != 4;
  const Tensor y = layer(p, name + ".fc2", bends ? gelu_of(hidden) : hidden);
  if (slip == 6) return y + x;
  return slip == 2 || slip == 3 ? gelu_of(y) : y;
}

Tensor msa_of(const Parameters& p, const std::string& name, const Tensor& z, std::size_t heads,
              int slip = 0) {
  const auto D = static_cast<std::ptrdiff_t>(z.size(-1));
  const auto D_h = D / static_cast<std::ptrdiff_t>(heads);
  const Tensor qkv = layer(p, name + ".qkv", z);
  std::vector<Tensor> of_heads;
  for (std::ptrdiff_t at = 0; at < D; at += D_h) {
    Tensor q = slice(qkv, 2, at, at + D_h);
    Tensor k = slice(qkv, 2, D + at, D + at + D_h);
    Tensor v = slice(qkv, 2, 2 * D + at, 2 * D + at + D_h);
    if (slip == 1) std::swap(q, k);
    if (slip == 2) std::swap(k, v);
    const Tensor A = softmax(matmul(q, transpose(k)) / std::sqrt(static_cast<double>(D_h)));
    of_heads.push_back(matmul(A, v));
  }
  const Tensor together = concat(of_heads, 2);
  return slip == 3 ? together : layer(p, name + ".proj", together) + (slip == 4 ? z : z * 0.0);
}

Tensor block_of(const Parameters& p, const std::string& name, const Tensor& z, std::size_t heads,
                int slip = 0) {
  const auto LN = [&](int which, const Tensor& x) {
    return normed(p, fmt::format("{}.norm{}", name, which), x);
  };
  const auto MSA = [&](const Tensor& x) { return msa_of(p, name + ".attn", x, heads); };
  const auto MLP = [&](const Tensor& x) { return mlp_of(p, name + ".mlp", x); };
  if (slip == 1) return MLP(LN(2, MSA(LN(1, z))));
  if (slip == 2) {
    const Tensor after = LN(1, MSA(z) + z);
    return LN(2, MLP(after) + after);
  }
  if (slip == 3) {
    const Tensor a = LN(1, z), z_prime = MSA(a) + a, b = LN(2, z_prime);
    return MLP(b) + b;
  }
  const Tensor z_prime = MSA(LN(1, z)) + z;
  if (slip == 4) return MLP(LN(2, z)) + z_prime;
  if (slip == 5) return MLP(LN(2, z_prime)) + z;
  if (slip == 6) return MLP(LN(1, z_prime)) + z_prime;
  if (slip == 7) return MLP(LN(2, z_prime));
  if (slip == 8) return z_prime;
  if (slip == 9) return MLP(z_prime) + z_prime;
  return MLP(LN(2, z_prime)) + z_prime;
}

Tensor vit_of(const Parameters& p, const Tensor& images, const VitSizes& s, int slip = 0) {
  const std::size_t B = images.size(0);
  const Tensor x_p =
      unfold(images, {.height = s.P, .width = s.P, .stride_y = s.P, .stride_x = s.P});
  const Tensor E = layer(p, "patch_embed.proj", x_p);
  const Tensor row = broadcast_to(p.at("cls_token"), {B, 1, s.D});
  Tensor z = concat({row, E}, 1);
  if (slip != 1) z = z + p.at("pos_embed");
  if (slip == 2) z = concat({row, E + slice(p.at("pos_embed"), 1, 1, slice_end)}, 1);
  for (std::size_t l = 0; l < s.L - (slip == 3 ? 1 : 0); ++l) {
    z = block_of(p, fmt::format("blocks.{}", slip == 4 ? 0 : l), z, s.h);
  }
  const Tensor y = slip == 5 ? z : normed(p, "norm", z);
  const Tensor one = slip == 6 ? mean(y, {1}) : select(y, 1, slip == 7 ? -1 : 0);
  return slip == 8 ? one : layer(p, "head", one);
}

Shapes linear_shapes(const std::string& name, std::size_t out, std::size_t in) {
  return {{name + ".weight", {out, in}}, {name + ".bias", {out}}};
}
Shapes block_shapes(const std::string& name, const VitSizes& s) {
  Shapes all = linear_shapes(name + ".attn.qkv", 3 * s.D, s.D);
  all.merge(linear_shapes(name + ".attn.proj", s.D, s.D));
  all.merge(linear_shapes(name + ".mlp.fc1", s.M, s.D));
  all.merge(linear_shapes(name + ".mlp.fc2", s.D, s.M));
  for (const char* norm : {".norm1", ".norm2"}) {
    all[name + norm + ".weight"] = all[name + norm + ".bias"] = {s.D};
  }
  return all;
}
void own_mlp_check(Judge& judge) {
  const auto yours = judge.yours<Var(const Weights&, const std::string&, const Var&)>();
  std::uint64_t seed = 1;
  for (const Shape& x : {Shape{1, 1, 2}, Shape{2, 3, 4}}) {
    Shapes shapes = linear_shapes("m.fc1", 2 * x[2], x[2]);
    shapes.merge(linear_shapes("m.fc2", x[2], 2 * x[2]));
    shapes["x"] = x;
    judge.in_case(fmt::format("x {}, M = {}", to_string(x), 2 * x[2]), [&] {
      judge_layer(
          judge, drawn(shapes, seed += 10),
          [&](const Weights& w) { return yours(w, "m", w.at("x")); },
          [](const Parameters& p, int slip) { return mlp_of(p, "m", p.at("x"), slip); },
          {"The GELU is missing: two linear layers are one linear layer.",
           "There is a GELU behind the second layer, too: only the hidden one has it.",
           "The GELU stands behind the second layer; it belongs between the two.",
           "The GELU stands before the first layer; it belongs between the two.",
           "There is a GELU before the first layer, too: only the hidden one has it.",
           "x is added: the residual connection belongs to the block (Eq. 3), not here.",
           "That is the hidden layer: the second linear layer is missing."});
    });
  }
}

void own_heads_check(Judge& judge) {
  const auto yours =
      judge.yours<Var(const Weights&, const std::string&, const Var&, std::size_t)>();
  struct Case {
    Shape z;
    std::size_t heads;
  };
  std::uint64_t seed = 1;
  for (const auto& [z, heads] : {Case{{1, 2, 2}, 1}, Case{{1, 3, 4}, 2}, Case{{2, 3, 6}, 3}}) {
    Shapes shapes = linear_shapes("a.qkv", 3 * z[2], z[2]);
    shapes.merge(linear_shapes("a.proj", z[2], z[2]));
    shapes["z"] = z;
    judge.in_case(fmt::format("z {}, h = {}", to_string(z), heads), [&, h = heads] {
      judge_layer(
          judge, drawn(shapes, seed += 10),
          [&](const Weights& w) { return yours(w, "a", w.at("z"), h); },
          [&](const Parameters& p, int slip) { return msa_of(p, "a", p.at("z"), h, slip); },
          {"q and k are exchanged: split_heads gives q, k, v.",
           "k and v are exchanged: split_heads gives q, k, v.",
           "U_msa, the last linear layer (proj), is missing.",
           "z is added: the residual connection belongs to the block (Eq. 2), not here."});
    });
  }
}

void own_block_check(Judge& judge) {
  const auto yours =
      judge.yours<Var(const Weights&, const std::string&, const Var&, std::size_t)>();
  struct Case {
    Shape z;
    VitSizes sizes;
  };
  std::uint64_t seed = 1;
  for (const auto& [z, sizes] :
       {Case{{1, 2, 2}, {.D = 2, .h = 1, .M = 3}}, Case{{2, 3, 4}, {.D = 4, .h = 2, .M = 6}}}) {
    Shapes shapes = block_shapes("b", sizes);
    shapes["z"] = z;
    judge.in_case(fmt::format("z {}, h = {}", to_string(z), sizes.h), [&, h = sizes.h] {
      judge_layer(
          judge, drawn(shapes, seed += 20),
          [&](const Weights& w) { return yours(w, "b", w.at("z"), h); },
          [&](const Parameters& p, int slip) { return block_of(p, "b", p.at("z"), h, slip); },
          {"Both residual connections are missing: + z and + z'.",
           "Layer norm stands behind the sum, as in the Transformer of 2017; here it comes first.",
           "What is added is the normed input; the residual is the input as it came.",
           "Equation 3 reads z where it should read z': LN(z').",
           "Equation 3 adds z where it should add z'.",
           "Equation 3 has a layer norm of its own: norm2.",
           "Equation 3's residual connection, + z', is missing.",
           "That is z', Equation 2 alone: Equation 3 is still to come.",
           "Equation 3's layer norm is missing."});
    });
  }
}

void own_vit_check(Judge& judge) {
  const auto yours = judge.yours<Var(const Weights&, const Tensor&, const VitSizes&)>();
  std::uint64_t seed = 1;
  for (const Tiny& tiny : tiny_ones()) {
    const Tensor images = tiny.images();
    judge.in_case(tiny.text(), [&] {
      judge_layer(
          judge, tiny.parameters(seed += 50),
          [&](const Weights& w) { return yours(w, images, tiny.sizes); },
          [&](const Parameters& p, int slip) { return vit_of(p, images, tiny.sizes, slip); },
          {"E_pos is missing in Equation 1.",
           "The class token has a position, too: add E_pos when it stands in front.",
           "One block too few: L of them.",
           "Every block is blocks.0: each l has parameters of its own.",
           "Equation 4's layer norm is missing.",
           "That is the mean over all tokens; Equation 4 takes token 0.",
           "That is the last token; Equation 4 takes token 0, the class token.",
           "That is y: the head is still to come."});
    });
  }
}

Tensor loss_of(const Parameters& p, const Tiny& tiny) {
  const Tensor logs = log_softmax(vit_of(p, tiny.images(), tiny.sizes));
  Tensor result = scalar(0);
  for (std::size_t b = 0; b < tiny.B; ++b) {
    const Tensor one = select(select(logs, 0, static_cast<std::ptrdiff_t>(b)), 0,
                              static_cast<std::ptrdiff_t>(tiny.labels()[b]));
    result = result - one / static_cast<double>(tiny.B);
  }
  return result;
}

using Gradients = LossAndGradients(const Parameters&, const Tensor&,
                                   const std::vector<std::size_t>&, const VitSizes&);

void own_gradients_check(Judge& judge) {
  const auto yours = judge.yours<Gradients>();
  std::uint64_t seed = 1;
  for (const Tiny& tiny : tiny_ones()) {
    const Parameters p = tiny.parameters(seed += 50);
    judge.in_case(tiny.text(), [&] {
      const LossAndGradients got = yours(p, tiny.images(), tiny.labels(), tiny.sizes);
      if (got.gradients.empty()) {
        return judge.wrong(fmt::format("Yours has no gradients. {}", open_gap));
      }
      judge.compare("the loss", got.loss, loss_of(p, tiny).item(), "the equations say");
      std::size_t numbers = 0;
      for (const auto& [name, value] : p) {
        numbers += value.size();
        if (got.gradients.find(name) == got.gradients.end()) {
          return judge.wrong(fmt::format("The gradient of {} is missing.", name));
        }
        judge.compare_gradient(
            "the gradient of " + name, got.gradients.at(name),
            [&, name = name](const Tensor& there) {
              Parameters all = p;
              all[name] = there;
              return loss_of(all, tiny);
            },
            value, scalar(1));
      }
      console::print("            {} numbers in {} parameters, each against differences\n", numbers,
                     p.size());
    });
  }
}

}  // namespace

std::map<std::string, Shape> vit_shapes(const VitSizes& s, std::size_t C, std::size_t side) {
  Shapes all = linear_shapes("patch_embed.proj", s.D, C * s.P * s.P);
  all["cls_token"] = {1, 1, s.D};
  all["pos_embed"] = {1, 1 + (side / s.P) * (side / s.P), s.D};
  for (std::size_t l = 0; l < s.L; ++l) all.merge(block_shapes(fmt::format("blocks.{}", l), s));
  all["norm.weight"] = all["norm.bias"] = {s.D};
  all.merge(linear_shapes("head", s.K, s.D));
  return all;
}

std::string Tiny::text() const {
  return fmt::format("images ({}, {}, {}, {}), P = {}, L = {}, h = {}", B, C, side, side, sizes.P,
                     sizes.L, sizes.h);
}
Tensor Tiny::images() const { return normal({B, C, side, side}, 77); }
std::vector<std::size_t> Tiny::labels() const {
  std::vector<std::size_t> result;
  for (std::size_t b = 0; b < B; ++b) result.push_back((2 * b + 1) % sizes.K);
  return result;
}
Parameters Tiny::parameters(std::uint64_t seed) const {
  return drawn(vit_shapes(sizes, C, side), seed);
}
std::vector<Tiny> tiny_ones() {
  return {{{.P = 1, .D = 2, .L = 2, .h = 1, .M = 2, .K = 2}, 1, 1, 1},
          {{.P = 2, .D = 4, .L = 2, .h = 2, .M = 6, .K = 3}, 2, 1, 4}};
}

std::vector<NamedCheck> own_checks() {
  return {{"walk_back", walk_back_check},
          {"own_linear", own_linear_check},
          {"own_mlp", own_mlp_check},
          {"own_heads", own_heads_check},
          {"own_block", own_block_check},
          {"own_vit", own_vit_check},
          {"own_gradients", own_gradients_check},
          {"own_training", own_training_check, 600}};
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
