#include "experiments/fleet/job_trace.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

struct TraceKindEntry {
  TraceKind kind;
  TraceReader read;
};

constexpr TraceKindEntry kTraceKinds[] = {
    {TraceKind::sacct, &read_sacct},   {TraceKind::swf, &read_swf},
    {TraceKind::batsim, &read_batsim}, {TraceKind::philly, &read_philly},
    {TraceKind::helios, &read_helios}, {TraceKind::acme, &read_acme},
    {TraceKind::openb, &read_openb},   {TraceKind::kueue, &read_kueue},
};

TraceReader reader_of(TraceKind kind)
{
  for (const TraceKindEntry& entry : kTraceKinds)
    if (entry.kind == kind)
      return entry.read;
  throw std::logic_error("a kind of trace without a reader");
}

constexpr int kMostGpus = 1 << 24; // of a job: more is a mistake of the trace

} // namespace

void JobCollector::tell(const std::string& what, const std::string& where)
{
  const auto [known, is_new] = notes_.emplace(what, trace_.notes.size());
  if (is_new)
    trace_.notes.push_back({what, 0, where});
  ++trace_.notes[known->second].jobs;
}

void JobCollector::leave_out(const std::string& why, const std::string& where)
{
  ++trace_.read;
  ++trace_.left_out;
  tell(why, where);
}

void JobCollector::note(const std::string& what, const std::string& where)
{
  tell(what, where);
}

std::uint32_t JobCollector::position(std::vector<std::string>& names,
                                     std::map<std::string, std::uint32_t>& known,
                                     const std::string& name)
{
  const auto [it, is_new] = known.emplace(name, static_cast<std::uint32_t>(names.size()));
  if (is_new)
    names.push_back(name);
  return it->second;
}

void JobCollector::add(TraceJob job, const std::string& where)
{
  if (!std::isfinite(job.submit_s))
    return leave_out("have no time of submission", where);
  if (!std::isfinite(job.run_s) || job.run_s < 0)
    return leave_out("have a negative run time or none", where);
  if (job.gpus <= 0)
    return leave_out("use no GPU", where);
  if (job.gpus > kMostGpus)
    return leave_out("have more than 16,777,216 GPUs", where);
  if (job.limit_s && !(*job.limit_s > 0))
    return leave_out("have a limit that is not positive", where);
  ++trace_.read;
  if (!ids_.insert(job.id).second) {
    note("have the id of an earlier job: further runs of it", where);
    int run = 2;
    while (!ids_.insert(fmt::format("{}#{}", job.id, run)).second)
      ++run;
    job.id = fmt::format("{}#{}", job.id, run);
  }
  if (job.nodes > job.gpus) {
    note("have more nodes than GPUs: their nodes are not kept", where);
    job.nodes = 0;
  }
  if (!job.limit_s)
    note("have no limit: schedulers expect their run time", where);
  models::fleet::Job kept;
  kept.id = std::move(job.id);
  kept.queue = position(trace_.workload.queues, queues_, job.queue);
  kept.account = position(trace_.workload.accounts, accounts_, job.account);
  kept.gpus = job.gpus;
  kept.nodes = job.nodes;
  kept.submit = Seconds(job.submit_s);
  kept.work = Seconds(job.run_s);
  kept.limit = job.limit_s ? Seconds(*job.limit_s) : models::fleet::kNever;
  kept.priority = job.priority;
  trace_.workload.jobs.push_back(std::move(kept));
}

JobTrace JobCollector::finish()
{
  auto& jobs = trace_.workload.jobs;
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const auto& a, const auto& b) { return a.submit < b.submit; });
  if (!jobs.empty())
    trace_.first_submit_s = jobs.front().submit.value();
  for (auto& job : jobs)
    job.submit -= Seconds(trace_.first_submit_s);
  return std::move(trace_);
}

JobTrace read_job_trace(const std::filesystem::path& path, TraceKind kind)
{
  JobCollector collector;
  reader_of(kind)(path, collector);
  JobTrace trace = collector.finish();
  if (trace.workload.jobs.empty()) {
    std::string why = "expected " + word_of(kind);
    for (const TraceNote& note : trace.notes)
      why += fmt::format("; {} {} (first {})", note.jobs, note.what, note.first);
    throw ConfigError(path.string(), "", "holds no job that can be replayed", why);
  }
  return trace;
}

} // namespace foretrain::experiments
