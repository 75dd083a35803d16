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
  const double gate = t.attention_gate ? queries : 0;
  return dense(t.hidden, queries + keys + gate, t.has_qkv_bias()) +
         dense(queries, t.hidden, t.has_bias()) + (t.query_norm ? 2.0 * t.head() : 0);
}

// Two products, the convolution with its bias, a norm of what leaves the scan, and of each head its
// decay, its step's bias and what goes past the state.
double mamba_parameters(const Transformer& t)
{
  const Mamba& m = *t.mamba;
  if (m.selective()) // of each value its decays, its step's bias and what goes past the state
    return dense(t.hidden, m.projected(), false) + m.convolved() * (m.convolution + 1) +
           m.inner_weights() + m.inner() * (m.state + 2) + dense(m.inner(), t.hidden, false);
  return dense(t.hidden, m.projected(), false) + m.convolved() * (m.convolution + 1) + m.inner() +
         3.0 * m.heads + dense(m.inner(), t.hidden, false);
}

// Likewise: convolutions without biases, a norm of what leaves a head, of each head its decay's
// scale, and its bias, or one for each value where narrow products make the decay.
double delta_parameters(const Transformer& t)
{
  const DeltaNet& d = *t.delta;
  const double biases = d.gate_rank > 0 ? static_cast<double>(d.heads) * d.key() : d.heads;
  return dense(t.hidden, d.projected(), false) + d.from_narrow() + d.convolved() * d.convolution +
         d.head_size + d.heads + biases + dense(d.values(), t.hidden, false);
}

double mixer_parameters(const Transformer& t, Mixer mixer)
{
  switch (mixer) {
  case Mixer::attention:
    return attention_parameters(t);
  case Mixer::mamba:
    return mamba_parameters(t);
  case Mixer::delta:
    return delta_parameters(t);
  case Mixer::none:
    break;
  }
  return 0;
}

double feed_forward(const Transformer& t, double outer, double inner)
{
  return dense(outer, inner * (t.gated ? 2 : 1), t.has_bias()) + dense(inner, outer, t.has_bias());
}

// Of routed experts, each as many as the tokens that go to it.
double met_share(const Transformer& t)
{
  return t.experts > 0 ? static_cast<double>(t.top_k) / t.experts : 0;
}

} // namespace

int norms_of(const Transformer& t, const LayerParts& parts)
{
  if (t.block == Block::parallel_one_norm)
    return 1;
  return (parts.mixer == Mixer::none ? 0 : 1) + (parts.feed == FeedForward::none ? 0 : 1);
}

LayerParameters layer_parameters(const Transformer& t, const LayerParts& parts)
{
  LayerParameters p;
  p.mixer = mixer_parameters(t, parts.mixer);
  p.norms = norm_parameters(t) * norms_of(t, parts);
  switch (parts.feed) {
  case FeedForward::none:
    break;
  case FeedForward::dense:
    p.dense = feed_forward(t, t.hidden, t.inner());
    break;
  case FeedForward::experts:
    p.experts = t.experts * feed_forward(t, t.routed_hidden(), t.expert_inner());
    p.dense = static_cast<double>(t.hidden) * t.experts +
              (t.shared_experts > 0 ? feed_forward(t, t.hidden, t.shared_experts * t.expert_inner())
                                    : 0) +
              (t.expert_hidden ? 2.0 * t.hidden * *t.expert_hidden : 0);
    break;
  }
  return p;
}

namespace {

// Two narrow products, and of each output a magnitude where these are trained.
double low_rank(const Adapters& adapters, double in, double out)
{
  return adapters.rank * (in + out) + (adapters.magnitudes ? out : 0);
}

// Of the products of an attention.
double attention_adapters(const Transformer& t, const Adapters& adapters)
{
  using enum AdapterTarget;
  const double h = t.hidden;
  const double queries = static_cast<double>(t.heads) * t.head();
  double sum = 0;
  double values = queries;
  if (t.latent) {
    const LatentAttention& a = *t.latent;
    const double value = a.value_size > 0 ? a.value_size : t.head();
    const double query_out = static_cast<double>(t.heads) * (t.head() + a.rotary_size);
    values = t.heads * value;
    if (adapters.on(linear_qkv)) {
      sum += low_rank(adapters, h, a.kv_rank + a.rotary_size);
      sum += low_rank(adapters, a.kv_rank, t.heads * (t.head() + value));
      if (a.query_rank > 0)
        sum += low_rank(adapters, h, a.query_rank);
      sum += low_rank(adapters, a.query_rank > 0 ? a.query_rank : h, query_out);
    }
  } else if (adapters.on(linear_qkv)) {
    sum += low_rank(adapters, h, queries * (t.attention_gate ? 2 : 1) + 2.0 * t.kv() * t.head());
  }
  return sum + (adapters.on(linear_proj) ? low_rank(adapters, values, h) : 0);
}

} // namespace

LayerParameters adapter_parameters(const Transformer& t, const Adapters& adapters,
                                   const LayerParts& parts)
{
  using enum AdapterTarget;
  const auto feed = [&](double outer, double inner) {
    return (adapters.on(linear_fc1) ? low_rank(adapters, outer, inner * (t.gated ? 2 : 1)) : 0) +
           (adapters.on(linear_fc2) ? low_rank(adapters, inner, outer) : 0);
  };
  LayerParameters p;
  p.mixer = parts.mixer == Mixer::attention ? attention_adapters(t, adapters) : 0;
  if (parts.has_experts()) {
    p.experts = t.experts * feed(t.routed_hidden(), t.expert_inner());
    p.dense = t.shared_experts > 0
                  ? feed(t.hidden, static_cast<double>(t.shared_experts) * t.expert_inner())
                  : 0;
  } else if (parts.feed == FeedForward::dense) {
    p.dense = feed(t.hidden, t.inner());
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
  for (const LayerRun& run : t.runs()) {
    const LayerParameters one = layer_parameters(t, run.parts);
    count.layers += run.count * one.total();
    count.experts += run.count * one.experts;
  }
  const LayerParameters further = layer_parameters(t, t.prediction_parts());
  count.prediction = t.mtp_layers * (further.total() + prediction_parameters(t));
  count.experts += t.mtp_layers * further.experts;
  if (!t.is_tied() && t.has_logits())
    count.output = t.vocabulary * h;
  if (t.prediction_head && t.has_logits())
    count.output += dense(h, h, true) + norm_parameters(t) + t.vocabulary; // its output bias
  if (t.pooler)
    count.output += dense(h, h, true);
  if (t.classes > 0)
    count.output += dense(h, t.classes, true);
  count.final_norm = t.encoder && t.patch_values == 0 ? 0 : norm_parameters(t);
  count.active_per_token = count.total();
  if (t.experts > 0)
    count.active_per_token -= count.experts * (1 - met_share(t));
  return count;
}

double attended(const Transformer& t, int sequence, AttentionCount count)
{
  const double s = sequence;
  const bool narrow = t.window > 0 && t.window < sequence;
  if (t.encoder || (count == AttentionCount::full && !narrow))
    return s;
  if (count == AttentionCount::full)
    return t.windowed() * t.window + (1 - t.windowed()) * s;
  if (!narrow)
    return s / 2;
  // The first tokens of a sequence see fewer than the window.
  const double w = t.window;
  return t.windowed() * (w * w / 2 + (s - w) * w) / s + (1 - t.windowed()) * s / 2;
}

Flops forward_flops_per_token(const Transformer& t, int sequence, AttentionCount count,
                              double experts_take)
{
  LayerRuns runs = t.runs();
  add(runs, t.prediction_parts(), t.mtp_layers);
  double weights = 0;
  double attentions = 0;
  double states = 0; // FLOP for what is carried from token to token
  for (const LayerRun& run : runs) {
    const LayerParameters one = layer_parameters(t, run.parts);
    weights += run.count * (one.dense + one.experts * met_share(t) * experts_take);
    if (run.parts.mixer == Mixer::attention) {
      weights += run.count * one.mixer;
      attentions += run.count;
    } else if (run.parts.mixer == Mixer::mamba) {
      weights += run.count *
                 (t.hidden * (t.mamba->projected() + t.mamba->inner()) + t.mamba->inner_weights());
      states += run.count * 7 * t.mamba->inner() * t.mamba->state;
    } else if (run.parts.mixer == Mixer::delta) {
      const DeltaNet& d = *t.delta;
      weights += run.count * (t.hidden * (d.projected() + d.values()) + d.from_narrow());
      states += run.count * 8 * d.values() * d.key();
    }
  }
  weights += (t.predicted + t.mtp_layers) * t.vocabulary * t.hidden;
  weights += t.mtp_layers * 2.0 * t.hidden * t.hidden;
  if (t.prediction_head)
    weights += t.predicted * t.hidden * t.hidden;
  double width = 2.0 * t.head(); // of a query-key and of a probability-value product
  if (t.latent)
    width = t.head() + t.latent->rotary_size +
            (t.latent->value_size > 0 ? t.latent->value_size : t.head());
  const double pairs = attended(t, sequence, count);
  return Flops(2 * weights + 2.0 * attentions * t.heads * width * pairs + states);
}

Flops training_flops_per_token(const Transformer& t, const std::optional<Adapters>& adapters,
                               int sequence, AttentionCount count, double experts_take)
{
  if (!adapters)
    return 3 * forward_flops_per_token(t, sequence, count, experts_take);
  double met = 0;
  for (const LayerRun& run : t.runs()) {
    const LayerParameters one = adapter_parameters(t, *adapters, run.parts);
    met += run.count * (one.mixer + one.dense + one.experts * met_share(t) * experts_take);
  }
  return 2 * forward_flops_per_token(t, sequence, count, experts_take) + Flops(6 * met);
}

} // namespace foretrain::models
