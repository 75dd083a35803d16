#include "experiments/api/public_answers.hpp"

#include "sim/base/json_text.hpp"

#include <algorithm>
#include <utility>

namespace foretrain::api {

namespace {

Interval interval_of(const experiments::Range& range)
{
  return {range.median, range.low, range.high, range.interval};
}

std::optional<Interval> interval_of(const std::optional<experiments::Range>& range)
{
  return range ? std::optional(interval_of(*range)) : std::nullopt;
}

Settings settings_of(const experiments::Settings& list)
{
  Settings settings;
  for (const auto& [pointer, value] : list)
    settings[pointer] = value.dump();
  return settings;
}

Settings settings_of(const Json& object)
{
  Settings settings;
  for (const auto& setting : object.items())
    settings[setting.key()] = setting.value().dump();
  return settings;
}

Job job_of(const experiments::JobResult& of)
{
  Job job;
  job.name = of.name;
  job.gpus = of.gpus;
  job.nodes = of.nodes;
  job.throughput = interval_of(of.throughput);
  job.step_time = interval_of(of.step_time);
  job.speedup = of.speedup;
  job.speedup_range = interval_of(of.speedup_range);
  job.slowdown = of.slowdown;
  job.slowdown_range = interval_of(of.slowdown_range);
  for (const experiments::StepPart& part : experiments::kStepParts)
    if (!part.planned || of.planned)
      job.time[part.key] = (of.time.*part.time).value();
  job.limited_by = of.bottleneck.resource;
  job.fits = of.memory.fits();
  job.memory_needed = of.memory.needed.value();
  job.memory_available = of.memory.available.value();
  job.days = interval_of(of.days);
  job.cost = interval_of(of.cost);
  return job;
}

std::vector<Job> jobs_of(const std::vector<experiments::JobResult>& list)
{
  std::vector<Job> jobs;
  for (const experiments::JobResult& job : list)
    jobs.push_back(job_of(job));
  return jobs;
}

Lever lever_of(const experiments::LeverGain& lever)
{
  return {lever.name, lever.doubled, lever.slightly, lever.twice};
}

ExplainedJob explained_job(const experiments::ExplainedJob& of)
{
  ExplainedJob job;
  job.name = of.path.name;
  job.throughput = of.throughput;
  for (const experiments::PathPart& part : of.path.parts)
    job.time[part.part] = part.time.value();
  if (of.limited_by)
    job.limited_by = lever_of(*of.limited_by);
  for (const experiments::LeverGain& lever : of.levers)
    job.levers.push_back(lever_of(lever));
  for (const experiments::TogetherGain& set : of.together)
    job.together.push_back({set.levers, set.doubled, set.twice});
  for (const experiments::SwapGain& swap : of.swaps)
    job.swaps.push_back({swap.pointer, value_text(swap.from), value_text(swap.to), swap.gain});
  return job;
}

PlanCandidate candidate_of(const experiments::JudgedCandidate& of)
{
  PlanCandidate candidate;
  for (const auto& [change, option] : of.options)
    candidate.options[change] = value_text(option);
  candidate.nodes = of.nodes;
  candidate.gpus = of.gpus;
  candidate.cost = of.cost;
  candidate.probability = of.probability;
  candidate.fits = of.fits;
  candidate.jobs = jobs_of(of.jobs);
  candidate.error = of.error;
  return candidate;
}

FleetPoint fleet_point(const experiments::Settings& settings, const experiments::FleetAnswer& of)
{
  FleetPoint point;
  point.settings = settings_of(settings);
  point.policy = of.policy;
  point.gpus = of.gpus;
  point.submitted = of.jobs.submitted;
  point.completed = of.jobs.completed;
  point.makespan = interval_of(of.makespan_s);
  if (of.wait_s && of.completion_s) {
    point.wait_mean = interval_of(of.wait_s->mean);
    point.wait_p90 = interval_of(of.wait_s->p90);
    point.completion_mean = interval_of(of.completion_s->mean);
  }
  point.utilisation = interval_of(of.utilisation);
  point.goodput = interval_of(of.goodput);
  using ByPart = std::vector<std::pair<std::string, experiments::Range>>;
  for (const auto& [part, hours] : read_from<ByPart>(written(of.gpu_hours), "GPU hours"))
    point.gpu_hours[part] = interval_of(hours);
  point.cost = interval_of(of.cost);
  point.currency = of.currency;
  return point;
}

} // namespace

Answer public_answer(const experiments::Prediction& prediction)
{
  Answer made;
  made.status = prediction.status;
  made.json = written(prediction.result).dump(2);
  for (const experiments::PointResult& point : prediction.result.points)
    made.points.push_back({settings_of(point.settings), jobs_of(point.jobs), point.error});
  return made;
}

Explanation public_answer(const experiments::Explanation& answer)
{
  Explanation made{settings_of(answer.settings), {}, written(answer).dump(2)};
  for (const experiments::ExplainedJob& job : answer.jobs)
    made.jobs.push_back(explained_job(job));
  return made;
}

Comparison public_answer(const experiments::CompareAnswer& answer)
{
  Comparison made{{}, answer.warnings, written(answer).dump(2)};
  for (const experiments::JobComparison& pair : answer.pairs) {
    ComparedJob& job = made.jobs.emplace_back();
    job.settings = settings_of(pair.settings);
    job.name = pair.job;
    job.ratio = interval_of(pair.ratio);
    job.probability_b_faster = pair.probability_b_faster;
    for (const experiments::DifferenceCause& cause : pair.causes)
      job.causes.emplace_back(cause.part, cause.difference.value());
  }
  return made;
}

Check public_answer(const experiments::CheckedFile& checked)
{
  Check made;
  made.json = experiments::check_json({checked}).dump(2);
  for (const experiments::CheckCase& it : checked.cases) {
    made.cases.push_back({it.name, state_name(it.state), it.message});
    if (it.state == experiments::CheckState::error)
      made.status = 2;
    else if (it.state == experiments::CheckState::failed)
      made.status = std::max(made.status, 1);
  }
  return made;
}

Tuned public_answer(const experiments::TuneAnswer& answer)
{
  Tuned made;
  made.json = written(answer).dump(2);
  made.simulated = answer.tried;
  for (const experiments::TunedPlan& of : answer.best)
    made.plans.push_back({settings_of(experiments::parallel_json(of.plan)), of.micro_batch,
                          of.recompute, interval_of(of.tokens_per_s), of.mfu, of.memory.value(),
                          interval_of(of.days), interval_of(of.cost)});
  return made;
}

PlanAnswer public_answer(const experiments::PlanAnswer& answer)
{
  PlanAnswer made{{}, answer.recommended, answer.fastest, answer.frontier, written(answer).dump(2)};
  for (const experiments::JudgedCandidate& candidate : answer.candidates)
    made.candidates.push_back(candidate_of(candidate));
  return made;
}

FleetAnswer public_answer(const experiments::FleetSweepAnswer& answer)
{
  FleetAnswer made{{}, written(answer).dump(2)};
  for (const experiments::FleetPointAnswer& point : answer.points)
    made.points.push_back(fleet_point(point.settings, point.answer));
  return made;
}

FleetAnswer public_answer(const experiments::FleetAnswer& answer)
{
  return {{fleet_point({}, answer)}, written(answer).dump(2)};
}

} // namespace foretrain::api
