#include "experiments/answers/programs.hpp"

#include "experiments/run/keep/result_json.hpp"
#include "experiments/run/simulate/anchor_runs.hpp"
#include "experiments/run/simulate/one_gpu.hpp"
#include "experiments/run/simulate/plan_writer.hpp"
#include "experiments/run/simulate/synchronisation.hpp"
#include "experiments/run/simulate/tenancy.hpp"
#include "experiments/spec/resolve.hpp"
#include "sim/base/error.hpp"
#include "sim/base/quantity_text.hpp"
#include "sim/workload/program_json.hpp"

#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

Json program_json(const models::WorkPlan& plan)
{
  Json json = sim::to_json(plan.program);
  json["summary"] = plan.summary;
  json["samples_per_step"] = plan.samples_per_step;
  json["step_variation"] = plan.step_variation;
  if (plan.one_gpu > 0)
    json["one_gpu_samples_per_s"] = plan.one_gpu;
  return json;
}

// Of a data-parallel job of a network.
Json program_json(const ResolvedExperiment& experiment, std::size_t i)
{
  const ResolvedJob& job = experiment.jobs[i];
  sim::Engine engine;
  const platforms::Machine machine(engine, experiment.platform, job.stack, experiment.nodes);
  const DataParallelJob made =
      data_parallel_job(job, gpus_apart(experiment, i, Tenancy(experiment)), engine, machine);
  models::WorkPlan plan = *made.plan;
  RunOptions quiet;
  quiet.uncertainty.method = UncertaintyMethod::steps;
  ResolvedExperiment without_input = experiment;
  without_input.jobs[i].input.synthetic = true;
  plan.one_gpu = one_gpu_throughput(without_input, i, quiet);
  int buckets = 0;
  for (const sim::Operation& op : plan.program.operations)
    buckets += op.kind == sim::WorkKind::agree ? 1 : 0;
  plan.summary = fmt::format("data parallel, {} GPUs, {} buckets{}", job.ranks.size(), buckets,
                             job.input.synthetic ? "" : "; reading and decoding are not in it");
  return program_json(plan);
}

Json program_of(const ResolvedExperiment& experiment, std::size_t i)
{
  const ResolvedJob& job = experiment.jobs[i];
  Json program =
      job.plan ? program_json(*job.plan)
      : job.transformer
          ? program_json(write_plan(experiment, i, models::Fidelity::coupled, PlanFor::people).work)
          : program_json(experiment, i);
  if (const Bytes memory = device_memory(job); memory.value() > 0)
    program["device_memory_byte"] = memory.value();
  return program;
}

struct Sum {
  int count = 0;
  double time_s = 0;
  double size_byte = 0;
};

std::string job_text(const Json& program)
{
  std::string text = fmt::format("{}: {}\n", program.at("name").get<std::string>(),
                                 program.at("summary").get<std::string>());
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const Json& op : program.at("operations")) {
    if (op.at("kind") == "join")
      continue;
    const auto kind = op.contains("collective") ? op.at("collective").get<std::string>()
                                                : op.at("kind").get<std::string>();
    Sum& sum = sums[{op.at("phase").get<std::string>(), kind}];
    ++sum.count;
    sum.time_s += op.value("time_s", 0.0);
    sum.size_byte += op.value("calls", 1.0) * op.value("size_byte", 0.0);
  }
  int devices = 0;
  for (const Json& rank : program.at("ranks"))
    devices += rank.at("stands_for").get<int>();
  text += fmt::format("  {} ranks for {} devices, {} operations\n", program.at("ranks").size(),
                      devices, program.at("operations").size());
  for (const Json& group : program.at("groups"))
    if (group.at("devices").size() > 0)
      text += fmt::format("  group {}: {} devices, {} alike\n", group.at("name").get<std::string>(),
                          group.at("devices")[0].size(), group.at("devices").size());
  text += fmt::format("  {:<10} {:<15} {:>8} {:>12} {:>12}\n", "phase", "operation", "number",
                      "time", "bytes");
  for (const auto& [key, sum] : sums)
    text += fmt::format("  {:<10} {:<15} {:>8} {:>12} {:>12}\n", key.first, key.second, sum.count,
                        sum.time_s > 0 ? to_text(Seconds(sum.time_s)) : "",
                        sum.size_byte > 0 ? to_text(Bytes(sum.size_byte)) : "");
  return text;
}

} // namespace

Json programs_of(const LoadedExperiment& experiment, int point)
{
  if (point < 0 || point >= static_cast<int>(experiment.points.size()))
    throw UsageError(fmt::format("there is no point {}: the experiment has {}, counted from 0",
                                 point, experiment.points.size()));
  const Point chosen = with_anchors(experiment.points[static_cast<std::size_t>(point)], {});
  Json json = {{"point", point}, {"settings", settings_json(chosen.settings)}};
  const ResolvedExperiment resolved = resolve(chosen);
  for (std::size_t i = 0; i < resolved.jobs.size(); ++i)
    json["jobs"].push_back(program_of(resolved, i));
  return json;
}

std::string program_text(const Json& programs)
{
  std::string text;
  for (const Json& job : programs.at("jobs"))
    text += job_text(job);
  return text;
}

} // namespace foretrain::experiments
