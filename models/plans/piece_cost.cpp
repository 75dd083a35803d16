#include "models/plans/piece_cost.hpp"

#include <algorithm>

namespace foretrain::models {

namespace {

// Exchanges of one layer, or of what stands at the ends, in one pass.
struct Exposed {
  Seconds tensor, context, expert;

  // Where the host is behind the device, exchanges fill the device's gaps.
  void fill_gaps(const OperatorTime& work)
  {
    const Seconds all = tensor + context + expert;
    const Seconds gaps = std::max(Seconds(0), work.host - work.device);
    const double left = all > gaps ? (all - gaps) / all : 0;
    for (Seconds* each : {&tensor, &context, &expert})
      *each = left * *each;
  }
};

class PlannedLayer {
public:
  PlannedLayer(const StepSetting& setting, ExchangeTimes& times, bool with_experts)
      : s_(setting), times_(times), shape_(operator_shape(setting)),
        experts_(with_experts && setting.memory.model.experts > 0),
        operators_(layer_operators(setting.memory.model, shape_, with_experts))
  {
  }

  OperatorTime forward() const
  {
    OperatorTime time = forward_time(operators_, s_.device);
    time.host += s_.rules.host_per_layer + collectives() * s_.rules.host_per_exchange;
    return time;
  }
  OperatorTime backward() const
  {
    OperatorTime time = backward_time(operators_, s_.device);
    time.host += 0.5 * s_.rules.host_per_layer + collectives() * s_.rules.host_per_exchange;
    return time;
  }
  OperatorTime core() const { return core_time(operators_, s_.device); }

  Exposed exchanges(bool backward) const
  {
    return {tensor(backward), context(backward), expert(backward)};
  }

private:
  Bytes activations() const
  {
    return Bytes(shape_.tokens() * s_.memory.model.hidden * s_.memory.element);
  }

  // Of tensor-parallel ranks in one pass.
  int collectives() const { return shape_.tensor < 2 ? 0 : shape_.sequence_parallel ? 4 : 2; }

  // Two exchanges of attention and two of the feed-forward part; one all-reduce is both of them.
  Seconds tensor(bool backward) const
  {
    if (shape_.tensor < 2)
      return Seconds(0);
    Seconds one;
    if (shape_.sequence_parallel)
      one = times_.time(PlanGroup::tensor, Operation::all_gather, activations()) +
            times_.time(PlanGroup::tensor, Operation::reduce_scatter, activations());
    else
      one = times_.time(PlanGroup::tensor, Operation::all_reduce, activations());
    // Experts that are not cut take the tokens that each rank holds.
    const bool ffn = !experts_ || shape_.expert_tensor > 1 || s_.memory.model.shared_experts > 0;
    const Seconds all = (ffn ? 2.0 : 1.0) * one;
    if (!s_.rules.overlap_tensor)
      return all;
    // In as many parts as there are ranks, each beside the product of the one before.
    Seconds products;
    for (const Operator& op : operators_)
      if (op.weights)
        products += backward ? 0.5 * backward_time(op, s_.device).device
                             : forward_time(op, s_.device).device;
    const Seconds part = all / shape_.tensor;
    const Seconds rest = all - part;
    const Seconds hidden = std::min(rest, products);
    return part + (rest - hidden) + s_.rules.overlap_cost * hidden;
  }

  // Keys and values go round the ring beside the attention of those that are there.
  Seconds context(bool backward) const
  {
    if (shape_.context < 2)
      return Seconds(0);
    const Transformer& t = s_.memory.model;
    const double kv =
        std::max(1.0, static_cast<double>(t.latent ? t.heads : t.kv()) / shape_.tensor);
    const Bytes block(shape_.tokens() * 2 * kv * t.head() * s_.memory.element);
    const Seconds step =
        times_.time(PlanGroup::context, Operation::send_receive, backward ? 2 * block : block);
    Seconds attention;
    for (const Operator& op : operators_)
      if (op.kind == OperatorKind::attention)
        attention +=
            backward ? backward_time(op, s_.device).device : forward_time(op, s_.device).device;
    const Seconds beside = attention / shape_.context;
    const Seconds over = std::max(Seconds(0), step - beside);
    return (shape_.context - 1) * (over + s_.rules.overlap_cost * std::min(step, beside));
  }

  // Tokens go to their experts and come back.
  Seconds expert(bool backward) const
  {
    if (!experts_ || shape_.expert < 2)
      return Seconds(0);
    const Bytes sent(shape_.own_tokens() * s_.memory.model.top_k * s_.memory.model.hidden *
                     s_.memory.element);
    const Seconds both = 2 * times_.time(PlanGroup::expert, Operation::all_to_all, sent);
    if (!s_.rules.overlap_expert)
      return both;
    const Seconds beside = 0.5 * (backward ? this->backward() : forward()).time();
    const Seconds hidden = std::min(both, beside);
    return both - hidden + s_.rules.overlap_cost * hidden;
  }

  const StepSetting& s_;
  ExchangeTimes& times_;
  OperatorShape shape_;
  bool experts_;
  std::vector<Operator> operators_;
};

// Weights of a layer gathered for a pass, gradients added up in the backward one; the next layer's
// travel while this one computes.
Seconds shared_weights(const StepSetting& s, ExchangeTimes& times, const PieceParameters& held,
                       Seconds compute, int layers, bool backward)
{
  const ParallelPlan& plan = s.memory.plan;
  if (plan.zero < 2 || layers == 0)
    return Seconds(0);
  const PlanGroup group =
      plan.shard == "node" && plan.zero == 3 ? PlanGroup::shard : PlanGroup::data;
  const double gradient = s.rules.reduce == "fp32" ? 4 : s.memory.element;
  Seconds exchange;
  const auto add = [&](PlanGroup among, double parameters) {
    if (parameters <= 0 || times.ranks(among) < 2)
      return;
    if (plan.zero == 3 && s.rules.micro_batch_gathers > 0)
      exchange +=
          times.time(among, Operation::all_gather, Bytes(parameters / layers * s.memory.element));
    if (backward && plan.zero == 3)
      exchange +=
          times.time(among, Operation::reduce_scatter, Bytes(parameters / layers * gradient));
  };
  add(group, held.shared);
  add(PlanGroup::expert_data, held.experts);
  const Seconds of_layer = compute / layers;
  const Seconds hidden = std::min(exchange, of_layer);
  // The first layer's gather and the last one's gradients have nothing beside them.
  return (layers - 1) * (exchange - hidden + s.rules.overlap_cost * hidden) + exchange;
}

LossKernels loss_kernels(const TransformerRules& rules)
{
  if (rules.loss == "megatron")
    return LossKernels::megatron;
  const bool fused = rules.loss == "automatic" ? rules.fused : rules.loss == "fused";
  return fused ? LossKernels::fused : LossKernels::pytorch;
}

// Copies between a layer's tensors and the buffers of the exchanges that share them out. They fill
// the device like its other kernels.
OperatorTime sharing_copies(const StepSetting& s, const ExchangeTimes& times,
                            const PieceParameters& held, bool backward)
{
  const ParallelPlan& plan = s.memory.plan;
  if (plan.zero < 3)
    return {};
  const PlanGroup group = plan.shard == "node" ? PlanGroup::shard : PlanGroup::data;
  double parameters = 0;
  if (times.ranks(group) > 1)
    parameters += held.shared;
  if (times.ranks(PlanGroup::expert_data) > 1)
    parameters += held.experts;
  const double bytes = (s.rules.micro_batch_gathers > 0 ? s.rules.gather_bytes : 0) +
                       (backward ? s.rules.reduce_bytes : 0);
  return {Bytes(parameters * bytes) / s.device.memory, Seconds(0)};
}

} // namespace

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
  shape.accumulate = s.rules.gradient == "fp32" ? 4 : s.memory.element;
  return shape;
}

Bytes transfer_size(const StepSetting& s)
{
  const OperatorShape shape = operator_shape(s);
  return Bytes(shape.tokens() / s.memory.plan.tensor * s.memory.model.hidden * s.memory.element);
}

PieceCost piece_cost(const StepSetting& s, const Piece& piece, ExchangeTimes& times)
{
  const OperatorShape shape = operator_shape(s);
  PieceCost cost;
  cost.layers = piece.layers();
  OperatorTime forward, backward, repeated, output;
  Exposed ahead, back;
  const auto add = [&](bool with_experts, int layers) {
    if (layers == 0)
      return;
    const PlannedLayer layer(s, times, with_experts);
    const Exposed one_ahead = layer.exchanges(false);
    const Exposed one_back = layer.exchanges(true);
    const OperatorTime f = layer.forward();
    const OperatorTime b = layer.backward();
    OperatorTime again;
    if (s.memory.recompute == Recompute::full)
      again = f;
    else if (s.memory.recompute == Recompute::selective)
      again =
          s.rules.selective == "half" ? OperatorTime{0.5 * f.device, 0.5 * f.host} : layer.core();
    for (int i = 0; i < layers; ++i) {
      forward += f;
      backward += b;
      repeated += again;
      ahead.tensor += one_ahead.tensor;
      ahead.context += one_ahead.context;
      ahead.expert += one_ahead.expert;
      back.tensor += one_back.tensor;
      back.context += one_back.context;
      back.expert += one_back.expert;
      if (s.memory.recompute == Recompute::full) {
        back.tensor += one_ahead.tensor;
        back.context += one_ahead.context;
        back.expert += one_ahead.expert;
      }
    }
  };
  add(false, piece.dense);
  add(true, piece.experts);
  for (const bool end : {false, true}) {
    if (end ? !piece.output : !piece.embedding)
      continue;
    const auto operators =
        end ? output_operators(s.memory.model, shape) : embedding_operators(s.memory.model, shape);
    (end ? output : forward) += forward_time(operators, s.device);
    backward += backward_time(operators, s.device);
    if (shape.tensor > 1) {
      const Bytes size(shape.tokens() * s.memory.model.hidden * s.memory.element);
      const Seconds once = times.time(PlanGroup::tensor, Operation::all_reduce, size);
      (end ? back : ahead).tensor += once;
    }
  }
  const PieceParameters held = parameters_of(piece, s.memory.model, s.memory.plan);
  forward += sharing_copies(s, times, held, false);
  backward += sharing_copies(s, times, held, true);
  const bool waits = s.rules.host_per_micro_batch.value() > 0;
  const Seconds passed = waits ? time_in_order(forward, output) : (forward += output).time();
  ahead.fill_gaps(forward);
  OperatorTime both = backward;
  both += repeated;
  back.fill_gaps(both);
  cost.forward_compute = passed + s.rules.host_per_micro_batch / s.memory.plan.virtual_stages;
  cost.recompute = repeated.time();
  cost.backward_compute = both.time() - cost.recompute;
  const Seconds data_ahead =
      shared_weights(s, times, held, cost.forward_compute, std::max(1, piece.layers()), false);
  const Seconds data_back = shared_weights(s, times, held, cost.backward_compute + cost.recompute,
                                           std::max(1, piece.layers()), true);
  cost.tensor = ahead.tensor + back.tensor;
  cost.context = ahead.context + back.context;
  cost.expert = ahead.expert + back.expert;
  cost.data = data_ahead + data_back;
  cost.forward_exchanges = ahead.tensor + ahead.context + ahead.expert + data_ahead;
  return cost;
}

} // namespace foretrain::models
