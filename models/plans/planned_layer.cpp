#include "models/plans/planned_layer.hpp"

#include "models/transformer/routing.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::models {

namespace {

// From one kernel of a CUDA graph to the next (XLA's command buffers, maxtext.json).
constexpr Seconds kGraphLaunch{1e-6};

LossKernels loss_kernels(const TransformerRules& rules, bool fused_elementwise)
{
  if (rules.loss == LossRule::megatron)
    return LossKernels::megatron;
  const bool fused =
      rules.loss == LossRule::automatic ? fused_elementwise : rules.loss != LossRule::pytorch;
  return fused ? LossKernels::fused : LossKernels::pytorch;
}

} // namespace

PlannedLayer::PlannedLayer(const StepSetting& setting, ExchangeTimes& times,
                           const LayerParts& parts)
    : s_(setting), times_(times), shape_(operator_shape(setting, parts)), parts_(parts),
      operators_(layer_operators(setting.memory.model, shape_, parts)), graphs_(setting.device)
{
  if (graphs_.launches)
    graphs_.launches =
        HostLaunches{.per_kernel = std::min(kGraphLaunch, graphs_.launches->per_kernel)};
}

const TransformerDevice& PlannedLayer::device_of(const Operator& op) const
{
  switch (s_.rules.cuda_graphs) {
  case CudaGraphs::none:
    return s_.device;
  case CudaGraphs::all:
    return graphs_;
  case CudaGraphs::layer:
    break;
  }
  return parts_.has_experts() && op.module && among({LayerModule::moe}, *op.module) ? s_.device
                                                                                    : graphs_;
}

OperatorTime PlannedLayer::operators_time(bool backward) const
{
  OperatorTime time;
  for (const Operator& op : operators_)
    time += backward ? backward_time(op, device_of(op)) : forward_time(op, device_of(op));
  time.host += (collectives() + static_cast<double>(adapter_calls(backward).size())) *
               s_.rules.host_per_exchange;
  return time;
}

// Of passes, those that no pass of another micro-batch and the other direction runs beside: the
// first forward ones and the last backward ones. Megatron-Core (schedules.py, with
// overlap_moe_expert_parallel_comm) begins with 2 (stages - 1 - stage) + (pieces - 1) stages + 1
// of micro_batches x pieces, in the mean of the stages pieces x stages. Schedules that return
// pair them from both ends.
double PlannedLayer::alone() const
{
  const ParallelPlan& plan = s_.memory.plan;
  if (returns(plan.schedule))
    return 0;
  return std::min(1.0, static_cast<double>(plan.pipeline) / s_.memory.batch.micro_batches);
}

// The host asks how many tokens came for each expert, unless none may come too many, and launches
// the experts' work one by one. The first is not there where router and preparation are a graph,
// neither where everything is. Another micro-batch's work hides the first, while tokens travel; the
// second stands in one stream with it (Megatron-Core, model_chunk_schedule_plan.py: comp_stream).
Seconds PlannedLayer::wait_for_host() const
{
  if (!parts_.has_experts() || s_.rules.cuda_graphs == CudaGraphs::all)
    return Seconds(0);
  const bool asks = s_.rules.dropless && s_.rules.cuda_graphs == CudaGraphs::none;
  const double held = std::ceil(s_.memory.model.experts / static_cast<double>(shape_.expert));
  const Seconds asking = asks ? s_.rules.host_per_routing : Seconds(0);
  return (s_.rules.overlap_expert ? alone() : 1.0) * asking + held * s_.rules.host_per_expert;
}

// The device waits with the host: where it waits for each launch anyway, not a second time.
OperatorTime PlannedLayer::waiting() const
{
  const Seconds wait = wait_for_host();
  const Seconds idle = s_.rules.launch_blocking ? Seconds(0) : wait;
  return {idle, wait, idle};
}

OperatorTime PlannedLayer::forward() const
{
  OperatorTime time = operators_time(false);
  return time += waiting();
}

OperatorTime PlannedLayer::backward() const
{
  return operators_time(true);
}

OperatorTime PlannedLayer::repeated() const
{
  if (parts_.kept)
    return {};
  switch (s_.memory.recompute) {
  case Recompute::none:
    return {};
  case Recompute::full:
    return forward();
  case Recompute::selective:
    break;
  }
  if (!s_.memory.modules.empty()) {
    OperatorTime time = modules_time(operators_, s_.memory.modules, s_.device);
    if (parts_.has_experts() && among(s_.memory.modules, LayerModule::moe))
      time += waiting();
    return time;
  }
  OperatorTime time;
  switch (s_.rules.selective) {
  case SelectiveRecompute::half:
    time = forward();
    return {0.5 * time.device, 0.5 * time.host, 0.5 * time.idle};
  case SelectiveRecompute::operations:
    for (const Operator& op : operators_) {
      const OperatorTime one = forward_time(op, device_of(op));
      time += {op.repeated * one.device, op.repeated * one.host};
    }
    return time;
  case SelectiveRecompute::attention: // a fused kernel repeats it by itself
    if (shape_.flash)
      return {};
    break;
  case SelectiveRecompute::core:
    break;
  }
  return modules_time(operators_, {LayerModule::core_attn}, s_.device);
}

bool PlannedLayer::repeats_feed_forward() const
{
  return s_.memory.recompute == Recompute::selective && parts_.feed != FeedForward::none &&
         among(s_.memory.modules, parts_.has_experts() ? LayerModule::moe : LayerModule::mlp);
}

// Where products are repeated by operation, what was added up among tensor-parallel ranks is kept,
// and what they brought together is not (torchtitan, parallelize_llama.py, _save_list).
Exposure PlannedLayer::gathered_again() const
{
  if (s_.memory.recompute != Recompute::selective || !s_.memory.modules.empty() ||
      s_.rules.selective != SelectiveRecompute::operations)
    return {};
  PlannedCalls calls = tensor_calls();
  std::erase_if(calls, [](const PlannedCall& call) {
    return call.group != PlanGroup::tensor || call.operation != Operation::all_gather;
  });
  return exposed_tensor(std::move(calls), false);
}

LayerExchanges PlannedLayer::repeated_exchanges() const
{
  if (parts_.kept)
    return {};
  if (s_.memory.recompute == Recompute::full)
    return exchanges(false);
  if (Exposure again = gathered_again(); again.whole.value() > 0)
    return {std::move(again), {}, {}};
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
  Exposure of_tensor = tensor(backward);
  of_tensor += waited_for(adapter_calls(backward));
  return {std::move(of_tensor), context(backward), expert(backward)};
}

Bytes PlannedLayer::activations() const
{
  return Bytes(shape_.tokens() * s_.memory.model.hidden * s_.memory.element);
}

// What a GPU's tokens are on their way to experts, once for each.
Bytes PlannedLayer::routed() const
{
  return Bytes(shape_.own_tokens() * s_.memory.model.top_k * s_.memory.model.routed_hidden() *
               s_.memory.element);
}

// Of tensor-parallel ranks in one pass.
int PlannedLayer::collectives() const
{
  const int parts =
      s_.memory.model.block != Block::sequential
          ? 1
          : (parts_.mixer != Mixer::none ? 1 : 0) + (parts_.feed != FeedForward::none ? 1 : 0);
  return shape_.tensor < 2 ? 0 : parts * (shape_.sequence_parallel ? 2 : 1);
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
  if (parts_.feed == FeedForward::none || (!parts_.has_experts() && shape_.tensor < 2))
    return {};
  if (!parts_.has_experts())
    return both_ways(PlanGroup::tensor, activations(), 1);
  // Experts that are not cut take the tokens that each rank holds; else those that came to the
  // ranks that share an expert go to all of them.
  const double sharers = shape_.expert_sharers();
  const bool same_tokens = shape_.expert_tensor > 1 && sharers == 1;
  const int times = (s_.memory.model.shared_experts > 0 ? 1 : 0) + (same_tokens ? 1 : 0);
  PlannedCalls calls;
  if (times > 0 && shape_.tensor > 1)
    calls = both_ways(PlanGroup::tensor, activations(), times);
  if (sharers > 1)
    for (const Operation way : {Operation::all_gather, Operation::reduce_scatter})
      calls.push_back({PlanGroup::expert_tensor, way, sharers * routed(), 1});
  return calls;
}

PlannedCalls PlannedLayer::tensor_calls() const
{
  PlannedCalls calls;
  if (shape_.tensor > 1 && parts_.mixer != Mixer::none)
    calls = both_ways(PlanGroup::tensor, activations(), 1);
  // Parallel parts take the same tokens, and their results are added up before they are exchanged.
  if (s_.memory.model.block != Block::sequential)
    return calls;
  for (const PlannedCall& call : feed_forward_calls())
    calls.push_back(call);
  return calls;
}

Exposure PlannedLayer::tensor(bool backward) const
{
  if (shape_.tensor < 2 && !(parts_.has_experts() && shape_.expert_tensor > 1))
    return {};
  return exposed_tensor(tensor_calls(), backward);
}

Exposure PlannedLayer::exposed_tensor(PlannedCalls calls, bool backward) const
{
  const Seconds all = times_.time_of(calls);
  if (!s_.rules.overlap_tensor)
    return {all, all, std::move(calls)};
  return {all, exposed_beside_products(calls, backward), std::move(calls)};
}

// In as many parts as there are ranks, each beside the part before of the product that it belongs
// to: what comes in beside the product that needs it, what goes out beside the one that makes it. A
// short product hides no more than its own time. In the backward pass ends change places, and one
// of a product's two is beside its exchange. What goes out as the sum of several products is beside
// none of them (PyTorch, micro_pipeline_tp.py, _find_producer_matmul), nor is what an adapter takes
// or adds to, too (NeMo, return_layernorm_output_gathered with tp_comm_overlap_disable_qkv). Ranks
// that share experts exchange without overlap.
Seconds PlannedLayer::exposed_beside_products(const PlannedCalls& calls, bool backward) const
{
  std::vector<Seconds> in, out; // products, in the order of the layer, as are the calls
  for (const Operator& op : operators_) {
    if (op.end == TensorEnd::none)
      continue;
    const bool enters = (op.end == TensorEnd::in) != backward;
    std::vector<Seconds>& products = enters ? in : out;
    const Seconds time = backward ? (op.frozen ? 1.0 : 0.5) * backward_time(op, s_.device).device
                                  : forward_time(op, s_.device).device;
    if (!op.same_input)
      products.push_back(time);
    else
      products.back() = enters ? products.back() + time : Seconds(0);
    if (op.adapted && op.end == TensorEnd::in)
      products.back() = Seconds(0);
  }
  std::size_t gathers = 0;
  std::size_t others = 0;
  Seconds exposed;
  for (const PlannedCall& call : calls) {
    const bool gather = call.operation == Operation::all_gather;
    const std::vector<Seconds>& beside = gather ? in : out;
    const std::size_t which = gather ? gathers++ : others++;
    const Seconds once = times_.time(call.group, call.operation, call.size);
    const double later = 1 - 1.0 / shape_.tensor; // all parts but the first
    const bool overlaps = call.group == PlanGroup::tensor && which < beside.size();
    const Seconds hidden = overlaps ? later * std::min(once, beside[which]) : Seconds(0);
    exposed += call.times * (once - hidden + s_.rules.overlap_cost * hidden);
  }
  return exposed;
}

// To the experts and back. Libraries that send one copy to each place instead of one for each
// expert send one to each node, where it is handed on to each GPU that has one of its experts
// (DeepEP, csrc/kernels/internode.cu: forwarders of RDMA to NVLink), piece by piece: the longer of
// both takes the time.
PlannedCalls PlannedLayer::expert_calls() const
{
  const double choices = s_.memory.model.top_k;
  const auto all_to_all = [&](double share, PlanGroup among = PlanGroup::expert) {
    // The fullest GPU takes in more than the others.
    return PlannedCalls{
        {among, Operation::all_to_all, share * s_.memory.expert_load * routed(), 2}};
  };
  switch (s_.rules.dispatcher) {
  case Dispatcher::all_to_all:
    break;
  case Dispatcher::all_gather: {
    const Bytes all = shape_.expert / choices * routed();
    return {{PlanGroup::expert, Operation::all_gather, all, 1},
            {PlanGroup::expert, Operation::reduce_scatter, all, 1}};
  }
  case Dispatcher::deep_ep:
  case Dispatcher::hybrid_ep: {
    const int nodes = times_.nodes(PlanGroup::expert);
    const double copies = places_reached(s_.memory.model, shape_.expert) / choices;
    if (nodes < 2)
      return all_to_all(copies);
    PlannedCalls between = all_to_all(places_reached(s_.memory.model, nodes) / choices);
    if (times_.ranks(PlanGroup::expert_node) < 2)
      return between;
    PlannedCalls inside = all_to_all(copies, PlanGroup::expert_node);
    return times_.time_of(inside) > times_.time_of(between) ? inside : between;
  }
  }
  return all_to_all(1);
}

// Tokens go to their experts and come back.
Exposure PlannedLayer::expert(bool backward) const
{
  if (!parts_.has_experts() || shape_.expert < 2)
    return {};
  PlannedCalls calls = expert_calls();
  const Seconds both = times_.time_of(calls);
  if (!s_.rules.overlap_expert)
    return {both, both, std::move(calls)};
  const Seconds beside = 0.5 * (backward ? this->backward() : forward()).time();
  const Seconds hidden = (1 - alone()) * std::min(both, beside);
  return {both, both - hidden + s_.rules.overlap_cost * hidden, std::move(calls)};
}

OperatorShape operator_shape(const StepSetting& s, const LayerParts& parts)
{
  OperatorShape shape;
  const PlannedBatch& batch = s.memory.batch;
  shape.sequence = batch.attended();
  shape.micro_batch = batch.micro_batch * batch.tokens_per_sample() / shape.sequence;
  shape.tensor = s.memory.plan.tensor;
  shape.context = s.memory.plan.context;
  shape.context_heads = s.memory.plan.context_heads;
  shape.context_gathered = s.memory.plan.context_exchange == ContextExchange::all_gather;
  shape.expert = s.memory.plan.expert;
  shape.expert_tensor = s.memory.plan.expert_tensor;
  shape.sequence_parallel = s.memory.plan.sequence_parallel && s.memory.plan.tensor > 1;
  shape.flash = s.memory.flash;
  shape.fused = s.fused_elementwise;
  shape.composed = s.composed;
  shape.autocast = s.fused_elementwise ? Autocast::none : s.autocast;
  shape.fused_activation = s.rules.fused_activation;
  shape.fused_rotary = s.rules.fused_rotary;
  shape.fused_rotary_scale = s.rules.fused_rotary_scale;
  shape.fused_experts = s.rules.fused_experts;
  shape.op_fuser = s.rules.op_fuser;
  shape.joined = s.rules.joined_projections;
  shape.copied_heads = s.rules.copied_heads;
  shape.loss = loss_kernels(s.rules, s.fused_elementwise);
  shape.element = s.memory.element;
  shape.operand = parts.wide ? s.memory.element : s.memory.operand;
  shape.conversion = parts.wide ? Conversion{} : s.conversion;
  shape.skew = s.memory.expert_load;
  shape.scan = s.rules.scan_efficiency;
  shape.adapters = s.memory.adapters;
  shape.accumulate = s.rules.gradient == GradientPrecision::fp32 ? 4 : s.memory.element;
  shape.separate_sums = s.rules.gradient_sum == GradientSum::kernels || s.memory.keeps_weights();
  return shape;
}

} // namespace foretrain::models
