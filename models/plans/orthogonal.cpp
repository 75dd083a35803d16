#include "models/plans/orthogonal.hpp"

#include "models/plans/plan_groups.hpp"

#include <algorithm>

namespace foretrain::models {

namespace {

using Matrices = std::vector<WeightMatrix>;

void add_attention(Matrices& all, const Transformer& t, double cut)
{
  const double h = t.hidden;
  if (t.latent) {
    const LatentAttention& a = *t.latent;
    const double value = a.value_size > 0 ? a.value_size : t.head();
    const double query = t.heads * static_cast<double>(t.head() + a.rotary_size) / cut;
    all.push_back({static_cast<double>(a.kv_rank) + a.rotary_size, h});
    all.push_back({t.heads * (t.head() + value) / cut, static_cast<double>(a.kv_rank)});
    if (a.query_rank > 0)
      all.push_back({static_cast<double>(a.query_rank), h});
    all.push_back({query, a.query_rank > 0 ? static_cast<double>(a.query_rank) : h});
    all.push_back({h, t.heads * value / cut});
    return;
  }
  const double queries = static_cast<double>(t.heads) * t.head() / cut;
  all.push_back({queries, h, t.attention_gate ? 2.0 : 1.0});
  all.push_back({std::max(1.0, t.kv() / cut) * t.head(), h, 2});
  all.push_back({h, queries});
}

void add_mixer(Matrices& all, const Transformer& t, Mixer mixer, double cut)
{
  const double h = t.hidden;
  switch (mixer) {
  case Mixer::none:
    return;
  case Mixer::attention:
    add_attention(all, t, cut);
    return;
  case Mixer::mamba:
    all.push_back({t.mamba->projected() / cut, h});
    all.push_back({h, t.mamba->inner() / cut});
    if (t.mamba->selective()) {
      all.push_back({t.mamba->narrow(), t.mamba->inner()});
      all.push_back({t.mamba->inner(), static_cast<double>(t.mamba->step_rank)});
    }
    return;
  case Mixer::delta:
    all.push_back({t.delta->projected() / cut, h});
    all.push_back({h, t.delta->values() / cut});
    return;
  }
}

void add_feed_forward(Matrices& all, const Transformer& t, double outer, double inner, double count,
                      bool experts)
{
  all.push_back({inner, outer, count * (t.gated ? 2 : 1), experts});
  all.push_back({outer, inner, count, experts});
}

// Products of all iterations: of the smaller side with itself, its square, and with the matrix.
Seconds iterated(const StepSetting& s, const WeightMatrix& matrix)
{
  const double least = std::min(matrix.rows, matrix.columns);
  const double most = std::max(matrix.rows, matrix.columns);
  const auto product = [&](double columns, double sum) {
    return s.device.half({least, columns, sum}, s.device.clock);
  };
  return Seconds(s.newton_schulz *
                 (product(least, most) + product(least, least) + product(most, least)));
}

// Of what ranks share out.
struct Share {
  Seconds all, largest;
  void add(const StepSetting& s, const WeightMatrix& matrix, int layers)
  {
    const Seconds one = iterated(s, matrix);
    all += layers * matrix.count * one;
    largest = std::max(largest, one);
  }
  Seconds among(int ranks) const { return std::max(largest, all / ranks); }
};

} // namespace

Matrices weight_matrices(const MemorySetting& setting, const LayerParts& parts)
{
  const Transformer& t = setting.model;
  const double cut = setting.plan.tensor;
  Matrices all;
  add_mixer(all, t, parts.mixer, cut);
  if (parts.feed == FeedForward::dense)
    add_feed_forward(all, t, t.hidden, t.inner() / cut, 1, false);
  if (!parts.has_experts())
    return all;
  all.push_back({static_cast<double>(t.experts), static_cast<double>(t.hidden)});
  if (t.expert_hidden)
    all.push_back({t.routed_hidden() + 0.0, static_cast<double>(t.hidden), 2});
  if (t.shared_experts > 0)
    add_feed_forward(all, t, t.hidden,
                     static_cast<double>(t.shared_experts) * t.expert_inner() / cut, 1, false);
  add_feed_forward(all, t, t.routed_hidden(),
                   static_cast<double>(t.expert_inner()) / setting.plan.expert_tensor,
                   static_cast<double>(t.experts) / setting.plan.expert, true);
  return all;
}

Seconds orthogonal_time(const StepSetting& s, const LayerRuns& layers)
{
  if (s.newton_schulz == 0)
    return Seconds(0);
  Share shared, experts;
  for (const LayerRun& run : layers)
    for (const WeightMatrix& matrix : weight_matrices(s.memory, run.parts))
      (matrix.of_experts ? experts : shared).add(s, matrix, run.count);
  const auto ranks = [&](PlanGroup group) {
    return s.memory.plan.zero > 0 ? layout_of(group, s.memory).count : 1;
  };
  return shared.among(ranks(PlanGroup::data)) + experts.among(ranks(PlanGroup::expert_data));
}

} // namespace foretrain::models
