// Writes the operators of a layer one after the other: what its mixers and feed-forward parts are
// made from.
#pragma once

#include "models/transformer/operator.hpp"

namespace foretrain::models {

/// A part of what is made of one input.
struct Projection {
  const char* name = "";
  double n = 0;        // columns
  double repeated = 0; // where every second product of a layer is kept
};

class OperatorWriter {
public:
  OperatorWriter(const Transformer& model, const OperatorShape& s) : t(model), shape(s) {}

  void product(const char* name, double m, double n, double k, double count = 1);
  /// A product that may have an adapter beside it: two narrow ones in the precision of activations,
  /// whose result is added to the product's, as is their gradient of the input.
  void product(AdapterTarget target, const char* name, double m, double n, double k,
               double count = 1);
  /// Products of one input, joined to one or each by itself: what is made of the input is made
  /// once, and gradients of the input are added up. `repeated`: of each, where every second is
  /// kept.
  void products(AdapterTarget target, const std::vector<Projection>& parts, double m, double k,
                TensorEnd end, double count = 1);
  /// Of two activations, in 16 bits, `count` of one shape in a call.
  Operator& inner_product(const char* name, double m, double n, double k, double count);
  /// Of the product just written, which ranks share: with the adapters that stand beside it.
  void shared(TensorEnd end, double repeated);
  /// `forward`, `backward`: passes over `elements`; eager frameworks need more of both.
  void memory(const char* name, double elements, double forward, double backward, int kernels = 1);
  double eager(double fused, double separate) const { return shape.fused ? fused : separate; }
  /// An operation that the framework composes of others; whether it does.
  bool composed(const char* name, const char* op, double elements);
  void norm(const char* name, double elements);
  void residual(const char* name);
  void attention();
  void rotary(double elements);
  void copies_of_heads(double values, double heads, double kv);
  void mamba(const Mamba& m);
  void delta(const DeltaNet& d);
  void feed_forward(const char* up, const char* down, double tokens, double outer, double inner,
                    double count);
  void experts();
  void expert_bias(double elements, double local);
  void log_softmax(double logits);
  /// What follows belongs to this module.
  void within(std::optional<LayerModule> of) { module_ = of; }

  std::vector<Operator> operators;

private:
  void softmax(double scores);
  void softmax_kernels(double scores);
  /// What was just written computes in single precision, between conversions.
  void between_casts(double elements);
  void plain_attention(const sim::AttentionShape& a);
  void fused_attention(const sim::AttentionShape& a);
  void gathered_attention(const sim::AttentionShape& a, double times);
  /// `times`: how often a layer has it; `beside`: in turn with the one before it on two streams.
  void attention_kernel(const char* name, const sim::AttentionShape& part, double times,
                        bool beside = false);
  void turn_heads(double values);
  void selective_scan(const Mamba& m);
  void delta_gates(const DeltaNet& d);
  void delta_chunks(const DeltaNet& d);

  const Transformer& t;
  const OperatorShape& shape;
  std::optional<LayerModule> module_;
};

} // namespace foretrain::models
