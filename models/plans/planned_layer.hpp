// What one GPU does for a layer of a plan: kernels, and exchanges inside it.
#pragma once

#include "models/plans/step_setting.hpp"

namespace foretrain::models {

/// Exchanges, and what of them nothing hides.
struct Exposure {
  Seconds whole;
  Seconds exposed;
  PlannedCalls calls;
  Exposure& operator+=(const Exposure& other)
  {
    whole += other.whole;
    exposed += other.exposed;
    calls.insert(calls.end(), other.calls.begin(), other.calls.end());
    return *this;
  }
  Exposure scaled(double factor) const
  {
    Exposure all{factor * whole, factor * exposed, calls};
    for (PlannedCall& call : all.calls)
      call.times *= factor;
    return all;
  }
};

/// Of one pass through a layer, or through what stands at the ends.
struct LayerExchanges {
  Exposure tensor, context, expert;

  LayerExchanges& operator+=(const LayerExchanges& other)
  {
    tensor += other.tensor;
    context += other.context;
    expert += other.expert;
    return *this;
  }
  Seconds exposed() const { return tensor.exposed + context.exposed + expert.exposed; }
  LayerExchanges scaled(double factor) const
  {
    return {tensor.scaled(factor), context.scaled(factor), expert.scaled(factor)};
  }
  void scale_exposed(double factor)
  {
    for (Exposure* each : {&tensor, &context, &expert})
      each->exposed = factor * each->exposed;
  }
};

class PlannedLayer {
public:
  PlannedLayer(const StepSetting& setting, ExchangeTimes& times, const LayerParts& parts);

  OperatorTime forward() const;
  OperatorTime backward() const;
  /// What the setting's recomputation repeats.
  OperatorTime repeated() const;
  LayerExchanges exchanges(bool backward) const;
  /// What of the forward pass's exchanges is repeated with it.
  LayerExchanges repeated_exchanges() const;

private:
  OperatorTime operators_time(bool backward) const;
  const TransformerDevice& device_of(const Operator& op) const;
  double alone() const;
  Seconds wait_for_host() const;
  OperatorTime waiting() const;
  bool repeats_feed_forward() const;
  Bytes activations() const;
  Bytes routed() const;
  int collectives() const;
  PlannedCalls both_ways(PlanGroup group, Bytes size, double times) const;
  PlannedCalls feed_forward_calls() const;
  PlannedCalls tensor_calls() const;
  PlannedCalls adapter_calls(bool backward) const;
  Exposure gathered_again() const;
  Exposure exposed_tensor(PlannedCalls calls, bool backward) const;
  Exposure tensor(bool backward) const;
  Seconds exposed_beside_products(const PlannedCalls& calls, bool backward) const;
  PlannedCalls expert_calls() const;
  Exposure context(bool backward) const;
  PlannedCall all_to_all(PlanGroup group, double values) const;
  Exposure waited_for(PlannedCalls calls) const;
  Bytes keys() const;
  Exposure ring(bool backward) const;
  Exposure gathered(bool backward) const;
  Exposure turned_heads(bool backward) const;
  Exposure turned_for_scan(bool backward) const;
  Exposure expert(bool backward) const;

  const StepSetting& s_;
  ExchangeTimes& times_;
  OperatorShape shape_;
  LayerParts parts_;
  std::vector<Operator> operators_;
  TransformerDevice graphs_; // the device where kernels are launched as a graph
};

/// Which part of the work one GPU does.
OperatorShape operator_shape(const StepSetting& setting, const LayerParts& parts = {});

} // namespace foretrain::models
