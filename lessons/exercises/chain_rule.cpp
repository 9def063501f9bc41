// Exercise. There and back through a chain (after chain_rule, easy)
//
// A chain of functions, one after the other: x_1 = f_1(x), x_2 = f_2(x_1), … Each link knows f and
// its derivative f'. By the chain rule the derivative of the last with respect to x is the product
//
//   f_n'(x_{n−1}) · … · f_2'(x_1) · f_1'(x),
//
// each factor at the place where that link stood on the way there. So go there, remember the
// places, and come back, multiplying. An empty chain is y = x.

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

double through_the_chain(const std::vector<Link>& links, double x) {
  // [gap]
  //| // Yours. A link's function is links[i].f(x), its derivative links[i].df(x).
  //| return 0;
  // [solution]
  std::vector<double> places;
  for (const Link& link : links) {
    places.push_back(x);
    x = link.f(x);
  }
  double bar = 1;
  for (std::size_t i = links.size(); i-- > 0;) bar *= links[i].df(places[i]);
  return bar;
  // [end]
}

EXERCISE(through_the_chain);

// [hint 1]
// Two loops: the first goes through all links and writes down what each of them got; the second
// multiplies derivatives.
// [hint 2]
// What link i got is x before its f was applied: keep it in a std::vector<double> before you go on.
// [hint 3]
// for (const Link& link : links) { places.push_back(x); x = link.f(x); } then bar = 1, and from the
// last link to the first bar *= links[i].df(places[i]).
