#include "experiments/run/limits/bottleneck.hpp"

#include "experiments/run/limits/resource_words.hpp"
#include "experiments/run/simulate/tenancy.hpp"
#include "experiments/spec/levers.hpp"
#include "models/input/input_pipeline.hpp"

#include "sim/base/quantity_text.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// A part of the step time that could be the largest.
struct LimitPart {
  Seconds time;
  const char* name;
};

std::string percent(double share)
{
  return fmt::format("{:.0f} %", 100 * share);
}

constexpr double kWaiting = 0.03;    // of the step
constexpr double kSaturated = 0.95;  // of the time
constexpr Bytes kSmallCall{4 << 20}; // libraries use their protocols of low latency below

Bottleneck limited_by(const sim::Engine& engine, const models::Job& job, sim::ResourceId id)
{
  const sim::Resource resource = engine.resource(id);
  return {sim::name_of(resource), resource_words(resource), lever_of(resource.kind),
          job.utilisation(id), ""};
}

// No resource, but a delay or a cap, that a lever may better.
Bottleneck limited_by(const std::string& what, const char* lever)
{
  return {what, what, lever != nullptr ? lever_named(lever) : nullptr, 0, ""};
}

// " (12.5 GB/s)" of what moves bytes; nothing for cores and GPUs, which count seconds.
std::string rate_of(const sim::Engine& engine, sim::ResourceId resource)
{
  const double capacity = engine.capacity(resource);
  return capacity > 1e6 ? " (" + to_text(BytesPerSecond(capacity)) + ")" : "";
}

// Limits by falling time; resources of one name, like the threads of a server, count together.
std::vector<sim::LimitedBy> by_name(const sim::Engine& engine,
                                    const std::vector<sim::LimitedBy>& limits)
{
  std::vector<sim::LimitedBy> sums;
  for (const sim::LimitedBy& limit : limits) {
    const auto same = std::find_if(sums.begin(), sums.end(), [&](const sim::LimitedBy& sum) {
      return sum.resource >= 0 && limit.resource >= 0 &&
             engine.name({sum.resource}) == engine.name({limit.resource});
    });
    if (same == sums.end())
      sums.push_back(limit);
    else
      same->time += limit.time;
  }
  std::stable_sort(sums.begin(), sums.end(),
                   [](const auto& a, const auto& b) { return a.time > b.time; });
  return sums;
}

Bottleneck communication_bottleneck(const sim::Engine& engine, const platforms::Machine& machine,
                                    const models::Job& job, double share)
{
  const std::string what = job.exchange();
  const auto limits = by_name(engine, job.communication_limits());
  Seconds limited;
  for (const auto& limit : limits)
    limited += limit.time;
  const double steps = static_cast<double>(job.step_times().size());
  const Seconds exposed = job.mean_times().exposed_communication;
  if (limits.empty()) { // calls of known length: what brings most when doubled is what limits them
    Bottleneck found = limited_by(what, "latency");
    found.open = true;
    found.why = fmt::format("{} of the step waits for {}", percent(share), what);
    return found;
  }
  // Exposed time beyond what the flows themselves took is latency of the calls.
  if (limited / steps < 0.5 * exposed) {
    Bottleneck found = limited_by(what + " latency", "latency");
    found.why = fmt::format(
        "{} of the step waits for calls of {} whose latency, not bandwidth, counts: fewer "
        "and larger buckets would help",
        percent(share), what);
    return found;
  }
  const auto& first = limits.front();
  if (first.resource < 0) {
    Bottleneck found = limited_by(what + " per-connection cap", "connections");
    const Bytes each = job.mean_exchange();
    found.why =
        each < kSmallCall
            ? fmt::format("{} of the step waits for {}, in calls of {} on average that no link "
                          "limits but the protocol for small messages: fewer and larger buckets "
                          "would help",
                          percent(share), what, to_text(each))
        : machine.stack().transport.protocol == platforms::NetworkProtocol::tcp
            ? fmt::format("{} of the step waits for {} at the cap of a connection or protocol",
                          percent(share), what)
            : fmt::format("{} of the step waits for {} at the rate that the library's protocol "
                          "reaches",
                          percent(share), what);
    return found;
  }
  const sim::ResourceId resource{first.resource};
  Bottleneck found = limited_by(engine, job, resource);
  found.why = fmt::format(
      "{} of the step waits for {}, limited by {}{} {} of the time that data moves", percent(share),
      what, found.words, rate_of(engine, resource), percent(first.time / limited));
  return found;
}

// What one stage of the input did in the measured steps, for all GPUs.
struct StageLoad {
  const models::InputStage* stage = nullptr;
  Seconds busy;
  std::map<int, Seconds> limits; // by resource
};

// Of the stages that feed the GPUs the one that works the longest is the one they wait for.
StageLoad slowest_stage(const models::Job& job)
{
  std::vector<StageLoad> loads(job.input().front()->uses().size());
  for (const auto& pipeline : job.input())
    for (std::size_t k = 0; k < loads.size(); ++k) {
      const auto& use = pipeline->uses()[k];
      loads[k].stage = use.stage;
      loads[k].busy += use.busy;
      for (const auto& limit : use.limits)
        loads[k].limits[limit.resource] += limit.time;
    }
  return *std::max_element(loads.begin(), loads.end(),
                           [](const StageLoad& a, const StageLoad& b) { return a.busy < b.busy; });
}

// Part of the step that GPUs wait for that stage, if it works nearly all the time. While the last
// one copies, what stands before it may have batches waiting.
double waiting_for_slowest(const models::Job& job, const models::StepTimes& t)
{
  if (job.input().empty())
    return 0;
  const Seconds measured = job.last_end() - job.first_measured_start();
  const auto pipelines = static_cast<double>(job.input().size());
  const StageLoad slowest = slowest_stage(job);
  if (slowest.busy <= kSaturated * pipelines * measured)
    return 0;
  const bool copies = slowest.stage == job.input().front()->uses().back().stage;
  return (t.input_stall + (copies ? t.host_to_device : Seconds(0))) / t.total();
}

Bottleneck input_bottleneck(const sim::Engine& engine, const models::Job& job, double share)
{
  const StageLoad slowest = slowest_stage(job);
  Bottleneck found;
  const auto first =
      std::max_element(slowest.limits.begin(), slowest.limits.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (first == slowest.limits.end() || first->first < 0) {
    found = limited_by(slowest.stage->cap_name, slowest.stage->threads ? "threads" : nullptr);
    found.utilisation = 1;
  } else {
    found = limited_by(engine, job, {first->first});
  }
  found.why = fmt::format("{} of the step waits for batches; the slowest stage of the input is {}, "
                          "which {} limits",
                          percent(share), slowest.stage->name, found.words);
  if (first != slowest.limits.end() && first->first >= 0 &&
      engine.kind({first->first}) == sim::ResourceKind::file_thread) {
    found.why =
        fmt::format("{} of the step waits for batches; one thread of a node lists and opens "
                    "the files, each of one sample: large files of records would help, "
                    "more threads that decode would not",
                    percent(share));
  }
  return found;
}

// The busiest part of the way between host memory and GPU.
Bottleneck copy_bottleneck(const sim::Engine& engine, const platforms::Machine& machine,
                           const models::Job& job, platforms::GpuPlace gpu, double share)
{
  Bottleneck found;
  for (const auto& path : {machine.host_to_device(gpu), machine.device_to_host(gpu)})
    for (const sim::Use& use : path->uses) {
      const sim::ResourceId resource{use.resource};
      const double busy = job.utilisation(resource);
      if (busy <= found.utilisation)
        continue;
      found = limited_by(engine, job, resource);
      found.why = fmt::format("{} of the step waits for copies between host memory and GPU over "
                              "{}{}",
                              percent(share), found.words, rate_of(engine, resource));
    }
  return found;
}

// How much of their time kernels were held up by too few host cores, if it is worth saying.
std::string held_up(const sim::Engine& engine, const models::Job& job)
{
  Seconds all;
  Seconds cores;
  for (const sim::LimitedBy& limit : job.compute_limits()) {
    all += limit.time;
    if (limit.resource >= 0 && engine.kind({limit.resource}) == sim::ResourceKind::cores)
      cores += limit.time;
  }
  if (all.value() <= 0 || cores / all < 0.05)
    return "";
  return fmt::format("; {} of the computing was held up because threads ask for more cores than "
                     "there are: fewer decoding threads would help",
                     percent(cores / all));
}

// What a step waits for that mostly computes: the largest first, what cannot be seen left out but
// for the two that every job of several GPUs has.
std::string waits_beside(const models::StepTimes& t)
{
  constexpr double kSeen = 0.02; // of the step
  std::vector<LimitPart> waits{{t.exposed_communication, "exposed communication"},
                               {t.straggler_wait, "waiting for slower GPUs"}};
  for (const LimitPart& other : {LimitPart{t.bubble, "waiting for other stages of the pipeline"},
                                 LimitPart{t.framework, "host work of the framework"},
                                 LimitPart{t.input_stall + t.host_to_device, "input"}})
    if (other.time / t.total() >= kSeen)
      waits.push_back(other);
  std::stable_sort(waits.begin(), waits.end(),
                   [](const LimitPart& a, const LimitPart& b) { return a.time > b.time; });
  std::vector<std::string> words;
  for (const LimitPart& wait : waits)
    words.push_back(fmt::format("{} {}{}", wait.name, words.empty() ? "is " : "",
                                percent(wait.time / t.total())));
  return joined(words);
}

// The GPU of the job that paces a pipeline. Only GPUs that were simulated have resources.
sim::ResourceId busiest_gpu(const sim::Engine& engine, const platforms::Machine& machine,
                            const models::Job& job, const std::vector<platforms::GpuPlace>& ranks)
{
  std::set<int> simulated; // nodes
  for (int r = 0; r < engine.resource_count(); ++r)
    simulated.insert(engine.resource({r}).node);
  sim::ResourceId busiest = machine.compute(ranks.front());
  for (const platforms::GpuPlace& place : ranks)
    if (simulated.contains(place.node))
      if (const sim::ResourceId gpu = machine.compute(place);
          job.utilisation(gpu) > 1.001 * job.utilisation(busiest)) // not the first of equal ones
        busiest = gpu;
  return busiest;
}

// Whether it is part of a GPU, or of its own link, of none of these.
bool of_other_gpus(const sim::Resource& resource, const std::vector<platforms::GpuPlace>& ranks)
{
  if (!resource.part.starts_with("gpu"))
    return false;
  return std::ranges::none_of(ranks, [&](const platforms::GpuPlace& place) {
    return place.node == resource.node && resource.part == fmt::format("gpu{}", place.local);
  });
}

} // namespace

std::vector<ResourceUse> busiest_resources(const sim::Engine& engine, const models::Job& job,
                                           const std::vector<platforms::GpuPlace>& ranks,
                                           const std::set<int>& foreign)
{
  std::set<int> nodes{-1}; // switches and file servers are of none
  for (const auto& place : ranks)
    if (std::ssize(nodes) <= kNodesTold) // the first nodes speak for the others
      nodes.insert(place.node);
  std::vector<ResourceUse> uses;
  for (int r = 0; r < engine.resource_count(); ++r) {
    const double share = job.utilisation({r});
    if (share <= 0)
      continue;
    const sim::Resource resource = engine.resource({r});
    if (nodes.contains(resource.node) && !foreign.contains(r) && !of_other_gpus(resource, ranks))
      uses.push_back({sim::name_of(resource), resource_words(resource), resource.kind, share});
  }
  std::stable_sort(uses.begin(), uses.end(), [](const ResourceUse& a, const ResourceUse& b) {
    return a.utilisation > b.utilisation;
  });
  if (uses.size() > 5)
    uses.resize(5);
  return uses;
}

Bottleneck find_bottleneck(const sim::Engine& engine, const platforms::Machine& machine,
                           const models::Job& job, const std::vector<platforms::GpuPlace>& ranks,
                           const JobResult& result)
{
  const models::StepTimes& t = result.time;
  const LimitPart parts[] = {{t.compute + t.recompute, "compute"},
                             {t.exposed_communication, "communication"},
                             {t.input_stall + t.host_to_device, "input"},
                             {t.straggler_wait, "stragglers"},
                             {t.bubble, "bubble"},
                             {t.framework, "framework"}};
  const LimitPart* largest =
      std::max_element(std::begin(parts), std::end(parts),
                       [](const LimitPart& a, const LimitPart& b) { return a.time < b.time; });
  const double share = largest->time / t.total();

  // Input runs beside the step: GPUs that wait for a stage that never rests are paced by it,
  // however small a part of the step the waiting is.
  if (const double waiting = waiting_for_slowest(job, t); waiting > kWaiting)
    return input_bottleneck(engine, job, waiting);
  const std::string name = largest->name;
  if (name == "communication")
    return communication_bottleneck(engine, machine, job, share);
  if (name == "input")
    return job.input().empty() ? copy_bottleneck(engine, machine, job, ranks.front(), share)
                               : input_bottleneck(engine, job, share);
  const sim::ResourceId gpu = t.bubble.value() > 0 ? busiest_gpu(engine, machine, job, ranks)
                                                   : machine.compute(ranks.front());
  const double busy = job.utilisation(gpu);
  Bottleneck found;
  const auto kernels = job.compute_limits();
  if (name == "compute" && !kernels.empty() && kernels.front().resource >= 0 &&
      kernels.front().resource != gpu.value &&
      engine.kind({kernels.front().resource}) == sim::ResourceKind::cores) {
    found = limited_by(engine, job, {kernels.front().resource});
    found.why = fmt::format("{} of the step is computing, but what drives the GPUs gets too little "
                            "of {}{}",
                            percent(share), found.words, held_up(engine, job));
  } else if (name == "compute") {
    found = limited_by(engine, job, gpu);
    const std::string again =
        t.recompute.value() > 0
            ? fmt::format(", {} of it what was not kept", percent(t.recompute / t.total()))
            : "";
    found.why = fmt::format("{} of the step is computing{}; {}{}", percent(share), again,
                            waits_beside(t), held_up(engine, job));
  } else if (name == "stragglers") {
    found = limited_by("step-time variation", "variation");
    found.utilisation = busy;
    found.why = fmt::format("{} of the step is waiting for the slowest GPU", percent(share));
  } else if (name == "bubble") {
    found = limited_by("bubble", nullptr);
    found.utilisation = busy;
    found.why = fmt::format("{} of the step waits for other stages of the pipeline: more "
                            "micro-batches or virtual stages would fill it",
                            percent(share));
  } else {
    found = limited_by("framework", "framework");
    found.utilisation = busy;
    found.why = fmt::format("{} of the step is host work and coordination of the framework: {}",
                            percent(share),
                            result.tokens ? "larger micro-batches would spread it over more tokens"
                                          : "a larger batch would spread it over more samples");
  }
  return found;
}

std::string limit_name(const Bottleneck& limit)
{
  return limit.lever != nullptr && !limit.open ? limit.lever->name : limit.words;
}

} // namespace foretrain::experiments
