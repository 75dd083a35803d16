// What measurements of single kernels on a GPU say: the curves of sim/cost/products.hpp as data.
#pragma once

#include "sim/base/schema.hpp"
#include "sim/cost/products.hpp"

#include <optional>

namespace foretrain::platforms {

/// What tables of one kind of product say; sim::ProductCurve without what the data sheet says.
struct ProductKernels {
  double efficiency = 0.8;
  double fill = 120;
  Seconds floor{2.5e-6};
  double memory_efficiency = 0.85;
  double whole_waves = 0.25;
  double half_tile = 0.95;
  double quarter_tile = 0.77;
  double blend = 3;
  double quantise = 0;
  Seconds quantise_floor;
  Seconds split_floor{2.5e-6};
};

struct AttentionKernels {
  double efficiency = 0.5;
  double fill = 300;
  Seconds floor{8e-6};
  double backward = 0.85;
  double small_head = 0.75;
  double passes = 0;
  double flash2 = 1; // rate of FlashAttention-2 beside the measured kernel
};

struct GpuKernels {
  std::optional<ProductKernels> half; // fp16 and bf16
  std::optional<ProductKernels> fp8;
  std::optional<AttentionKernels> attention;
  double sustained_clock = 1;
  double product_error = 0.08; // relative standard deviation of a product's time
};

template <class V>
void describe(V& v, ProductKernels& s)
{
  v.required("efficiency", s.efficiency, "share of the peak that long sums in whole waves reach",
             between(0.01, 1));
  v.required("fill", s.fill, "terms of the sum that each tile costs beside its own",
             non_negative());
  v.required("floor", s.floor, "time that a kernel takes beside its work", non_negative());
  v.optional("memory_efficiency", s.memory_efficiency, "share of the memory's rate",
             between(0.01, 1));
  v.optional("whole_waves", s.whole_waves, "1: the last wave of tiles costs a whole one",
             between(0, 1));
  v.optional("half_tile", s.half_tile, "rate of tiles of 128 x 128 beside 256 x 128",
             between(0.01, 1));
  v.optional("quarter_tile", s.quarter_tile, "rate of each halving after that", between(0.01, 1));
  v.optional("blend", s.blend, "exponent that joins arithmetic and traffic", between(1, 20));
  v.optional("quantise", s.quantise, "bytes moved per left element to convert it, in the tables",
             non_negative());
  v.optional("quantise_floor", s.quantise_floor,
             "time of the kernels that convert beside what they move, in the tables",
             non_negative());
  v.optional("split_floor", s.split_floor, "time to add up the parts of a divided sum",
             non_negative());
}

template <class V>
void describe(V& v, AttentionKernels& s)
{
  v.required("efficiency", s.efficiency, "share of the peak with long sequences, heads of 128",
             between(0.01, 1));
  v.required("fill", s.fill, "keys that each block of queries costs beside its own",
             non_negative());
  v.required("floor", s.floor, "time of the shortest call", non_negative());
  v.optional("backward", s.backward, "rate of the backward pass beside the forward one",
             between(0.01, 2));
  v.optional("small_head", s.small_head, "rate with heads of 64 beside heads of 128",
             between(0.01, 2));
  v.optional("passes", s.passes, "of the operands over memory beside the kernel, in the tables",
             non_negative());
  v.optional("flash2", s.flash2, "rate of FlashAttention-2 beside the measured kernel",
             between(0.01, 2));
}

template <class V>
void describe(V& v, GpuKernels& s)
{
  v.optional("half", s.half, "products in fp16 and bf16");
  v.optional("fp8", s.fp8, "products in fp8");
  v.optional("attention", s.attention, "attention in one kernel");
  v.optional("sustained_clock", s.sustained_clock,
             "clock under the power limit in long runs, beside that of short measurements",
             between(0.1, 1));
  v.optional("product_error", s.product_error,
             "relative standard deviation of what the curves leave over", between(0, 1));
}

} // namespace foretrain::platforms
