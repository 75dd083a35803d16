#include "experiments/answers/parallel_search.hpp"

#include "experiments/run/simulate/plan_exchanges.hpp"
#include "experiments/spec/fitting_plan.hpp"
#include "experiments/spec/transformer_setting.hpp"
#include "models/plans/supported_plan.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace foretrain::experiments {

namespace {

using models::ParallelPlan;
using models::Recompute;

struct BoundedPlan {
  models::StepSetting setting;
  Seconds bound; // without any exchange
};

/// No exchange takes any time.
class NoExchanges : public models::ExchangeTimes {
public:
  Seconds time(models::PlanGroup, models::Operation, Bytes) override { return Seconds(0); }
  int ranks(models::PlanGroup) const override { return 1; }
  Seconds transfer(int, Bytes) override { return Seconds(0); }
};

// What a plan takes at least: its pieces with these exchanges, in the order of its pipeline, and
// the optimizer of the busiest stage. What data-parallel ranks exchange may be hidden.
Seconds bound_of(const models::StepSetting& setting, models::ExchangeTimes& exchanges)
{
  const models::PlannedStep step = models::plan_step(setting, exchanges);
  Seconds optimizer;
  for (const models::StageEnds& ends : step.ends)
    optimizer = std::max(optimizer, ends.optimizer);
  return step.run.end + optimizer + setting.overhead;
}

std::vector<int> powers(int most)
{
  std::vector<int> list;
  for (int n = 1; n <= most; n *= 2)
    list.push_back(n);
  return list;
}

std::vector<int> divisors(int of, int most)
{
  std::vector<int> list;
  for (int n = 1; n <= std::min(of, most); ++n)
    if (of % n == 0)
      list.push_back(n);
  return list;
}

// GPUs that may share a sequence: powers of two, and what the job says.
std::vector<int> contexts(int sequence, int most, int said)
{
  std::vector<int> list{1};
  for (int n = 2; n <= most && sequence % (2 * n) == 0; n *= 2)
    list.push_back(n);
  if (std::find(list.begin(), list.end(), said) == list.end())
    list.push_back(said);
  return list;
}

class Search {
public:
  Search(const ResolvedExperiment& experiment, models::Fidelity fidelity)
      : e_(experiment), job_(experiment.jobs.front()), setting_(job_.transformer->step),
        limits_(job_.framework.plans),
        exchanges_({e_.platform, job_.stack, job_.library, e_.nodes, job_.ranks, e_.pcie_scale},
                   setting_.memory, fidelity)
  {
  }

  FoundPlans operator()(std::size_t top)
  {
    FoundPlans found;
    collect(found);
    std::sort(candidates_.begin(), candidates_.end(),
              [](const BoundedPlan& a, const BoundedPlan& b) { return a.bound < b.bound; });
    std::vector<std::pair<models::PlanTime, const BoundedPlan*>> ends;
    for (const BoundedPlan& candidate : candidates_) {
      // Sorted by bound: nothing after this one can reach the best ones any more.
      const bool full = ends.size() >= top;
      if (full && candidate.bound > ends.back().first.step)
        break;
      exchanges_.change_plan(candidate.setting.memory);
      if (full && bound_of(candidate.setting, exchanges_) > ends.back().first.step)
        continue;
      ends.emplace_back(models::time_of_plan(candidate.setting, exchanges_), &candidate);
      ++found.tried;
      std::sort(ends.begin(), ends.end(),
                [](const auto& a, const auto& b) { return a.first.step < b.first.step; });
      if (ends.size() > top)
        ends.pop_back();
    }
    found.hopeless = static_cast<int>(candidates_.size()) - found.tried;
    for (const auto& [time, candidate] : ends)
      found.best.push_back({candidate->setting.memory, time});
    return found;
  }

private:
  void collect(FoundPlans& found)
  {
    const models::MemorySetting& job = setting_.memory;
    const models::Transformer& t = job.model;
    const int gpus = job.batch.gpus;
    for (const int tensor : powers(std::min(e_.platform.gpus_per_node(), t.heads)))
      for (const int context : contexts(job.batch.sequence, gpus / tensor, job.plan.context))
        for (const int pipeline : divisors(gpus / tensor / context, t.layers))
          for (const int pieces : models::even_virtual_stages(t.layers, pipeline))
            for (const int expert : t.experts > 0 ? divisors(t.experts, gpus) : std::vector<int>{1})
              for (const int expert_tensor :
                   t.experts > 0 ? powers(e_.platform.gpus_per_node()) : std::vector<int>{1}) {
                ParallelPlan plan = job.plan;
                plan.shard = models::ZeroShard::all;
                plan.tensor = tensor;
                plan.sequence_parallel = tensor > 1;
                plan.context = context;
                plan.context_heads =
                    limits_.context_rings ? std::gcd(context, job.plan.context_heads) : context;
                if (context == 1)
                  plan.context_exchange = models::ContextExchange::ring;
                plan.pipeline = pipeline;
                plan.virtual_stages = pieces;
                plan.schedule = pieces > 1 ? models::PipelineSchedule::interleaved
                                           : models::PipelineSchedule::one_f_one_b;
                plan.expert = expert;
                plan.expert_tensor = expert_tensor;
                add_batches(plan, found);
              }
  }

  void add_batches(ParallelPlan plan, FoundPlans& found)
  {
    const models::MemorySetting& job = setting_.memory;
    const models::PlannedBatch& batch = job.batch;
    plan.cut = job.plan.cut;
    for (const int micro : powers(std::min(16, batch.global_batch))) {
      if (!models::problem_of(job.model, plan, batch.gpus, batch.sequence, micro,
                              batch.global_batch)
               .empty())
        continue;
      NoExchanges none;
      BoundedPlan c{setting_, {}};
      models::MemorySetting& memory = c.setting.memory;
      memory.batch = models::planned_batch(plan, batch, micro);
      for (const auto& [zero, shard] : sharings(plan, memory.batch.data)) {
        memory.plan = plan;
        memory.plan.zero = zero;
        memory.plan.shard = shard;
        if (!models::unsupported(limits_, memory.plan).empty())
          continue;
        use_routing(memory, job_.spec.routing);
        const auto repeated = recomputations(memory);
        found.too_large += repeated.empty() ? 1 : 0;
        for (const models::MemorySetting& one : repeated) {
          memory = one;
          c.bound = bound_of(c.setting, none);
          candidates_.push_back(c);
        }
      }
    }
  }

  // Those that fit: repeating more than memory asks for is never quicker, but whether parts of all
  // layers or some layers altogether cost less is not known before.
  std::vector<models::MemorySetting> recomputations(models::MemorySetting memory) const
  {
    memory.treatments.repeated.reset();
    std::vector<models::MemorySetting> list;
    for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
      memory.recompute = recompute;
      if (!plan_fits(memory, e_.platform))
        continue;
      if (recompute == Recompute::full)
        least_layers(memory);
      list.push_back(memory);
      if (recompute == Recompute::none)
        break;
    }
    return list;
  }

  // Of each piece, of which all fit.
  void least_layers(models::MemorySetting& memory) const
  {
    int all = 0;
    for (const models::Piece& piece : models::pieces_of(memory.model, memory.plan))
      all = std::max(all, piece.layers() - piece.predictions);
    int fits = all;
    for (int too_few = 0; fits - too_few > 1;) {
      memory.treatments.repeated = (too_few + fits) / 2;
      (plan_fits(memory, e_.platform) ? fits : too_few) = *memory.treatments.repeated;
    }
    memory.treatments.repeated = fits < all ? std::optional(fits) : std::nullopt;
  }

  // Frameworks divide the weights of whole models only, and within nodes where there are several.
  // Less than all is what the framework has first.
  std::vector<std::pair<int, models::ZeroShard>> sharings(const ParallelPlan& plan, int data) const
  {
    int least = 0;
    for (int zero = 1; zero <= 2 && least == 0; ++zero) {
      ParallelPlan shared = plan;
      shared.zero = zero;
      if (models::unsupported(limits_, shared).empty())
        least = zero;
    }
    const bool several_nodes = setting_.memory.per_node / plan.tensor < data * plan.context;
    std::vector<std::pair<int, models::ZeroShard>> list{{least, models::ZeroShard::all}};
    if (several_nodes && least == 1 && plan.expert == 1)
      list.emplace_back(least, models::ZeroShard::node);
    if (plan.pipeline > 1)
      return list;
    list.emplace_back(3, models::ZeroShard::all);
    if (several_nodes)
      list.emplace_back(3, models::ZeroShard::node);
    return list;
  }

  const ResolvedExperiment& e_;
  const ResolvedJob& job_;
  const models::StepSetting& setting_;
  const models::PlanLimits& limits_;
  PlanExchanges exchanges_;
  std::vector<BoundedPlan> candidates_;
};

} // namespace

FoundPlans search_plans(const ResolvedExperiment& experiment, models::Fidelity fidelity, int top)
{
  return Search(experiment, fidelity)(static_cast<std::size_t>(top));
}

} // namespace foretrain::experiments
