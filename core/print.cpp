#include "vitruvian/core/print.hpp"

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

constexpr std::size_t all_shown = 1000;  // elements that are all shown
constexpr std::size_t at_an_end = 3;     // of each axis otherwise

// One axis of `a` in brackets, `offset` being where its first element is.
void append_axis(std::string& text, const Array& a, std::size_t axis, std::size_t offset,
                 std::size_t indent) {
  if (axis == a.dimension()) {
    const real x = a.data()[offset];
    text += std::isnan(x) ? "nan" : fmt::format("{:.6g}", x);
    return;
  }
  const std::size_t length = a.shape()[axis];
  std::size_t step = 1;
  for (std::size_t k = axis + 1; k < a.dimension(); ++k) step *= a.shape()[k];
  // Between rows a new line, between matrices an empty one.
  const std::size_t lines = a.dimension() - axis - 1;
  const std::string between =
      lines == 0 ? ", " : "," + std::string(lines, '\n') + std::string(indent + 1, ' ');
  const bool many = a.size() > all_shown || a.size() == 0;  // of nothing there may be many rows
  const bool cut = many && length > 2 * at_an_end;
  text += '[';
  for (std::size_t i = 0; i < length; ++i) {
    if (i > 0) text += between;
    if (cut && i == at_an_end) {
      text += "..." + between;
      i = length - at_an_end;
    }
    append_axis(text, a, axis + 1, offset + i * step, indent + 1);
  }
  text += ']';
}

}  // namespace

std::string printed(const Tensor& x) {
  if (!x) return "Tensor(absent)";
  std::string text = "Tensor(";
  append_axis(text, x.value(), 0, 0, text.size());
  if (x.size() > all_shown || x.size() == 0) text += ", shape " + to_string(x.shape());
  if (!x.is_leaf()) {
    text += fmt::format(", by '{}'", x.node().op);
  } else if (x.requires_grad()) {
    text += ", requires_grad";
  }
  return text + ")";
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << printed(x); }

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
