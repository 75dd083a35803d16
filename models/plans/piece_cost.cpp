#include "models/plans/piece_cost.hpp"

#include "models/plans/optimizer_time.hpp"

#include <algorithm>
#include <vector>

namespace foretrain::models {

namespace {

// What zero shares out of a pass's weights: all with 3, and with 2 those of the forward pass where
// they are shared out again behind the backward one (FSDP's SHARD_GRAD_OP).
bool gathers(const StepSetting& s, bool backward)
{
  if (s.memory.plan.zero == 2)
    return s.rules.reshard_after_backward && !backward;
  return s.rules.micro_batch_gathers > 0;
}

// Whether what zero shares out of one layer travels while another one computes.
bool ride_beside_layers(const StepSetting& s, bool backward)
{
  if (backward)
    return s.hides_gradients();
  return s.memory.plan.zero == 3 ? !s.rules.launch_blocking : s.rules.overlap_parameters;
}

// Weights of a layer gathered for a pass, gradients added up in the backward one: those of each
// micro-batch, where a GPU has room for its share of them alone (zero 2 and 3: DeepSpeed,
// stage_1_and_2.py; PyTorch, _runtime_utils.py, _post_backward_hook); the next layer's
// travel while this one computes. What is outside the layers is gathered before them and kept to
// the end of the backward pass, and its gradients are added up behind it (PyTorch, FSDP: the root's
// parameters).
Exposure shared_weights(const StepSetting& s, ExchangeTimes& times, const PieceParameters& held,
                        const PieceParameters& trained, double ends, Seconds compute, int layers,
                        bool backward)
{
  const ParallelPlan& plan = s.memory.plan;
  if (plan.zero < 2 || layers == 0 || s.memory.keeps_weights())
    return {};
  const PlanGroup group =
      plan.shard == ZeroShard::node && plan.zero == 3 ? PlanGroup::shard : PlanGroup::data;
  const double gradient = s.rules.reduce == GradientPrecision::fp32 ? 4 : s.memory.element;
  PlannedCalls calls;
  const auto add = [&](PlanGroup among, double weights, double gradients) {
    if (times.ranks(among) < 2)
      return;
    if (gathers(s, backward) && weights > 0)
      calls.push_back({among, Operation::all_gather, Bytes(weights / layers * s.memory.element)});
    if (backward && gradients > 0)
      calls.push_back({among, Operation::reduce_scatter, Bytes(gradients / layers * gradient)});
  };
  const bool ends_trained = trained.shared > ends; // not where adapters alone are
  add(group, held.shared - ends, trained.shared - (ends_trained ? ends : 0));
  add(PlanGroup::expert_data, held.experts, trained.experts);
  const Seconds exchange = times.time_of(calls);
  PlannedCalls outside;
  if (ends > 0 && times.ranks(group) > 1) {
    if (!backward && gathers(s, backward))
      outside.push_back({group, Operation::all_gather, Bytes(ends * s.memory.element)});
    if (backward && ends_trained)
      outside.push_back({group, Operation::reduce_scatter, Bytes(ends * gradient)});
  }
  const Seconds alone = times.time_of(outside);
  const Seconds of_layer = compute / layers;
  const Seconds hidden =
      ride_beside_layers(s, backward) ? std::min(exchange, of_layer) : Seconds(0);
  for (PlannedCall& call : calls)
    call.times = layers;
  calls.insert(calls.end(), outside.begin(), outside.end());
  // The first layer's gather and the last one's gradients have nothing beside them.
  return {layers * exchange + alone,
          (layers - 1) * (exchange - hidden + s.rules.overlap_cost * hidden) + exchange + alone,
          std::move(calls)};
}

// Copies between a layer's tensors and the buffers of the exchanges that share them out. They fill
// the device like its other kernels.
OperatorTime sharing_copies(const StepSetting& s, const ExchangeTimes& times,
                            const PieceParameters& held, const PieceParameters& trained,
                            bool backward)
{
  const ParallelPlan& plan = s.memory.plan;
  if (plan.zero < 2 || s.memory.keeps_weights())
    return {};
  const PlanGroup group = plan.shard == ZeroShard::node ? PlanGroup::shard : PlanGroup::data;
  const auto shared = [&](const PieceParameters& of) {
    return (times.ranks(group) > 1 ? of.shared : 0) +
           (times.ranks(PlanGroup::expert_data) > 1 ? of.experts : 0);
  };
  const double bytes = (gathers(s, backward) ? shared(held) * s.rules.gather_bytes : 0) +
                       (backward ? shared(trained) * s.rules.reduce_bytes : 0);
  return {Bytes(bytes) / s.device.memory, Seconds(0)};
}

// What is launched in one pass, in order.
struct Pass {
  std::vector<OperatorTime> work;
  LayerExchanges exchanges;

  OperatorTime all() const
  {
    OperatorTime sum;
    for (const OperatorTime& part : work)
      sum += part;
    return sum;
  }
  // Where the device waits for its host, exchanges fill its gaps: what is left of them.
  double left_of_exchanges(Seconds waits) const
  {
    const Seconds exposed = exchanges.exposed();
    return exposed > waits ? (exposed - waits) / exposed : 0;
  }
};

// How long the device waits for its host in each pass.
struct PassWaits {
  Seconds ahead, back;
};

// A host that is never waited for runs ahead from pass to pass, and over a micro-batch's part of
// the `update`.
PassWaits waits_of_passes(const Pass& ahead, const Pass& back, const HostedPiece& update)
{
  std::vector<HostedPiece> pieces;
  for (const OperatorTime& part : ahead.work)
    pieces.push_back({part.device, part.host});
  for (auto part = back.work.rbegin(); part != back.work.rend(); ++part)
    pieces.push_back({part->device, part->host});
  pieces.push_back(update);
  PassWaits waits;
  const std::vector<Seconds> each = waits_for_host(pieces);
  for (std::size_t i = 0; i < each.size(); ++i)
    (i < ahead.work.size() ? waits.ahead : waits.back) += each[i];
  return waits;
}

// Units of a piece hold what each would take by itself; the piece's passes take less where host and
// device fall behind each other in turn, and wait for the host in proportion.
void share_out(PieceCost& cost, const PassWaits& waits, double ahead_left, double back_left)
{
  const Seconds back = cost.backward_compute + cost.recompute;
  Seconds forward, backward;
  for (const PlanUnit& unit : cost.units) {
    forward += unit.count * unit.forward;
    backward += unit.count * unit.backward;
  }
  for (PlanUnit& unit : cost.units) {
    if (forward.value() > 0) {
      unit.forward_wait = (waits.ahead / forward) * unit.forward;
      unit.forward = (cost.forward_compute / forward) * unit.forward;
    }
    if (backward.value() > 0) {
      unit.backward_wait = (waits.back / backward) * unit.backward;
      unit.backward = (back / backward) * unit.backward;
    }
    unit.ahead.scale_exposed(ahead_left);
    unit.back.scale_exposed(back_left);
  }
}

// Where each launch waits for its kernel, the device waits for each launch, too.
OperatorTime launched(const OperatorTime& time, const TransformerRules& rules)
{
  return rules.launch_blocking
             ? OperatorTime{time.device + time.host, time.host, time.idle + time.host}
             : time;
}

class PieceWriter {
public:
  PieceWriter(const StepSetting& setting, ExchangeTimes& times)
      : s_(setting), times_(times), shape_(operator_shape(setting))
  {
  }

  PieceCost write(const Piece& piece)
  {
    cost_.layers = piece.layers();
    if (piece.embedding)
      add_end(End::embedding);
    for (const LayerRun& run : piece.runs)
      add_layers(run);
    if (piece.output)
      add_end(End::output);
    for (int i = 0; i < piece.predictions; ++i) {
      add_end(End::prediction);
      add_layers({s_.memory.model.prediction_parts(), 1});
      add_end(End::output);
    }
    held_ = parameters_of(piece, s_.memory.model, s_.memory.plan);
    ends_ = end_parameters(piece, s_.memory.model, s_.memory.plan).total();
    trained_ = trained_of(piece, s_.memory.model, s_.memory.plan, s_.memory.adapters);
    finish_passes();
    finish_exchanges();
    return std::move(cost_);
  }

private:
  void add_layers(const LayerRun& run)
  {
    const int layers = run.count;
    const PlannedLayer layer(s_, times_, run.parts);
    const OperatorTime again = launched(layer.repeated(), s_.rules);
    PlanUnit unit;
    unit.name = name_of(run.parts);
    unit.count = layers;
    const OperatorTime f = launched(layer.forward(), s_.rules);
    OperatorTime b = launched(layer.backward(), s_.rules);
    unit.ahead = layer.exchanges(false);
    unit.back = layer.exchanges(true);
    unit.back += layer.repeated_exchanges();
    for (int i = 0; i < layers; ++i) {
      ahead_.work.push_back(f);
      back_.work.push_back(b);
      back_.work.back() += again;
      repeated_ += again;
    }
    ahead_.exchanges += unit.ahead.scaled(layers);
    back_.exchanges += unit.back.scaled(layers);
    unit.forward = f.time();
    unit.backward = (b += again).time();
    cost_.units.push_back(unit);
    if (run.parts.away)
      cost_.away += layers * layer_activations(s_.memory, run.parts);
  }

  enum class End { embedding, prediction, output };

  std::vector<Operator> operators_of(End end) const
  {
    switch (end) {
    case End::embedding:
      return embedding_operators(s_.memory.model, shape_);
    case End::prediction:
      return prediction_operators(s_.memory.model, shape_);
    case End::output:
      break;
    }
    return output_operators(s_.memory.model, shape_);
  }

  void add_end(End end)
  {
    const bool last = end == End::output;
    const auto operators = operators_of(end);
    PlanUnit unit;
    unit.name = last ? "logits and loss" : end == End::embedding ? "embedding" : "prediction";
    unit.layer = false;
    const OperatorTime f = launched(forward_time(operators, s_.device), s_.rules);
    const OperatorTime b = launched(backward_time(operators, s_.device), s_.rules);
    ahead_.work.push_back(f);
    back_.work.push_back(b);
    if (last)
      output_ += f;
    unit.forward = f.time();
    unit.backward = b.time();
    if (shape_.tensor > 1) {
      const Bytes size(shape_.tokens() * s_.memory.model.hidden * s_.memory.element);
      const Seconds once = times_.time(PlanGroup::tensor, Operation::all_reduce, size);
      const Exposure all{once, once, {{PlanGroup::tensor, Operation::all_reduce, size}}};
      (last ? unit.back : unit.ahead).tensor = all;
      (last ? back_ : ahead_).exchanges.tensor += all;
    }
    cost_.units.push_back(unit);
  }

  void finish_passes()
  {
    ahead_.work.push_back(sharing_copies(s_, times_, held_, trained_, false));
    back_.work.push_back(sharing_copies(s_, times_, held_, trained_, true));
    const OperatorTime ahead = ahead_.all();
    const OperatorTime back = back_.all();
    PassWaits waits = waits_of_host(ahead, back);
    const double ahead_left = ahead_.left_of_exchanges(waits.ahead);
    const double back_left = back_.left_of_exchanges(waits.back);
    ahead_.exchanges.scale_exposed(ahead_left);
    back_.exchanges.scale_exposed(back_left);
    waits.ahead += s_.rules.host_per_micro_batch / s_.memory.plan.virtual_stages;
    cost_.forward_compute = ahead.device + waits.ahead;
    const Seconds backward = back.device + waits.back;
    // Of what the device computes; what it waits for its host meanwhile is spread over both.
    const Seconds kernels = back.device - back.idle;
    const Seconds again = std::min(kernels, repeated_.device - repeated_.idle);
    cost_.recompute = kernels.value() > 0 ? (again / kernels) * backward : Seconds(0);
    cost_.backward_compute = backward - cost_.recompute;
    waits.ahead += ahead.idle;
    waits.back += back.idle;
    share_out(cost_, waits, ahead_left, back_left);
  }

  // Where the host waits for the device in each micro-batch, passes begin with neither ahead, and
  // the logits start when the layers are done.
  PassWaits waits_of_host(const OperatorTime& ahead, const OperatorTime& back) const
  {
    if (s_.rules.host_per_micro_batch.value() <= 0) {
      const OperatorTime update = optimizer_time(s_, trained_, cost_.layers);
      const double parts = s_.memory.batch.micro_batches;
      return waits_of_passes(ahead_, back_, {update.device / parts, update.host / parts});
    }
    const OperatorTime layers{ahead.device - output_.device, ahead.host - output_.host};
    return {time_in_order(layers, output_) - ahead.device, back.time() - back.device};
  }

  void finish_exchanges()
  {
    const int layers = std::max(1, cost_.layers);
    const Seconds backward = cost_.backward_compute + cost_.recompute;
    cost_.data_ahead =
        shared_weights(s_, times_, held_, trained_, ends_, cost_.forward_compute, layers, false);
    cost_.data_back = shared_weights(s_, times_, held_, trained_, ends_, backward, layers, true);
    cost_.tensor = ahead_.exchanges.tensor.exposed + back_.exchanges.tensor.exposed;
    cost_.context = ahead_.exchanges.context.exposed + back_.exchanges.context.exposed;
    cost_.expert = ahead_.exchanges.expert.exposed + back_.exchanges.expert.exposed;
    if (cost_.away.value() > 0)
      cost_.copied = cost_.away / std::min(s_.host_link, s_.host_memory);
    cost_.forward_exchanges = ahead_.exchanges.exposed() + cost_.data_ahead.exposed;
  }

  const StepSetting& s_;
  ExchangeTimes& times_;
  OperatorShape shape_;
  PieceCost cost_;
  Pass ahead_, back_;
  OperatorTime repeated_;
  OperatorTime output_; // forward pass of the logits
  PieceParameters held_, trained_;
  double ends_ = 0; // of them outside the layers
};

} // namespace

Bytes transfer_size(const StepSetting& s)
{
  const OperatorShape shape = operator_shape(s);
  return Bytes(shape.tokens() / s.memory.plan.tensor * s.memory.model.hidden * s.memory.element);
}

PieceCost piece_cost(const StepSetting& s, const Piece& piece, ExchangeTimes& times)
{
  return PieceWriter(s, times).write(piece);
}

} // namespace foretrain::models
