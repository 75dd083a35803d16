// What a prediction says, in numbers. Field names are those of the JSON output (docs/results.md).
#pragma once

#include "experiments/run/keep/range.hpp"
#include "experiments/spec/experiment.hpp"
#include "models/plans/pipeline.hpp"
#include "models/training/job.hpp"
#include "models/training/work_plan.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace foretrain::experiments {

struct Lever;

struct Bottleneck {
  std::string resource;
  std::string words{};          // as people call it, by place
  const Lever* lever = nullptr; // what would better it
  double utilisation = 0;
  std::string why;
  std::optional<double> gain_if_doubled{}; // relative, of throughput, where it was asked
  std::string doubled{};                   // what doubling means: "NVLink twice as fast"
  std::vector<std::string> ties{};         // what would bring as much, within a percent
  std::string name{};                      // of whatever limits, on any node: "network adapters"
  const std::string& label() const { return name.empty() ? resource : name; }
  bool open = false;                 // the lever is a guess until doubling was asked
  std::vector<const Lever*> tight{}; // links that limit only together, one of them the lever
};

struct ResourceUse {
  std::string resource;
  std::string words;
  sim::ResourceKind kind = sim::ResourceKind::other;
  double utilisation = 0; // of its capacity, over the measured steps
};

/// From launch to end, as a user sees it.
struct Elapsed {
  Seconds start_up; // of host layer and framework
  Seconds steps;    // warm-up and measured ones
  Seconds total() const { return start_up + steps; }
};

/// The job without its neighbours, on the same GPUs; what confines it stays.
struct Alone {
  Range throughput;
  Range step_time;
  Seconds elapsed; // from launch to end
};

/// Once the caches are warm.
struct LaterEpochs {
  Range throughput;
};

/// Where jobs that share a machine get into each other's way.
struct Meeting {
  std::string resource;
  Seconds added; // per step and rank that it limits the job longer than when alone
};

/// The whole training.
struct Training {
  Seconds total;      // with start-up
  double samples = 0; // of all of it
  // Where its length is told in passes over the data set.
  std::optional<Seconds> first_epoch{};
  std::optional<Seconds> later_epoch{};
  std::string dataset{};
  std::optional<double> samples_per_epoch{};
};

/// How far guests are from the one in the middle, whose rate is reported.
struct GuestSpread {
  std::string host;
  double slower = 0; // logarithm of throughput, from the middle to the lower end of the interval
  double faster = 0; // and to the upper one
};

/// How a job's ranges came about: what its throughput owes to the spread of parameters.
struct Uncertainty {
  struct Part {
    std::string parameter;
    double spread = 0; // relative standard deviation of the parameter
    double effect = 0; // relative change of throughput when it is one standard deviation larger
    std::string of{};  // what alone it is a parameter of; empty: of all that names it
    // Where the sides differ: the change when it is larger, and that when it is smaller with its
    // sign turned.
    std::optional<double> if_larger{}, if_smaller{};
  };
  std::string method;      // "linear", "monte-carlo" or "steps"
  double parameters = 0;   // relative standard deviation of throughput from all parameters
  double run_to_run = 0;   // of its mean over the measured steps: steps vary, and so does how those
                           // of several jobs fall beside each other
  std::vector<Part> parts; // largest effect first
  std::optional<GuestSpread> guest{};
  // From parameters towards lower and towards higher throughput, where the sides differ.
  std::optional<double> slower{}, faster{};

  /// Of the mean over the measured steps, but for guests.
  Deviations deviations() const
  {
    return beside({slower.value_or(parameters), faster.value_or(parameters)}, run_to_run);
  }
};

/// Throughput between the two ways to simulate collectives: all links at the pace of the slowest
/// (the safe side), and every link by itself (the optimistic side).
struct Bounds {
  double coupled;
  double edges;
};

/// Device memory that one GPU of a job needs, and has.
struct DeviceMemory {
  Bytes needed; // estimate: weights, gradients, optimizer state, stored activations
  Bytes available;
  std::vector<models::MemoryPart> parts{}; // where they are told apart
  bool fits() const { return needed <= available; }
};

/// Of a job whose samples are made of tokens. Rates follow from the ranges of throughput.
struct TokenWork {
  double per_sample = 0;       // tokens
  double samples_per_step = 0; // of the whole job
  models::ModelFlops flops;    // of a step of the whole job
  FlopsPerSecond peak;         // of one GPU at the job's precision, dense
};

/// By both conventions of counting attention: all pairs of tokens, or those that a causal model
/// needs.
struct AttentionCounts {
  double full = 0;
  double causal = 0;
};

/// Share of a GPU's peak that the model's arithmetic is.
struct ModelUse {
  AttentionCounts share;
  Range full;
};

struct JobResult {
  std::string name;
  int gpus = 1;
  int nodes = 1;
  Range throughput;             // samples per second
  Range step_time;              // seconds
  std::optional<Range> latency; // of a batch, for inference
  double speedup = 1;
  std::optional<Range> speedup_range; // where parameters were varied, and one GPU can run the job
  double efficiency = 1;
  models::StepTimes time;
  Bottleneck bottleneck;
  std::vector<ResourceUse> busiest;
  std::optional<Alone> alone;
  std::optional<double> slowdown;      // throughput alone over throughput shared
  std::optional<Range> slowdown_range; // where parameters were varied
  std::optional<Bounds> bounds;        // on a machine that several jobs share
  std::optional<Meeting> meeting;
  DeviceMemory memory;
  std::optional<LaterEpochs> later_epochs; // where that differs
  Elapsed elapsed;
  std::optional<Training> training; // this and what follows: add_training()
  std::optional<double> training_tokens;
  std::optional<Range> days;
  std::optional<Range> cost;
  std::string currency;
  std::vector<models::ExposedPart> exposed_by_group; // where there are several kinds of groups
  std::optional<Uncertainty> uncertainty;
  std::optional<TokenWork> tokens;
  std::optional<Range> tokens_per_s; // this and what follows: add_token_rates()
  std::optional<double> tokens_per_s_per_gpu;
  std::optional<AttentionCounts> model_tflops_per_gpu;
  std::optional<ModelUse> mfu;
  std::optional<models::PipelineSetting> pipeline; // where stages follow each other
  std::string all_reduce; // algorithm and protocol of the largest bucket, and how many buckets
  bool planned = false;   // steps may have bubbles and repeat activations: programs, large models
};

/// What jobs on one machine lose together.
struct JointScore {
  double weighted_slowdown = 1;                 // mean of the jobs' slowdowns, weighted by GPUs
  std::optional<Range> weighted_slowdown_range; // where theirs are known
  double gpus_lost = 0; // GPU hours that are lost in every hour: GPUs x (1 - 1 / slowdown)
  int gpus = 0;         // of all jobs
};

/// How busy parts and links of one node are while the first job is measured, by all jobs.
struct NodeUse {
  struct Part {
    std::string name;
    std::string kind;                  // gpu, cpu, pcie-switch, adapter, disk
    std::optional<double> utilisation; // GPUs: of arithmetic; CPUs: of the socket's memory
  };
  struct Link {
    std::string kind; // nvlink, pcie, socket-link, network
    std::string from;
    std::string to;          // a part, "nvswitch", or the network's name
    BytesPerSecond capacity; // each direction
    double utilisation = 0;  // from `from` to `to`
    double utilisation_back = 0;
  };
  int node = 0;
  double cores = 0; // of all cores of the node
  std::vector<Part> parts;
  std::vector<Link> links;
};

/// A number that shaped the result, and where it came from.
struct Parameter {
  std::string name;
  std::string value;
  std::string source;
};

struct PointResult {
  Settings settings;
  std::string error; // why there are no jobs; empty where there are
  std::vector<JobResult> jobs;
  std::vector<Parameter> parameters;
  std::vector<std::string> warnings;
  std::optional<JointScore> joint; // of several jobs
  std::optional<NodeUse> node;     // the first one of the first job
  std::uint64_t flows = 0;         // simulated, of the run with all jobs
  std::vector<Seconds> late;       // as in RunOptions: of the run that is told
  std::vector<std::string> unused; // parameters of profiles that nothing here has a use for
};

/// How sure it is that the best point of a sweep is faster than one that comes near, for a job.
struct PointComparison {
  std::string job;
  int point = 0;
  int than = 0;
  double probability = 0;
};

/// All points of an experiment.
struct ExperimentResult {
  std::string experiment;
  std::string description;
  std::string version;
  std::uint64_t seed = 1;
  models::Fidelity fidelity = models::Fidelity::coupled;
  Json input;
  std::vector<std::string> warnings;
  std::vector<PointComparison> comparisons;
  std::vector<PointResult> points;
  bool interrupted = false;
};

enum class UncertaintyMethod {
  automatic,   // linear where it is cheap, else steps
  steps,       // variation from step to step only
  linear,      // and each parameter's spread by one run that is a little off
  monte_carlo, // and runs with all parameters drawn at random
};

struct UncertaintyOptions {
  UncertaintyMethod method = UncertaintyMethod::automatic;
  int samples = 200;     // of Monte Carlo
  double interval = 0.9; // probability that the ranges hold
};

struct RunOptions {
  std::uint64_t seed = 1;
  models::Fidelity fidelity = models::Fidelity::coupled;
  bool doubles_limits = true; // to see what limits, where that is cheap; rates do not need it
  bool keep_limits = false;   // of everything, also of a job that is alone
  bool compares = false;      // with a run of the same draws: over no more steps than that needs
  std::string trace_path;     // Chrome trace of the last step; empty: none
  UncertaintyOptions uncertainty{};
  std::vector<Seconds> late{}; // how much later than asked each job starts; empty: on time
  std::function<void(const std::string&)> progress{}; // told what is being simulated
};

} // namespace foretrain::experiments
