#include "experiments/answers/tune.hpp"

#include "experiments/run/plan_exchanges.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using models::ParallelPlan;
using models::Recompute;

struct PlanChoice {
  models::StepSetting setting;
  Seconds bound; // compute of the busiest stage and the bubble, without any exchange
  Bytes memory;
};

/// No exchange takes any time.
class NoExchanges : public models::ExchangeTimes {
public:
  Seconds time(models::PlanGroup, models::Operation, Bytes) override { return Seconds(0); }
  int ranks(models::PlanGroup) const override { return 1; }
  Seconds transfer(int, Bytes) override { return Seconds(0); }
};

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

class Search {
public:
  Search(const LargeExperiment& experiment, models::Fidelity fidelity)
      : e_(experiment), exchanges_(experiment, fidelity)
  {
  }

  TuneAnswer operator()(int top, double interval)
  {
    TuneAnswer answer;
    answer.name = e_.job.spec.name;
    answer.gpus = e_.job.spec.gpus;
    collect(answer);
    std::sort(candidates_.begin(), candidates_.end(),
              [](const PlanChoice& a, const PlanChoice& b) { return a.bound < b.bound; });
    std::vector<std::pair<models::StepResult, const PlanChoice*>> ends;
    for (const PlanChoice& candidate : candidates_) {
      // Sorted by bound: nothing after this one can reach the best ones any more.
      if (ends.size() >= static_cast<std::size_t>(top) &&
          candidate.bound > ends[static_cast<std::size_t>(top) - 1].first.step) {
        answer.hopeless = static_cast<int>(candidates_.size()) - answer.tried;
        break;
      }
      exchanges_.change_plan(candidate.setting.memory);
      ends.emplace_back(models::large_step(candidate.setting, exchanges_), &candidate);
      ++answer.tried;
      std::sort(ends.begin(), ends.end(),
                [](const auto& a, const auto& b) { return a.first.step < b.first.step; });
      if (ends.size() > static_cast<std::size_t>(top))
        ends.pop_back();
    }
    for (const auto& [step, candidate] : ends)
      answer.best.push_back(told(step, *candidate, ends.front().first.parts, interval));
    answer.not_tried = "context and expert-tensor parallelism other than the job's, uneven stages "
                       "by hand, offloading, sharing within nodes";
    return answer;
  }

private:
  void collect(TuneAnswer& answer)
  {
    const auto& job = e_.job.setting.memory;
    const models::Transformer& t = job.model;
    const int gpus = job.batch.gpus;
    for (const int tensor : powers(std::min(e_.platform.gpus_per_node(), t.heads)))
      for (const int pipeline : divisors(gpus, t.layers))
        for (const int pieces : {1, 2, 4, 8})
          for (const int expert : t.experts > 0 ? divisors(t.experts, gpus) : std::vector<int>{1})
            for (const int zero : {1, 3}) {
              ParallelPlan plan = job.plan;
              plan.tensor = tensor;
              plan.sequence_parallel = tensor > 1;
              plan.pipeline = pipeline;
              plan.virtual_stages = pieces;
              plan.schedule = pieces > 1 ? models::PipelineSchedule::interleaved
                                         : models::PipelineSchedule::one_f_one_b;
              plan.expert = expert;
              plan.zero = zero;
              if (zero != 3 || pipeline == 1)
                add_batches(plan, answer);
            }
  }

  void add_batches(const ParallelPlan& plan, TuneAnswer& answer)
  {
    const auto& job = e_.job.setting.memory;
    for (const int micro : powers(std::min(16, job.batch.global_batch))) {
      if (!models::problem_of(job.model, plan, job.batch.gpus, job.batch.sequence, micro,
                              job.batch.global_batch)
               .empty())
        continue;
      for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
        if (recompute == Recompute::selective && job.flash)
          continue; // the fused kernel does that by itself
        PlanChoice c{e_.job.setting, {}, {}};
        auto& memory = c.setting.memory;
        memory.plan = plan;
        memory.recompute = recompute;
        memory.batch.micro_batch = micro;
        memory.batch.data = job.batch.gpus / (plan.tensor * plan.context * plan.pipeline);
        memory.batch.micro_batches = job.batch.global_batch / (memory.batch.data * micro);
        memory.shard = memory.batch.data * plan.context;
        for (const auto& stage : models::stage_memory(memory))
          c.memory = std::max(c.memory, stage.total());
        if (c.memory > e_.platform.gpu.memory) {
          ++answer.too_large;
          continue;
        }
        NoExchanges none;
        c.bound = models::large_step(c.setting, none).step;
        candidates_.push_back(std::move(c));
        break; // repeating more than memory asks for is never quicker
      }
    }
  }

  TunedPlan told(const models::StepResult& step, const PlanChoice& candidate,
                 const models::StepParts& best, double interval) const
  {
    const auto& memory = candidate.setting.memory;
    TunedPlan plan{memory.plan, memory.batch.micro_batch, "none", {}, 0, candidate.memory, ""};
    if (memory.recompute != Recompute::none)
      plan.recompute = memory.recompute == Recompute::full ? "full" : "selective";
    const double tokens =
        static_cast<double>(memory.batch.global_batch) * memory.batch.sequence / step.step.value();
    const double factor = std::exp(half_width(interval) * 0.1);
    plan.tokens_per_s = {tokens, tokens / factor, tokens * factor, interval};
    const double peak = candidate.setting.fp8 ? candidate.setting.device.fp8.peak
                                              : candidate.setting.device.half.peak;
    plan.mfu = models::training_flops_per_token(memory.model, memory.adapters,
                                                memory.batch.sequence, models::AttentionCount::full)
                   .value() *
               tokens / memory.batch.gpus / peak;
    plan.loses = more_than(step.parts, best);
    return plan;
  }

  static std::string more_than(const models::StepParts& p, const models::StepParts& best)
  {
    const std::pair<const char*, Seconds> more[] = {
        {"compute", p.compute - best.compute},
        {"recomputation", p.recompute - best.recompute},
        {"tensor-parallel exchanges", p.tensor - best.tensor},
        {"context-parallel exchanges", p.context - best.context},
        {"experts' exchanges", p.expert - best.expert},
        {"transfers between stages", p.pipeline - best.pipeline},
        {"gradients and weights", p.data - best.data},
        {"bubble", p.bubble - best.bubble},
        {"optimizer", p.optimizer - best.optimizer}};
    const auto* most =
        std::max_element(std::begin(more), std::end(more),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most->second.value() <= 1e-4 * best.total().value())
      return "";
    return fmt::format("{} +{:.1f} %", most->first, 100 * (most->second / best.total()));
  }

  const LargeExperiment& e_;
  PlanExchanges exchanges_;
  std::vector<PlanChoice> candidates_;
};

} // namespace

TuneAnswer tune(const Point& point, int top, const RunOptions& options)
{
  if (!is_large(point))
    Value(point.document)
        .at("jobs")
        .at(0)
        .fail_at("model", "is no transformer: there is no plan to tune",
                 "foretrain plan compares options of any experiment");
  const LargeExperiment experiment = resolve_large(point);
  return Search(experiment, options.fidelity)(top, options.uncertainty.interval);
}

std::string tune_text(const TuneAnswer& a)
{
  std::string text =
      fmt::format("{} on {} GPUs: {} plans simulated, {} do not fit, {} cannot reach "
                  "the best\n\n",
                  a.name, a.gpus, a.tried, a.too_large, a.hopeless);
  text += fmt::format(
      "{:>3} {:>6} {:>8} {:>7} {:>6} {:>4} {:>5} {:>9}  {:>12} {:>21}  {:>5}  {:>8}  {}\n", "",
      "tensor", "pipeline", "virtual", "expert", "zero", "micro", "recompute", "tokens/s",
      "interval", "MFU", "memory", "loses by");
  int rank = 0;
  for (const TunedPlan& p : a.best)
    text += fmt::format("{:>3} {:>6} {:>8} {:>7} {:>6} {:>4} {:>5} {:>9}  {:>12.0f} "
                        "{:>10.0f}-{:<10.0f}  {:>4.1f}%  "
                        "{:>5.1f} GB  {}\n",
                        ++rank, p.plan.tensor, p.plan.pipeline, p.plan.virtual_stages,
                        p.plan.expert, p.plan.zero, p.micro_batch, p.recompute,
                        p.tokens_per_s.median, p.tokens_per_s.low, p.tokens_per_s.high, 100 * p.mfu,
                        p.memory.value() / 1e9, p.loses);
  if (a.best.empty())
    text += "no plan fits: more GPUs, offloading or a smaller sequence would help\n";
  return text + "\nnot tried: " + a.not_tried + "\n";
}

Json tune_json(const TuneAnswer& a)
{
  Json json = {{"job", a.name},
               {"gpus", a.gpus},
               {"simulated", a.tried},
               {"do_not_fit", a.too_large},
               {"cannot_reach", a.hopeless},
               {"plans", Json::array()},
               {"not_tried", a.not_tried}};
  for (const TunedPlan& p : a.best)
    json["plans"].push_back({{"parallel",
                              {{"tensor", p.plan.tensor},
                               {"sequence_parallel", p.plan.sequence_parallel},
                               {"context", p.plan.context},
                               {"pipeline", p.plan.pipeline},
                               {"virtual_stages", p.plan.virtual_stages},
                               {"schedule", word_of(p.plan.schedule)},
                               {"expert", p.plan.expert},
                               {"zero", p.plan.zero}}},
                             {"micro_batch", p.micro_batch},
                             {"recompute", p.recompute},
                             {"tokens_per_s",
                              {{"median", p.tokens_per_s.median},
                               {"low", p.tokens_per_s.low},
                               {"high", p.tokens_per_s.high},
                               {"interval", p.tokens_per_s.interval}}},
                             {"mfu", p.mfu},
                             {"device_memory_byte", p.memory.value()},
                             {"loses_by", p.loses}});
  return json;
}

} // namespace foretrain::experiments
