#include "sim/cost/products.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace foretrain::sim {

namespace {

struct Tile {
  double rows, columns;
  int halvings; // of 256 x 128

  bool narrow() const { return std::max(rows, columns) == 256 && std::min(rows, columns) < 128; }
};
constexpr Tile kTiles[] = {{256, 128, 0}, {128, 256, 0}, {128, 128, 1}, {64, 128, 2}, {128, 64, 2},
                           {64, 256, 1},  {256, 64, 1},  {64, 64, 3},   {256, 32, 2}, {128, 32, 3}};
constexpr double kNarrow = 32;          // columns
constexpr double kShortestSplit = 1024; // terms of a sum
constexpr double kSplitFill = 1.5;      // parts of a divided sum are added up afterwards

// Of the rate that the largest tiles reach.
double share(const Tile& tile, const ProductCurve& curve)
{
  if (!curve.tensor_cores)
    return std::pow(curve.quarter_tile, tile.halvings - 1);
  if (curve.narrow_tile > 0 && tile.narrow())
    return curve.narrow_tile;
  return tile.halvings == 0 ? 1.0
                            : curve.half_tile * std::pow(curve.quarter_tile, tile.halvings - 1);
}

} // namespace

double ProductCurve::arithmetic(const Product& product, double clock) const
{
  const double rate = peak * efficiency * clock;
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    if (!tensor_cores && std::max(tile.rows, tile.columns) > 128)
      continue;
    if (narrow_tile <= 0 && tile.columns == kNarrow)
      continue;
    const double tile_rate = rate * share(tile, *this);
    const double tiles =
        product.count * std::ceil(product.m / tile.rows) * std::ceil(product.n / tile.columns);
    for (int split = 1; split <= splits; split *= 2) {
      if (split > 1 && product.k < kShortestSplit * split)
        break;
      const double full = tiles * split / processors;
      const double waves = whole_waves * std::ceil(full) + (1 - whole_waves) * std::max(1.0, full);
      const double terms = product.k / split + fill * (split == 1 ? 1 : kSplitFill);
      best = std::min(best, waves * 2 * tile.rows * tile.columns * terms * processors / tile_rate +
                                (split == 1 ? 0 : split_floor));
    }
  }
  return best;
}

double ProductCurve::operator()(const Product& product, double clock) const
{
  const double bytes =
      product.count * ((product.m * product.k + product.k * product.n) * product.operand_bytes +
                       product.m * product.n * product.result_bytes);
  const double traffic = bytes / (memory * memory_efficiency);
  const double together =
      std::pow(std::pow(arithmetic(product, clock), blend) + std::pow(traffic, blend), 1 / blend);
  return floor + together + quantise_floor +
         quantise * product.count * product.m * product.k / memory;
}

void ProductCurve::quicken(double factor)
{
  for (double* rate : {&peak, &memory})
    *rate *= factor;
  for (double* time : {&floor, &quantise_floor, &split_floor})
    *time /= factor;
}

double AttentionCurve::forward(const AttentionShape& shape, double clock) const
{
  constexpr double kBlock = 128; // queries, and keys
  const double rate =
      peak * efficiency * clock *
      (shape.head_size < 128 ? 1 - (1 - small_head) * std::min(1.0, (128 - shape.head_size) / 64)
                             : 1.0);
  const double blocks = std::ceil(shape.queries / kBlock);
  // Keys that the blocks of queries meet: of a causal mask half, and their own block whole. A
  // window leaves the first queries what is before them, and cuts a block at its far end.
  const double own = kBlock * shape.keys / std::max(shape.queries, 1.0);
  double met = shape.keys;
  if (shape.causal && shape.window > 0 && shape.window < shape.keys)
    met = shape.window - shape.window * shape.window / (2 * shape.keys) + own / 2 +
          kBlock / 2 * (1 - shape.window / shape.keys);
  else if (shape.causal)
    met = (shape.keys + own) / 2;
  else if (shape.window > 0)
    met = std::min(met, shape.window + kBlock);
  met = std::max(met, std::min(kBlock, shape.keys));
  const double row = 4 * shape.head_size * kBlock;
  const double work = shape.batch * shape.heads * blocks * row * (met + fill);
  // The longest block is one processor's work.
  const double longest =
      row * ((shape.window > 0 ? std::min(shape.keys, shape.window + kBlock) : shape.keys) + fill);
  const double bytes =
      shape.batch * shape.keys * shape.head_size * (shape.heads + 2 * shape.kv_heads) * 2;
  return floor + std::max(work / rate, longest * processors / rate) + passes * bytes / memory;
}

double AttentionCurve::backward_time(const AttentionShape& shape, double clock) const
{
  AttentionCurve alone = *this;
  alone.passes = 0;
  return floor + 2.5 / backward * (alone.forward(shape, clock) - floor);
}

void AttentionCurve::quicken(double factor)
{
  peak *= factor;
  memory *= factor;
  floor /= factor;
}

} // namespace foretrain::sim
