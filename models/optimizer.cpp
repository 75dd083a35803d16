#include "models/optimizer.hpp"

#include <algorithm>

namespace foretrain::models {

Optimizer load_optimizer(const Value& reference)
{
  return read_as<Optimizer>(resolve_preset(reference, kOptimizerKind));
}

const OptimizerForm& form_of(const Optimizer& optimizer, const std::string& style)
{
  const std::string& wanted = optimizer.style.empty() ? style : optimizer.style;
  if (wanted == "foreach" && optimizer.foreach_)
    return *optimizer.foreach_;
  if (wanted == "per-tensor" && optimizer.per_tensor)
    return *optimizer.per_tensor;
  if (wanted == "graph" && optimizer.graph)
    return *optimizer.graph;
  return optimizer.fused;
}

OptimizerCost optimizer_cost(const Optimizer& optimizer, const std::string& style,
                             double parameters, double tensors, double copy_bytes,
                             const sim::Roofline& device)
{
  const OptimizerForm& form = form_of(optimizer, style);
  const double bytes = optimizer.fused.bytes_per_parameter + copy_bytes;
  OptimizerCost cost;
  cost.kernels =
      device({Flops(optimizer.flops_per_parameter * parameters), Bytes(bytes * parameters)}) +
      std::max(0.0, optimizer.fused.launches - 1) * device.launch;
  const double passes =
      std::max(0.0, form.bytes_per_parameter - optimizer.fused.bytes_per_parameter);
  cost.launches = form.launches + tensors * form.launches_per_tensor;
  cost.exposed =
      form.host + tensors * form.host_per_tensor + Bytes(passes * parameters) / device.memory;
  return cost;
}

} // namespace foretrain::models
