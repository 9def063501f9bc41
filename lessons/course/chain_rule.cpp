#include "lessons/telling/lesson.hpp"

using namespace vitruvian::lessons;

const Lesson about = {
    .title = "The chain rule on a graph of numbers",
    .equation = "∂L/∂x = Σ ∂L/∂y · ∂y/∂x",
    .minutes = 10,
    .teaches = {"mul", "tanh", "square"},
    .breaks = {{"one-path", "forgets that x is used a second time, inside the neuron",
                "x moves L in two ways, and only one of them was counted."}},
    .play = {"Which inputs make the neuron deaf, so that nothing comes back through it?",
             {{"x", -2, 2, 0.5, 0.1}, {"w", -3, 3, 1.5, 0.1}, {"b", -3, 3, -0.5, 0.1}}},
};

// [region forward]
// L = (y - t)^2,  y = tanh(w x + b) + x: one neuron, and a way around it.
struct Forward {
  double u, s, a, y, L;
};
Forward forward(double x, double w, double b, double t) {
  const double u = w * x;
  const double s = u + b;
  const double a = std::tanh(s);
  const double y = a + x;
  return {u, s, a, y, (y - t) * (y - t)};
}

// [region backward]
struct Backward {
  double y, a, s, u, x, w, b;  // dL by each of them
};
Backward backward(const Forward& f, double x, double w, double t) {
  Backward d{};
  d.y = 2 * (f.y - t);          // L = (y - t)^2
  d.a = d.y;                    // y = a + x
  d.s = d.a * (1 - f.a * f.a);  // a = tanh s
  d.u = d.s;                    // s = u + b
  d.b = d.s;
  d.w = d.u * x;        // u = w x
  d.x = d.u * w + d.y;  // x was used twice: in u, and in y
  return d;
}

// [region paths]
// A ladder of n diamonds: z' = z + z / 2. Every diamond has two ways through.
double by_paths(int n, long& visited) {
  ++visited;
  if (n == 0) return 1;
  return 1.0 * by_paths(n - 1, visited) + 0.5 * by_paths(n - 1, visited);
}
double node_by_node(int n, long& visited) {
  double d = 1;
  for (int i = 0; i < n; ++i, ++visited) d = 1.0 * d + 0.5 * d;
  return d;
}

// [end]

// Every value and, below it, its cotangent.
Diagram graph(double w, double x, double b, const Forward& f, const Backward& d, int digits) {
  const auto node = [&](const char* name, double value, double cotangent, std::size_t column,
                        std::size_t row) {
    return Diagram::Box{
        name,
        {fmt::format("{:.{}f}", value, digits), fmt::format("d {:.{}f}", cotangent, digits)},
        column,
        row};
  };
  return {.boxes = {node("w", w, d.w, 1, 0), node("x", x, d.x, 0, 1),
                    node("u = w x", f.u, d.u, 1, 1), node("b", b, d.b, 2, 0),
                    node("s = u + b", f.s, d.s, 2, 1), node("a = tanh s", f.a, d.a, 3, 1),
                    node("y = a + x", f.y, d.y, 3, 2), node("L = (y − t)²", f.L, 1, 3, 3)},
          .arrows = {{"w", "u = w x"},
                     {"x", "u = w x"},
                     {"u = w x", "s = u + b"},
                     {"b", "s = u + b"},
                     {"s = u + b", "a = tanh s"},
                     {"a = tanh s", "y = a + x"},
                     {"x", "y = a + x"},
                     {"y = a + x", "L = (y − t)²"}}};
}

// The graph at these numbers, with the target 1.
void play(Narrator& say, const std::vector<double>& at) {
  const double x = at[0], w = at[1], b = at[2], t = 1;
  const Forward f = forward(x, w, b, t);
  const Backward d = backward(f, x, w, t);
  say.diagram("Every value, and below it its cotangent (d), for the target t = 1.",
              graph(w, x, b, f, d, 3));
  say.text("The neuron lets {:.1f} % of what reaches it through: 1 − tanh² s.",
           100 * (1 - f.a * f.a));
}

void lesson(Narrator& say) {
  const double x = 0.5, w = 3, b = -1, t = 1.5;
  say.heading("What we want to know");
  say.text(
      "A ViT learns from one number, the loss: how wrong it was. Whatever it is made of has to "
      "hear how it should change. You know the chain rule for a function of a function, but a "
      "network is not a chain: it is a graph, in which values are used more than once. What "
      "is the derivative of its end with respect to its beginnings, and how do we get all of "
      "them in one go? (This is backpropagation.)");

  say.heading("The rule");
  say.equation(R"(\frac{\partial L}{\partial x} = \sum_{y \,:\, x \to y})"
               R"( \frac{\partial L}{\partial y}\,\frac{\partial y}{\partial x})",
               "∂L/∂x = Σ ∂L/∂y · ∂y/∂x    over all y that use x directly");
  say.in_words(
      "a change of x reaches L through everything that uses x. Each user passes on its own share; "
      "the shares add up. To know ∂L/∂x it is enough to know ∂L/∂y of its users.");
  say.text("So if we walk the graph from its end to its beginning, everything we need at a value "
           "is known when we get there. ∂L/∂x is called the cotangent of x; dx is short for it.");

  say.heading("One neuron, and a way around it");
  say.code("forward");
  const Forward f = forward(x, w, b, t);
  say.text("Now backwards. Each line undoes one line above, in the opposite order, and uses "
           "nothing but the cotangent of what that line made and the derivative of that one line.");
  say.code("backward");
  Backward d = backward(f, x, w, t);
  if (say.broken("one-path")) d.x = d.y;
  say.diagram("Every value, and below it its cotangent (d). Values go with the arrows, cotangents "
              "against them. What comes back to x comes on two ways, and is their sum.",
              graph(w, x, b, f, d, 4));

  say.heading("Against numbers");
  const double h = 6e-6;
  const auto slope = [&](double dx, double dw, double db) {
    const auto L = [&](double by) { return forward(x + by * dx, w + by * dw, b + by * db, t).L; };
    return (L(h) - L(-h)) / (2 * h);
  };
  say.check("∂L/∂x", {"analytic", d.x}, {"numeric", slope(1, 0, 0)}, 1e-8);
  say.check("∂L/∂w", {"analytic", d.w}, {"numeric", slope(0, 1, 0)}, 1e-8);
  say.check("∂L/∂b", {"analytic", d.b}, {"numeric", slope(0, 0, 1)}, 1e-8);

  say.heading("The library, on the same graph");
  const Tensor X(scalar(x), true), W(scalar(w), true), Bias(scalar(b), true);
  const auto loss = [&] { return square(tanh(W * X + Bias) + X - t); };
  const std::vector<Array> g = grad(loss(), {X, W, Bias});
  say.check("∂L/∂x", {"by hand", d.x}, {"library", g[0]()}, 1e-12);
  say.check("∂L/∂w", {"by hand", d.w}, {"library", g[1]()}, 1e-12);
  say.check("∂L/∂b", {"by hand", d.b}, {"library", g[2]()}, 1e-12);

  say.heading("Why backwards, and why node by node");
  say.text("One could also follow every path from x to L, multiply the derivatives on it, and add "
           "up the paths. It is the same number. But count the work on a ladder of n diamonds, "
           "where each value is used twice by the next:");
  say.code("paths");
  long along_paths = 0, nodes = 0;
  const double slow = by_paths(18, along_paths);
  const double fast = node_by_node(18, nodes);
  say.check("derivative through 18 diamonds", {"all paths", slow}, {"node by node", fast}, 1e-12);
  say.check("and by a closed form", {"node by node", fast}, {"1.5^18", std::pow(1.5, 18)}, 1e-12);
  say.table({"", "steps"},
            {{"all paths", std::to_string(along_paths)}, {"node by node", std::to_string(nodes)}});
  say.text(
      "A ViT of twelve blocks goes around 24 times, by its residual (or skip) connections. Adding "
      "up at each node, before going on, is "
      "what makes the difference between {} steps and {}. It is the whole idea of backpropagation.",
      along_paths, nodes);
  say.text("Walking forwards, from one input to all values, works as well, and gives the "
           "derivatives with respect to that one input. Backwards, one walk gives the derivatives "
           "of the one loss with respect to every input. We have one loss and many inputs.");

  say.pytorch(
      "`loss.backward()` does this walk; `torch.autograd.grad(loss, [x, w, b])` returns the "
      "cotangents as our `grad` does. JAX calls the walk `vjp`, and the forward one `jvp`.");
  say.question("In y = a + x, the cotangent of y goes to a and to x unchanged. What does that say "
               "about a network in which every layer is z + f(z)?",
               "The cotangent of the output reaches the input whole, next to whatever the f's add. "
               "Lesson #residuals measures it.");
}

int main(int argc, char** argv) { return tell(about, {lesson, play}, argc, argv); }
