#include "models/transformer/operators.hpp"

#include <algorithm>

namespace foretrain::models {

namespace {

class OperatorWriter {
public:
  OperatorWriter(const Transformer& model, const OperatorShape& s) : t(model), shape(s) {}

  void product(const char* name, double m, double n, double k, double count = 1)
  {
    Operator op;
    op.name = name;
    op.module = module;
    op.kind = OperatorKind::product;
    op.product = {m, n, k, shape.fp8 ? 1.0 : shape.element, shape.element, count};
    op.weights = true;
    op.frozen = shape.adapters.has_value();
    op.backward_kernels = op.frozen ? 1 : 2;
    if (shape.fp8) {
      // The operand is read, converted and written once as it is and once transposed; so is the
      // gradient of the result.
      op.forward_bytes = count * m * k * (shape.element + 2);
      op.backward_bytes = count * m * n * (shape.element + 2);
      op.forward_kernels = 2;
      ++op.backward_kernels;
    }
    if (!op.frozen)
      op.backward_bytes += count * n * k * 2 * shape.accumulate;
    operators.push_back(op);
  }
  /// A product that may have an adapter beside it: two narrow ones in the precision of activations,
  /// whose result is added to the product's, as is their gradient of the input.
  void product(AdapterTarget target, const char* name, double m, double n, double k,
               double count = 1)
  {
    product(name, m, n, k, count);
    if (!shape.adapters || !shape.adapters->on(target))
      return;
    const double rank = shape.adapters->rank;
    for (const bool down : {true, false}) {
      Operator op;
      op.name = down ? "adapter down" : "adapter up";
      op.module = module;
      op.kind = OperatorKind::product;
      op.product = {m, down ? rank : n, down ? k : rank, shape.element, shape.element, count};
      op.weights = true;
      op.backward_kernels = 2;
      op.backward_bytes = count * rank * (down ? k : n) * 2 * shape.accumulate;
      operators.push_back(op);
    }
    memory("adapter sum", count * m * n, 3, 3 * k / n);
  }
  /// Of the product just written, which ranks share: with the adapters that stand beside it.
  void shared(TensorEnd end, double repeated)
  {
    for (auto op = operators.rbegin(); op != operators.rend(); ++op)
      if (op->weights && !op->name.starts_with("adapter")) {
        op->end = end;
        op->repeated = repeated;
        return;
      }
  }
  /// `forward`, `backward`: passes over `elements`; eager frameworks need more of both.
  void memory(const char* name, double elements, double forward, double backward, int kernels = 1)
  {
    Operator op;
    op.name = name;
    op.module = module;
    op.forward_bytes = forward * elements * shape.element;
    op.backward_bytes = backward * elements * shape.element;
    op.forward_kernels = op.backward_kernels = kernels;
    operators.push_back(op);
  }
  double eager(double fused, double separate) const { return shape.fused ? fused : separate; }

  void norm(const char* name, double elements)
  {
    // Read and written; backward reads input and gradient, writes the gradient. RMSNorm written in
    // Python (Llama's, torchtune's) has a kernel for each of cast, square, mean, two products and
    // cast back: 36 bytes an element of 2 bytes. Its gradient: 92 in 16 kernels, of which 32 are of
    // the square (its power is taken again in single precision).
    // LayerNorm's gradients of scale and shift read both again (apex, PyTorch).
    memory(name, elements, t.rms() ? eager(2, 18) : 2, t.rms() ? eager(3, 46) : 5);
    if (t.rms()) {
      operators.back().forward_kernels = static_cast<int>(eager(1, 8));
      operators.back().backward_kernels = static_cast<int>(eager(1, 16));
    }
  }
  void residual(const char* name)
  {
    const double elements = shape.own_tokens() * t.hidden;
    // With a bias there is dropout, whose mask is a byte, and the gradient of the bias reads all.
    memory(name, elements, t.has_bias() ? eager(3.5, 5) : 3, t.has_bias() ? 3.5 : eager(1, 2));
  }
  void attention();
  void plain_attention(const sim::AttentionShape& a);
  void feed_forward(const char* up, const char* down, double tokens, double inner, double count);
  void experts();

  /// What follows belongs to this module.
  void within(std::optional<LayerModule> of) { module = of; }

  const Transformer& t;
  const OperatorShape& shape;
  std::optional<LayerModule> module;
  std::vector<Operator> operators;
};

void OperatorWriter::plain_attention(const sim::AttentionShape& a)
{
  for (const bool scores : {true, false}) {
    Operator op;
    op.name = scores ? "attention scores" : "attention context";
    op.kind = OperatorKind::product;
    op.module = LayerModule::core_attn;
    op.product = {a.queries,
                  scores ? a.keys : a.head_size,
                  scores ? a.head_size : a.keys,
                  shape.element,
                  shape.element,
                  a.batch * a.heads};
    op.backward_kernels = 2;
    operators.push_back(op);
  }
  // Heads are brought before the tokens, and back.
  memory("heads first", a.batch * a.queries * a.head_size * (2 * a.heads + 2 * a.kv_heads), 2, 2,
         4);
  // Scale, mask and softmax in one pass or three, then dropout with its mask of a byte.
  memory("softmax", a.batch * a.heads * a.queries * a.keys, eager(2, 6) + 2.5, eager(3, 6) + 2.5,
         static_cast<int>(eager(2, 4)));
  operators.back().module = LayerModule::core_attn;
}

void OperatorWriter::attention()
{
  const double tokens = shape.tokens();
  const double heads = static_cast<double>(t.heads) / shape.tensor;
  const double kv = std::max(1.0, static_cast<double>(t.kv()) / shape.tensor);
  sim::AttentionShape a;
  a.batch = shape.micro_batch;
  a.queries = shape.sequence / shape.context;
  a.keys = shape.sequence;
  a.heads = heads;
  a.kv_heads = kv;
  a.head_size = t.head();
  a.causal = !t.encoder;
  if (t.latent) {
    const LatentAttention& l = *t.latent;
    const double value = l.value_size > 0 ? l.value_size : t.head();
    const double query = heads * (t.head() + l.rotary_size);
    using enum AdapterTarget;
    product(linear_qkv, "kv compress", tokens, l.kv_rank + l.rotary_size, t.hidden);
    norm("kv norm", tokens * l.kv_rank);
    if (l.query_rank > 0) {
      product(linear_qkv, "q compress", tokens, l.query_rank, t.hidden);
      norm("q norm", tokens * l.query_rank);
    }
    within(LayerModule::mla_up_proj);
    product(linear_qkv, "kv expand", tokens, heads * (t.head() + value), l.kv_rank);
    if (l.query_rank > 0)
      product(linear_qkv, "q expand", tokens, query, l.query_rank);
    else
      product(linear_qkv, "q", tokens, query, t.hidden);
    shared(TensorEnd::in, 0);
    memory("rotary", tokens * 2 * query, 2, 2, 2);
    within({});
    // Queries and keys are wider than values.
    a.head_size = (t.head() + l.rotary_size + value) / 2;
    a.kv_heads = heads;
  } else {
    product(AdapterTarget::linear_qkv, "qkv", tokens, (heads + 2 * kv) * t.head(), t.hidden);
    shared(TensorEnd::in, kv / (heads + 2 * kv)); // of q, k and v the second
    if (t.has_bias())
      memory("qkv bias", tokens * (heads + 2 * kv) * t.head(), 0, shape.adapters ? 0 : 1);
    if (t.query_norm)
      norm("qk norm", tokens * (heads + kv) * t.head());
    if (t.rotary)
      // In steps: cast, product of complex numbers (or of two halves), cast back, each way.
      memory("rotary", tokens * (heads + kv) * t.head(), eager(2, 10), eager(2, 10),
             static_cast<int>(eager(1, 8)));
  }
  if (shape.flash) {
    for (const bool windowed : {true, false}) {
      Operator op;
      op.share = windowed ? t.windowed() : 1 - t.windowed();
      if (op.share <= 0)
        continue;
      op.name = windowed ? "attention in a window" : "attention";
      op.kind = OperatorKind::attention;
      op.attention = a;
      op.attention.window = windowed ? t.window : 0;
      op.module = LayerModule::core_attn;
      op.backward_kernels = 3;
      op.repeated = 0;
      operators.push_back(op);
    }
  } else {
    plain_attention(a);
  }
  const double values =
      t.latent && t.latent->value_size > 0 ? t.latent->value_size : static_cast<double>(t.head());
  product(AdapterTarget::linear_proj, "attention out", tokens, t.hidden, heads * values);
  shared(TensorEnd::out, 1); // the fourth
}

void OperatorWriter::feed_forward(const char* up, const char* down, double tokens, double inner,
                                  double count)
{
  product(AdapterTarget::linear_fc1, up, tokens, inner * (t.gated ? 2 : 1), t.hidden, count);
  // Grouped products of experts are none that are kept.
  const bool grouped = module == LayerModule::moe;
  shared(grouped ? TensorEnd::none : TensorEnd::in, grouped ? 1 : t.gated ? 0.5 : 0);
  const double elements = count * tokens * inner;
  const auto whole = module;
  if (module == LayerModule::moe)
    within(LayerModule::moe_act);
  if (t.gated)
    memory("swiglu", elements, eager(3, 5), eager(5, 9), static_cast<int>(eager(1, 3)));
  else
    memory("gelu", elements, eager(2, t.has_bias() ? 4 : 2), t.has_bias() ? 4 : 3);
  within(whole);
  product(AdapterTarget::linear_fc2, down, tokens, t.hidden, inner, count);
  shared(grouped ? TensorEnd::none : TensorEnd::out, grouped || !t.gated ? 1 : 0);
}

void OperatorWriter::experts()
{
  const double tokens = shape.own_tokens();
  const double local = static_cast<double>(t.experts) / shape.expert;
  within(LayerModule::moe);
  product("router", tokens, t.experts, t.hidden);
  operators.back().backward_bytes = 0;
  memory("routing", tokens * t.experts, 8, 4, 8);
  // Tokens are put in the order of their experts, and back; balanced unless skewed.
  const double routed = tokens * shape.expert_sharers() * t.top_k * shape.skew;
  memory("permute", routed * t.hidden, 4, 4, 4);
  // The gathered tokens of all ranks of the group go to this rank's experts.
  feed_forward("experts up", "experts down", routed / local,
               static_cast<double>(t.expert_inner()) / shape.expert_tensor, local);
  memory("combine", routed * t.hidden, 3, 3, 2);
  within(LayerModule::shared_experts);
  if (t.shared_experts > 0)
    feed_forward("shared up", "shared down", shape.tokens(),
                 static_cast<double>(t.shared_experts) * t.expert_inner() / shape.tensor, 1);
}

} // namespace

Flops Operator::forward_flops() const
{
  if (kind == OperatorKind::product)
    return Flops(2 * product.count * product.m * product.n * product.k);
  if (kind == OperatorKind::attention)
    return Flops(share * 4 * attention.batch * attention.heads * attention.queries *
                 attention.keys * attention.head_size * (attention.causal ? 0.5 : 1));
  return Flops(0);
}

std::vector<Operator> layer_operators(const Transformer& t, const OperatorShape& shape,
                                      bool with_experts)
{
  OperatorWriter writer(t, shape);
  const double elements = shape.own_tokens() * t.hidden;
  writer.within(LayerModule::layernorm);
  writer.norm("attention norm", elements);
  writer.within({});
  writer.attention();
  writer.residual("attention residual");
  writer.within(LayerModule::layernorm);
  writer.norm("ffn norm", elements);
  writer.within(LayerModule::mlp);
  if (with_experts && t.experts > 0)
    writer.experts();
  else
    writer.feed_forward("ffn up", "ffn down", shape.tokens(),
                        static_cast<double>(t.inner()) / shape.tensor, 1);
  writer.within({});
  writer.residual("ffn residual");
  return std::move(writer.operators);
}

std::vector<Operator> embedding_operators(const Transformer& t, const OperatorShape& shape)
{
  OperatorWriter writer(t, shape);
  if (t.patch_values > 0)
    writer.product("patches", shape.tokens(), t.hidden, t.patch_values);
  // Gathered, positions added; backward adds rows into the gradient in single precision.
  writer.memory("embedding", shape.tokens() * t.hidden, 4, shape.adapters ? 0 : 4, 3);
  return std::move(writer.operators);
}

std::vector<Operator> prediction_operators(const Transformer& t, const OperatorShape& shape)
{
  OperatorWriter writer(t, shape);
  writer.norm("prediction norms", 2 * shape.own_tokens() * t.hidden);
  writer.product("prediction in", shape.tokens(), static_cast<double>(t.hidden) / shape.tensor,
                 2.0 * t.hidden);
  return std::move(writer.operators);
}

std::vector<Operator> output_operators(const Transformer& t, const OperatorShape& shape)
{
  OperatorWriter writer(t, shape);
  writer.norm("final norm", shape.own_tokens() * t.hidden);
  if (t.vocabulary > 0) {
    const double share = static_cast<double>(t.vocabulary) / shape.tensor;
    const double tokens = shape.tokens() * t.predicted;
    OperatorShape plain = shape;
    plain.fp8 = false; // the output product stays in 16 bits
    OperatorWriter last(t, plain);
    if (t.prediction_head)
      last.product("prediction", tokens, t.hidden, t.hidden);
    last.product("logits", tokens, share, t.hidden);
    const double logits = tokens * share * 4 / shape.element; // in single precision
    switch (shape.loss) {
    case LossKernels::fused: // cast, maximum, exponential and sum; backward writes the gradient
      last.memory("cross entropy", logits, 4.5, 2.5, 8);
      break;
    case LossKernels::pytorch: // cast, log-softmax; its gradient after one of zeros, cast back
      last.memory("cross entropy", logits, 3.5, 5.5, 4);
      break;
    case LossKernels::megatron: // cast, maximum, difference, exponential, sum and quotient in
                                // place; backward a product in place and the cast back
      last.memory("cross entropy", logits, 9.5, 3.5, 8);
      break;
    }
    for (Operator& op : last.operators)
      writer.operators.push_back(std::move(op));
  }
  return std::move(writer.operators);
}

} // namespace foretrain::models
