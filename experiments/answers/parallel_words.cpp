#include "experiments/answers/parallel_words.hpp"

#include <utility>

#include <fmt/format.h>

namespace foretrain::experiments {

Json parallel_json(const models::ParallelPlan& plan)
{
  Json json = {{"tensor", plan.tensor},
               {"sequence_parallel", plan.sequence_parallel},
               {"context", plan.context},
               {"pipeline", plan.pipeline},
               {"virtual_stages", plan.virtual_stages},
               {"schedule", word_of(plan.schedule)},
               {"expert", plan.expert},
               {"expert_tensor", plan.expert_tensor},
               {"zero", plan.zero}};
  if (plan.context_heads > 1)
    json["context_heads"] = plan.context_heads;
  if (plan.context_exchange != models::ContextExchange::ring)
    json["context_exchange"] = word_of(plan.context_exchange);
  if (plan.shard != models::ZeroShard::all)
    json["shard"] = word_of(plan.shard);
  return json;
}

std::string zero_text(const models::ParallelPlan& plan)
{
  return fmt::format("{}{}", plan.zero,
                     plan.shard == models::ZeroShard::node ? " within nodes" : "");
}

std::string recompute_text(const std::string& recompute, std::optional<int> layers)
{
  return layers ? fmt::format("{} layer{}", *layers, *layers == 1 ? "" : "s") : recompute;
}

std::string plan_name(const models::ParallelPlan& plan, int micro_batch,
                      const std::string& recompute, std::optional<int> recompute_layers)
{
  std::string name;
  for (const auto& [word, ways] :
       {std::pair{"tensor", plan.tensor}, std::pair{"context", plan.context},
        std::pair{"pipeline", plan.pipeline}, std::pair{"virtual stages", plan.virtual_stages},
        std::pair{"expert", plan.expert}, std::pair{"expert tensor", plan.expert_tensor}})
    if (ways > 1)
      name += fmt::format("{} {}, ", word, ways);
  name += fmt::format("zero {}, micro-batch {}, ", zero_text(plan), micro_batch);
  return name + (recompute_layers
                     ? "recomputation of " + recompute_text(recompute, recompute_layers)
                     : (recompute == "none" ? "no" : recompute) + " recomputation");
}

} // namespace foretrain::experiments
