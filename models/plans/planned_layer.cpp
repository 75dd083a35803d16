#include "models/plans/planned_layer.hpp"

#include <algorithm>

namespace foretrain::models {

namespace {

LossKernels loss_kernels(const TransformerRules& rules)
{
  if (rules.loss == LossRule::megatron)
    return LossKernels::megatron;
  const bool fused =
      rules.loss == LossRule::automatic ? rules.fused : rules.loss == LossRule::fused;
  return fused ? LossKernels::fused : LossKernels::pytorch;
}

} // namespace

PlannedLayer::PlannedLayer(const StepSetting& setting, ExchangeTimes& times, bool with_experts)
    : s_(setting), times_(times), shape_(operator_shape(setting)),
      experts_(with_experts && setting.memory.model.experts > 0),
      operators_(layer_operators(setting.memory.model, shape_, with_experts))
{
}

OperatorTime PlannedLayer::forward() const
{
  OperatorTime time = forward_time(operators_, s_.device);
  time.host += s_.rules.host_per_layer + collectives() * s_.rules.host_per_exchange;
  return time;
}

OperatorTime PlannedLayer::backward() const
{
  OperatorTime time = backward_time(operators_, s_.device);
  time.host += 0.5 * s_.rules.host_per_layer + collectives() * s_.rules.host_per_exchange;
  return time;
}

OperatorTime PlannedLayer::repeated() const
{
  switch (s_.memory.recompute) {
  case Recompute::none:
    return {};
  case Recompute::full:
    return forward();
  case Recompute::selective:
    break;
  }
  if (!s_.memory.modules.empty())
    return modules_time(operators_, s_.memory.modules, s_.device);
  if (s_.rules.selective == SelectiveRecompute::half) {
    const OperatorTime all = forward();
    return {0.5 * all.device, 0.5 * all.host};
  }
  // A fused kernel repeats the attention's core by itself.
  return shape_.flash ? OperatorTime{}
                      : modules_time(operators_, {LayerModule::core_attn}, s_.device);
}

bool PlannedLayer::repeats_feed_forward() const
{
  return s_.memory.recompute == Recompute::selective &&
         among(s_.memory.modules, experts_ ? LayerModule::moe : LayerModule::mlp);
}

LayerExchanges PlannedLayer::repeated_exchanges() const
{
  if (s_.memory.recompute == Recompute::full)
    return exchanges(false);
  if (!repeats_feed_forward())
    return {};
  Exposure of_tensor = tensor(false);
  if (of_tensor.whole.value() > 0) {
    PlannedCalls calls = feed_forward_calls();
    of_tensor = of_tensor.scaled(times_.time_of(calls) / of_tensor.whole);
    of_tensor.calls = std::move(calls);
  }
  return {of_tensor, {}, expert(false)};
}

LayerExchanges PlannedLayer::exchanges(bool backward) const
{
  return {tensor(backward), context(backward), expert(backward)};
}

Bytes PlannedLayer::activations() const
{
  return Bytes(shape_.tokens() * s_.memory.model.hidden * s_.memory.element);
}

// What a GPU's tokens are on their way to experts, once for each.
Bytes PlannedLayer::routed() const
{
  return Bytes(shape_.own_tokens() * s_.memory.model.top_k * s_.memory.model.hidden *
               s_.memory.element);
}

// Of tensor-parallel ranks in one pass.
int PlannedLayer::collectives() const
{
  return shape_.tensor < 2 ? 0 : shape_.sequence_parallel ? 4 : 2;
}

// Brought together before a product and added up behind it; one all-reduce is both.
PlannedCalls PlannedLayer::both_ways(PlanGroup group, Bytes size, double times) const
{
  if (!shape_.sequence_parallel)
    return {{group, Operation::all_reduce, size, times}};
  return {{group, Operation::all_gather, size, times},
          {group, Operation::reduce_scatter, size, times}};
}

PlannedCalls PlannedLayer::feed_forward_calls() const
{
  if (!experts_)
    return both_ways(PlanGroup::tensor, activations(), 1);
  const bool cut = shape_.expert_tensor > 1;
  // Experts that are not cut take the tokens that each rank holds; else those that came to the
  // ranks that share an expert go to all of them.
  const int times =
      (s_.memory.model.shared_experts > 0 ? 1 : 0) + (cut && !shape_.sequence_parallel ? 1 : 0);
  PlannedCalls calls;
  if (times > 0)
    calls = both_ways(PlanGroup::tensor, activations(), times);
  if (cut && shape_.sequence_parallel)
    for (const PlannedCall& call : both_ways(
             PlanGroup::expert_tensor, static_cast<double>(shape_.expert_tensor) * routed(), 1))
      calls.push_back(call);
  return calls;
}

PlannedCalls PlannedLayer::tensor_calls() const
{
  PlannedCalls calls = both_ways(PlanGroup::tensor, activations(), 1);
  for (const PlannedCall& call : feed_forward_calls())
    calls.push_back(call);
  return calls;
}

Exposure PlannedLayer::tensor(bool backward) const
{
  if (shape_.tensor < 2)
    return {};
  PlannedCalls calls = tensor_calls();
  const Seconds all = times_.time_of(calls);
  if (!s_.rules.overlap_tensor)
    return {all, all, std::move(calls)};
  // In as many parts as there are ranks, each beside the product of the one before.
  Seconds products;
  for (const Operator& op : operators_)
    if (op.weights)
      products +=
          backward ? 0.5 * backward_time(op, s_.device).device : forward_time(op, s_.device).device;
  const Seconds part = all / shape_.tensor;
  const Seconds rest = all - part;
  const Seconds hidden = std::min(rest, products);
  return {all, part + (rest - hidden) + s_.rules.overlap_cost * hidden, std::move(calls)};
}

// Keys and values go round the ring beside the attention of those that are there.
Exposure PlannedLayer::context(bool backward) const
{
  if (shape_.context < 2)
    return {};
  const Transformer& t = s_.memory.model;
  const double kv = std::max(1.0, static_cast<double>(t.latent ? t.heads : t.kv()) / shape_.tensor);
  const Bytes block(shape_.tokens() * 2 * kv * t.head() * s_.memory.element);
  const int steps = shape_.context - 1;
  PlannedCalls calls{
      {PlanGroup::context, Operation::send_receive, backward ? 2 * block : block, 1.0 * steps}};
  const Seconds step = times_.time_of(calls) / steps;
  Seconds attention;
  for (const Operator& op : operators_)
    if (op.kind == OperatorKind::attention)
      attention +=
          backward ? backward_time(op, s_.device).device : forward_time(op, s_.device).device;
  const Seconds beside = attention / shape_.context;
  const Seconds over = std::max(Seconds(0), step - beside);
  return {steps * step, steps * (over + s_.rules.overlap_cost * std::min(step, beside)),
          std::move(calls)};
}

// Tokens go to their experts and come back.
Exposure PlannedLayer::expert(bool backward) const
{
  if (!experts_ || shape_.expert < 2)
    return {};
  PlannedCalls calls{{PlanGroup::expert, Operation::all_to_all, routed(), 2}};
  const Seconds both = times_.time_of(calls);
  if (!s_.rules.overlap_expert)
    return {both, both, std::move(calls)};
  const Seconds beside = 0.5 * (backward ? this->backward() : forward()).time();
  const Seconds hidden = std::min(both, beside);
  return {both, both - hidden + s_.rules.overlap_cost * hidden, std::move(calls)};
}

OperatorShape operator_shape(const StepSetting& s)
{
  OperatorShape shape;
  shape.micro_batch = s.memory.batch.micro_batch;
  shape.sequence = s.memory.batch.sequence;
  shape.tensor = s.memory.plan.tensor;
  shape.context = s.memory.plan.context;
  shape.expert = s.memory.plan.expert;
  shape.expert_tensor = s.memory.plan.expert_tensor;
  shape.sequence_parallel = s.memory.plan.sequence_parallel && s.memory.plan.tensor > 1;
  shape.flash = s.memory.flash;
  shape.fused = s.rules.fused;
  shape.loss = loss_kernels(s.rules);
  shape.fp8 = s.fp8;
  shape.element = s.memory.element;
  shape.adapters = s.memory.adapters;
  shape.accumulate = s.rules.gradient == GradientPrecision::fp32 ? 4 : s.memory.element;
  return shape;
}

} // namespace foretrain::models
