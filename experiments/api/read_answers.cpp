#include "experiments/api/read_answers.hpp"

#include "experiments/report/report_html_rows.hpp"

#include <utility>

namespace foretrain::api {

namespace {

Interval interval_of(const Json& range)
{
  return {range.at("median").get<double>(), range.at("low").get<double>(),
          range.at("high").get<double>(), range.at("interval").get<double>()};
}

std::optional<Interval> interval_at(const Json& json, const char* key)
{
  return json.contains(key) ? std::optional(interval_of(json.at(key))) : std::nullopt;
}

std::string text_of(const Json& json, const char* key)
{
  return json.at(key).get<std::string>();
}

Settings settings_of(const Json& object)
{
  Settings settings;
  for (const auto& setting : object.items())
    settings[setting.key()] = setting.value().dump();
  return settings;
}

Job job_of(const Json& json)
{
  Job job;
  job.name = text_of(json, "name");
  job.gpus = json.at("gpus").get<int>();
  job.nodes = json.at("nodes").get<int>();
  job.throughput = interval_of(json.at("throughput_samples_per_s"));
  job.step_time = interval_of(json.at("step_time_s"));
  job.speedup = json.at("speedup").get<double>();
  for (const auto& part : json.at("time_s").items())
    job.time[part.key()] = part.value().get<double>();
  job.limited_by = text_of(json.at("bottleneck"), "resource");
  job.fits = json.at("fits").get<bool>();
  const Json& memory = json.at("device_memory_byte");
  job.memory_needed = memory.at("needed").get<double>();
  job.memory_available = memory.at("available").get<double>();
  job.days = interval_at(json, "days");
  job.cost = interval_at(json, "cost");
  return job;
}

std::vector<Job> jobs_of(const Json& list)
{
  std::vector<Job> jobs;
  for (const Json& job : list)
    jobs.push_back(job_of(job));
  return jobs;
}

Lever lever_of(const Json& json)
{
  return {text_of(json, "name"), text_of(json, "doubled"),
          json.at("gain_if_10_percent_better").get<double>(),
          json.at("gain_if_doubled").get<double>()};
}

ExplainedJob explained_job(const Json& json)
{
  ExplainedJob job;
  job.name = text_of(json, "name");
  job.throughput = json.at("throughput_samples_per_s").get<double>();
  for (const Json& part : json.at("critical_path"))
    job.time[text_of(part, "part")] = part.at("time_s").get<double>();
  if (const Json& limit = json.at("limited_by"); !limit.is_null())
    job.limited_by = lever_of(limit);
  for (const Json& lever : json.at("levers"))
    job.levers.push_back(lever_of(lever));
  for (const Json& swap : json.at("swaps"))
    job.swaps.push_back({text_of(swap, "pointer"), experiments::value_text(swap.at("from")),
                         experiments::value_text(swap.at("to")), swap.at("gain").get<double>()});
  return job;
}

PlanCandidate candidate_of(const Json& json)
{
  PlanCandidate candidate;
  for (const auto& option : json.at("options").items())
    candidate.options[option.key()] = experiments::value_text(option.value());
  candidate.nodes = json.at("nodes").get<int>();
  candidate.gpus = json.at("gpus").get<int>();
  if (json.contains("error")) {
    candidate.error = text_of(json, "error");
    return candidate;
  }
  candidate.cost = json.at("cost").get<double>();
  candidate.probability = json.at("probability").get<double>();
  candidate.fits = json.at("fits_memory").get<bool>();
  candidate.jobs = jobs_of(json.at("jobs"));
  return candidate;
}

std::optional<std::size_t> place_of(const Json& place)
{
  return place.is_null() ? std::nullopt : std::optional(place.get<std::size_t>());
}

FleetPoint fleet_point(const Json& json)
{
  FleetPoint point;
  if (json.contains("settings"))
    point.settings = settings_of(json.at("settings"));
  point.policy = text_of(json, "policy");
  point.gpus = json.at("gpus").get<int>();
  point.submitted = json.at("jobs").at("submitted").get<int>();
  point.completed = json.at("jobs").at("completed").get<int>();
  point.makespan = interval_of(json.at("makespan_s"));
  point.wait_mean = interval_of(json.at("wait_s").at("mean"));
  point.wait_p90 = interval_of(json.at("wait_s").at("p90"));
  point.completion_mean = interval_of(json.at("completion_s").at("mean"));
  point.utilisation = interval_of(json.at("utilisation"));
  point.goodput = interval_of(json.at("goodput"));
  for (const auto& part : json.at("gpu_hours").items())
    point.gpu_hours[part.key()] = interval_of(part.value());
  point.cost = interval_at(json, "cost");
  return point;
}

} // namespace

Answer read_prediction(const Json& answer, int status)
{
  Answer read;
  read.status = status;
  read.json = answer.dump(2);
  for (const Json& point : answer.at("points")) {
    const bool failed = point.contains("error");
    read.points.push_back({settings_of(point.at("settings")),
                           failed ? std::vector<Job>{} : jobs_of(point.at("jobs")),
                           failed ? text_of(point, "error") : ""});
  }
  return read;
}

Explanation read_explanation(const Json& answer)
{
  Explanation read{settings_of(answer.at("settings")), {}, answer.dump(2)};
  for (const Json& job : answer.at("jobs"))
    read.jobs.push_back(explained_job(job));
  return read;
}

Comparison read_comparison(const Json& answer)
{
  Comparison read;
  read.json = answer.dump(2);
  for (const Json& pair : answer.at("pairs")) {
    ComparedJob job{settings_of(pair.at("settings")),
                    text_of(pair, "job"),
                    interval_of(pair.at("ratio")),
                    pair.at("probability_b_faster").get<double>(),
                    {}};
    for (const Json& cause : pair.at("causes"))
      job.causes.emplace_back(text_of(cause, "part"), cause.at("difference_s").get<double>());
    read.jobs.push_back(std::move(job));
  }
  if (answer.contains("warnings"))
    read.warnings = answer.at("warnings").get<std::vector<std::string>>();
  return read;
}

Check read_check(const Json& answer)
{
  Check read;
  read.json = answer.dump(2);
  for (const Json& file : answer.at("files"))
    for (const Json& it : file.at("cases"))
      read.cases.push_back(
          {text_of(it, "name"), text_of(it, "state"), it.value("message", std::string())});
  read.status = answer.at("errors") > 0 ? 2 : answer.at("failed") > 0 ? 1 : 0;
  return read;
}

Tuned read_tuned(const Json& answer)
{
  Tuned read;
  read.json = answer.dump(2);
  read.simulated = answer.at("simulated").get<int>();
  for (const Json& plan : answer.at("plans")) {
    TunedPlan& made = read.plans.emplace_back();
    made.parallel = settings_of(plan.at("parallel"));
    made.micro_batch = plan.at("micro_batch").get<int>();
    made.recompute = text_of(plan, "recompute");
    made.tokens_per_s = interval_of(plan.at("tokens_per_s"));
    made.mfu = plan.at("mfu").get<double>();
    made.memory_needed = plan.at("device_memory_byte").get<double>();
    made.days = interval_at(plan, "days");
    made.cost = interval_at(plan, "cost");
  }
  return read;
}

PlanAnswer read_plan(const Json& answer)
{
  PlanAnswer read;
  read.json = answer.dump(2);
  for (const Json& candidate : answer.at("candidates"))
    read.candidates.push_back(candidate_of(candidate));
  read.recommended = place_of(answer.at("recommended"));
  read.fastest = place_of(answer.at("fastest"));
  read.frontier = answer.at("frontier").get<std::vector<std::size_t>>();
  return read;
}

FleetAnswer read_fleet(const Json& answer)
{
  FleetAnswer read;
  read.json = answer.dump(2);
  if (answer.contains("points"))
    for (const Json& point : answer.at("points"))
      read.points.push_back(fleet_point(point));
  else
    read.points.push_back(fleet_point(answer));
  return read;
}

} // namespace foretrain::api
