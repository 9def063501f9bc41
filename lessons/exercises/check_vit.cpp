// The checks of exercises on the Vision Transformer.

#include "lessons/exercises/judge.hpp"

#include <cmath>

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {
namespace {

using Ints = std::vector<std::ptrdiff_t>;
Ints ints(std::initializer_list<std::size_t> lengths) { return {lengths.begin(), lengths.end()}; }

void patches(Judge& judge) {
  const auto yours = judge.yours<Tensor(const Tensor&, std::size_t)>();
  struct Case {
    Shape shape;
    std::size_t P;
  };
  const Case cases[] = {{{1, 1, 2, 4}, 2},
                        {{1, 3, 2, 2}, 2},
                        {{1, 2, 2, 3}, 1},
                        {{2, 1, 4, 6}, 2},
                        {{2, 3, 6, 3}, 3}};
  for (const Case& c : cases) {
    const std::size_t B = c.shape[0], C = c.shape[1], P = c.P, R = c.shape[2] / P,
                      S = c.shape[3] / P;
    const Tensor x = counting(c.shape);
    judge.in_case(fmt::format("images {}, P = {}", to_string(c.shape), P), [&] {
      Array right = empty({B, R * S, C * P * P});
      double* to = right.data();
      for (std::size_t b = 0; b < B; ++b)
        for (std::size_t r = 0; r < R; ++r)
          for (std::size_t s = 0; s < S; ++s)
            for (std::size_t ch = 0; ch < C; ++ch)
              for (std::size_t u = 0; u < P; ++u)
                for (std::size_t v = 0; v < P; ++v) *to++ = x.value()(b, ch, r * P + u, s * P + v);
      const Ints shape = ints({B, R * S, C * P * P});
      const Tensor cut = reshape(x, ints({B, C, R, P, S, P}));
      const auto ordered = [&](const Axes& axes) { return reshape(permute(cut, axes), shape); };
      judge.compare("patches", yours(x, P), right, "the equation says",
                    {{"That is a reshape alone: it cuts the image into strips, not into squares.",
                      reshape(x, shape)},
                     {"Each patch is flattened as (P, P, C), channels last; here it is (C, P, P).",
                      ordered({0, 2, 4, 3, 5, 1})},
                     {"The patches run down the columns; raster order runs along the rows.",
                      ordered({0, 4, 2, 1, 3, 5})},
                     {"Each channel of a patch is transposed: row by row, then column by column.",
                      ordered({0, 2, 4, 1, 5, 3})}});
    });
  }
}

void class_token_vjp(Judge& judge) {
  const auto yours = judge.yours<Tensor(const Tensor&)>();
  const Shape cases[] = {{1, 3, 2}, {2, 2, 3}, {3, 1, 4}, {4, 5, 2}};
  std::uint64_t seed = 1;
  for (const Shape& shape : cases) {
    const Tensor g = normal(shape, seed++);
    judge.in_case(fmt::format("g {}", to_string(shape)), [&] {
      const std::size_t B = shape[0], T = shape[1], D = shape[2];
      const Tensor images = normal({B, T - 1, D}, 7);
      const auto embed = [&](const Tensor& x_class) {
        return concat({broadcast_to(x_class, {B, 1, D}), images}, 1);
      };
      const Tensor right = differences(embed, zeros({1, 1, D}), g);
      const Tensor first = slice(g, 1, 0, 1);
      judge.compare(
          "dx_class", yours(g), right, "differences say",
          {{"That is the mean over the batch. All images share the token: their sum.",
            (right / static_cast<double>(B))},
           {"That is the first image alone: every image used the token.", slice(first, 0, 0, 1)},
           {"One row for every image: the token is shared, so they have to be summed.", first},
           {"That is summed over all tokens: the class token is token 0 alone.",
            sum(g, {0, 1}, true)},
           {"That is the last token: the class token stands in front.",
            sum(slice(g, 1, -1, slice_end), {0}, true)}});
    });
  }
}

void sine_cosine(Judge& judge) {
  const auto yours = judge.yours<Tensor(std::size_t, std::size_t)>();
  const std::pair<std::size_t, std::size_t> cases[] = {{1, 2}, {3, 2}, {5, 8}, {17, 64}};
  for (const auto& [length, width] : cases) {
    const std::size_t T = length, D = width;
    const auto table = [&](auto&& entry) {
      Array a = zeros({T, D});
      for (std::size_t t = 0; t < T; ++t)
        for (std::size_t d = 0; d < D; ++d)
          a(t, d) = entry(static_cast<double>(t), static_cast<double>(d), static_cast<double>(D));
      return a;
    };
    const auto odd = [](double d) { return std::fmod(d, 2) == 1; };
    const auto wave = [](double t, double exponent, bool cosine) {
      const double angle = t * std::exp(-exponent * std::log(1e4));
      return cosine ? std::cos(angle) : std::sin(angle);
    };
    const auto pair = [](double d, double n) { return 2 * std::floor(d / 2) / n; };
    judge.in_case(fmt::format("T = {}, D = {}", T, D), [&] {
      judge.compare(
          "E", yours(T, D),
          table([&](auto t, auto d, auto n) { return wave(t, pair(d, n), odd(d)); }),
          "the equation says",
          {{"Each column has an exponent of its own, d / D: the two of a pair share 2i / D.",
            table([&](auto t, auto d, auto n) { return wave(t, d / n, odd(d)); })},
           {"The exponent is i / D; the equation has 2i / D.",
            table([&](auto t, auto d, auto n) { return wave(t, pair(d, n) / 2, odd(d)); })},
           {"Sine and cosine are exchanged: even columns are sines.",
            table([&](auto t, auto d, auto n) { return wave(t, pair(d, n), !odd(d)); })},
           {"All sines stand in the first half, all cosines in the second; here they alternate.",
            table([&](auto t, auto d, auto n) {
              return wave(t, 2 * std::fmod(d, n / 2) / n, d >= n / 2);
            })},
           {"The exponent is 0 in every column: an integer divided by a larger one is 0.",
            table([&](auto t, auto d, auto) { return wave(t, 0, odd(d)); })},
           {"The positions start at 1; they should start at 0.",
            table([&](auto t, auto d, auto n) { return wave(t + 1, pair(d, n), odd(d)); })}});
    });
  }
}

struct Heads {
  Tensor q, k, v, g;
};
std::vector<Heads> heads() {
  const Shape shapes[] = {{2, 3}, {1, 2}, {4, 4}, {2, 2, 3, 2}, {2, 3, 4}};
  std::vector<Heads> result;
  std::uint64_t seed = 1;
  for (const Shape& s : shapes) {
    result.push_back(
        {normal(s, seed), normal(s, seed + 1), normal(s, seed + 2), normal(s, seed + 3)});
    seed += 4;
  }
  return result;
}

void scaled_attention(Judge& judge) {
  const auto yours = judge.yours<Tensor(const Tensor&, const Tensor&, const Tensor&)>();
  for (const Heads& x : heads()) {
    judge.in_case(fmt::format("q, k, v {}", to_string(x.q.shape())), [&] {
      const Tensor scores = matmul(x.q, transpose(x.k));
      const double D_h = static_cast<double>(x.q.size(-1));
      const double tokens = static_cast<double>(x.q.size(-2));
      const auto with = [&](const Tensor& s, int axis = -1) {
        return matmul(softmax(s, axis), x.v);
      };
      judge.compare("SA", yours(x.q, x.k, x.v), attention(x.q, x.k, x.v), "the library says",
                    {{"The scores are not divided by √D_h.", with(scores)},
                     {"Divided by D_h: it is its root.", with(scores / D_h)},
                     {"Divided by √T, the number of tokens; it is √D_h, the width of a head.",
                      with(scores / std::sqrt(tokens))},
                     {"Multiplied by √D_h: it has to be divided.", with(scores * std::sqrt(D_h))},
                     {"The softmax runs over the wrong axis: each row of A has to sum to 1.",
                      with(scores / std::sqrt(D_h), -2)},
                     {"The softmax is missing.", matmul(scores / std::sqrt(D_h), x.v)},
                     {"q and k are exchanged: queries are the rows.",
                      with(transpose(scores) / std::sqrt(D_h))}});
    });
  }
}

void attention_vjp(Judge& judge) {
  const auto yours =
      judge.yours<AttentionGradients(const Tensor&, const Tensor&, const Tensor&, const Tensor&)>();
  for (const Heads& x : heads()) {
    judge.in_case(fmt::format("q, k, v {}", to_string(x.q.shape())), [&] {
      const AttentionGradients got = yours(x.g, x.q, x.k, x.v);
      const double root = std::sqrt(static_cast<double>(x.q.size(-1)));
      const Tensor A = softmax(matmul(x.q, transpose(x.k)) / root);
      const Tensor dA = matmul(x.g, transpose(x.v));
      const Tensor dP = A * (dA - sum(dA * A, {-1}, true));
      const auto guesses = [&](auto&& of, auto&& turned) {
        return std::vector<Guess>{
            {"It has to be scaled by 1 / √D_h, as the scores were.", of(dP)},
            {"In the softmax, the term that the whole row shares is missing.", of(A * dA / root)},
            {"The softmax is left out on the way back.", of(dA / root)},
            {"The cotangent of the scores is turned the wrong way round.", turned(dP / root)}};
      };
      const auto rows = [](const Tensor& other) {
        return [other](const Tensor& s) { return matmul(s, other); };
      };
      const auto columns = [](const Tensor& other) {
        return [other](const Tensor& s) { return matmul(transpose(s), other); };
      };
      judge.compare_gradient("dv", got.dv, [&](auto& t) { return attention(x.q, x.k, t); }, x.v,
                             x.g, {{"That is A g: A has to be transposed.", matmul(A, x.g)}});
      judge.compare_gradient(
          "dq", got.dq, [&](auto& t) { return attention(t, x.k, x.v); }, x.q, x.g,
          guesses(rows(x.k), columns(x.k)));
      judge.compare_gradient(
          "dk", got.dk, [&](auto& t) { return attention(x.q, t, x.v); }, x.k, x.g,
          guesses(columns(x.q), rows(x.q)));
    });
  }
}

void split_heads(Judge& judge) {
  const auto yours = judge.yours<Tensor(const Tensor&, std::size_t)>();
  struct Case {
    std::size_t B, T, h, D_h;
  };
  const Case cases[] = {{1, 2, 1, 2}, {1, 2, 2, 1}, {3, 1, 4, 2}, {2, 3, 3, 2}, {2, 3, 2, 4}};
  for (const Case& c : cases) {
    const Tensor x = counting({c.B, c.T, 3 * c.h * c.D_h});
    judge.in_case(fmt::format("qkv {}, h = {}", to_string(x.shape()), c.h), [&] {
      Array right = empty({3, c.B, c.h, c.T, c.D_h});
      for (std::size_t part = 0; part < 3; ++part)
        for (std::size_t b = 0; b < c.B; ++b)
          for (std::size_t head = 0; head < c.h; ++head)
            for (std::size_t t = 0; t < c.T; ++t)
              for (std::size_t d = 0; d < c.D_h; ++d)
                right(part, b, head, t, d) = x.value()(b, t, (part * c.h + head) * c.D_h + d);
      judge.compare(
          "heads", yours(x, c.h), right, "the order says",
          {{"That is a reshape alone: no number has moved, so tokens and heads are mixed up.",
            reshape(x, ints({3, c.B, c.h, c.T, c.D_h}))},
           {"The columns were read as (h, 3, D_h): query, key and value of a head side by side. "
            "They lie as (3, h, D_h).",
            permute(reshape(x, ints({c.B, c.T, c.h, 3, c.D_h})), {3, 0, 2, 1, 4})},
           {"The columns were read as (3, D_h, h): the numbers of a head lie side by side.",
            permute(reshape(x, ints({c.B, c.T, 3, c.D_h, c.h})), {2, 0, 4, 1, 3})}});
    });
  }
}

void parameter_count(Judge& judge) {
  const auto yours = judge.yours<std::size_t(const CountedSizes&)>();
  struct Case {
    std::string label;
    CountedSizes sizes;
  };
  for (const Case& c :
       {Case{"no block: C = 1, S = 2, P = 1, D = 2, K = 3", {1, 2, 1, 2, 0, 2, 3}},
        Case{"one block: C = 1, S = 4, P = 2, D = 2, M = 3, K = 2", {1, 4, 2, 2, 1, 3, 2}},
        Case{"the digits' ViT: D = 64, L = 4, M = 256", {1, 28, 7, 64, 4, 256, 10}},
        Case{"ViT-Base/16", {}}}) {
    judge.in_case(c.label, [&] {
      const CountedSizes& s = c.sizes;
      const std::size_t N = (s.S / s.P) * (s.S / s.P), D = s.D;
      const std::size_t biases = 3 * D + D + s.M + D;
      const std::size_t block = 4 * D + 3 * D * D + D * D + 2 * D * s.M + biases;
      const std::size_t rest = s.C * s.P * s.P * D + D + D + (1 + N) * D + 2 * D + D * s.K + s.K;
      const std::size_t right = rest + s.L * block;
      const std::size_t got = yours(s);
      if (got == right) return;
      const std::pair<std::size_t, const char*> guesses[] = {
          {0, open_gap},
          {right - D, "The class token is missing, or its position."},
          {right - 2 * D, "The last layer norm, or the class token and its position, is missing."},
          {right - s.L * biases, "The biases of the blocks are missing."},
          {right - s.L * biases - D - s.K, "The biases are missing."},
          {right - s.L * 2 * D, "A block has two layer norms."},
          {right - (N + 1) * D, "The positions are missing."},
          {right - D * s.K - s.K, "The head is missing."},
          {rest + block, "There are L blocks, not one."}};
      std::string why;
      for (const auto& [value, reason] : guesses) {
        if (why.empty() && got == value) why = fmt::format("\n{}", reason);
      }
      judge.wrong(fmt::format("yours {}, counted {}.{}", got, right, why));
    });
  }
}

}  // namespace

std::vector<NamedCheck> vit_checks() {
  return {{"patches", patches},
          {"class_token", class_token_vjp},
          {"sine_cosine", sine_cosine},
          {"attention", scaled_attention},
          {"attention_vjp", attention_vjp},
          {"split_heads", split_heads},
          {"parameter_count", parameter_count}};
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
