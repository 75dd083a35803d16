// A model whose kernel times were measured, not computed: what `foretrain model import` makes of a
// recording. Stands in a network file under "measured".
#pragma once

#include "models/networks/measured_spec.hpp"
#include "models/training/compute_profile.hpp"

namespace foretrain::models {

/// By how much kernels of a class take longer on the job's device than on the recorded one.
struct DeviceRatios {
  double product = 1;
  double memory = 1;
};

/// Time of a stretch: of its kernels alone, and in all. Where launches set the pace faster kernels
/// leave it as long as it was. `batch` and `launch` as below.
struct StretchTime {
  Seconds kernels, all;
};
StretchTime stretch_time(const MeasuredStretch& stretch, double scale, double batch,
                         const DeviceRatios& ratios, Seconds launch);

/// Times of a step with `batch` samples. A stretch in which the host could not launch faster stays
/// as long as it was even where kernels get shorter; idle time is not scaled, nor is the optimizer
/// by the batch. `launch`: what the host layer adds to each launch there.
ComputeProfile measured_profile(const MeasuredSpec& measured, int batch, const DeviceRatios& ratios,
                                Seconds launch = {});

} // namespace foretrain::models
