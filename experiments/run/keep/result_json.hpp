// Results as JSON: the public contract. The one place where their keys exist: what writes them,
// reads them again, their schema (`foretrain schema result`), docs/formats.md and the columns of
// flat tables come from these descriptions.
#pragma once

#include "experiments/run/keep/step_parts.hpp"
#include "sim/base/schema.hpp"

namespace foretrain::models {

inline auto named_value(ExposedPart& part)
{
  return std::tie(part.group, part.time);
}
inline auto named_value(MemoryPart& part)
{
  return std::tie(part.name, part.size);
}

template <class V>
void describe(V& v, PieceTime& p)
{
  v.required("forward_s", p.forward, "forward pass of a micro-batch", in_si(non_negative()));
  v.required("backward_s", p.backward, "backward pass, with what it repeats",
             in_si(non_negative()));
  v.required("weights_s", p.weights, "of backward: gradients of weights", in_si(non_negative()));
  v.required("transfer_s", p.transfer,
             "of activations to the next piece, and of their gradients back",
             in_si(non_negative()));
}

template <class V>
void describe(V& v, PipelineSetting& p)
{
  v.required("stages", p.stages, "stages of the pipeline", at_least(1));
  v.required("virtual_stages", p.virtual_stages, "pieces of each stage", at_least(1));
  v.required("schedule", p.schedule, "order of passes");
  v.required("micro_batches", p.micro_batches, "micro-batches of a step", at_least(1));
  v.required("blocking", p.blocking, "stages wait for their transfers");
  v.required("pieces", p.pieces, "what each piece takes, in forward order");
}

} // namespace foretrain::models

namespace foretrain::experiments {

template <class V>
void describe(V& v, Bottleneck& b)
{
  v.required("resource", b.resource, "what limits, by place, or a delay that no capacity cures",
             columns({"bottleneck_resource"}));
  v.optional("name", b.name, "what limits, as people call it: \"network adapters\"");
  v.required("utilisation", b.utilisation, "share of its capacity that is used",
             columns({"bottleneck_utilisation"}, non_negative()));
  v.required("why", b.why, "in words", columns({"bottleneck_why"}));
  v.optional(
      "gain_if_doubled", b.gain_if_doubled,
      "throughput that it would bring twice as good, relative; of jobs whose run takes up to "
      "300,000 flows or GPUs (docs/explain.md)",
      non_negative());
  v.optional("ties", b.ties, "what would bring as much, within a percent, in words");
  v.optional("doubled", b.doubled, "what twice as good means, in words", {},
             b.gain_if_doubled.has_value());
}

template <class V>
void describe(V& v, ResourceUse& r)
{
  v.required("resource", r.resource, "by place, like node0/ib0/tx");
  v.required("utilisation", r.utilisation, "share of its capacity over the measured steps",
             non_negative());
}

template <class V>
void describe(V& v, Elapsed& e)
{
  v.required("start_up", e.start_up, "of host layer and framework", in_si(non_negative()));
  v.required("steps", e.steps, "warm-up and measured ones", in_si(non_negative()));
  v.derived("total", e.total().value(), "both");
}

template <class V>
void describe(V& v, Alone& a)
{
  v.required("throughput_samples_per_s", a.throughput, "of the whole job; of steps only",
             columns({"alone_throughput_samples_per_s"}));
  v.required("step_time_s", a.step_time, "of steps only", columns({"alone_step_time_s"}));
  v.required("elapsed_s", a.elapsed, "from launch to end", in_si(non_negative()));
}

template <class V>
void describe(V& v, LaterEpochs& e)
{
  v.required("throughput_samples_per_s", e.throughput, "of the whole job; of steps only");
}

template <class V>
void describe(V& v, Bounds& b)
{
  v.required("coupled", b.coupled,
             "all links of a collective at the pace of the slowest: the answer given",
             non_negative());
  v.required("edges", b.edges, "every link by itself: the optimistic bound", non_negative());
}

template <class V>
void describe(V& v, Meeting& m)
{
  v.required("resource", m.resource,
             "what limits the job longer than alone, of what others use, too");
  v.required("added_s", m.added, "how much longer, per step; at most what the step grew by",
             in_si(non_negative()));
}

template <class V>
void describe(V& v, Training& t)
{
  v.required("total", t.total, "all of it, with start-up",
             columns({"training_total_s"}, in_si(non_negative())));
  v.required("samples", t.samples, "of all of it", non_negative());
  v.optional("first_epoch", t.first_epoch, "with epochs in the job: first pass over the data set",
             in_si(non_negative()));
  v.optional("later_epoch", t.later_epoch, "likewise: each pass once caches are warm",
             in_si(non_negative()));
  v.optional("dataset", t.dataset, "likewise: name of the data set", {}, !t.dataset.empty());
  v.optional("samples_per_epoch", t.samples_per_epoch, "likewise: samples of the data set",
             non_negative());
}

template <class V>
void describe(V& v, AttentionCounts& a)
{
  v.required("full", a.full, "attention counts all pairs of tokens", non_negative());
  v.required("causal", a.causal, "attention counts the half that a causal model needs",
             non_negative());
}

template <class V>
void describe(V& v, ModelUse& m)
{
  describe(v, m.share);
  v.optional("median", m.full.median, "of full", non_negative());
  v.optional("low", m.full.low, "lower end", non_negative());
  v.optional("high", m.full.high, "upper end", non_negative());
  v.optional("interval", m.full.interval, "probability that it lies between low and high",
             between(0, 1));
}

template <class V>
void describe(V& v, Uncertainty::Part& p)
{
  v.required("parameter", p.parameter, "kind, preset and pointer");
  v.required("spread", p.spread, "its relative standard deviation", non_negative());
  v.required("effect", p.effect,
             "relative change of throughput when it is one standard deviation larger");
  v.optional("if_larger", p.if_larger, "the same, where a smaller one does not do the opposite");
  v.optional("if_smaller", p.if_smaller,
             "with its sign turned, what one that is a standard deviation smaller does");
  v.optional("of", p.of, "a digest of what alone it is a parameter of", {}, !p.of.empty());
}

template <class V>
void describe(V& v, GuestSpread& g)
{
  v.required("host", g.host, "layer of the host whose guests differ");
  v.required("slower", g.slower,
             "logarithm of throughput by which guests that are set up badly are slower than the "
             "one in the middle, at the interval's end",
             non_negative());
  v.required("faster", g.faster, "and by which those that are set up well are faster",
             non_negative());
}

template <class V>
void describe(V& v, Uncertainty& u)
{
  v.required("method", u.method, "how the interval came about",
             one_of({"linear", "monte-carlo", "steps"}));
  v.required("from_parameters", u.parameters,
             "relative standard deviation of throughput from all parameters", non_negative());
  v.optional("slower", u.slower, "towards lower throughput, where the sides differ",
             non_negative());
  v.optional("faster", u.faster, "towards higher throughput", non_negative());
  v.required("run_to_run", u.run_to_run, "relative standard deviation from run to run",
             non_negative());
  v.required("contributions", u.parts, "of single parameters, the largest effect first");
  v.optional("guest", u.guest, "how well the guest is set up, where the host is one");
}

template <class V>
void describe_times(V& parts, JobResult& j)
{
  for (const StepPart& part : kStepParts) {
    const Limits limits = columns({std::string("time_") + part.key + "_s"}, in_si(non_negative()));
    if (!part.planned) {
      parts.required(part.key, j.time.*part.time, part.doc, limits);
      continue;
    }
    std::optional<Seconds> told;
    if (j.planned)
      told = j.time.*part.time;
    parts.optional(part.key, told, part.doc, limits);
    j.planned = j.planned || told; // where it is read
    j.time.*part.time = told.value_or(Seconds(0));
  }
}

template <class V>
void describe_tokens(V& v, JobResult& j)
{
  v.optional("tokens_per_s", j.tokens_per_s,
             "large models (docs/large-models.md): tokens per second of the whole job",
             columns({"tokens_per_s", "tokens_low_per_s", "tokens_high_per_s"}));
  v.optional("tokens_per_s_per_gpu", j.tokens_per_s_per_gpu, "median", non_negative());
  v.optional("model_tflops_per_gpu", j.model_tflops_per_gpu,
             "arithmetic of the model per second and GPU, without what is computed again");
  v.optional("mfu", j.mfu, "share of the GPU's peak that this is, and the range of `full`",
             columns({"mfu_fraction", "mfu_causal_fraction", "", "mfu_low_fraction",
                      "mfu_high_fraction"}));
}

template <class V>
void describe_training(V& v, JobResult& j)
{
  v.optional("training_s", j.training,
             "the whole training, where the job says its length: epochs, tokens or training_steps");
  v.optional("training_tokens", j.training_tokens, "tokens of the whole training", non_negative());
  v.optional("days", j.days, "that it takes, with start-up",
             columns({"days", "days_low", "days_high"}));
  v.optional("cost", j.cost, "of its GPUs over these days, at the cluster's price_per_gpu_hour",
             columns({"cost", "cost_low", "cost_high"}));
  v.optional("currency", j.currency, "of cost, where the cluster names it", columns({"currency"}),
             !j.currency.empty());
}

template <class V>
void describe_rate(V& v, JobResult& j)
{
  v.required("gpus", j.gpus, "GPUs that it runs on", columns({"gpus"}, at_least(1)));
  v.required("nodes", j.nodes, "nodes that these are in", columns({"nodes"}, at_least(1)));
  v.required("throughput_samples_per_s", j.throughput,
             "samples per second of the whole job: mean over the measured steps",
             columns({"throughput_samples_per_s", "throughput_low_samples_per_s",
                      "throughput_high_samples_per_s"}));
  v.required("step_time_s", j.step_time,
             "time from the start of one training step to that of the next",
             columns({"step_time_s", "step_time_low_s", "step_time_high_s", "interval_fraction"}));
}

template <class V>
void describe_memory(V& v, JobResult& j)
{
  v.object("device_memory_byte", "of one GPU", [&](auto& memory) {
    memory.required("needed", j.memory.needed,
                    "estimate: weights, gradients, optimizer state, stored activations",
                    columns({"device_memory_byte"}, in_si(non_negative())));
    memory.required("available", j.memory.available,
                    "of the device, less what other jobs on it need",
                    columns({"device_memory_available_byte"}, in_si(non_negative())));
    memory.optional("parts", j.memory.parts,
                    "programs and large models: of needed, by use, of the fullest stage",
                    in_si(non_negative()));
  });
  bool fits = j.memory.fits();
  v.optional("fits", fits, "whether the device holds what is needed", columns({"fits"}));
}

template <class V>
void describe(V& v, JobResult& j)
{
  v.required("name", j.name, "the job");
  describe_rate(v, j);
  v.required("speedup", j.speedup,
             "throughput over that of one GPU with the same job and stack; of programs and large "
             "models, which one GPU may not hold: GPUs times the share of the step that computes",
             columns({"speedup"}, non_negative()));
  v.optional("speedup_range", j.speedup_range,
             "where it may lie: parameters that both runs have in common cancel; absent where "
             "parameters were not varied or one GPU does not run the job",
             columns({"", "speedup_low", "speedup_high"}));
  v.required("efficiency", j.efficiency, "speedup / GPUs", columns({"efficiency"}, non_negative()));
  v.object("time_s", "parts of the mean step; they add up to it",
           [&](auto& parts) { describe_times(parts, j); });
  v.required("bottleneck", j.bottleneck, "what limits the job");
  v.required("elapsed_s", j.elapsed, "from launch to end");
  v.optional("alone", j.alone,
             "several jobs: without the others; a container or a virtual machine keeps the cores "
             "and the memory that it has beside them");
  v.optional("slowdown", j.slowdown, "several jobs: throughput alone over throughput shared",
             columns({"slowdown"}, non_negative()));
  v.optional("slowdown_range", j.slowdown_range,
             "where it may lie: parameters that both runs have in common cancel; absent where "
             "parameters were not varied",
             columns({"", "slowdown_low", "slowdown_high"}));
  v.optional("throughput_bounds_samples_per_s", j.bounds,
             "several jobs on up to 256 GPUs together, with the default fidelity: median "
             "throughput by how collectives share links");
  describe_memory(v, j);
  v.optional("exposed_by_group", j.exposed_by_group,
             "programs and large models: exposed communication of tensor, context, pipeline, "
             "expert and data groups, in seconds",
             in_si(non_negative()));
  describe_tokens(v, j);
  describe_training(v, j);
  v.optional("pipeline", j.pipeline,
             "large models with several stages: what all dates follow from");
  v.optional("meeting", j.meeting, "several jobs, where one loses: where they meet");
  v.optional("later_epochs", j.later_epochs, "once caches are warm, where that differs");
  v.optional("latency_s", j.latency, "inference: time of a batch",
             columns({"latency_s", "latency_low_s", "latency_high_s"}));
  if (!j.uncertainty)
    j.uncertainty.emplace();
  v.required("uncertainty", *j.uncertainty, "where the interval comes from");
  v.optional("all_reduce", j.all_reduce,
             "how gradients are exchanged: algorithm and protocol, or parameter servers; and "
             "buckets",
             columns({"all_reduce"}));
  v.required("busiest", j.busiest, "the busiest resources");
}

template <class V>
void describe(V& v, JointScore& s)
{
  v.required("weighted_slowdown", s.weighted_slowdown, "mean of their slowdown, weighted by GPUs",
             non_negative());
  v.optional(
      "weighted_slowdown_range", s.weighted_slowdown_range,
      "where it may lie: as if all slowdowns were at their ends together, since most of what "
      "is not known of them is the same machine's");
  v.required("gpus_lost", s.gpus_lost,
             "GPU hours lost in every hour: GPUs x (1 - 1 / slowdown), summed");
  v.required("gpus", s.gpus, "of all jobs", at_least(1));
}

template <class V>
void describe(V& v, NodeUse::Part& p)
{
  v.required("name", p.name, "as in resources");
  v.required("kind", p.kind, "gpu, cpu, pcie-switch, adapter, disk");
  v.optional("utilisation", p.utilisation, "of a GPU's arithmetic, a CPU's memory, a disk",
             non_negative());
}

template <class V>
void describe(V& v, NodeUse::Link& l)
{
  v.required("kind", l.kind, "nvlink, pcie, socket-link, network");
  v.required("from", l.from, "a part");
  v.required("to", l.to, "a part, nvswitch, or the network's name");
  v.required("byte_per_s", l.capacity, "each way", in_si(non_negative()));
  v.required("utilisation", l.utilisation, "from `from` to `to`", non_negative());
  v.required("utilisation_back", l.utilisation_back, "from `to` to `from`", non_negative());
}

template <class V>
void describe(V& v, NodeUse& n)
{
  v.required("node", n.node, "its number", at_least(0));
  v.required("cores_utilisation", n.cores, "of all its cores", non_negative());
  v.optional("parts", n.parts, "what is in it");
  v.optional("links", n.links,
             "what joins them; links of large models that nobody disturbs are 0: their exchanges "
             "are not simulated there");
}

template <class V>
void describe(V& v, Parameter& p)
{
  v.required("name", p.name, "of the parameter");
  v.required("value", p.value, "with its unit");
  v.required("source", p.source, "file and publication, or the profile and its measurement");
}

template <class V>
void describe(V& v, PointResult& p)
{
  const bool done = p.error.empty();
  v.required("settings", p.settings, "JSON pointer into the experiment -> the value at this point");
  v.optional("error", p.error, "instead of jobs: why there is no result");
  v.optional("jobs", p.jobs, "the results, one object for each job", {}, done);
  v.optional("joint", p.joint, "what several jobs lose together");
  v.optional("node", p.node,
             "the first node of the first job, while that is measured, by all jobs");
  v.optional("parameters", p.parameters,
             "effective parameters, with value and source (file and publication, or the profile "
             "and its measurement)");
  v.optional("warnings", p.warnings, "about this point, such as extrapolation");
  v.optional("unused_profile_parameters", p.unused,
             "of a point in a store: what profiles say that has no use here");
}
void check_fields(const Value& at, const PointResult& point);

template <class V>
void describe(V& v, PointComparison& c)
{
  v.required("job", c.job, "name of the job");
  v.required("point", c.point, "the best one, counted from 0", at_least(0));
  v.required("than", c.than, "one that comes near", at_least(0));
  v.required("probability", c.probability, "that the best is the faster one", between(0, 1));
}

template <class V>
void describe(V& v, ExperimentResult& a)
{
  v.required("experiment", a.experiment, "its name");
  v.optional("description", a.description, "the question that it asks");
  v.required("version", a.version, "of foretrain");
  v.optional("seed", a.seed,
             "of all random streams; the same input, version and seed give the same numbers");
  v.optional("fidelity", a.fidelity, "how collectives share links");
  v.optional("input", a.input, "the experiment as it was read");
  v.optional("warnings", a.warnings, "about the whole run");
  v.optional("comparisons", a.comparisons,
             "of sweeps: for each job the best point against those that come nearest");
  v.required("points", a.points, "one for each combination of the sweep, in its order");
  v.optional("interrupted", a.interrupted, "the run was stopped: only finished points are there",
             {}, a.interrupted);
}

Json to_json(const PointResult& point);
Json settings_json(const Settings& settings);

} // namespace foretrain::experiments
