// Time of matrix products and of attention on one GPU.
//
// A product m x n x k is cut into tiles of the result. Each multiprocessor works off one tile after
// the other, so that the tiles take a whole number of waves (tile and wave quantisation: NVIDIA,
// "Matrix Multiplication Background User's Guide"); libraries that divide the last wave make it
// less whole. Each tile pays for filling its pipeline and writing its result as if the sum were
// `fill` terms longer. Smaller tiles use the tensor cores less. A library takes the best of its
// tiles, and may divide the sum (split k). Nothing hides what a kernel takes to begin and to end:
//
//   arithmetic = min over tiles, splits: waves x 2 x tile x (k / split + fill) x processors / rate
//                + split_floor, if split
//   traffic    = (m k + k n + m n) x bytes / memory
//   time       = floor + (arithmetic^p + traffic^p)^(1/p)
#pragma once

#include "sim/base/units.hpp"

namespace foretrain::sim {

struct Product {
  double m = 0, n = 0, k = 0;
  double operand_bytes = 2; // of one element
  double result_bytes = 2;
  double count = 1; // of one shape in one call, as for experts or heads
};

struct ProductCurve {
  double peak = 0;         // FLOP/s, data sheet
  double efficiency = 0.8; // of long sums in whole waves
  double fill = 120;       // terms of a sum that each tile costs beside its own
  double floor = 2e-6;     // seconds that a kernel takes beside its work
  double memory = 0;       // bytes/s, data sheet
  double memory_efficiency = 0.8;
  double whole_waves = 0.3;   // 1: the last wave costs a whole one; 0: as much as is in it
  double half_tile = 0.7;     // rate of tiles of 128 x 128 beside 256 x 128
  double quarter_tile = 0.78; // and of each halving after that
  double blend = 2.5;         // p
  double quantise = 0;        // bytes moved per left element by a conversion before the product
  double quantise_floor = 0;  // seconds of its kernels beside that
  bool tensor_cores = true;   // false: tiles of 128 x 128 are the largest, at the full rate
  double narrow_tile = 0;     // rate of 256 x 64 beside 256 x 128, with tiles of 256 x 32 as quick
                              // as that; 0: as halvings say, and no tiles of 32 columns
  int splits = 4;             // parts that a sum may be divided into
  double split_floor = 0;     // seconds to add them up
  int processors = 1;

  /// Seconds. `clock`: by how much the clock is below that of the measurements.
  double operator()(const Product& product, double clock = 1) const;
  /// Seconds of the arithmetic alone.
  double arithmetic(const Product& product, double clock = 1) const;
  /// Makes every kernel take its time divided by `factor`.
  void quicken(double factor);
};

/// Attention in one kernel (FlashAttention): per block of queries all blocks of keys before it.
struct AttentionShape {
  double batch = 1;
  double queries = 0; // per sequence
  double keys = 0;
  double heads = 0;
  double kv_heads = 0;
  double head_size = 128;
  bool causal = true;
  double window = 0; // 0: all
};

struct AttentionCurve {
  double peak = 0;          // FLOP/s of 16-bit products
  double efficiency = 0.5;  // of long sequences, heads of 128
  double fill = 300;        // keys that each block of queries costs beside its own
  double floor = 8e-6;      // seconds
  double backward = 0.85;   // rate of the backward pass beside the forward one
  double small_head = 0.75; // rate with heads of 64 beside those of 128
  double passes = 0;        // of the operands over memory beside the kernel (cache, rotation)
  double memory = 0;        // bytes/s, data sheet
  int processors = 1;

  /// Seconds of the forward pass.
  double forward(const AttentionShape& shape, double clock = 1) const;
  /// Seconds of the backward pass: 2.5 times the FLOP (FlashAttention-2, arXiv:2307.08691).
  double backward_time(const AttentionShape& shape, double clock = 1) const;
  /// Makes every kernel take its time divided by `factor`.
  void quicken(double factor);
};

} // namespace foretrain::sim
