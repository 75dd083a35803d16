#include "models/plans/optimizer_time.hpp"

#include <algorithm>

namespace foretrain::models {

OperatorTime optimizer_time(const StepSetting& s, const PieceParameters& trained, int layers)
{
  const double own = s.memory.plan.zero > 0 ? s.memory.share_of(trained) : trained.total();
  const double on_device = own * (1 - s.memory.state.offload);
  Seconds time = Bytes(on_device * s.rules.optimizer_bytes) / s.device.memory;
  // Four products and two norms of a layer, or six where queries, keys and values are apart, each
  // with its bias where there are any.
  const double weights = s.rules.joined_projections ? 6 : 8;
  const double tensors = (s.memory.model.has_bias() ? 2 : 1) * weights * layers;
  const HostLaunches host = s.device.launches.value_or(HostLaunches{.per_kernel = Seconds(0)});
  const Seconds launches =
      host.time(0, tensors * (s.rules.optimizer_kernels + host.checks_per_gradient));
  const int shards = s.memory.weight_shards();
  Seconds idle;
  if (s.memory.plan.zero > 0 && shards > 1)
    idle = tensors * shards * s.rules.host_per_shard;
  // Gradients go to the host, where cores that all ranks of the node share run Adam; weights come
  // back.
  const double away = own * s.memory.state.offload;
  if (away > 0)
    idle +=
        Bytes(away * 6) / s.host_link + Bytes(away * s.rules.host_optimizer_bytes) / s.host_memory;
  time += idle;
  if (s.rules.launch_blocking)
    return {time + launches, Seconds(0), idle + launches};
  // A host that waits for the device in each micro-batch launches no update ahead of it.
  if (s.rules.host_per_micro_batch.value() > 0)
    return {std::max(time, launches), Seconds(0), idle};
  return {time, launches, idle};
}

} // namespace foretrain::models
