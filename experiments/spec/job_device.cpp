#include "experiments/spec/job_device.hpp"

#include "experiments/spec/job_framework.hpp"
#include "experiments/spec/kernel_curves.hpp"

#include <algorithm>

namespace foretrain::experiments {

using sim::Precision;

namespace {

// Of large kernels, as the framework's library of kernels reaches it.
double dense_efficiency(const platforms::Gpu& gpu, const std::string& library, Precision precision)
{
  for (const platforms::Generation& generation : gpu.generations)
    if (generation.library == library && generation.precision == precision)
      return generation.dense_efficiency;
  return precision_rate(gpu, precision)->dense_efficiency;
}

} // namespace

models::Device device_for(const platforms::PlatformSpec& platform, const platforms::Stack& stack,
                          const JobSpec& job, const models::Framework& framework, const Value& at)
{
  const platforms::Gpu& gpu = platform.gpu;
  static constexpr Precision kOfNetworks[] = {Precision::fp32, Precision::tf32, Precision::fp16,
                                              Precision::bf16, Precision::int8};
  checked_rate(gpu, job.precision, kOfNetworks, at);
  const Precision arithmetic = arithmetic_of(gpu, job.precision, job.mode != JobMode::inference);
  const platforms::PrecisionRate& dense = *precision_rate(gpu, arithmetic);
  if (job.precision == Precision::int8 && job.mode != JobMode::inference)
    at.fail_at("precision", "is 'int8', in which no network is trained",
               "set \"mode\": \"inference\", or another precision");
  const platforms::PrecisionRate& ordinary = gpu.fp32 ? *gpu.fp32 : dense;
  const BytesPerSecond memory = gpu.memory_efficiency * gpu.memory_bandwidth;
  const Seconds launch = (framework.launches_ahead ? std::min(gpu.kernel_floor, gpu.kernel_launch)
                                                   : gpu.kernel_launch) +
                         stack.host.kernel_launch;
  models::Device device;
  const double efficiency = dense_efficiency(gpu, framework.kernel_library, arithmetic);
  device.dense = {dense.peak, efficiency, memory, launch, gpu.on_host()};
  device.ordinary = {ordinary.peak, 1.0, memory, launch, gpu.on_host(), gpu.function_time};
  if (!gpu.on_host()) {
    device.tiles = layer_curve(gpu, arithmetic, efficiency);
    if (has_product_kernels(gpu, arithmetic)) {
      device.products = product_curve(gpu, arithmetic);
      device.clock = sustained_clock(gpu);
    }
  }
  device.direct = direct_rate(gpu, framework.kernels.direct_instructions);
  const bool half = sixteen_bits(job.precision);
  for (sim::Roofline* rate : {&device.dense, &device.ordinary}) {
    rate->cache = gpu.cache;
    rate->cached = gpu.cache_bandwidth;
  }
  device.bytes_per_element = static_cast<int>(bytes_of(job.precision));
  device.ranks = job.gpus;
  device.tables = framework.tables;
  device.frequent_rows = framework.frequent_rows;
  device.tensor_cores = half && on_tensor_cores(gpu, job.precision);
  device.fused_elementwise = framework.fused_elementwise;
  device.kernels = framework.kernels;
  device.autocast = models::autocast_of(framework.kernels.autocast, job.precision);
  device.operation_gap = framework.operation_gap;
  device.launches = launches_of(framework, gpu, stack.host, job.precision);
  device.optimizer_style = framework.optimizer_style;
  device.master_weights = half;
  device.minimal_filtering = job.precision == Precision::fp32 || (half && !device.tensor_cores);
  return device;
}

models::ComputeProfile profile_of(const ResolvedJob& job, const models::Device& device)
{
  return job.spec.mode == JobMode::inference
             ? models::inference_profile(job.network, job.spec.batch_per_gpu, device)
             : models::compute_profile(job.network, job.spec.batch_per_gpu, device);
}

} // namespace foretrain::experiments
