#include "models/plans/parallel.hpp"

#include <numeric>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

struct Problem {
  std::string key; // below the job, like "parallel/tensor"
  std::string what;
  std::string hint;
};

// Divisors of n next to `value`, below and above.
std::string divisors_near(int n, int value)
{
  int below = 1;
  int above = 0;
  for (int d = 1; d <= n && above == 0; ++d)
    if (n % d == 0)
      (d <= value ? below : above) = d;
  return above > 0 ? fmt::format("nearest that do: {}, {}", below, above)
                   : fmt::format("nearest that does: {}", below);
}

Problem not_dividing(const char* key, int value, int whole, const char* of_what)
{
  return {key, fmt::format("is {}, which does not divide the {} {}", value, whole, of_what),
          divisors_near(whole, value)};
}

// Stages whose layers are told.
Problem of_all_stages(const Transformer& t, const ParallelPlan& plan)
{
  const char* const key = "parallel/stage_layers";
  if (plan.first_stage_layers || plan.last_stage_layers)
    return {key, "tells all stages, and another key the first or last one",
            "leave one of them out"};
  const auto pieces =
      static_cast<std::size_t>(plan.pipeline) * static_cast<std::size_t>(plan.virtual_stages);
  if (plan.stage_layers.size() != pieces)
    return {key,
            fmt::format("has {} numbers, and there are {} {}", plan.stage_layers.size(), pieces,
                        plan.virtual_stages > 1 ? "pieces (pipeline x virtual_stages)" : "stages"),
            ""};
  const int sum = std::accumulate(plan.stage_layers.begin(), plan.stage_layers.end(), 0);
  if (sum != t.layers)
    return {key, fmt::format("has {} layers in all, and the model {}", sum, t.layers), ""};
  return {};
}

Problem of_stages(const Transformer& t, const ParallelPlan& plan)
{
  if (!plan.stage_layers.empty())
    return of_all_stages(t, plan);
  if (!plan.first_stage_layers && !plan.last_stage_layers)
    return {};
  const char* const key =
      plan.first_stage_layers ? "parallel/first_stage_layers" : "parallel/last_stage_layers";
  const int told = (plan.first_stage_layers ? 1 : 0) + (plan.last_stage_layers ? 1 : 0);
  if (plan.pipeline <= told)
    return {key, fmt::format("is for pipelines of more stages than {}", plan.pipeline), ""};
  const int own = plan.first_stage_layers.value_or(0) + plan.last_stage_layers.value_or(0);
  const int others = plan.pipeline - told;
  const int rest = t.layers - own;
  if (rest < others || rest % (others * plan.virtual_stages) != 0)
    return {key,
            fmt::format("leaves {} of {} layers for {} stages{}, which must have equally many",
                        std::max(0, rest), t.layers, others,
                        plan.virtual_stages > 1 ? fmt::format(" of {} pieces", plan.virtual_stages)
                                                : ""),
            ""};
  for (const auto& [name, layers] :
       {std::pair{"parallel/first_stage_layers", plan.first_stage_layers},
        std::pair{"parallel/last_stage_layers", plan.last_stage_layers}})
    if (layers && *layers % plan.virtual_stages != 0)
      return {name,
              fmt::format("is {}, which the {} pieces of a stage do not divide", *layers,
                          plan.virtual_stages),
              ""};
  return {};
}

int key_heads(const DeltaNet& delta)
{
  return delta.key_heads.value_or(delta.heads);
}

// How a sequence's attention is shared.
Problem of_context(const Transformer& t, const ParallelPlan& plan, int sequence)
{
  if (plan.context > 1 && sequence % (2 * plan.context) != 0)
    return {"parallel/context",
            fmt::format("is {}, but twice that must divide the {} tokens of a sequence",
                        plan.context, sequence),
            ""};
  if (plan.context % plan.context_heads != 0)
    return not_dividing("parallel/context_heads", plan.context_heads, plan.context,
                        "context-parallel GPUs");
  const int heads = (t.latent ? t.heads : t.kv()) / plan.tensor;
  if (plan.context_heads > 1 && (heads == 0 || heads % plan.context_heads != 0))
    return {"parallel/context_heads",
            fmt::format("is {}, which does not divide the {} heads of keys of {} tensor-parallel "
                        "GPUs",
                        plan.context_heads, t.latent ? t.heads : t.kv(), plan.tensor),
            heads > 0 ? divisors_near(heads, plan.context_heads) : "fewer tensor-parallel GPUs"};
  if (plan.context_heads > 1 && plan.context_exchange == ContextExchange::all_gather)
    return {"parallel/context_heads",
            "is beside an all-gather of keys and values, which leaves heads where they are",
            "\"ring\", or context_heads 1"};
  return {};
}

// What tensor-parallel ranks share out evenly: their number divides all of it.
Problem of_tensor(const Transformer& t, const ParallelPlan& plan, int sequence)
{
  std::vector<std::pair<int, const char*>> wholes{{t.heads, "heads"},
                                                  {t.inner(), "values of the ffn"}};
  if (t.mamba && !t.mamba->selective())
    wholes.emplace_back(t.mamba->groups, "groups of Mamba");
  if (t.delta)
    wholes.emplace_back(key_heads(*t.delta), "heads of the linear attention's keys");
  if (plan.sequence_parallel)
    wholes.emplace_back(sequence, "tokens of a sequence");
  int common = 0;
  for (const auto& [whole, what] : wholes)
    common = std::gcd(common, whole);
  for (const auto& [whole, what] : wholes)
    if (whole % plan.tensor != 0) {
      Problem found = not_dividing("parallel/tensor", plan.tensor, whole, what);
      found.hint = divisors_near(common, plan.tensor);
      return found;
    }
  if (t.mamba && t.mamba->selective() && plan.tensor > 1)
    return {
        "parallel/tensor",
        fmt::format("is {}, and the model has the first Mamba (step_rank), whose second product "
                    "needs all values",
                    plan.tensor),
        "1: share weights out with zero, stages or experts instead"};
  return {};
}

Problem of_model(const Transformer& t, const ParallelPlan& plan, int sequence)
{
  if (Problem tensor = of_tensor(t, plan, sequence); !tensor.what.empty())
    return tensor;
  if (t.mamba && t.mamba->heads / plan.tensor % plan.context != 0)
    return not_dividing("parallel/context", plan.context, t.mamba->heads / plan.tensor,
                        "heads of Mamba on a GPU");
  if (t.delta && key_heads(*t.delta) / plan.tensor % plan.context != 0)
    return not_dividing("parallel/context", plan.context, key_heads(*t.delta) / plan.tensor,
                        "heads of the linear attention's keys on a GPU");
  if (Problem context = of_context(t, plan, sequence); !context.what.empty())
    return context;
  if (plan.pipeline > t.layers)
    return {"parallel/pipeline",
            fmt::format("is {}, but the model has {} layers", plan.pipeline, t.layers),
            divisors_near(t.layers, plan.pipeline)};
  if (plan.virtual_stages > 1 && plan.pipeline == 1)
    return {"parallel/virtual_stages", "is for pipelines of several stages", ""};
  // Where embedding and loss count as a layer each, the first and the last piece may hold these
  // alone.
  const int pieces = plan.pipeline * plan.virtual_stages;
  if (pieces > t.layers && (pieces > t.layers + 2 || (t.layers + 2) % pieces != 0)) {
    if (returns(plan.schedule))
      return {"parallel/schedule",
              fmt::format("is '{}', which has two pieces of layers on each of {} stages, but the "
                          "model has {} layers",
                          word_of(plan.schedule), plan.pipeline, t.layers),
              fmt::format("\"pipeline\": {} or less, or another schedule", t.layers / 2)};
    return {"parallel/virtual_stages",
            fmt::format("is {} on {} stages, but the model has {} layers", plan.virtual_stages,
                        plan.pipeline, t.layers),
            fmt::format("at most {}", t.layers / plan.pipeline)};
  }
  if (Problem uneven = of_stages(t, plan); !uneven.what.empty())
    return uneven;
  if (plan.expert > 1 && t.experts == 0)
    return {"parallel/expert", fmt::format("is {}, but the model has no experts", plan.expert), ""};
  if (plan.expert_tensor > 1 && t.experts == 0)
    return {"parallel/expert_tensor",
            fmt::format("is {}, but the model has no experts", plan.expert_tensor), ""};
  if (plan.expert_tensor > plan.tensor && plan.tensor > 1 && !plan.sequence_parallel)
    return {"parallel/expert_tensor",
            fmt::format("is {}, more than the {} tensor-parallel GPUs, which hold the same tokens",
                        plan.expert_tensor, plan.tensor),
            "\"sequence_parallel\": true"};
  if (t.experts > 0 && t.experts % plan.expert != 0)
    return not_dividing("parallel/expert", plan.expert, t.experts, "experts");
  return {};
}

constexpr int kMostMicroBatches = 100'000; // of a replica's step: they are simulated one by one

Problem of_batch(const ParallelPlan& plan, int data, int micro_batch, int global_batch)
{
  const int unit = data * micro_batch;
  if (global_batch / unit > kMostMicroBatches)
    return {"global_batch",
            fmt::format("is {}: a step has {} micro-batches of data x micro_batch = {} x {}, of "
                        "which {} are simulated at most",
                        global_batch, global_batch / unit, data, micro_batch, kMostMicroBatches),
            fmt::format("at most {}, or a larger micro_batch", kMostMicroBatches * unit)};
  if (global_batch % unit != 0) {
    const int below = global_batch / unit * unit;
    return {"global_batch",
            fmt::format("is {}, but must be a multiple of data x micro_batch = {} x {} = {}",
                        global_batch, data, micro_batch, unit),
            below > 0 ? fmt::format("nearest: {}, {}", below, below + unit)
                      : fmt::format("nearest: {}", unit)};
  }
  if (plan.schedule == PipelineSchedule::dualpipe_v && global_batch / unit < 2 * plan.pipeline)
    return {"parallel/schedule",
            fmt::format("is 'dualpipe-v', which needs twice as many micro-batches as stages, and "
                        "there are {} for {}",
                        global_batch / unit, plan.pipeline),
            "a larger global_batch or a smaller micro_batch, or \"zb-v\""};
  if (plan.schedule == PipelineSchedule::interleaved && global_batch / unit % plan.pipeline != 0)
    return {"parallel/virtual_stages",
            fmt::format("needs micro-batches ({}) in multiples of the stages ({})",
                        global_batch / unit, plan.pipeline),
            "another global_batch or micro_batch, or virtual_stages 1"};
  return {};
}

Problem of_gpus(const ParallelPlan& plan, int gpus, int micro_batch, int global_batch)
{
  const int model = plan.tensor * plan.context * plan.pipeline;
  if (gpus % model != 0)
    return {"gpus",
            fmt::format("is {}, but tensor x context x pipeline = {} x {} x {} = {} must divide it",
                        gpus, plan.tensor, plan.context, plan.pipeline, model),
            gpus < model
                ? fmt::format("nearest: {}", model)
                : fmt::format("nearest: {}, {}", gpus / model * model, (gpus / model + 1) * model)};
  const int of_stage = gpus / plan.pipeline;
  if (of_stage % (plan.expert * plan.expert_tensor) != 0)
    return {"parallel/expert",
            fmt::format("is {} (x expert_tensor {}), which does not divide the {} GPUs of a stage",
                        plan.expert, plan.expert_tensor, of_stage),
            divisors_near(of_stage / std::gcd(of_stage, plan.expert_tensor), plan.expert)};
  return of_batch(plan, gpus / model, micro_batch, global_batch);
}

Problem find_problem(const Transformer& t, const ParallelPlan& plan, int gpus, int sequence,
                     int micro_batch, int global_batch)
{
  Problem problem = of_model(t, plan, sequence);
  return problem.what.empty() ? of_gpus(plan, gpus, micro_batch, global_batch) : problem;
}

// What a job says of its plan and the plan has no use for.
void refuse_idle(const Value& job, const ParallelPlan& plan)
{
  if (!job.json().contains("parallel"))
    return;
  const Value parallel = job.at("parallel");
  const auto says = [&](const char* key) { return parallel.json().contains(key); };
  if (returns(plan.schedule) && (plan.pipeline == 1 || plan.virtual_stages != 2))
    parallel.fail_at("schedule",
                     fmt::format("is '{}', which has two pieces on each of several stages: "
                                 "pipeline is {}, virtual_stages {}",
                                 word_of(plan.schedule), plan.pipeline, plan.virtual_stages),
                     "leave virtual_stages out, and \"pipeline\": 2 or more");
  if (plan.virtual_stages > 1 && !returns(plan.schedule) && says("schedule") &&
      parallel.at("schedule").json() != word_of(PipelineSchedule::interleaved))
    parallel.fail_at(
        "schedule",
        fmt::format("is '{}', which has one piece of layers on each stage, and virtual_stages is "
                    "{}",
                    parallel.at("schedule").json().get<std::string>(), plan.virtual_stages),
        "\"interleaved\" has several; or leave schedule out, or virtual_stages 1");
  if (plan.virtual_stages == 1 && plan.pipeline > 1 && says("schedule") &&
      plan.schedule == PipelineSchedule::interleaved)
    parallel.fail_at("schedule",
                     "is 'interleaved', which has several pieces of layers on each stage, and "
                     "virtual_stages is 1",
                     "\"virtual_stages\": 2 or more, or \"1f1b\"");
  if (plan.pipeline == 1 &&
      (plan.schedule == PipelineSchedule::zero_bubble || plan.schedule == PipelineSchedule::gpipe))
    parallel.fail_at("schedule",
                     fmt::format("is '{}', an order of micro-batches on several stages, and "
                                 "pipeline is 1",
                                 word_of(plan.schedule)),
                     "leave it out, or \"pipeline\": 2 or more");
  const auto for_shared_sequences = [&](const char* key, bool standard) {
    if (plan.context == 1 && !standard)
      parallel.fail_at(key, "is for sequences that GPUs share, and context is 1",
                       "\"context\": 2 or more, or leave it out");
  };
  for_shared_sequences("context_exchange", plan.context_exchange == ContextExchange::ring);
  for_shared_sequences("context_heads", plan.context_heads == 1);
  if (plan.shard == ZeroShard::node && plan.zero != 1 && plan.zero != 3)
    parallel.fail_at(
        "shard",
        fmt::format("says among whom zero 1 or 3 divides what it shares out, and zero is {}",
                    plan.zero),
        "\"zero\": 1 or 3, or leave shard out");
  if (plan.shard == ZeroShard::node && plan.zero == 1 && plan.expert > 1)
    parallel.fail_at("shard",
                     fmt::format("is 'node' with zero 1, and expert is {}: experts have no such "
                                 "shards here",
                                 plan.expert),
                     "\"shard\": \"all\", or \"expert\": 1");
}

} // namespace

ParallelPlan as_meant(ParallelPlan plan)
{
  if (returns(plan.schedule) && plan.virtual_stages == 1 && plan.pipeline > 1)
    plan.virtual_stages = 2;
  if (plan.virtual_stages > 1 && plan.schedule == PipelineSchedule::one_f_one_b)
    plan.schedule = PipelineSchedule::interleaved;
  return plan;
}

std::vector<int> even_virtual_stages(int layers, int pipeline)
{
  std::vector<int> even{1};
  for (int pieces = 2; pieces * pipeline <= layers; ++pieces)
    if (layers % (pieces * pipeline) == 0 || (layers + 2) % (pieces * pipeline) == 0)
      even.push_back(pieces);
  return even;
}

std::string problem_of(const Transformer& t, const ParallelPlan& plan, int gpus, int sequence,
                       int micro_batch, int global_batch)
{
  const Problem problem = find_problem(t, plan, gpus, sequence, micro_batch, global_batch);
  return problem.what.empty() ? "" : problem.key + " " + problem.what;
}

PlannedBatch planned_batch(const ParallelPlan& plan, int gpus, int sequence, int micro_batch,
                           int global_batch)
{
  PlannedBatch batch{gpus, sequence, micro_batch, global_batch, 1, 1};
  batch.data = gpus / (plan.tensor * plan.context * plan.pipeline);
  batch.micro_batches = global_batch / (batch.data * micro_batch);
  return batch;
}

PlannedBatch planned_batch(const ParallelPlan& plan, const PlannedBatch& of, int micro_batch)
{
  PlannedBatch batch = planned_batch(plan, of.gpus, of.sequence, micro_batch, of.global_batch);
  batch.lengths = of.lengths;
  return batch;
}

PlannedBatch check_plan(const Value& job, const Transformer& t, const ParallelPlan& plan, int gpus,
                        int sequence, int micro_batch, int global_batch)
{
  const Problem problem = find_problem(t, plan, gpus, sequence, micro_batch, global_batch);
  refuse_idle(job, plan);
  if (!problem.what.empty()) {
    const auto slash = problem.key.find('/');
    if (slash == std::string::npos)
      job.fail_at(problem.key, problem.what, problem.hint);
    const std::string outer = problem.key.substr(0, slash);
    const std::string inner = problem.key.substr(slash + 1);
    if (job.json().contains(outer))
      job.at(outer).fail_at(inner, problem.what, problem.hint);
    job.fail(inner + " " + problem.what, problem.hint);
  }
  return planned_batch(plan, gpus, sequence, micro_batch, global_batch);
}

} // namespace foretrain::models
