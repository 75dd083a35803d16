#include "experiments/spec/transformer_checks.hpp"

#include "models/training/optimizer.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// Modules that recomputation names and the model does not have.
void refuse_missing_modules(const JobSpec& job, const models::Transformer& t, const Value& at)
{
  using enum models::LayerModule;
  const auto runs = t.runs();
  const bool dense = std::ranges::any_of(
      runs, [](const auto& run) { return run.parts.feed == models::FeedForward::dense; });
  for (const models::LayerModule module : job.recompute_modules) {
    const bool of_experts = module == moe || module == moe_act;
    const char* const lacks = of_experts && t.experts == 0                        ? "experts"
                              : module == shared_experts && t.shared_experts == 0 ? "shared experts"
                              : module == mla_up_proj && !t.latent ? "latent attention"
                              : module == mlp && !dense            ? "dense layer"
                                                                   : nullptr;
    if (lacks != nullptr)
      at.fail_at("recompute_modules",
                 fmt::format("has '{}', and the model has no {}", word_of(module), lacks),
                 "layernorm, mlp and core_attn are of every dense layer, moe and moe_act of those "
                 "with experts");
  }
}

void refuse_recomputation(const JobSpec& job, const models::Transformer& t, const Value& at)
{
  if (!job.recompute_modules.empty() && job.recompute != models::Recompute::selective)
    at.fail_at("recompute_modules",
               "are what selective recomputation repeats, and \"recompute\" is '" +
                   word_of(job.recompute) + "'",
               "add \"recompute\": \"selective\"");
  refuse_missing_modules(job, t, at);
  if (job.recompute_layers && job.recompute != models::Recompute::full)
    at.fail_at("recompute_layers",
               "are those that full recomputation repeats, and \"recompute\" is '" +
                   word_of(job.recompute) + "'",
               "add \"recompute\": \"full\"");
}

void refuse_precision(const JobSpec& job, const models::Transformer& t, const Value& at)
{
  if (job.precision == sim::Precision::int8)
    at.fail_at("precision", "is 'int8', in which no transformer is trained",
               "\"bf16\", or \"fp8\" where the GPU has it");
  const bool narrow = is_narrow(job.precision);
  const int wide = job.bf16_layers.first + job.bf16_layers.last;
  if (wide > 0 && !narrow)
    at.fail_at("bf16_layers",
               "are for products of fewer bits, and they are '" + word_of(job.precision) + "'",
               "leave them out, or \"precision\": \"fp8\", \"mxfp8\", \"mxfp4\" or \"nvfp4\"");
  if (wide > t.layers)
    at.fail_at("bf16_layers", fmt::format("are {} of {} layers", wide, t.layers));
  if (!job.lora)
    return;
  if (job.lora->rank > t.hidden)
    at.at("lora").fail_at("rank", fmt::format("is {}, and no product of the model is of a higher "
                                              "rank than its hidden size of {}",
                                              job.lora->rank, t.hidden));
  if (job.lora->weights == models::FrozenWeights::fp8 && !narrow)
    at.at("lora").fail_at("weights", "are 'fp8', and products are '" + word_of(job.precision) + "'",
                          "they need \"precision\": \"fp8\", \"mxfp8\", \"mxfp4\" or \"nvfp4\"");
  if (job.lora->weights == models::FrozenWeights::nf4 && narrow)
    at.at("lora").fail_at("weights", "are 'nf4', and products are '" + word_of(job.precision) + "'",
                          "16 bits are made of them: \"precision\": \"bf16\"");
}

// Lists that say what is done, and say nothing.
void refuse_empty_lists(const JobSpec& job, const Value& at)
{
  const auto refuse = [](const Value& holder, const char* key, const char* all) {
    const Json list = holder.json().value(key, Json());
    if (list.is_array() && list.empty())
      holder.fail_at(key, "is an empty list", fmt::format("leave it out for {}", all));
  };
  refuse(at, "recompute_modules", "what the framework repeats");
  if (job.parallel)
    refuse(at.at("parallel"), "stage_layers", "stages that are as even as can be");
  if (job.lora)
    refuse(at.at("lora"), "targets", "an adapter beside every product");
}

void refuse_orthogonal_updates(const JobSpec& job, const models::Optimizer& optimizer,
                               const Value& at)
{
  if (!optimizer.newton_schulz)
    return;
  const int zero = job.parallel.value_or(models::ParallelPlan{}).zero;
  if (zero > 1)
    at.at("parallel")
        .fail_at(
            "zero",
            fmt::format("is {}, and {} needs whole gradients of a matrix", zero, optimizer.name),
            "at most 1: whole matrices are shared out");
  if (job.lora)
    at.fail_at("lora", "trains adapters, and " + optimizer.name + " is for whole matrices",
               "\"optimizer\": \"adamw\"");
  if (job.offload > 0)
    at.fail_at("offload",
               "brings the optimizer to the host, and products of " + optimizer.name +
                   " are the GPU's",
               "\"optimizer\": \"adamw\", or leave offload out");
}

void refuse_routing(const JobSpec& job, const models::Transformer& t,
                    const models::ParallelPlan& plan, const Value& at)
{
  if (t.experts == 0 && at.json().contains("routing"))
    at.fail_at("routing", "is how tokens go to experts, and the model has none", "leave it out");
  if (job.routing.padded && !job.routing.capacity)
    at.at("routing").fail_at("padded", "fills experts up to a capacity, and none is given",
                             "\"capacity\": 1.25");
  // Where every GPU has all experts no imbalance is, which is told as a warning.
  const int gpus = plan.expert > 1 ? plan.expert : t.experts;
  if (t.experts > 0 && job.routing.imbalance > most_expert_load(t, gpus))
    at.at("routing").fail_at(
        "imbalance",
        fmt::format("is {:g}, and the fullest of {} GPUs gets at most {:g} times the mean: a token "
                    "goes to {} of {} experts",
                    job.routing.imbalance, gpus, most_expert_load(t, gpus), t.top_k, t.experts),
        fmt::format("at most {:g}", most_expert_load(t, gpus)));
}

// Layers of each piece that are told, and more than the largest one has.
void refuse_missing_layers(const JobSpec& job, const models::Transformer& t,
                           const models::ParallelPlan& plan, const Value& at)
{
  int most = 0;
  for (const models::Piece& piece : models::pieces_of(t, plan))
    most = std::max(most, piece.layers() - piece.predictions);
  for (const auto& [key, told] : {std::pair{"recompute_layers", job.recompute_layers.value_or(0)},
                                  std::pair{"offload_activations", job.offload_activations}})
    if (told > most)
      at.fail_at(key,
                 fmt::format("is {}, and no {} has more than {} layers", told,
                             plan.virtual_stages > 1 ? "piece of a stage" : "stage", most),
                 fmt::format("at most {}", most));
}

} // namespace

double most_expert_load(const models::Transformer& t, int gpus)
{
  return std::min<double>(gpus, static_cast<double>(t.experts) / t.top_k);
}

void refuse_idle_of_transformer(const JobSpec& job, const models::Transformer& t,
                                const models::ParallelPlan& plan,
                                const models::Optimizer& optimizer, const Value& at)
{
  refuse_empty_lists(job, at);
  refuse_recomputation(job, t, at);
  refuse_precision(job, t, at);
  refuse_orthogonal_updates(job, optimizer, at);
  refuse_routing(job, t, plan, at);
  refuse_missing_layers(job, t, plan, at);
}

} // namespace foretrain::experiments
