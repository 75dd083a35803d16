#include "models/transformer/operators.hpp"

#include "models/transformer/operator_writer.hpp"

#include <algorithm>

namespace foretrain::models {

void OperatorWriter::plain_attention(const sim::AttentionShape& a)
{
  for (const bool scores : {true, false}) {
    Operator& op = inner_product(scores ? "attention scores" : "attention context", a.queries,
                                 scores ? a.keys : a.head_size, scores ? a.head_size : a.keys,
                                 a.batch * a.heads);
    op.module = LayerModule::core_attn;
  }
  // Heads are brought before the tokens, and back.
  memory("heads first", a.batch * a.queries * a.head_size * (2 * a.heads + 2 * a.kv_heads), 2, 2,
         4);
  const std::size_t first = operators.size();
  softmax(a.batch * a.heads * a.queries * a.keys);
  for (std::size_t i = first; i < operators.size(); ++i)
    operators[i].module = LayerModule::core_attn;
}

// Scale, mask, softmax and dropout with its mask of a byte: in one pass each way and dropout's, or
// a kernel each. Conversions of autocast are traffic alone, as in layers: none is launched.
void OperatorWriter::softmax(double scores)
{
  const double mask = 1 / shape.element;
  if (shape.fused && shape.composed == Composition::none) {
    memory("softmax", scores, 2 + (t.drops() ? 2 + mask : 0), 3 + (t.drops() ? 2 + mask : 0),
           t.drops() ? 2 : 1);
    return;
  }
  composed("scale and mask", t.masks() ? "scale_mask" : "scale_scores", scores);
  if (!composed("softmax", "softmax", scores))
    softmax_kernels(scores);
  if (t.drops() && !composed("dropout", "dropout", scores)) {
    const double passes = (shape.autocast == Autocast::none ? 2 : 4) + mask;
    memory("dropout", scores, passes, passes);
  }
  if (shape.autocast != Autocast::none)
    memory("cast", scores, kConvertedBytes / shape.element, kConvertedBytes / shape.element, 0);
}

// Its gradient is made of the incoming one and the result.
void OperatorWriter::softmax_kernels(double scores)
{
  if (shape.autocast == Autocast::none) {
    memory("softmax", scores, 2, 3);
    return;
  }
  const SingleBytes single = in_single(shape.autocast, "softmax");
  memory("softmax", scores, (single.converted + single.in + single.out) / shape.element,
         (2 * single.out + single.in + single.converted) / shape.element);
}

void OperatorWriter::attention_kernel(const char* name, const sim::AttentionShape& part,
                                      double times, bool beside)
{
  Operator op;
  op.share = times;
  op.beside = beside;
  op.name = name;
  op.kind = OperatorKind::attention;
  op.attention = part;
  op.module = LayerModule::core_attn;
  op.backward_kernels = 3;
  op.repeated = 0;
  if (times > 0)
    operators.push_back(op);
}

// Context-parallel ranks keep the first and the last part of a sequence of twice as many. Where all
// keys are there, each part is a kernel of its own, on two streams in turn (AttnFuncWithCPAndKVAll-
// Gather): with the mask, of all ranks and both parts in the mean half the sequence's keys.
void OperatorWriter::gathered_attention(const sim::AttentionShape& a, double times)
{
  if (!a.causal) {
    attention_kernel("attention to all keys", a, times);
    return;
  }
  sim::AttentionShape part = a;
  part.causal = false;
  part.queries = a.queries / 2;
  part.keys = a.keys / 2;
  for (const bool beside : {false, true})
    attention_kernel("attention of half the queries", part, times, beside);
}

// The same parts meet keys and values as they come round (Transformer Engine, context_parallel.py,
// AttnFuncWithCPAndKVP2P): their own with the mask, of others either half the keys for all queries
// or all keys for half the queries, each in a kernel of its own, on two streams in turn, whose
// result is added to those before.
void OperatorWriter::fused_attention(const sim::AttentionShape& a)
{
  sim::AttentionShape windowed = a;
  windowed.window = t.window;
  const double narrow = t.window < a.keys ? t.windowed() : 0; // else nothing more is masked
  attention_kernel("attention in a window", windowed, narrow);
  const double full = 1 - narrow;
  if (shape.context_parts() == 1) {
    attention_kernel("attention", a, full);
    return;
  }
  if (shape.context_gathered) {
    gathered_attention(a, full);
    return;
  }
  const double others = shape.context_parts() - 1;
  sim::AttentionShape own = a;
  own.keys = own.queries;
  attention_kernel("attention", own, full);
  sim::AttentionShape part = own;
  part.causal = false;
  if (a.causal) {
    part.keys = own.keys / 2;
    attention_kernel("attention to half of others' keys", part, full * others / 2, true);
    part.keys = own.keys;
    part.queries = own.queries / 2;
    attention_kernel("half of the attention to others' keys", part, full * others / 2, true);
  } else {
    attention_kernel("attention to others' keys", part, full * others, true);
  }
  // Results are added up in single precision; gradients of queries and of what travels as they are.
  const double added = full * others * (a.causal ? 0.75 : 1);
  const double elements = a.batch * own.queries * a.head_size;
  memory("attention sum", added * elements * a.heads, (4 + 4 + shape.element) / shape.element,
         3 * (1 + 2 * a.kv_heads / a.heads));
  operators.back().module = LayerModule::core_attn;
  operators.back().repeated = 0;
}

// Ranks that share heads turn all heads of some tokens into some heads of more: what is sent is
// brought together before and behind it (Transformer Engine, flash_attn_a2a_communicate).
void OperatorWriter::turn_heads(double values)
{
  if (shape.context_heads > 1)
    memory("heads for tokens", shape.tokens() * values, 4, 4, 4);
}

// In steps: cast, product of complex numbers (or of two halves), cast back, each way. Scaled, in 16
// bits (Megatron-Core, rope_utils.py, _apply_rotary_pos_emb_bshd): halves negated and brought
// together, two products, their sum, and what is not rotated set behind; backward also a slice's
// zeros and copy, and sums of gradients.
void OperatorWriter::rotary(double elements)
{
  if (t.rotary_scaled && !shape.fused_rotary_scale)
    memory("rotary", elements, 12, 17, 8);
  else if (shape.fused && shape.fused_rotary)
    memory("rotary", elements, 2, 2);
  else
    memory("rotary", elements, 10, 10, 8);
}

// As nanotron calls flash_attn (models/llama.py, CausalSelfAttention): each head's part is copied
// out of the product's result; keys and values are brought together, and copied once more to stand
// beside each other in each token. Backward their gradients are brought together, then those of
// all three, and copied back; where keys have fewer heads the latter is one pass. Lengths of
// sequences are made anew in each layer, by six kernels.
void OperatorWriter::copies_of_heads(double values, double heads, double kv)
{
  if (!shape.copied_heads)
    return;
  constexpr int kLengths = 6;
  const bool equal = heads == kv;
  memory("heads copied", values * (heads + 2 * kv), 2, equal ? 4 : 2, equal ? 1 : 3);
  memory("keys beside values", values * 2 * kv, 4, 2, 2);
  operators.back().forward_kernels += kLengths;
}

void OperatorWriter::attention()
{
  const double tokens = shape.tokens();
  const double heads = static_cast<double>(t.heads) / shape.tensor;
  const double kv = std::max(1.0, static_cast<double>(t.kv()) / shape.tensor);
  sim::AttentionShape a;
  a.batch = shape.micro_batch;
  a.queries = shape.sequence / shape.context_parts();
  a.keys = shape.sequence;
  a.heads = heads / shape.context_heads;
  a.kv_heads = std::max(1.0, kv / shape.context_heads);
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
    a.kv_heads = a.heads;
  } else {
    const double gates = t.attention_gate ? heads : 0;
    const double made = heads + 2 * kv + gates;
    std::vector<Projection> parts = {{"qkv", made * t.head(), kv / made}}; // the second of three
    if (!shape.joined)
      parts = {
          {"q", (heads + gates) * t.head(), 0}, {"k", kv * t.head(), 1}, {"v", kv * t.head(), 0}};
    products(AdapterTarget::linear_qkv, parts, tokens, t.hidden, TensorEnd::in);
    if (t.has_bias())
      memory("qkv bias", tokens * (heads + 2 * kv) * t.head(), 0, shape.adapters ? 0 : 1);
    if (t.query_norm)
      norm("qk norm", tokens * (heads + kv) * t.head());
    copies_of_heads(tokens * t.head(), heads, kv);
    if (t.rotary)
      rotary(tokens * (heads + kv) * t.head());
  }
  const double values =
      t.latent && t.latent->value_size > 0 ? t.latent->value_size : static_cast<double>(t.head());
  turn_heads(2 * heads * a.head_size + 2 * (t.latent ? heads : kv) * a.head_size);
  if (shape.flash)
    fused_attention(a);
  else
    plain_attention(a);
  if (t.attention_gate)
    memory("attention gate", tokens * heads * values, eager(3, 5), eager(5, 9),
           static_cast<int>(eager(1, 2)));
  product(AdapterTarget::linear_proj, "attention out", tokens, t.hidden, heads * values);
  shared(TensorEnd::out, 1); // the fourth
}

void OperatorWriter::feed_forward(const char* up, const char* down, double tokens, double outer,
                                  double inner, double count)
{
  // Grouped products of experts are none that are kept.
  const bool grouped = module_ == LayerModule::moe;
  const double first = grouped ? 1 : 0;
  std::vector<Projection> parts = {{up, inner, first}};
  if (t.gated)
    parts = {{up, 2 * inner, (first + 1) / 2}};
  if (t.gated && !shape.joined)
    parts = {{"gate", inner, first}, {up, inner, 1}};
  products(AdapterTarget::linear_fc1, parts, tokens, outer,
           grouped ? TensorEnd::none : TensorEnd::in, count);
  const double elements = count * tokens * inner;
  const auto whole = module_;
  if (module_ == LayerModule::moe)
    within(LayerModule::moe_act);
  // Each half is clamped, and both are brought together again (Megatron-Core, fused_bias_geglu.py,
  // weighted_bias_quick_geglu_impl); backward each takes its gradient where it was in range.
  if (grouped && t.gated && t.clamped && !shape.fused_experts)
    memory("clamp", elements, 8, 10, 3);
  // In steps: activation, product; backward two products, the activation's gradient and, of halves
  // of what one product made, both gradients side by side (torch.chunk, torch.split).
  const bool halves = shape.joined && !shape.fused_activation;
  // What would be written to be read by the cast behind it (Transformer Engine, ops/basic/
  // activation.py, next_op_input_quantizer and its like in the backward pass).
  const double cast = shape.op_fuser && !grouped && shape.conversion.kernels == 1 ? 2 : 0;
  if (t.gated && shape.fused && shape.fused_activation)
    memory("swiglu", elements, 3 - cast, 5 - 2 * cast);
  else if (t.gated)
    memory("swiglu", elements, 5, halves ? 13 : 9, halves ? 4 : 3);
  else if (composed("gelu", "gelu", elements))
    memory("ffn bias", elements, t.has_bias() ? 2 : 0, t.has_bias() ? 1 : 0);
  else
    memory("gelu", elements, 2, t.has_bias() ? 4 : 3);
  within(whole);
  product(AdapterTarget::linear_fc2, down, tokens, outer, inner, count);
  shared(grouped ? TensorEnd::none : TensorEnd::out, grouped || !t.gated ? 1 : 0);
}

// What leaves an expert gets its bias times the token's weight, expert by expert in single
// precision: a product, a sum, all experts brought together, a cast (Megatron-Core, experts.py,
// TEGroupedMLP._apply_bias). Backward casts, brings together, and multiplies and adds up for the
// gradients of bias and weights.
void OperatorWriter::expert_bias(double elements, double local)
{
  if (!t.has_bias() || shape.fused_experts)
    return;
  const double e = shape.element;
  const double frozen = shape.adapters ? 12 : 0; // bytes of the gradient of a bias
  memory("expert bias", elements, (24 + 2 * e) / e, (32 + 4 * e - frozen) / e);
  operators.back().forward_kernels = static_cast<int>(2 * local) + 2;
  operators.back().backward_kernels = static_cast<int>(6 * local) + 2;
}

void OperatorWriter::experts()
{
  const double tokens = shape.own_tokens();
  const double local = static_cast<double>(t.experts) / shape.expert;
  within(LayerModule::moe);
  product("router", tokens, t.experts, t.hidden);
  operators.back().backward_bytes = 0;
  memory("routing", tokens * t.experts, 8, 4, 8);
  const double width = t.routed_hidden();
  if (t.expert_hidden)
    product("latent in", tokens, width, t.hidden);
  // Tokens are put in the order of their experts, and back; balanced unless skewed.
  const double routed = tokens * shape.expert_sharers() * t.top_k * shape.skew;
  memory("permute", routed * width, 4, 4, 4);
  // The gathered tokens of all ranks of the group go to this rank's experts.
  feed_forward("experts up", "experts down", routed / local, width,
               static_cast<double>(t.expert_inner()) / shape.expert_tensor, local);
  expert_bias(routed * width, local);
  memory("combine", routed * width, 3, 3, 2);
  if (t.expert_hidden)
    product("latent out", tokens, t.hidden, width);
  within(LayerModule::shared_experts);
  if (t.shared_experts > 0)
    feed_forward("shared up", "shared down", shape.tokens(), t.hidden,
                 static_cast<double>(t.shared_experts) * t.expert_inner() / shape.tensor, 1);
}

// Of logits, in single precision, that the script casts or autocast's kernel takes as they are; its
// gradient after one of zeros.
void OperatorWriter::log_softmax(double logits)
{
  const SingleBytes single = in_single(shape.autocast, "softmax");
  const double cast = shape.element < single.out ? single.converted : 0;
  const double in = std::max(shape.element, single.in);
  memory("cross entropy", logits, (cast + in + single.out) / shape.element,
         (3 * single.out + in + cast) / shape.element, cast > 0 ? 4 : 3);
}

std::vector<Operator> layer_operators(const Transformer& t, const OperatorShape& shape,
                                      const LayerParts& parts)
{
  OperatorWriter writer(t, shape);
  const double elements = shape.own_tokens() * t.hidden;
  if (parts.mixer != Mixer::none) {
    writer.within(LayerModule::layernorm);
    writer.norm("attention norm", elements);
    writer.within({});
    switch (parts.mixer) {
    case Mixer::mamba:
      writer.mamba(*t.mamba);
      break;
    case Mixer::delta:
      writer.delta(*t.delta);
      break;
    default:
      writer.attention();
    }
    if (t.block == Block::sequential)
      writer.residual("attention residual");
  }
  if (parts.feed == FeedForward::none)
    return std::move(writer.operators);
  if (t.block != Block::parallel_one_norm) {
    writer.within(LayerModule::layernorm);
    writer.norm("ffn norm", elements);
  }
  writer.within(LayerModule::mlp);
  if (parts.has_experts())
    writer.experts();
  else
    writer.feed_forward("ffn up", "ffn down", shape.tokens(), t.hidden,
                        static_cast<double>(t.inner()) / shape.tensor, 1);
  writer.within({});
  // Of parallel parts both are added at once: one more read, and backward one more gradient.
  if (t.block != Block::sequential)
    writer.memory("sum of both parts", elements, 1, 1, 0);
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
  if (t.has_logits()) {
    const double share = static_cast<double>(t.vocabulary) / shape.tensor;
    const double tokens = shape.tokens() * t.predicted;
    OperatorShape plain = shape;
    plain.operand = plain.element; // the output product stays in 16 bits
    plain.conversion = {};
    OperatorWriter last(t, plain);
    if (t.prediction_head)
      last.product("prediction", tokens, t.hidden, t.hidden);
    last.product("logits", tokens, share, t.hidden);
    const double logits = tokens * share * 4 / shape.element; // in single precision
    switch (shape.loss) {
    case LossKernels::fused: // cast, maximum, exponential and sum; backward writes the gradient
      last.memory("cross entropy", logits, 4.5, 2.5, 8);
      break;
    case LossKernels::pytorch:
      last.log_softmax(tokens * share);
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
