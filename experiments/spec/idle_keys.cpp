#include "experiments/spec/idle_keys.hpp"

#include "experiments/spec/transformer_setting.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using Keys = std::vector<const char*>;

// What only transformers' jobs have.
Keys keys_of_transformers()
{
  return {"sequence",         "lengths",
          "micro_batch",      "parallel",
          "recompute",        "recompute_modules",
          "recompute_layers", "bf16_layers",
          "routing",          "lora",
          "offload",          "offload_activations",
          "attention"};
}

std::string without_influence(const JobSpec& spec, const Value& job, const Keys& keys,
                              const std::string& where)
{
  std::string given;
  int count = 0;
  for (const char* key : keys)
    if (job.json().contains(key)) {
      given += fmt::format("{}\"{}\"", given.empty() ? "" : ", ", key);
      ++count;
    }
  return count == 0 ? ""
                    : fmt::format("{}: {} {} no influence on {}", spec.name, given,
                                  count == 1 ? "has" : "have", where);
}

// A step of other models is told by its batches.
std::string other_global_batch(const JobSpec& spec)
{
  if (!spec.global_batch || *spec.global_batch == batch_of_step(spec) * spec.gpus)
    return "";
  return fmt::format(
      "{}: \"global_batch\" has no influence on a job whose model is not a transformer: "
      "a step has {:g} samples, {} of them on each of {} GPUs; gradients of several "
      "batches are added up with \"gradient_accumulation\" (here {:g})",
      spec.name, batch_of_step(spec) * spec.gpus, batch_of_step(spec), spec.gpus,
      static_cast<double>(*spec.global_batch) / spec.gpus / spec.batch_per_gpu);
}

} // namespace

std::string idle_keys_of_input(const JobSpec& spec)
{
  if (!spec.input || !spec.input.json().is_object() ||
      read_input(spec.input).format != InputFormat::synthetic)
    return "";
  Keys keys{"threads", "prefetch_batches", "cache", "fixed_parts"};
  if (!spec.epochs)
    keys.push_back("dataset");
  return without_influence(spec, spec.input, keys,
                           "input that is synthetic: it is there without reading");
}

std::string idle_keys_of_inference(const JobSpec& spec, const Value& job)
{
  if (spec.mode != JobMode::inference)
    return "";
  return without_influence(spec, job, {"library", "optimizer"},
                           "inference, in which GPUs exchange nothing and no weight changes");
}

std::string idle_keys_of_transformer(const JobSpec& spec, const Value& job)
{
  if (spec.gradient_accumulation > 1)
    job.fail_at("gradient_accumulation", "is not for transformers",
                fmt::format("\"micro_batch\": {}, \"global_batch\": {} times that and the model's "
                            "replicas",
                            std::max(1, spec.batch_per_gpu), spec.gradient_accumulation));
  Keys idle{"memory"};
  std::string what = "a transformer's job";
  if (spec.input && read_input(spec.input).format != InputFormat::synthetic) {
    idle.emplace_back("input");
    what += ", whose tokens are there at once";
  }
  if (spec.epochs && !counts_epochs(spec)) {
    idle.emplace_back("epochs");
    what += "; its length is \"tokens\" or \"training_steps\"";
  }
  const models::ParallelPlan plan = spec.parallel.value_or(models::ParallelPlan{});
  std::string all = without_influence(spec, job, idle, what);
  if (plan.sequence_parallel && plan.tensor == 1)
    all += fmt::format("{}{}: \"sequence_parallel\" has no influence without tensor parallelism",
                       all.empty() ? "" : "; ", spec.name);
  return all;
}

std::string idle_keys_of_other(const JobSpec& spec, const Value& job)
{
  if (divides(spec.parallel.value_or(models::ParallelPlan{})))
    job.fail_at("parallel", "divides the model, and the model is not a transformer",
                "leave it out: the job is data-parallel on all its GPUs");
  if (is_narrow(spec.precision))
    job.fail_at(
        "precision", "is '" + word_of(spec.precision) + "', and the model is not a transformer",
        "products in 8 bits or 4 are those of transformers; fp32, tf32, fp16, bf16 are for all");
  if (spec.global_batch && spec.batch_per_gpu < 1)
    job.fail_at("batch_per_gpu", "is missing: global_batch is for transformers",
                fmt::format("batch_per_gpu is samples per GPU: {} on {} GPUs are {:g}",
                            *spec.global_batch, spec.gpus,
                            static_cast<double>(*spec.global_batch) / spec.gpus));
  const std::string batch = other_global_batch(spec);
  Keys keys = keys_of_transformers();
  keys.push_back("tokens");
  std::string idle = without_influence(spec, job, keys, "a job whose model is not a transformer");
  if (spec.sequence)
    idle +=
        fmt::format(". Its samples are as long as the model says: \"model\": {{ \"extends\": ..., "
                    "\"input\": {{ \"tokens\": {} }} }}",
                    *spec.sequence);
  return batch.empty() || idle.empty() ? batch + idle : batch + "; " + idle;
}

std::string idle_keys_of_program(const JobSpec& spec, const Value& job)
{
  Keys keys{"precision",     "optimizer",    "mode",
            "batch_per_gpu", "global_batch", "gradient_accumulation",
            "input",         "anchor",       "kernel_time"};
  for (const char* key : keys_of_transformers())
    keys.push_back(key);
  return without_influence(spec, job, keys, "a job with a program, whose kernels have their times");
}

} // namespace foretrain::experiments
