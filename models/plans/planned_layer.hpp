// What one GPU does for a layer of a plan: kernels, and exchanges inside it.
#pragma once

#include "models/plans/step_setting.hpp"

namespace foretrain::models {

/// An exchange, and what of it nothing hides.
struct Exposure {
  Seconds whole;
  Seconds exposed;
  Exposure& operator+=(const Exposure& other)
  {
    whole += other.whole;
    exposed += other.exposed;
    return *this;
  }
  Exposure scaled(double factor) const { return {factor * whole, factor * exposed}; }
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
  void scale_exposed(double factor)
  {
    for (Exposure* each : {&tensor, &context, &expert})
      each->exposed = factor * each->exposed;
  }
};

class PlannedLayer {
public:
  PlannedLayer(const StepSetting& setting, ExchangeTimes& times, bool with_experts);

  OperatorTime forward() const;
  OperatorTime backward() const;
  /// What the setting's recomputation repeats.
  OperatorTime repeated() const;
  LayerExchanges exchanges(bool backward) const;
  /// What of the forward pass's exchanges is repeated with it.
  LayerExchanges repeated_exchanges() const;

private:
  struct TensorExchanges {
    Seconds attention, feed_forward;
    Seconds total() const { return attention + feed_forward; }
  };

  bool repeats_feed_forward() const;
  Bytes activations() const;
  Bytes routed() const;
  int collectives() const;
  Seconds both_ways(PlanGroup group, Bytes size) const;
  TensorExchanges tensor_exchanges() const;
  Exposure tensor(bool backward) const;
  Exposure context(bool backward) const;
  Exposure expert(bool backward) const;

  const StepSetting& s_;
  ExchangeTimes& times_;
  OperatorShape shape_;
  bool experts_;
  std::vector<Operator> operators_;
};

/// Which part of the work one GPU does.
OperatorShape operator_shape(const StepSetting& setting);

} // namespace foretrain::models
