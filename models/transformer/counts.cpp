#include "models/transformer/counts.hpp"

#include <algorithm>

namespace foretrain::models {

namespace {

double norm_parameters(const Transformer& t)
{
  return t.hidden * (t.rms() ? 1.0 : 2.0);
}

// A product of two matrices with its bias, if it has one.
double dense(double in, double out, bool bias)
{
  return in * out + (bias ? out : 0);
}

double latent_attention(const Transformer& t)
{
  const LatentAttention& a = *t.latent;
  const double value = a.value_size > 0 ? a.value_size : t.head();
  const double query_out = static_cast<double>(t.heads) * (t.head() + a.rotary_size);
  const double query = a.query_rank > 0 ? dense(t.hidden, a.query_rank, false) + a.query_rank +
                                              dense(a.query_rank, query_out, false)
                                        : dense(t.hidden, query_out, false);
  const double key_value = dense(t.hidden, a.kv_rank + a.rotary_size, false) + a.kv_rank +
                           dense(a.kv_rank, t.heads * (t.head() + value), false);
  return query + key_value + dense(t.heads * value, t.hidden, t.has_bias());
}

double attention_parameters(const Transformer& t)
{
  if (t.latent)
    return latent_attention(t);
  const double queries = static_cast<double>(t.heads) * t.head();
  const double keys = 2.0 * t.kv() * t.head();
  return dense(t.hidden, queries + keys, t.has_qkv_bias()) +
         dense(queries, t.hidden, t.has_bias()) + (t.query_norm ? 2.0 * t.head() : 0);
}

double feed_forward(const Transformer& t, double inner)
{
  return dense(t.hidden, inner * (t.gated ? 2 : 1), t.has_bias()) +
         dense(inner, t.hidden, t.has_bias());
}

} // namespace

LayerParameters layer_parameters(const Transformer& t, bool with_experts)
{
  LayerParameters p;
  p.attention = attention_parameters(t);
  p.norms = 2 * norm_parameters(t);
  if (with_experts && t.experts > 0) {
    p.experts = t.experts * feed_forward(t, t.expert_inner());
    p.dense = static_cast<double>(t.hidden) * t.experts +
              (t.shared_experts > 0 ? feed_forward(t, t.shared_experts * t.expert_inner()) : 0);
  } else {
    p.dense = feed_forward(t, t.inner());
  }
  return p;
}

LayerParameters adapter_parameters(const Transformer& t, const Adapters& adapters,
                                   bool with_experts)
{
  using enum AdapterTarget;
  const double rank = adapters.rank;
  const double h = t.hidden;
  const double queries = static_cast<double>(t.heads) * t.head();
  LayerParameters p;
  double values = queries;
  if (t.latent) {
    const LatentAttention& a = *t.latent;
    const double value = a.value_size > 0 ? a.value_size : t.head();
    const double query_out = static_cast<double>(t.heads) * (t.head() + a.rotary_size);
    values = t.heads * value;
    if (adapters.on(linear_qkv)) {
      p.attention += rank * (h + a.kv_rank + a.rotary_size);
      p.attention += rank * (a.kv_rank + t.heads * (t.head() + value));
      p.attention +=
          a.query_rank > 0 ? rank * (h + 2.0 * a.query_rank + query_out) : rank * (h + query_out);
    }
  } else if (adapters.on(linear_qkv)) {
    p.attention += rank * (h + queries + 2.0 * t.kv() * t.head());
  }
  if (adapters.on(linear_proj))
    p.attention += rank * (values + h);
  const auto feed = [&](double inner) {
    return (adapters.on(linear_fc1) ? rank * (h + inner * (t.gated ? 2 : 1)) : 0) +
           (adapters.on(linear_fc2) ? rank * (inner + h) : 0);
  };
  if (with_experts && t.experts > 0) {
    p.experts = t.experts * feed(t.expert_inner());
    p.dense =
        t.shared_experts > 0 ? feed(static_cast<double>(t.shared_experts) * t.expert_inner()) : 0;
  } else {
    p.dense = feed(t.inner());
  }
  return p;
}

double prediction_parameters(const Transformer& t)
{
  return 2.0 * t.hidden * t.hidden + 3 * norm_parameters(t);
}

ParameterCount parameters(const Transformer& t)
{
  ParameterCount count;
  const double h = t.hidden;
  count.embedding = t.vocabulary * h + t.learned_positions() * h + t.token_types * h;
  if (t.patch_values > 0)
    count.embedding += dense(t.patch_values, h, true) + h; // and the class token
  if (t.token_types > 0)
    count.embedding += norm_parameters(t);
  const LayerParameters with = layer_parameters(t, true);
  const LayerParameters without = layer_parameters(t, false);
  const double with_layers = t.experts > 0 ? t.expert_layers() : 0;
  count.layers = with_layers * with.total() + (t.layers - with_layers) * without.total();
  count.prediction = t.mtp_layers * (with.total() + prediction_parameters(t));
  count.experts = (with_layers + t.mtp_layers) * with.experts;
  if (!t.is_tied() && t.vocabulary > 0)
    count.output = t.vocabulary * h;
  if (t.prediction_head)
    count.output += dense(h, h, true) + norm_parameters(t) + t.vocabulary; // its output bias
  if (t.pooler)
    count.output += dense(h, h, true);
  if (t.classes > 0)
    count.output += dense(h, t.classes, true);
  count.final_norm = t.encoder && t.patch_values == 0 ? 0 : norm_parameters(t);
  count.active_per_token = count.total();
  if (t.experts > 0)
    count.active_per_token -= count.experts * (1 - static_cast<double>(t.top_k) / t.experts);
  return count;
}

double attended(const Transformer& t, int sequence, AttentionCount count)
{
  const double s = sequence;
  if (count == AttentionCount::full || t.encoder)
    return s;
  if (t.window <= 0 || t.window >= sequence)
    return s / 2;
  // The first tokens of a sequence see fewer than the window.
  const double w = t.window;
  return t.windowed() * (w * w / 2 + (s - w) * w) / s + (1 - t.windowed()) * s / 2;
}

Flops forward_flops_per_token(const Transformer& t, int sequence, AttentionCount count)
{
  const LayerParameters with = layer_parameters(t, true);
  const LayerParameters without = layer_parameters(t, false);
  // A layer that predicts a further token is like the last one.
  const double with_layers = t.experts > 0 ? t.expert_layers() + t.mtp_layers : 0;
  const double layers = t.layers + t.mtp_layers;
  double weights = layers * with.attention + (layers - with_layers) * without.dense;
  if (with_layers > 0)
    weights += with_layers * (with.dense + with.experts * t.top_k / t.experts);
  weights += (t.predicted + t.mtp_layers) * t.vocabulary * t.hidden;
  weights += t.mtp_layers * 2.0 * t.hidden * t.hidden;
  if (t.prediction_head)
    weights += t.predicted * t.hidden * t.hidden;
  double width = 2.0 * t.head(); // of a query-key and of a probability-value product
  if (t.latent)
    width = t.head() + t.latent->rotary_size +
            (t.latent->value_size > 0 ? t.latent->value_size : t.head());
  const double pairs = attended(t, sequence, count);
  return Flops(2 * weights + 2.0 * layers * t.heads * width * pairs);
}

Flops training_flops_per_token(const Transformer& t, const std::optional<Adapters>& adapters,
                               int sequence, AttentionCount count)
{
  if (!adapters)
    return training_flops_per_token(t, sequence, count);
  const double with_layers = t.experts > 0 ? t.expert_layers() : 0;
  const LayerParameters with = adapter_parameters(t, *adapters, true);
  const LayerParameters without = adapter_parameters(t, *adapters, false);
  double met = (t.layers - with_layers) * without.total();
  if (with_layers > 0)
    met += with_layers *
           (with.total() - with.experts * (1 - static_cast<double>(t.top_k) / t.experts));
  return 2 * forward_flops_per_token(t, sequence, count) + Flops(6 * met);
}

} // namespace foretrain::models
