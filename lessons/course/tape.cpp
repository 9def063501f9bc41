#include "lessons/telling/lesson.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "A tape in forty lines",
    .equation = "dx += dy · ∂y/∂x",
    .minutes = 15,
    .teaches = {"mul", "tanh"},
    .breaks = {{"no-accumulation", "a second cotangent of the same value is not added",
                "x is used by two products, and the share of one of them was lost.",
                "mul:skip_accumulation"},
               {"lost-cotangent", "a product sends nothing to its second factor",
                "the second factor of each product gets a gradient of zero, and differences say "
                "that L does depend on it.",
                "mul:drop_cotangent:1"}},
    .play = {"Which of the four leaves can be turned so that nothing comes back to x?",
             {{"x", -2, 2, 0.5, 0.1},
              {"w", -3, 3, 3, 0.1},
              {"b", -3, 3, -1, 0.1},
              {"v", -2, 2, 0.8, 0.1}}},
};

// [region tape]
class Tape {
 public:
  // An entry knows its value, which entries it was made from, and the
  // derivative of itself by each of them.
  struct Entry {
    double value;
    std::vector<std::pair<std::size_t, double>> made_from;
  };

  std::size_t leaf(double value) { return put({value, {}}); }
  std::size_t add(std::size_t a, std::size_t b) { return put({at(a) + at(b), {{a, 1}, {b, 1}}}); }
  std::size_t mul(std::size_t a, std::size_t b) {
    return put({at(a) * at(b), {{a, at(b)}, {b, at(a)}}});
  }
  std::size_t tanh(std::size_t a) {
    const double t = std::tanh(at(a));
    return put({t, {{a, 1 - t * t}}});
  }

  // Every entry was made from earlier ones. So from the last to the first,
  // each cotangent is complete before it is handed on.
  std::vector<double> backward(std::size_t last) const {
    std::vector<double> cotangent(entries_.size(), 0);
    cotangent[last] = 1;
    for (std::size_t i = last + 1; i-- > 0;) {
      for (const auto& [from, derivative] : entries_[i].made_from) {
        cotangent[from] += cotangent[i] * derivative;
      }
    }
    return cotangent;
  }

  double at(std::size_t i) const { return entries_[i].value; }

 private:
  std::size_t put(Entry entry) {
    entries_.push_back(std::move(entry));
    return entries_.size() - 1;
  }
  std::vector<Entry> entries_;
};
// [end]

constexpr double values[4] = {0.5, 3, -1, 0.8};  // x, w, b, v

// [region twice]
// L = y y,  y = tanh(w x + b) + v x: on our tape, and in the library.
Tape on_our_tape() {
  Tape t;
  const auto x = t.leaf(values[0]), w = t.leaf(values[1]);
  const auto b = t.leaf(values[2]), v = t.leaf(values[3]);
  const auto neuron = t.tanh(t.add(t.mul(w, x), b));
  const auto y = t.add(neuron, t.mul(v, x));
  t.mul(y, y);
  return t;
}
Tensor in_the_library(const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& v) {
  const Tensor y = tanh(w * x + b) + v * x;
  return y * y;
}

// [end]

// The same tape at these numbers, entry by entry.
void play(Narrator& say, const std::vector<double>& at) {
  Tape t;
  const auto x = t.leaf(at[0]), w = t.leaf(at[1]), b = t.leaf(at[2]), v = t.leaf(at[3]);
  const auto wx = t.mul(w, x), s = t.add(wx, b), neuron = t.tanh(s), way = t.mul(v, x),
             y = t.add(neuron, way);
  const auto L = t.mul(y, y);
  const std::vector<double> d = t.backward(L);
  Rows rows;
  std::vector<std::pair<std::string, double>> sizes;
  const char* const names[] = {"x", "w", "b", "v", "w x", "w x + b", "tanh", "v x", "y", "L = y y"};
  for (std::size_t i = 0; i <= L; ++i) {
    rows.push_back(row(i, names[i], fmt::format("{:.4f}", t.at(i)), fmt::format("{:.4f}", d[i])));
    sizes.emplace_back(names[i], std::abs(d[i]));
  }
  say.bars("How large each entry's cotangent is, from the leaves to L.", sizes);
  say.table({"entry", "made by", "value", "cotangent"}, rows);
}

void lesson(Narrator& say) {
  say.heading("What we want to know");
  say.text("In lesson #chain_rule we wrote the backward pass by hand, line by line. It was "
           "mechanical: each "
           "line undid one line of the forward pass, in the opposite order. A machine can do that, "
           "if it has written down what happened. What must it write down? With such a machine we "
           "can build a ViT of thousands of operations and never derive it as a whole.");

  say.heading("A tape");
  say.equation(R"(dx \mathrel{+}= dy \, \frac{\partial y}{\partial x})", "dx += dy · ∂y/∂x");
  say.in_words("for each operation, from the last to the first: multiply the cotangent of its "
               "result by its derivative, and add that to the cotangent of what it was made from. "
               "The plus in += is the sum of the chain rule.");
  say.code("tape");
  say.text("That is all of automatic differentiation, for numbers. There is no symbolic algebra in "
           "it and no approximation: it is the chain rule, with values in place of formulas.");

  say.heading("The library's tape");
  say.text("The library does the same with arrays. A derivative of an array by an array would be a "
           "huge table, so an op does not store its derivative: it stores a rule that multiplies a "
           "cotangent by it, the vector-Jacobian product. This is all there is to an op:");
  say.code_of("core/ops/elementwise.cpp", "Tensor mul(const Tensor& a, const Tensor& b)");
  say.text("And this is the walk. A node is ready when everything that used it has spoken; that "
           "replaces \"from the last to the first\", since nodes lie anywhere in memory.");
  say.code_of("core/engine.cpp", "void walk_back(");

  say.heading("Equal");
  say.code("twice");
  const Tape tape = on_our_tape();
  constexpr std::size_t last = 9;
  const std::vector<double> ours = tape.backward(last);
  struct Place {
    const char* name;
    std::size_t column, row;
  };
  const Place places[] = {{"0 x", 0, 1},   {"1 w", 1, 0},       {"2 b", 2, 0},    {"3 v", 1, 3},
                          {"4 w x", 1, 1}, {"5 w x + b", 2, 1}, {"6 tanh", 3, 1}, {"7 v x", 1, 2},
                          {"8 y", 3, 2},   {"9 L", 3, 3}};
  Diagram drawn;
  for (std::size_t i = 0; i <= last; ++i) {
    const auto& [name, column, row] = places[i];
    drawn.boxes.push_back(
        {name, {fmt::format("{:.3f}", tape.at(i)), fmt::format("d {:.3f}", ours[i])}, column, row});
  }
  for (const auto& [from, to] : std::vector<std::pair<int, int>>{
           {1, 4}, {0, 4}, {0, 7}, {3, 7}, {4, 5}, {2, 5}, {5, 6}, {6, 8}, {7, 8}, {8, 9}}) {
    drawn.arrows.push_back({places[from].name, places[to].name});
  }
  say.diagram("What the tape holds: ten entries with their numbers, their values, and the "
              "cotangents (d) that one walk from 9 down to 0 found.",
              drawn);
  const char* const names[] = {"x", "w", "b", "v"};
  std::vector<Leaf> leaves;
  std::vector<Tensor> xs;
  for (int i = 0; i < 4; ++i) {
    xs.emplace_back(scalar(values[i]), true);
    leaves.push_back({names[i], xs.back()});
  }
  const auto loss = [&] { return in_the_library(xs[0], xs[1], xs[2], xs[3]); };
  say.check("L", {"forty lines", tape.at(last)}, {"library", loss().item()}, 1e-14);
  const std::vector<Array> g = grad(loss(), xs);
  for (std::size_t i = 0; i < 4; ++i) {
    say.check(fmt::format("∂L/∂{}", names[i]), {"forty lines", ours[i]}, {"library", g[i]()},
              1e-14);
  }
  check_gradients(say, loss, leaves);

  say.heading("What a library must take care of besides");
  say.text("- Memory. Our tape keeps everything for ever. The library's nodes own what they were "
           "made from, so a graph goes when its last result goes, and `backward` frees it as it "
           "walks.\n- Depth. A recursive walk over a chain of a million nodes overflows the stack. "
           "Neither the walk nor the destructor recurses.\n- Lies. If a value is changed between "
           "forward and backward, the rule would read the wrong number. Each value counts its "
           "changes, and backward refuses.");
  const std::size_t before = live_nodes();
  {
    const Tensor graph = loss();
    say.table({"", "nodes alive"}, {{"the four leaves", std::to_string(before)},
                                    {"with the graph of L", std::to_string(live_nodes())}});
  }
  say.check("nodes alive when L is gone", {"now", double(live_nodes())}, {"before", double(before)},
            0);

  say.heading("What goes wrong");
  say.sources_disagree("", "`=` instead of `+=`. It works on every graph in which nothing is used "
                           "twice, so it passes many a test. Here x and y are used twice.");
  say.sources_disagree("", "Calling `backward` twice. On leaves, gradients add up over calls until "
                           "`zero_grad`: that is wanted, it makes large batches out of small ones, "
                           "and it is the most common bug in a training loop.");
  loss().backward();
  const double once = *xs[1].grad()->data();
  loss().backward();
  say.check("w.grad after two calls, without zero_grad", {"two calls", *xs[1].grad()->data()},
            {"twice one call", 2 * once}, 1e-14);

  say.pytorch("a node is `tensor.grad_fn`, a rule is `torch.autograd.Function.backward`, leaves "
              "have `.grad`, and `torch.no_grad()` writes nothing down, like our `NoGrad`.");
  say.take_along(
      "Our tape stores derivatives, the library stores rules that read the values of "
      "the forward pass. For a product of two large matrices, how large is the "
      "derivative, and how large is what the rule needs?",
      "For A (n, n) times B (n, n), the derivative of each of n² results by each of 2 n² "
      "factors: 2 n⁴ numbers. The rule needs A and B: 2 n².");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
