#include "experiments/answers/tune.hpp"

#include "experiments/run/scenario.hpp"
#include "experiments/run/simulate/plan_exchanges.hpp"
#include "experiments/spec/fitting_plan.hpp"
#include "experiments/spec/resolve.hpp"
#include "models/plans/divided.hpp"
#include "sim/base/file_name.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using models::ParallelPlan;
using models::Recompute;

struct PlanChoice {
  models::StepSetting setting;
  Seconds bound; // without any exchange
  models::PlanTime time;
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
      const bool full = ends.size() >= top;
      if (full && candidate.bound > ends.back().first.step)
        break;
      exchanges_.change_plan(candidate.setting.memory);
      if (full && bound_of(candidate.setting, exchanges_) > ends.back().first.step)
        continue;
      ends.emplace_back(models::time_of_plan(candidate.setting, exchanges_), &candidate);
      ++answer.tried;
      std::sort(ends.begin(), ends.end(),
                [](const auto& a, const auto& b) { return a.first.step < b.first.step; });
      if (ends.size() > top)
        ends.pop_back();
    }
    answer.hopeless = static_cast<int>(candidates_.size()) - answer.tried;
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
      for (const int context : contexts(job.batch.sequence, gpus / tensor, job.plan.context))
        for (const int pipeline : divisors(gpus / tensor / context, t.layers))
          for (const int pieces : models::even_virtual_stages(t.layers, pipeline))
            for (const int expert : t.experts > 0 ? divisors(t.experts, gpus) : std::vector<int>{1})
              for (const int expert_tensor :
                   t.experts > 0 ? powers(e_.platform.gpus_per_node()) : std::vector<int>{1}) {
                ParallelPlan plan = job.plan;
                plan.tensor = tensor;
                plan.sequence_parallel = tensor > 1;
                plan.context = context;
                plan.pipeline = pipeline;
                plan.virtual_stages = pieces;
                plan.schedule = pieces > 1 ? models::PipelineSchedule::interleaved
                                           : models::PipelineSchedule::one_f_one_b;
                plan.expert = expert;
                plan.expert_tensor = expert_tensor;
                add_batches(plan, answer);
              }
  }

  void add_batches(ParallelPlan plan, TuneAnswer& answer)
  {
    const models::MemorySetting& job = setting_.memory;
    const models::PlannedBatch& batch = job.batch;
    for (const int micro : powers(std::min(16, batch.global_batch))) {
      if (!models::problem_of(job.model, plan, batch.gpus, batch.sequence, micro,
                              batch.global_batch)
               .empty())
        continue;
      NoExchanges none;
      PlanChoice c{setting_, {}, {}};
      models::MemorySetting& memory = c.setting.memory;
      memory.batch =
          models::planned_batch(plan, batch.gpus, batch.sequence, micro, batch.global_batch);
      for (const auto& [zero, shard] : sharings(plan, memory.batch.data)) {
        plan.zero = zero;
        plan.shard = shard;
        memory.plan = plan;
        if (!least_recompute(memory)) {
          ++answer.too_large;
          continue;
        }
        c.bound = bound_of(c.setting, none);
        candidates_.push_back(c);
      }
    }
  }

  // Repeating more than memory asks for is never quicker. False where nothing fits.
  bool least_recompute(models::MemorySetting& memory) const
  {
    for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
      if (recompute == Recompute::selective && memory.flash)
        continue; // the fused kernel does that by itself
      memory.recompute = recompute;
      if (plan_fits(memory, e_.platform))
        return true;
    }
    return false;
  }

  // Frameworks divide the weights of whole models only, and within nodes where there are several.
  std::vector<std::pair<int, models::ZeroShard>> sharings(const ParallelPlan& plan, int data) const
  {
    std::vector<std::pair<int, models::ZeroShard>> list{{1, models::ZeroShard::all}};
    if (plan.pipeline > 1)
      return list;
    list.emplace_back(3, models::ZeroShard::all);
    if (setting_.memory.per_node / plan.tensor < data * plan.context)
      list.emplace_back(3, models::ZeroShard::node);
    return list;
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
  Json json = {{"tensor", plan.tensor},
               {"sequence_parallel", plan.sequence_parallel},
               {"context", plan.context},
               {"pipeline", plan.pipeline},
               {"virtual_stages", plan.virtual_stages},
               {"schedule", word_of(plan.schedule)},
               {"expert", plan.expert},
               {"expert_tensor", plan.expert_tensor},
               {"zero", plan.zero}};
  if (plan.shard != models::ZeroShard::all)
    json["shard"] = word_of(plan.shard);
  return json;
}

// The experiment with another plan.
Point with_plan(const Point& point, const ParallelPlan& plan, int micro_batch, Recompute recompute)
{
  auto document = std::make_shared<Document>(*point.document);
  Json parallel = document->root.at("jobs").at(0).value("parallel", Json::object());
  parallel.erase("shard");
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

std::string zero_text(const ParallelPlan& plan)
{
  return fmt::format("{}{}", plan.zero,
                     plan.shard == models::ZeroShard::node ? " within nodes" : "");
}

// "tensor 2, pipeline 4, zero 1, micro-batch 1, full recomputation"
std::string plan_name(const TunedPlan& p)
{
  std::string name;
  for (const auto& [word, ways] :
       {std::pair{"tensor", p.plan.tensor}, std::pair{"context", p.plan.context},
        std::pair{"pipeline", p.plan.pipeline}, std::pair{"virtual stages", p.plan.virtual_stages},
        std::pair{"expert", p.plan.expert}, std::pair{"expert tensor", p.plan.expert_tensor}})
    if (ways > 1)
      name += fmt::format("{} {}, ", word, ways);
  return name + fmt::format("zero {}, micro-batch {}, {} recomputation", zero_text(p.plan),
                            p.micro_batch, p.recompute == "none" ? "no" : p.recompute);
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

namespace {

// A job that says nothing of its plan gets one that divides its batch: the search starts from a
// plan that can run.
Point startable(const Point& point)
{
  const ExperimentSpec spec = read_point(point);
  if (spec.jobs.size() != 1 || !has_transformer(spec.jobs.front()) || spec.jobs.front().parallel ||
      !spec.jobs.front().global_batch)
    return point;
  const JobSpec& job = spec.jobs.front();
  const models::TransformerFile model =
      models::load_transformer(resolve_preset(job.model, models::kNetworkKind));
  const int sequence = job.sequence.value_or(model.sequence);
  const int micro = job.micro_batch.value_or(1);
  ParallelPlan plan;
  for (plan.pipeline = 1; plan.pipeline <= model.transformer.layers; ++plan.pipeline)
    for (const int tensor : powers(model.transformer.heads)) {
      plan.tensor = tensor;
      if (models::problem_of(model.transformer, plan, job.gpus, sequence, micro, *job.global_batch)
              .empty())
        return with_plan(point, plan, micro, job.recompute);
    }
  return point; // what is wrong is said where plans are read
}

} // namespace

TuneAnswer tune(const Point& asked, int top, const RunOptions& options)
{
  const Point point = startable(asked);
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
  answer.not_tried = "zero 2, uneven stages by hand, other schedules, offloading, recomputation of "
                     "some modules";
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

// A key of plans in the table.
struct PlanColumn {
  std::string_view name;
  std::string (*cell)(const TunedPlan&);
};

constexpr PlanColumn kPlanColumns[] = {
    {"tensor", [](const TunedPlan& p) { return std::to_string(p.plan.tensor); }},
    {"context", [](const TunedPlan& p) { return std::to_string(p.plan.context); }},
    {"pipeline", [](const TunedPlan& p) { return std::to_string(p.plan.pipeline); }},
    {"virtual", [](const TunedPlan& p) { return std::to_string(p.plan.virtual_stages); }},
    {"expert", [](const TunedPlan& p) { return std::to_string(p.plan.expert); }},
    {"expert tensor", [](const TunedPlan& p) { return std::to_string(p.plan.expert_tensor); }},
    {"zero", [](const TunedPlan& p) { return zero_text(p.plan); }},
    {"micro", [](const TunedPlan& p) { return std::to_string(p.micro_batch); }},
    {"recompute", [](const TunedPlan& p) { return p.recompute; }},
};

// Zero where no plan divides anything that way.
std::size_t width_of(const PlanColumn& column, const std::vector<TunedPlan>& plans)
{
  std::size_t width = column.name.size();
  bool any = false;
  for (const TunedPlan& plan : plans) {
    const std::string cell = column.cell(plan);
    width = std::max(width, cell.size());
    any = any || cell != "1";
  }
  return any || column.name == "zero" || column.name == "micro" ? width : 0;
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
  const auto row = [&](const std::string& rank, const auto& cell_of) {
    text += fmt::format("{:>3}", rank);
    for (const PlanColumn& column : kPlanColumns)
      if (const std::size_t width = width_of(column, a.best); width > 0)
        text += fmt::format(" {:>{}}", cell_of(column), width);
  };
  row("", [](const PlanColumn& column) { return std::string(column.name); });
  text += fmt::format("  {:>12} {:>21}  {:>5}  {:>8}  {}{}\n", "tokens/s", "interval", "MFU",
                      "memory", training_header(a), "loses by");
  int rank = 0;
  for (const TunedPlan& p : a.best) {
    row(std::to_string(++rank), [&p](const PlanColumn& column) { return column.cell(p); });
    text += fmt::format("  {:>12.0f} {:>10.0f}-{:<10.0f}  {:>4.1f}%  {:>5.1f} GB  {}{}\n",
                        p.tokens_per_s.median, p.tokens_per_s.low, p.tokens_per_s.high, 100 * p.mfu,
                        p.memory.value() / 1e9, training_cells(p), p.loses);
  }
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
