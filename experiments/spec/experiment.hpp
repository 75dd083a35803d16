// An experiment file: a cluster, a stack, jobs, and what to vary.
#pragma once

#include "experiments/spec/better.hpp"
#include "experiments/spec/profiles.hpp"
#include "models/networks/network.hpp"
#include "models/plans/memory.hpp"
#include "models/training/framework.hpp"
#include "platforms/platform.hpp"
#include "platforms/stack.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace foretrain::experiments {

inline const PresetKind kExperimentKind{"experiment", "experiments/data"};

struct ClusterSpec {
  Value platform;
  std::optional<int> nodes; // absent: as many as the jobs need
  Value fabric;             // absent: the platform's
  Value storage;            // absent: the first disk of each node
  Value price_per_gpu_hour; // a number, or one for each platform
  std::string currency;     // of it, for people
};

struct StackSpec {
  Value host;      // absent: bare-metal
  Value transport; // absent: rdma where the platform has it, else tcp
};

/// GPUs of a job, at most.
inline constexpr int kMostJobGpus = 1 << 20;
inline constexpr double kLeastKernelTime = 0.01, kMostKernelTime = 100; // times as computed

struct AnchorSpec {
  double samples_per_s = 0;
  std::optional<int> gpus;          // absent: one; of a transformer: as many as the job has
  std::optional<int> batch_per_gpu; // absent: the job's
  std::optional<double> spread;     // relative standard deviation
};

/// Where batches come from: nowhere, or files of records, of one sample each, or of raw numbers.
enum class InputFormat { synthetic, tfrecord, jpeg, raw };
constexpr auto choices(InputFormat)
{
  return std::to_array<Choice<InputFormat>>({{InputFormat::synthetic, "synthetic"},
                                             {InputFormat::tfrecord, "tfrecord"},
                                             {InputFormat::jpeg, "jpeg"},
                                             {InputFormat::raw, "raw"}});
}

/// The page cache in the measured steps: as in the first epoch, or as in later ones.
enum class PageCache { cold, warm };
constexpr auto choices(PageCache)
{
  return std::to_array<Choice<PageCache>>({{PageCache::cold, "cold"}, {PageCache::warm, "warm"}});
}

enum class JobMode { train, inference };
constexpr auto choices(JobMode)
{
  return std::to_array<Choice<JobMode>>(
      {{JobMode::train, "train"}, {JobMode::inference, "inference"}});
}

/// A transformer's attention: one kernel, or scores that pass through memory.
enum class AttentionWay { flash, plain };
constexpr auto choices(AttentionWay)
{
  return std::to_array<Choice<AttentionWay>>(
      {{AttentionWay::flash, "flash"}, {AttentionWay::plain, "plain"}});
}

struct InputSpec {
  InputFormat format = InputFormat::synthetic;
  Value dataset;                 // absent: the one the model is usually trained on
  std::optional<double> threads; // that decode, on each node, for all GPUs of the job there
  std::optional<int> prefetch_batches;
  std::optional<bool> pinned;
  PageCache cache = PageCache::cold;
  bool fixed_parts = true; // each node reads the same part of the data set in every epoch
};

struct ServersSpec {
  std::optional<int> count;              // absent: one for each node of workers
  std::optional<models::ServerPlace> on; // absent: as the framework has it
};

/// First and last layers whose products stay in 16 bits where the others' take fewer.
struct WideLayersSpec {
  int first = 0;
  int last = 0;
};

/// How evenly tokens go to experts.
struct RoutingSpec {
  double imbalance = 1;           // load of the fullest GPU's experts beside the mean
  std::optional<double> capacity; // that an expert takes at most, beside the mean
  bool padded = false;            // experts are filled up to that

  /// Of the fullest GPU, which gets `most` at most.
  double load(double most) const
  {
    const double uneven = std::min(imbalance, most);
    return capacity ? (padded ? *capacity : std::min(uneven, *capacity)) : uneven;
  }
  /// Share of the tokens for experts that these take: the fullest of so many GPUs up to the
  /// capacity, and so the others, which get as much as each other of what is left.
  double taken(int gpus, double most) const
  {
    if (!capacity)
      return 1;
    const double fullest = std::min(imbalance, most);
    const double others = gpus > 1 ? (gpus - fullest) / (gpus - 1) : 0;
    return (std::min(fullest, *capacity) + (gpus - 1) * std::min(others, *capacity)) / gpus;
  }
};

struct JobSpec {
  std::string name = "train";
  Value model;   // absent: of a job that runs a program
  Value program; // a work program instead of a model
  Value framework;
  Value library; // null: the framework's
  sim::Precision precision = sim::Precision::fp32;
  int batch_per_gpu = 0;
  int gradient_accumulation = 1; // batches of a step
  Value optimizer;               // absent: the one that the model is usually trained with
  JobMode mode = JobMode::train;
  Value input; // a format, or an InputSpec; absent: synthetic
  int gpus = 1;
  std::optional<AnchorSpec> anchor;
  std::optional<ServersSpec> parameter_servers;
  Value placement;                // packed (default), spread, round-robin, or [[node, gpu], ...]
  std::optional<StackSpec> stack; // absent: the experiment's
  std::optional<double> cores;    // of each node, that it is confined to
  std::optional<Bytes> memory;    // of each node, that it may use
  int warmup_steps = 2;
  std::optional<int> steps; // measured ones; absent: 20, fewer on more than 64 GPUs
  Seconds start{};
  bool ends = false; // leaves after its measured steps instead of running on

  // How long the whole training is, one of these and `tokens`: for time and cost.
  std::optional<double> epochs;
  std::optional<double> training_steps;

  // Of a transformer under a parallel plan.
  std::optional<int> sequence, global_batch, micro_batch;
  std::optional<models::SequenceLengths> lengths;
  std::optional<models::ParallelPlan> parallel;
  models::Recompute recompute = models::Recompute::none;
  std::vector<models::LayerModule> recompute_modules;
  std::optional<int> recompute_layers;
  WideLayersSpec bf16_layers;
  RoutingSpec routing;
  std::optional<models::Adapters> lora;
  double offload = 0;
  int offload_activations = 0;           // layers of each piece
  std::optional<AttentionWay> attention; // else the framework's
  double kernel_time = 1;                // by which its kernels take longer than computed
  Value tokens;                          // a number, or a text like "1T"
};

struct ExpectationSpec {
  std::string job;      // absent: every job
  Value point;          // settings that select points; absent: every point
  std::string quantity; // a number of the job's results, as a JSON pointer below the job
  Value than;           // settings of the point to compare with: bounds are for the ratio
  std::string than_job; // the job to compare with; absent: the same
  std::optional<double> at_least;
  std::optional<double> at_most;
  std::optional<std::string> contains; // for texts, like /bottleneck/resource
  std::optional<bool> is;              // for what is true or false, like /fits
};

struct ExperimentSpec {
  std::string name;
  std::string description;
  ClusterSpec cluster;
  StackSpec stack;
  std::vector<JobSpec> jobs;
  Value sweep; // object: JSON pointer -> list of values
  std::vector<ExpectationSpec> expect;
  std::optional<int> seed;
  std::vector<Value> profiles;
  BetterSpec better;
};

using Settings = std::vector<std::pair<std::string, Json>>; // pointer -> value, in file order

/// One point of an experiment: the file with one value of each sweep entry put in.
struct Point {
  Settings settings;
  std::shared_ptr<const Document> document; // without "sweep"; carries the profiles' overlay
  std::shared_ptr<const Profiles> profiles;
  /// What anchors were measured with: the experiment as its file says it, without the values of a
  /// sweep, --set or a plan's options, or the first point of its sweep where it is nothing without
  /// them. Null: the point itself.
  std::shared_ptr<const Document> anchored{};
};

/// Reads a file, applies --set overrides ("POINTER=VALUE"), lays profiles over its presets (those
/// of the file, then the given ones) and lists the points of its sweep, first entry slowest. Each
/// value has been read once: a wrong one is found before anything runs. Throws ConfigError and
/// UsageError.
struct LoadedExperiment {
  ExperimentSpec spec;
  std::shared_ptr<const Document> document;
  std::vector<Point> points;
};
LoadedExperiment load_experiment(const std::string& name_or_path,
                                 const std::vector<std::string>& overrides,
                                 const std::vector<std::string>& profiles = {});
/// Refuses a price that is no number, or no object of platforms and numbers. Throws ConfigError.
void check_price(const Value& price);
/// The name of what names itself not: that of its file, unless that is a descriptor's number.
std::string default_name(const Document& document, const std::string& otherwise);
/// The same of a document that was built or read.
LoadedExperiment load_experiment(const std::shared_ptr<Document>& document,
                                 const std::vector<std::string>& overrides,
                                 const std::vector<std::string>& profiles = {});

/// Makes one change of --set, "POINTER=VALUE"; what it sets the sweep no longer varies. `example`
/// is one that messages show. Throws ConfigError and UsageError.
void apply_override(Document& document, const std::string& text, const char* example);

/// What the document has at a pointer the command line has set: the sweep no longer varies it, and
/// of settings that vary together with it keeps those that stand beside that value. Throws
/// UsageError where the sweep varies what holds it, or a part of it.
void hold_in_sweep(Document& document, const std::string& pointer);

/// The settings of all points of a sweep (an object of pointers and lists), in their order. Throws
/// ConfigError.
std::vector<Settings> sweep_settings(const Value& sweep);

/// An experiment, with its settings made, as one point: without its sweep, under its profiles and
/// the given ones. Throws ConfigError and UsageError.
Point single_point(std::shared_ptr<Document> document, Settings settings,
                   const std::vector<std::string>& profiles);

ExperimentSpec read_point(const Point& point);

/// Samples of a step on one GPU, of a job whose model is not a transformer.
inline double batch_of_step(const JobSpec& job)
{
  return static_cast<double>(job.batch_per_gpu) * job.gradient_accumulation;
}

/// Position of the job of this name, or of the first when there is none; throws ConfigError at
/// "job" of `at`.
std::size_t job_named(const std::string& name, const ExperimentSpec& experiment, const Value& at);

/// A copy of the experiment that can be changed, a document of its own also where it stood inside
/// another one.
std::shared_ptr<Document> own_document(const Value& experiment);

/// Sets a value of an experiment; objects that a file may leave out, like "stack", are made.
/// `origin` is what messages say put it there. Throws ConfigError.
void set_in_experiment(Document& document, const std::string& pointer, Json value,
                       const std::string& origin);

template <class V>
void describe(V& v, ClusterSpec& s)
{
  v.required("platform", s.platform, "the machine", preset("platform"));
  v.optional("nodes", s.nodes, "how many nodes; default: as many as the jobs need", at_least(1));
  v.optional("fabric", s.fabric,
             "what joins the nodes instead of the platform's, of the network that jobs train over",
             preset("fabric"));
  v.optional("storage", s.storage, "where training data lies; default the first disk of each node",
             preset("storage"));
  v.optional("price_per_gpu_hour", s.price_per_gpu_hour,
             "what a GPU costs for an hour: a number, or an object of platform and number; results "
             "then tell what a training costs whose length the job says");
  v.optional("currency", s.currency, "of prices, for people");
}

template <class V>
void describe(V& v, StackSpec& s)
{
  v.optional("host", s.host, "host layer; default bare-metal", preset("host"));
  v.optional("network", s.transport, "how bytes cross the network; default rdma or tcp by adapter",
             preset("network"));
}

template <class V>
void describe(V& v, AnchorSpec& s)
{
  v.required("samples_per_s", s.samples_per_s,
             "measured rate of one GPU, or of \"gpus\" together, in this precision", positive());
  v.optional("gpus", s.gpus,
             "GPUs that reached it together, packed on nodes of this platform; default 1, of a "
             "transformer the job's",
             between(1, kMostJobGpus));
  v.optional("batch_per_gpu", s.batch_per_gpu, "samples per GPU and step; default the job's",
             between(1, 1e6));
  v.optional("spread", s.spread,
             "relative standard deviation of that rate; default as runs of one machine differ",
             between(0, 2));
}

template <class V>
void describe(V& v, InputSpec& s)
{
  v.required("format", s.format,
             "how samples are stored; synthetic input is neither read nor copied");
  v.optional("dataset", s.dataset, "the data set; default the model's usual one",
             preset("dataset"));
  v.optional("threads", s.threads, "that decode, on each node, for all GPUs of the job there",
             between(1, 4096));
  v.optional("prefetch_batches", s.prefetch_batches, "decoded batches kept ready for each GPU",
             between(1, 1000));
  v.optional("pinned", s.pinned, "batches are copied from pinned memory");
  v.optional("cache", s.cache,
             "page cache in the measured steps: cold as in the first epoch, or "
             "warm as in later ones");
  v.optional(
      "fixed_parts", s.fixed_parts,
      "each node reads the same part of the data set in every epoch, not another random one");
}

/// A job's input, in either of its forms. Throws ConfigError.
InputSpec read_input(const Value& input);

template <class V>
void describe(V& v, ServersSpec& s)
{
  v.optional("count", s.count, "how many; default one for each node of workers", between(1, 65536));
  v.optional("on", s.on,
             "workers: on the nodes of the job's GPUs, in turn; apart: each on a node of its own; "
             "default: as the framework has it");
}

template <class V>
void describe(V& v, WideLayersSpec& s)
{
  v.optional("first", s.first, "so many of the first layers", between(0, 10000));
  v.optional("last", s.last, "and of the last ones", between(0, 10000));
}

template <class V>
void describe(V& v, RoutingSpec& s)
{
  v.optional("imbalance", s.imbalance,
             "tokens that the experts of the fullest GPU get, beside the mean of all GPUs; default "
             "1: balanced",
             between(1, 1000));
  v.optional("capacity", s.capacity,
             "tokens that an expert takes at most, beside the mean (capacity factor); what is more "
             "is left out, so that nobody waits for numbers of tokens",
             between(0.01, 1000));
  v.optional("padded", s.padded,
             "experts are filled up to the capacity (moe_pad_expert_input_to_capacity)");
}

/// Keys of a transformer under a parallel plan.
template <class V>
void describe_transformer(V& v, JobSpec& s)
{
  v.optional("sequence", s.sequence, "tokens of a sample of a transformer", between(1, 1e8));
  v.optional("lengths", s.lengths,
             "of sequences that differ, without padding or packed; default: all have `sequence` "
             "tokens, padding among them");
  v.optional("global_batch", s.global_batch, "samples of a step on all GPUs", between(1, 1e8));
  v.optional("micro_batch", s.micro_batch, "samples that pass through the model at once",
             between(1, 1e6));
  v.abbreviated({{"seq_len", "sequence"}, {"gbs", "global_batch"}, {"mbs", "micro_batch"}});
  v.optional("parallel", s.parallel, "how a transformer is divided; data-parallel is what is left");
  v.optional("recompute", s.recompute, "what the backward pass makes anew instead of keeping it");
  v.optional("recompute_modules", s.recompute_modules,
             "parts of a layer that selective recomputation repeats, by Megatron-Core's words; "
             "default: as the framework has it");
  v.optional("recompute_layers", s.recompute_layers,
             "with full recomputation: so many layers of each stage, or of each of its pieces, are "
             "made anew, the others kept (Megatron's recompute_num_layers, method block); default "
             "all",
             between(1, 10000));
  v.optional("bf16_layers", s.bf16_layers,
             "with fp8, mxfp8, mxfp4 or nvfp4: layers whose products stay in 16 bits");
  v.optional("routing", s.routing, "how evenly tokens go to experts, and what these take at most");
  v.optional("lora", s.lora,
             "low-rank adapters: they are trained, the model's own weights are frozen");
  v.optional("offload", s.offload, "share of the optimizer's state in host memory", between(0, 1));
  v.optional(
      "offload_activations", s.offload_activations,
      "so many layers of each stage, or of each of its pieces, keep their activations in host "
      "memory (Megatron's cpu_offloading_num_layers)",
      between(0, 10000));
  v.optional(
      "attention", s.attention,
      "in one kernel, or with scores that pass through memory; the framework's where it is not "
      "told");
  v.optional("kernel_time", s.kernel_time,
             "by this factor kernels take longer than computed, or the host's launches where a "
             "network's kernels are shorter than these; an anchor says it by a rate",
             between(kLeastKernelTime, kMostKernelTime));
  v.optional("tokens", s.tokens,
             "length of the training in tokens: a number or a text like \"1T\"");
}

template <class V>
void describe(V& v, JobSpec& s)
{
  v.optional("name", s.name, "name of the job");
  v.optional("model", s.model, "the neural network; needed unless there is a program",
             preset("model"));
  v.optional("program", s.program,
             "a work program to run instead of training a model (foretrain program show)",
             preset("program"));
  v.required("framework", s.framework, "the training framework", preset("framework"));
  v.optional("library", s.library,
             "the collective library, like nccl-2.18; default: the framework's", preset("library"));
  v.optional("precision", s.precision,
             "arithmetic; fp8, mxfp8, mxfp4 and nvfp4 for products of transformers, int8 for "
             "inference. Default: as recorded, where the model was and the GPU can, else fp32");
  v.abbreviated({{"amp", "precision"}, {"dtype", "precision"}});
  v.optional("optimizer", s.optimizer,
             "updates the weights; default the one that the model is usually trained with",
             preset("optimizer"));
  v.optional("mode", s.mode, "train, or inference: forward passes only");
  v.optional(
      "batch_per_gpu", s.batch_per_gpu,
      "samples per GPU and step (of a transformer whose GPUs share it: per replica of the model); "
      "transformers may have global_batch and micro_batch instead, a recorded model its own",
      between(1, 1e6));
  v.optional("gradient_accumulation", s.gradient_accumulation,
             "batches whose gradients are added up before they are exchanged and applied, together "
             "a step (of transformers: global_batch and micro_batch say it)",
             between(1, 1e4));
  v.optional("input", s.input,
             "where batches come from: synthetic (default), tfrecord, jpeg, raw, or an object");
  v.optional("gpus", s.gpus, "number of GPUs", between(1, kMostJobGpus));
  v.optional("anchor", s.anchor, "measured rate that scales the times of kernels");
  v.optional("parameter_servers", s.parameter_servers,
             "how many parameter servers there are, and where");
  v.optional("placement", s.placement,
             "packed (default): fill nodes in turn; spread: one GPU per node in turn; round-robin: "
             "the same, beginning after the last job; or a list of [node, gpu]");
  v.optional("stack", s.stack, "software of this job, where it differs from the experiment's");
  v.optional("cores", s.cores,
             "cores of each node that it is confined to; default all, or its "
             "GPUs' share where the host layer isolates tenants",
             positive());
  v.optional("memory", s.memory, "main memory of each node that it may use; default likewise",
             positive());
  v.optional("warmup_steps", s.warmup_steps, "steps before measuring", between(0, 10000));
  v.optional("steps", s.steps, "measured steps; default 20, fewer on many GPUs; 5 of a transformer",
             between(1, 100000));
  v.optional("start", s.start, "when it is launched", non_negative());
  v.optional("ends", s.ends,
             "leaves after its measured steps; default: it runs on until every job "
             "has measured, so that all are measured while sharing");
  v.optional("epochs", s.epochs,
             "length of the training in passes over the data set; of transformers those of images "
             "alone",
             positive());
  v.optional("training_steps", s.training_steps,
             "length of the training in steps (\"steps\" are those that are measured)", positive());
  describe_transformer(v, s);
}

template <class V>
void describe(V& v, ExpectationSpec& s)
{
  v.optional("job", s.job, "the job it is about; default every job");
  v.optional("point", s.point, "settings of the points it is about; default every point");
  v.required("quantity", s.quantity, "pointer below the job's results, like /speedup");
  v.optional("than", s.than,
             "settings: bounds are for the ratio to the point that differs in these");
  v.optional("than_job", s.than_job, "bounds are for the ratio to this job");
  v.optional("at_least", s.at_least, "lower bound");
  v.optional("at_most", s.at_most, "upper bound");
  v.optional("contains", s.contains, "for texts: what must occur in it");
  v.optional("is", s.is,
             "for what is true or false: what it must be; of /fits: false says that a point may "
             "need more memory than there is");
}

template <class V>
void describe(V& v, ExperimentSpec& s)
{
  v.format("foretrain.experiment/1");
  v.optional("name", s.name, "name of the experiment; default: that of the file");
  v.optional("description", s.description, "what it asks, for people");
  v.required("cluster", s.cluster, "the cluster");
  v.optional("stack", s.stack, "software between jobs and hardware");
  v.required("jobs", s.jobs, "the training jobs");
  v.optional("sweep", s.sweep,
             "JSON pointer -> list of values; all combinations are run; several "
             "pointers with spaces between vary together");
  v.optional("expect", s.expect, "what must hold; exit code 1 otherwise");
  v.optional("seed", s.seed, "seed of all random streams; --seed overrides", non_negative());
  v.optional(
      "profiles", s.profiles,
      "calibrated parameters to lay over the presets (foretrain calibrate); later ones override",
      preset("profile"));
  v.optional("better", s.better,
             "what would be, were parts of the machine or its software so many times as good: what "
             "explain names");
}

} // namespace foretrain::experiments
