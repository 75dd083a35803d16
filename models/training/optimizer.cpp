#include "models/training/optimizer.hpp"

#include <algorithm>

namespace foretrain::models {

Optimizer load_optimizer(const Value& reference)
{
  return read_as<Optimizer>(resolve_preset(reference, kOptimizerKind));
}

const OptimizerForm& form_of(const Optimizer& optimizer, OptimizerStyle style)
{
  const std::optional<OptimizerForm>* form = nullptr;
  switch (optimizer.style.value_or(style)) {
  case OptimizerStyle::fused:
    return optimizer.fused;
  case OptimizerStyle::foreach_:
    form = &optimizer.foreach_;
    break;
  case OptimizerStyle::per_tensor:
    form = &optimizer.per_tensor;
    break;
  case OptimizerStyle::graph:
    form = &optimizer.graph;
    break;
  }
  return form != nullptr && *form ? **form : optimizer.fused;
}

OptimizerCost optimizer_cost(const Optimizer& optimizer, OptimizerStyle style, double parameters,
                             double tensors, double copy_bytes, const sim::Roofline& device,
                             Bytes beside)
{
  const OptimizerForm& form = form_of(optimizer, style);
  const double bytes = optimizer.fused.bytes_per_parameter + copy_bytes;
  OptimizerCost cost;
  const Bytes traffic(bytes * parameters);
  const double passes =
      std::max(0.0, form.bytes_per_parameter - optimizer.fused.bytes_per_parameter);
  cost.kernels = device(Flops(optimizer.flops_per_parameter * parameters),
                        device.moving(traffic, traffic + beside)) +
                 std::max(0.0, optimizer.fused.launches - 1) * device.launch;
  cost.launches = form.launches + tensors * form.launches_per_tensor;
  cost.host = form.host + tensors * form.host_per_tensor;
  cost.passes = Bytes(passes * parameters) / device.memory;
  return cost;
}

} // namespace foretrain::models
