#include "vitruvian/vit/positions.hpp"

#include "vitruvian/core/ops.hpp"
#include "vitruvian/vit/waves.hpp"

#include <cmath>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
PositionEmbedding::PositionEmbedding(const ViTConfig& c) : first(c.class_tokens()) {
  if (c.positions == Positions::learned) {
    table = Parameter(zeros({1, c.places(), c.D}));
  } else if (c.positions == Positions::learned_2d) {
    rows = Parameter(zeros({c.grid_height(), c.D / 2}));
    columns = Parameter(zeros({c.grid_width(), c.D / 2}));
  } else if (c.positions == Positions::sincos || c.positions == Positions::sincos_2d) {
    waves = Tensor(array({1, c.places(), c.D}, fixed_positions(c)));
  }
}

Tensor PositionEmbedding::operator()(const Tensor& z) const {
  if (table) return z + table;
  if (waves) return z + waves;
  if (!rows) return z;
  // E[(y, x)] = [columns_x, rows_y]
  const std::size_t half = rows.shape()[1];
  const Shape grid{rows.shape()[0], columns.shape()[0], half};
  const Tensor x = broadcast_to(columns, grid);
  const Tensor y = broadcast_to(reshape(rows, {grid[0], 1, half}), grid);
  const Tensor E = reshape(concat({x, y}, 2), {1, -1, 2 * half});
  return z + (first != 0 ? concat({Tensor(zeros({1, first, 2 * half})), E}, 1) : E);
}

void PositionEmbedding::visit(Visitor& visitor) const {
  visitor.parameter("pos_embed", Role::position, table);
  visitor.parameter("pos_embed_rows", Role::position, rows);
  visitor.parameter("pos_embed_columns", Role::position, columns);
}

RelativePositionBias::RelativePositionBias(const ViTConfig& c)
    : table(zeros({c.relative_offsets(), c.h})), offsets(relative_rows(c)) {}

Tensor RelativePositionBias::operator()() const {
  const auto T = std::lround(std::sqrt(offsets.size()));
  return permute(reshape(index_select(table, 0, offsets), {T, T, table.shape()[1]}), {2, 0, 1});
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
