#include "experiments/run/result_json.hpp"

#include "experiments/run/token_work.hpp"

namespace foretrain::experiments {

namespace {

Json to_json(const Range& range)
{
  return {{"median", range.median},
          {"low", range.low},
          {"high", range.high},
          {"interval", range.interval}};
}

Json to_json(const models::StepTimes& time)
{
  return {{"compute", time.compute.value()},
          {"exposed_communication", time.exposed_communication.value()},
          {"input_stall", time.input_stall.value()},
          {"host_to_device", time.host_to_device.value()},
          {"straggler_wait", time.straggler_wait.value()},
          {"framework", time.framework.value()}};
}

// Rates of tokens and arithmetic, by both conventions of counting attention.
void add_tokens(const JobResult& job, Json& json)
{
  const TokenWork& work = *job.tokens;
  const Range tokens = tokens_per_s(job);
  json["tokens_per_s"] = to_json(tokens);
  json["tokens_per_s_per_gpu"] = tokens.median / job.gpus;
  const auto full = model_rate(job, work.flops.full);
  const auto causal = model_rate(job, work.flops.causal);
  json["model_tflops_per_gpu"] = {{"full", full.value() / 1e12}, {"causal", causal.value() / 1e12}};
  json["mfu"] = {{"full", full / work.peak}, {"causal", causal / work.peak}};
  if (!work.wanted)
    return;
  const double seconds = *work.wanted / tokens.median;
  json["training_tokens"] = *work.wanted;
  json["training_days"] = {{"median", seconds / 86400},
                           {"low", seconds / 86400 * job.throughput.median / job.throughput.high},
                           {"high", seconds / 86400 * job.throughput.median / job.throughput.low},
                           {"interval", job.throughput.interval}};
  if (work.gpu_price)
    json["training_cost"] = seconds / 3600 * job.gpus * *work.gpu_price;
}

// What the dates of all passes follow from.
Json to_json(const models::PipelineSetting& pipeline)
{
  Json json = {{"stages", pipeline.stages},
               {"virtual_stages", pipeline.virtual_stages},
               {"schedule", word_of(pipeline.schedule)},
               {"micro_batches", pipeline.micro_batches},
               {"blocking", pipeline.blocking},
               {"pieces", Json::array()}};
  for (const models::PieceTime& piece : pipeline.pieces)
    json["pieces"].push_back({{"forward_s", piece.forward.value()},
                              {"backward_s", piece.backward.value()},
                              {"weights_s", piece.weights.value()},
                              {"transfer_s", piece.transfer.value()}});
  return json;
}

void add_work_plan(const JobResult& job, Json& json)
{
  json["time_s"]["bubble"] = job.time.bubble.value();
  json["time_s"]["recompute"] = job.time.recompute.value();
  for (const models::ExposedPart& part : job.exposed_by_group)
    json["exposed_by_group"][part.group] = part.time.value();
  for (const models::MemoryPart& part : job.memory.parts)
    json["device_memory_byte"]["parts"][part.name] = part.size.value();
  if (job.tokens)
    add_tokens(job, json);
  if (job.pipeline)
    json["pipeline"] = to_json(*job.pipeline);
}

Json to_json(const Uncertainty& uncertainty)
{
  Json json = {{"method", uncertainty.method},
               {"from_parameters", uncertainty.parameters},
               {"run_to_run", uncertainty.run_to_run},
               {"contributions", Json::array()}};
  for (const Uncertainty::Part& part : uncertainty.parts)
    json["contributions"].push_back(
        {{"parameter", part.parameter}, {"spread", part.spread}, {"effect", part.effect}});
  return json;
}

Json to_json(const JobResult& job)
{
  Json json = {{"name", job.name},
               {"gpus", job.gpus},
               {"nodes", job.nodes},
               {"throughput_samples_per_s", to_json(job.throughput)},
               {"step_time_s", to_json(job.step_time)},
               {"speedup", job.speedup},
               {"efficiency", job.efficiency},
               {"time_s", to_json(job.time)},
               {"bottleneck",
                {{"resource", job.bottleneck.resource},
                 {"utilisation", job.bottleneck.utilisation},
                 {"why", job.bottleneck.why}}}};
  if (job.bottleneck.gain_if_doubled) {
    json["bottleneck"]["gain_if_doubled"] = *job.bottleneck.gain_if_doubled;
    if (!job.bottleneck.ties.empty())
      json["bottleneck"]["ties"] = job.bottleneck.ties;
    json["bottleneck"]["doubled"] = job.bottleneck.doubled;
  }
  json["elapsed_s"] = {{"start_up", job.elapsed.start_up.value()},
                       {"steps", job.elapsed.steps.value()},
                       {"total", job.elapsed.total().value()}};
  if (job.alone)
    json["alone"] = {{"throughput_samples_per_s", to_json(job.alone->throughput)},
                     {"step_time_s", to_json(job.alone->step_time)},
                     {"elapsed_s", job.alone->elapsed.total().value()}};
  if (job.slowdown)
    json["slowdown"] = *job.slowdown;
  if (job.bounds)
    json["throughput_bounds_samples_per_s"] = {{"coupled", job.bounds->coupled},
                                               {"edges", job.bounds->edges}};
  json["device_memory_byte"] = {{"needed", job.memory.needed.value()},
                                {"available", job.memory.available.value()}};
  if (!job.exposed_by_group.empty())
    add_work_plan(job, json);
  if (job.meeting)
    json["meeting"] = {{"resource", job.meeting->resource},
                       {"added_s", job.meeting->added.value()}};
  if (job.later_epochs)
    json["later_epochs"] = {{"throughput_samples_per_s", to_json(*job.later_epochs)}};
  if (job.training)
    json["training_s"] = {{"first_epoch", job.training->first_epoch.value()},
                          {"later_epoch", job.training->later_epoch.value()},
                          {"total", job.training->total.value()},
                          {"dataset", job.training->dataset},
                          {"samples_per_epoch", job.training->samples}};
  if (job.latency)
    json["latency_s"] = to_json(*job.latency);
  if (job.uncertainty)
    json["uncertainty"] = to_json(*job.uncertainty);
  if (!job.all_reduce.empty())
    json["all_reduce"] = job.all_reduce;
  json["busiest"] = Json::array();
  for (const ResourceUse& use : job.busiest)
    json["busiest"].push_back({{"resource", use.resource}, {"utilisation", use.utilisation}});
  return json;
}

Json to_json(const NodeUse& node)
{
  Json json = {{"node", node.node}, {"cores_utilisation", node.cores}};
  for (const NodeUse::Part& part : node.parts) {
    Json entry = {{"name", part.name}, {"kind", part.kind}};
    if (part.utilisation)
      entry["utilisation"] = *part.utilisation;
    json["parts"].push_back(std::move(entry));
  }
  for (const NodeUse::Link& link : node.links)
    json["links"].push_back({{"kind", link.kind},
                             {"from", link.from},
                             {"to", link.to},
                             {"byte_per_s", link.capacity.value()},
                             {"utilisation", link.utilisation},
                             {"utilisation_back", link.utilisation_back}});
  return json;
}

Json to_json(const JointScore& score)
{
  return {{"weighted_slowdown", score.weighted_slowdown},
          {"gpus_lost", score.gpus_lost},
          {"gpus", score.gpus}};
}

} // namespace

Json settings_json(const Settings& settings)
{
  Json json = Json::object();
  for (const auto& [pointer, value] : settings)
    json[pointer] = value;
  return json;
}

Json to_json(const PointResult& point)
{
  Json json = {{"settings", settings_json(point.settings)}, {"jobs", Json::array()}};
  for (const JobResult& job : point.jobs)
    json["jobs"].push_back(to_json(job));
  if (point.joint)
    json["joint"] = to_json(*point.joint);
  if (point.node)
    json["node"] = to_json(*point.node);
  json["parameters"] = Json::array();
  for (const Parameter& p : point.parameters)
    json["parameters"].push_back({{"name", p.name}, {"value", p.value}, {"source", p.source}});
  if (!point.warnings.empty())
    json["warnings"] = point.warnings;
  if (!point.unused.empty())
    json["unused_profile_parameters"] = point.unused;
  return json;
}

const char* name_of(models::Fidelity fidelity)
{
  return fidelity == models::Fidelity::coupled ? "coupled"
         : fidelity == models::Fidelity::edges ? "edges"
                                               : "chunks";
}

} // namespace foretrain::experiments
