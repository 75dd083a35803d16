// What context-parallel ranks exchange in a layer.
#include "models/plans/planned_layer.hpp"

#include <algorithm>

namespace foretrain::models {

Exposure PlannedLayer::context(bool backward) const
{
  if (shape_.context < 2 || parts_.mixer == Mixer::none)
    return {};
  if (parts_.mixer != Mixer::attention)
    return turned_for_scan(backward);
  if (s_.memory.plan.context_exchange == ContextExchange::all_gather)
    return gathered(backward);
  Exposure both = turned_heads(backward);
  return both += ring(backward);
}

PlannedCall PlannedLayer::all_to_all(PlanGroup group, double values) const
{
  return {group, Operation::all_to_all,
          Bytes(shape_.tokens() * values / shape_.tensor * s_.memory.element), 1};
}

// Nothing is beside what is waited for.
Exposure PlannedLayer::waited_for(PlannedCalls calls) const
{
  const Seconds all = times_.time_of(calls);
  return {all, all, std::move(calls)};
}

// A scan needs all tokens of a head: what goes in is turned from all heads of some tokens to some
// heads of all tokens, and back (Megatron-Core, mamba_context_parallel.py).
Exposure PlannedLayer::turned_for_scan(bool backward) const
{
  const Transformer& t = s_.memory.model;
  const bool delta = parts_.mixer == Mixer::delta;
  PlannedCalls calls{
      all_to_all(PlanGroup::context, delta ? t.delta->projected() : t.mamba->projected()),
      all_to_all(PlanGroup::context, delta ? t.delta->values() : t.mamba->inner())};
  if (backward)
    std::swap(calls.front(), calls.back());
  return waited_for(std::move(calls));
}

// Queries, keys and values in, what attention makes of them out (arXiv:2309.14509).
Exposure PlannedLayer::turned_heads(bool backward) const
{
  if (shape_.context_heads < 2)
    return {};
  const Transformer& t = s_.memory.model;
  const double queries = static_cast<double>(t.heads) * t.head();
  const double keys = t.latent ? queries : static_cast<double>(t.kv()) * t.head();
  PlannedCalls calls{all_to_all(PlanGroup::heads, queries + 2 * keys),
                     all_to_all(PlanGroup::heads, queries)};
  if (backward)
    std::swap(calls.front(), calls.back());
  return waited_for(std::move(calls));
}

// A rank's keys and values of one layer.
Bytes PlannedLayer::keys() const
{
  const Transformer& t = s_.memory.model;
  const double kv = std::max(1.0, static_cast<double>(t.latent ? t.heads : t.kv()) / shape_.tensor);
  return Bytes(shape_.tokens() * 2 * kv * t.head() * s_.memory.element);
}

// Before attention, and again before its backward pass, whose gradients are added up behind it.
Exposure PlannedLayer::gathered(bool backward) const
{
  const Bytes all = static_cast<double>(shape_.context) * keys();
  PlannedCalls calls{{PlanGroup::context, Operation::all_gather, all, 1}};
  if (backward)
    calls.push_back({PlanGroup::context, Operation::reduce_scatter, all, 1});
  return waited_for(std::move(calls));
}

// Keys and values go round the ring beside the attention of those that are there.
Exposure PlannedLayer::ring(bool backward) const
{
  const int steps = shape_.context_parts() - 1;
  if (steps == 0)
    return {};
  PlannedCalls calls{
      {PlanGroup::ring, Operation::send_receive, (backward ? 2.0 : 1.0) * keys(), 1.0 * steps}};
  const Seconds step = times_.time_of(calls) / steps;
  Seconds attention;
  for (const Operator& op : operators_)
    if (op.kind == OperatorKind::attention)
      attention +=
          backward ? backward_time(op, s_.device).device : forward_time(op, s_.device).device;
  const Seconds beside = s_.rules.launch_blocking ? Seconds(0) : attention / shape_.context_parts();
  const Seconds over = std::max(Seconds(0), step - beside);
  return {steps * step, steps * (over + s_.rules.overlap_cost * std::min(step, beside)),
          std::move(calls)};
}

} // namespace foretrain::models
