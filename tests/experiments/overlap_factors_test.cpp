// Kernels beside a collective on V100: the preset's parameters against the published intervals of
// the trace that they were fitted to (docs/calibration-data.md).
#include "models/training/compute_profile.hpp"
#include "platforms/parts.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::overlap_factors_test {

namespace {

struct Kernels {
  const char* row; // of the recommender on two V100, rows overlap-recommender-2x-v100-sxm2-16gb-*
  double product_ms, products, other_ms, others; // time without a collective, and how many
  double low, high;                              // 90 % interval of the factor
};

models::LayerTime kernels(double ms, double count, bool product)
{
  models::LayerTime time;
  time.backward = Seconds(1e-3 * ms);
  time.backward_kernels = count;
  time.product = product;
  return time;
}

} // namespace

TEST_CASE("V100's kernels beside a collective slow down as in the trace", "[overlap]")
{
  const auto gpu =
      read_as<platforms::Gpu>(resolve_preset(std::string("v100-sxm2-16gb"), platforms::kGpuKind));
  const double held = 2.0 / gpu.multiprocessors; // the trace's two channels
  for (const Kernels& it : {Kernels{"10us", 0, 0, 0.412, 104, 1.168, 1.261},
                            Kernels{"10-50us", 0, 0, 1.038, 48, 1.049, 1.085},
                            Kernels{"50-200us", 0, 0, 2.005, 19, 1.041, 1.231},
                            Kernels{"200us", 0, 0, 5.132, 7, 1.029, 1.072},
                            Kernels{"products", 3.186, 53, 0, 0, 1.044, 1.188},
                            Kernels{"memory-bound-10us", 0, 0, 5.031, 26, 1.029, 1.074},
                            Kernels{"all", 3.186, 53, 5.4, 125, 1.053, 1.111}}) {
    models::ComputeProfile profile;
    profile.layers = {kernels(it.product_ms, it.products, true),
                      kernels(it.other_ms, it.others, false)};
    const double slowed = models::slowed_beside_collective(
        profile, held, gpu.beside_collective.products, gpu.beside_collective.memory_bound,
        gpu.beside_collective.per_kernel);
    INFO(it.row << ": " << slowed);
    CHECK(slowed >= it.low);
    CHECK(slowed <= it.high);
  }
}

} // namespace foretrain::overlap_factors_test
