#include "models/plans/replica.hpp"

#include <cmath>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

class ReplicaWriter {
public:
  ReplicaWriter(const TransformerFile& file, const StepSetting& setting)
      : s_(setting), shape_(operator_shape(setting))
  {
    replica_.network.name = file.name;
    replica_.network.samples = "sequences";
    replica_.network.dataset = file.dataset;
    replica_.network.dataset_named = true;
    replica_.network.input = Shape::ids(s_.memory.batch.sequence);
  }

  Replica write()
  {
    const Transformer& t = s_.memory.model;
    NoExchanges none;
    const auto count = parameters(t);
    add("embedding", embedding_operators(t, shape_), {}, trains() ? count.embedding : 0);
    for (int i = 0; i < t.layers; ++i)
      add_layer(fmt::format("layer{}", i), t.experts > 0 && i >= t.dense_layers, none);
    for (int i = 0; i < t.mtp_layers; ++i) {
      add(fmt::format("prediction{}", i), prediction_operators(t, shape_), {},
          trains() ? prediction_parameters(t) : 0);
      add_layer(fmt::format("prediction{}.layer", i), t.experts > 0, none);
      add(fmt::format("prediction{}.logits", i), output_operators(t, shape_), {}, 0);
    }
    add("logits", output_operators(t, shape_), {}, trains() ? count.output + count.final_norm : 0);
    finish();
    return std::move(replica_);
  }

private:
  // Nothing is divided, and so nothing exchanged within a layer.
  struct NoExchanges final : ExchangeTimes {
    Seconds time(PlanGroup, Operation, Bytes) override { return Seconds(0); }
    int ranks(PlanGroup) const override { return 1; }
    Seconds transfer(int, Bytes) override { return Seconds(0); }
  };

  bool trains() const { return !s_.memory.adapters; }

  void add_layer(const std::string& name, bool with_experts, ExchangeTimes& none)
  {
    const Transformer& t = s_.memory.model;
    const PlannedLayer layer(s_, none, with_experts);
    const double trained = trains()
                               ? layer_parameters(t, with_experts).total()
                               : adapter_parameters(t, *s_.memory.adapters, with_experts).total();
    const OperatorTime host{Seconds(0), s_.rules.host_per_layer};
    add(name, layer_operators(t, shape_, with_experts), host, trained);
    replica_.profile.layers.back().backward = time_with(layer.backward(), layer.repeated()).time();
  }

  static OperatorTime time_with(OperatorTime first, const OperatorTime& second)
  {
    return first += second;
  }

  // A layer with its gradients: those of its products each for itself, then the rest.
  void add(const std::string& name, const std::vector<Operator>& operators,
           const OperatorTime& beside, double trained)
  {
    const Transformer& t = s_.memory.model;
    Layer layer;
    layer.name = name;
    layer.op = "transformer";
    layer.kind = LayerKind::linear;
    layer.output = Shape::sequence(s_.memory.batch.sequence, t.hidden);
    LayerTime time;
    time.product = true;
    time.backward_kernels = 0;
    double rest = trained;
    for (const Operator& op : operators) {
      layer.forward_flops += op.forward_flops() / shape_.micro_batch;
      time.backward_kernels += op.backward_kernels;
      const double weights = op.product.count * op.product.n * op.product.k;
      if (op.weights && !op.frozen && weights <= rest) {
        layer.gradient_tensors.push_back(std::llround(weights));
        rest -= weights;
      }
    }
    if (rest >= 1)
      layer.gradient_tensors.push_back(std::llround(rest));
    layer.parameters = std::llround(trained);
    layer.macs = layer.forward_flops.value() / 2;
    time.forward = time_with(forward_time(operators, s_.device), beside).time();
    time.backward = backward_time(operators, s_.device).time();
    replica_.network.layers.push_back(std::move(layer));
    replica_.profile.layers.push_back(time);
  }

  void finish()
  {
    ComputeProfile& profile = replica_.profile;
    const Seconds pass = profile.forward() + profile.backward() + s_.rules.host_per_micro_batch;
    profile.layers.front().forward +=
        s_.rules.host_per_micro_batch + (s_.memory.batch.micro_batches - 1) * pass;
    const Piece whole = pieces_of(s_.memory.model, s_.memory.plan).front();
    profile.optimizer = optimizer_time(
        s_, trained_of(whole, s_.memory.model, s_.memory.plan, s_.memory.adapters), whole.layers());
  }

  const StepSetting& s_;
  OperatorShape shape_;
  Replica replica_;
};

} // namespace

Replica replica_of(const TransformerFile& file, const StepSetting& setting)
{
  return ReplicaWriter(file, setting).write();
}

} // namespace foretrain::models
