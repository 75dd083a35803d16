#include "experiments/answers/tune.hpp"

#include "experiments/run/scenario.hpp"
#include "experiments/run/simulate/plan_exchanges.hpp"
#include "experiments/spec/fitting_plan.hpp"
#include "experiments/spec/resolve.hpp"
#include "models/plans/divided.hpp"
#include "sim/base/file_name.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using models::ParallelPlan;
using models::Recompute;

struct PlanChoice {
  models::StepSetting setting;
  Seconds bound; // compute of the busiest stage and the bubble, without any exchange
  models::PlanTime time;
};

/// No exchange takes any time.
class NoExchanges : public models::ExchangeTimes {
public:
  Seconds time(models::PlanGroup, models::Operation, Bytes) override { return Seconds(0); }
  int ranks(models::PlanGroup) const override { return 1; }
  Seconds transfer(int, Bytes) override { return Seconds(0); }
};

// What a plan takes at least: its computing, in the order of its pipeline.
Seconds bound_of(const models::StepSetting& setting)
{
  NoExchanges none;
  const models::PlannedStep step = models::plan_step(setting, none);
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

class Search {
public:
  Search(const ResolvedExperiment& experiment, models::Fidelity fidelity)
      : e_(experiment), job_(experiment.jobs.front()), setting_(job_.transformer->step),
        exchanges_({e_.platform, job_.stack, job_.library, e_.nodes, job_.ranks, e_.pcie_scale},
                   setting_.memory, fidelity)
  {
  }

  /// Fills `answer`, but for what is predicted of the best.
  std::vector<PlanChoice> operator()(std::size_t top, TuneAnswer& answer)
  {
    collect(answer);
    std::sort(candidates_.begin(), candidates_.end(),
              [](const PlanChoice& a, const PlanChoice& b) { return a.bound < b.bound; });
    std::vector<std::pair<models::PlanTime, const PlanChoice*>> ends;
    for (const PlanChoice& candidate : candidates_) {
      // Sorted by bound: nothing after this one can reach the best ones any more.
      if (ends.size() >= top && candidate.bound > ends[top - 1].first.step) {
        answer.hopeless = static_cast<int>(candidates_.size()) - answer.tried;
        break;
      }
      exchanges_.change_plan(candidate.setting.memory);
      ends.emplace_back(models::time_of_plan(candidate.setting, exchanges_), &candidate);
      ++answer.tried;
      std::sort(ends.begin(), ends.end(),
                [](const auto& a, const auto& b) { return a.first.step < b.first.step; });
      if (ends.size() > top)
        ends.pop_back();
    }
    std::vector<PlanChoice> best;
    for (const auto& [time, candidate] : ends) {
      best.push_back(*candidate);
      best.back().time = time;
    }
    return best;
  }

private:
  void collect(TuneAnswer& answer)
  {
    const models::MemorySetting& job = setting_.memory;
    const models::Transformer& t = job.model;
    const int gpus = job.batch.gpus;
    for (const int tensor : powers(std::min(e_.platform.gpus_per_node(), t.heads)))
      for (const int pipeline : divisors(gpus, t.layers))
        for (const int pieces : models::even_virtual_stages(t.layers, pipeline))
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
    const models::MemorySetting& job = setting_.memory;
    for (const int micro : powers(std::min(16, job.batch.global_batch))) {
      if (!models::problem_of(job.model, plan, job.batch.gpus, job.batch.sequence, micro,
                              job.batch.global_batch)
               .empty())
        continue;
      for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
        if (recompute == Recompute::selective && job.flash)
          continue; // the fused kernel does that by itself
        PlanChoice c{setting_, {}, {}};
        auto& memory = c.setting.memory;
        memory.plan = plan;
        memory.recompute = recompute;
        memory.batch.micro_batch = micro;
        memory.batch.data = job.batch.gpus / (plan.tensor * plan.context * plan.pipeline);
        memory.batch.micro_batches = job.batch.global_batch / (memory.batch.data * micro);
        memory.shard = memory.batch.data * plan.context;
        if (!plan_fits(memory, e_.platform)) {
          ++answer.too_large;
          continue;
        }
        c.bound = bound_of(c.setting);
        candidates_.push_back(std::move(c));
        break; // repeating more than memory asks for is never quicker
      }
    }
  }

  const ResolvedExperiment& e_;
  const ResolvedJob& job_;
  const models::StepSetting& setting_;
  PlanExchanges exchanges_;
  std::vector<PlanChoice> candidates_;
};

std::size_t at(sim::Phase phase)
{
  return static_cast<std::size_t>(phase);
}

// What a plan spends more time on than the best one.
std::string more_than(const sim::StepShares& plan, const models::PlanTime& best)
{
  const auto kernels = [](const sim::StepShares& s) {
    return s.busy[at(sim::Phase::forward)] + s.busy[at(sim::Phase::backward)];
  };
  const auto busy = [&](sim::Phase phase) {
    return plan.busy[at(phase)] - best.shares.busy[at(phase)];
  };
  const auto exposed = [&](sim::Phase phase) {
    return plan.exposed[at(phase)] - best.shares.exposed[at(phase)];
  };
  const std::pair<const char*, Seconds> more[] = {
      {"compute", kernels(plan) - kernels(best.shares)},
      {"recomputation", busy(sim::Phase::recompute)},
      {"tensor-parallel exchanges", exposed(sim::Phase::tensor)},
      {"context-parallel exchanges", exposed(sim::Phase::context)},
      {"experts' exchanges", exposed(sim::Phase::expert)},
      {"transfers between stages", exposed(sim::Phase::pipeline)},
      {"gradients and weights", exposed(sim::Phase::data)},
      {"bubble", plan.bubble - best.shares.bubble},
      {"optimizer", busy(sim::Phase::optimizer)}};
  const auto* most =
      std::max_element(std::begin(more), std::end(more),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most->second.value() <= 1e-4 * best.step.value())
    return "";
  return fmt::format("{} +{:.1f} %", most->first, 100 * (most->second / best.step));
}

Json parallel_json(const ParallelPlan& plan)
{
  return {{"tensor", plan.tensor},
          {"sequence_parallel", plan.sequence_parallel},
          {"context", plan.context},
          {"pipeline", plan.pipeline},
          {"virtual_stages", plan.virtual_stages},
          {"schedule", word_of(plan.schedule)},
          {"expert", plan.expert},
          {"zero", plan.zero}};
}

// The experiment with another plan.
Point with_plan(const Point& point, const ParallelPlan& plan, int micro_batch, Recompute recompute)
{
  auto document = std::make_shared<Document>(*point.document);
  Json parallel = document->root.at("jobs").at(0).value("parallel", Json::object());
  parallel.update(parallel_json(plan));
  const auto set = [&](const char* key, Json value) {
    set_in_experiment(*document, std::string("/jobs/0/") + key, std::move(value), "tune");
  };
  set("parallel", std::move(parallel));
  set("micro_batch", micro_batch);
  set("recompute", word_of(recompute));
  if (recompute != Recompute::selective)
    document->root.at("jobs").at(0).erase("recompute_modules");
  return {point.settings, std::move(document), point.profiles, point.anchored};
}

TunedPlan predicted(const Point& point, const models::MemorySetting& memory,
                    const RunOptions& options)
{
  const int micro_batch = memory.batch.micro_batch;
  const PointResult result =
      run_point(with_plan(point, memory.plan, micro_batch, memory.recompute), options);
  const JobResult& job = result.jobs.front();
  TunedPlan plan{memory.plan, micro_batch, word_of(memory.recompute), {}, 0, {}};
  plan.tokens_per_s = *job.tokens_per_s;
  plan.mfu = job.mfu->share.full;
  plan.memory = job.memory.needed;
  plan.days = job.days;
  plan.cost = job.cost;
  return plan;
}

// Paths beside `from`, as they are called from another directory.
void relocate(Json& json, const std::filesystem::path& from, const std::filesystem::path& to)
{
  if (json.is_structured())
    for (Json& inner : json)
      relocate(inner, from, to);
  if (!json.is_string() || !is_file_name(json.get<std::string>()))
    return;
  const auto file = from / json.get<std::string>();
  if (std::filesystem::exists(file))
    json = std::filesystem::proximate(file, to).string();
}

// "tensor 2, pipeline 4, zero 1, micro-batch 1, full recomputation"
std::string plan_name(const TunedPlan& p)
{
  std::string name;
  for (const auto& [word, ways] :
       {std::pair{"tensor", p.plan.tensor}, std::pair{"context", p.plan.context},
        std::pair{"pipeline", p.plan.pipeline}, std::pair{"virtual stages", p.plan.virtual_stages},
        std::pair{"expert", p.plan.expert}})
    if (ways > 1)
      name += fmt::format("{} {}, ", word, ways);
  return name + fmt::format("zero {}, micro-batch {}, {} recomputation", p.plan.zero, p.micro_batch,
                            p.recompute == "none" ? "no" : p.recompute);
}

} // namespace

Json tuned_experiment(const Point& point, const TunedPlan& plan, const std::string& directory)
{
  const Point tuned =
      with_plan(point, plan.plan, plan.micro_batch, choice_of<Recompute>(plan.recompute).value());
  Json json = tuned.document->root;
  const auto& file = tuned.document->path;
  if (!file.empty())
    relocate(json, std::filesystem::absolute(file).parent_path(),
             std::filesystem::absolute(directory.empty() ? "." : directory));
  json["description"] = "Tuned: " + plan_name(plan);
  return json;
}

TuneAnswer tune(const Point& point, int top, const RunOptions& options)
{
  const ResolvedExperiment experiment = resolve(point);
  if (experiment.jobs.size() != 1)
    Value(point.document)
        .fail_at("jobs", "are several: plans are tuned of one job that has the machine to itself");
  if (!experiment.jobs.front().transformer)
    Value(point.document)
        .at("jobs")
        .at(0)
        .fail_at("model", "is no transformer: there is no plan to tune",
                 "foretrain plan compares options of any experiment");
  TuneAnswer answer;
  answer.name = experiment.jobs.front().spec.name;
  answer.gpus = experiment.jobs.front().spec.gpus;
  answer.currency = experiment.spec.cluster.currency;
  answer.not_tried = "context and expert-tensor parallelism other than the job's, uneven stages "
                     "by hand, offloading, sharing within nodes";
  const auto best = Search(experiment, options.fidelity)(static_cast<std::size_t>(top), answer);
  std::vector<std::pair<TunedPlan, models::PlanTime>> plans;
  for (const PlanChoice& choice : best)
    plans.emplace_back(predicted(point, choice.setting.memory, options), choice.time);
  std::stable_sort(plans.begin(), plans.end(), [](const auto& a, const auto& b) {
    return a.first.tokens_per_s.median > b.first.tokens_per_s.median;
  });
  for (auto& [plan, time] : plans) {
    plan.loses = more_than(time.shares, plans.front().second);
    answer.best.push_back(std::move(plan));
  }
  return answer;
}

namespace {

std::string training_header(const TuneAnswer& a)
{
  const bool days = !a.best.empty() && a.best.front().days;
  const bool cost = days && a.best.front().cost;
  return (days ? fmt::format("{:>8}  ", "days") : "") +
         (cost ? fmt::format("{:>12}  ", a.currency.empty() ? "cost" : "cost, " + a.currency) : "");
}

std::string training_cells(const TunedPlan& p)
{
  return (p.days ? fmt::format("{:>8.1f}  ", p.days->median) : "") +
         (p.cost ? fmt::format("{:>12.0f}  ", p.cost->median) : "");
}

Json range_json(const Range& range)
{
  return {{"median", range.median},
          {"low", range.low},
          {"high", range.high},
          {"interval", range.interval}};
}

} // namespace

std::string tune_text(const TuneAnswer& a)
{
  std::string text =
      fmt::format("{} on {} GPUs: {} plans simulated, {} do not fit, {} cannot reach "
                  "the best\n\n",
                  a.name, a.gpus, a.tried, a.too_large, a.hopeless);
  text += fmt::format(
      "{:>3} {:>6} {:>8} {:>7} {:>6} {:>4} {:>5} {:>9}  {:>12} {:>21}  {:>5}  {:>8}  {}{}\n", "",
      "tensor", "pipeline", "virtual", "expert", "zero", "micro", "recompute", "tokens/s",
      "interval", "MFU", "memory", training_header(a), "loses by");
  int rank = 0;
  for (const TunedPlan& p : a.best)
    text += fmt::format("{:>3} {:>6} {:>8} {:>7} {:>6} {:>4} {:>5} {:>9}  {:>12.0f} "
                        "{:>10.0f}-{:<10.0f}  {:>4.1f}%  "
                        "{:>5.1f} GB  {}{}\n",
                        ++rank, p.plan.tensor, p.plan.pipeline, p.plan.virtual_stages,
                        p.plan.expert, p.plan.zero, p.micro_batch, p.recompute,
                        p.tokens_per_s.median, p.tokens_per_s.low, p.tokens_per_s.high, 100 * p.mfu,
                        p.memory.value() / 1e9, training_cells(p), p.loses);
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
  for (const TunedPlan& p : a.best) {
    json["plans"].push_back({{"parallel", parallel_json(p.plan)},
                             {"micro_batch", p.micro_batch},
                             {"recompute", p.recompute},
                             {"tokens_per_s", range_json(p.tokens_per_s)},
                             {"mfu", p.mfu},
                             {"device_memory_byte", p.memory.value()},
                             {"fits", true}, // plans that do not are none
                             {"loses_by", p.loses}});
    Json& plan = json["plans"].back();
    if (p.days)
      plan["days"] = range_json(*p.days);
    if (p.cost)
      plan["cost"] = range_json(*p.cost);
    if (p.cost && !a.currency.empty())
      plan["currency"] = a.currency;
  }
  return json;
}

} // namespace foretrain::experiments
