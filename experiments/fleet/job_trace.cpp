#include "experiments/fleet/job_trace.hpp"

#include "sim/base/error.hpp"
#include "sim/engine/random.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
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

constexpr int kMostGpusOfJob = 1 << 24; // of a job: more is a mistake of the trace
constexpr double kWaits = -1;           // elapsed, of a job that does not run

} // namespace

std::string what_of_one(const std::string& what)
{
  constexpr std::pair<std::string_view, std::string_view> kOfOne[] = {
      {"have ", "has "}, {"are ", "is "}, {"were ", "was "}};
  for (const auto& [of_many, of_one] : kOfOne)
    if (what.starts_with(of_many))
      return std::string(of_one) + what.substr(of_many.size());
  return what;
}

std::string note_text(const TraceNote& note)
{
  return fmt::format("{} {} (first: {})", note.jobs,
                     note.jobs == 1 ? what_of_one(note.what) : note.what, note.first);
}

std::size_t JobCollector::tell(const std::string& what, const std::string& where)
{
  const auto [known, is_new] = notes_.emplace(what, trace_.notes.size());
  if (is_new)
    trace_.notes.push_back({what, 0, where});
  ++trace_.notes[known->second].jobs;
  return known->second;
}

void JobCollector::leave_out(const std::string& why, const std::string& where,
                             const std::string& id)
{
  ++trace_.read;
  ++trace_.left_out;
  const std::size_t note = tell(why, where);
  if (!id.empty() && take_ == TakeJobs::unfinished)
    trace_.left_out_by.emplace(id, note);
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

// Otherwise it is left out.
bool JobCollector::makes_sense(const TraceJob& job, const std::string& where)
{
  const char* why = nullptr;
  if (!std::isfinite(job.submit_s))
    why = "have no time of submission";
  else if (!std::isfinite(job.run_s) || job.run_s < 0)
    why = "have a negative run time or none";
  else if (job.gpus <= 0)
    why = "use no GPU";
  else if (job.gpus > kMostGpusOfJob)
    why = "have more than 16,777,216 GPUs";
  else if (job.limit_s && !(*job.limit_s > 0))
    why = "have a limit that is not positive";
  if (why != nullptr)
    leave_out(why, where, job.id);
  return why == nullptr;
}

models::fleet::Job JobCollector::kept(TraceJob job, const std::string& where)
{
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
  return kept;
}

void JobCollector::add(TraceJob job, const std::string& where)
{
  if (!makes_sense(job, where))
    return;
  if (take_ == TakeJobs::unfinished) {
    if (job.limit_s)
      trace_.used_of_limit.push_back(std::min(1.0, job.run_s / *job.limit_s));
    return leave_out("have ended: they tell how much of their limits jobs take", where, job.id);
  }
  if (!job.limit_s)
    note("have no limit: schedulers expect their run time", where);
  trace_.workload.jobs.push_back(kept(std::move(job), where));
}

void JobCollector::add_unfinished(TraceJob job, std::optional<double> elapsed_s,
                                  const std::string& where)
{
  if (take_ == TakeJobs::ended)
    return leave_out("had not ended", where);
  if (!makes_sense(job, where))
    return;
  if (!job.limit_s)
    note("have no limit: nobody knows how long they run, and they are taken to hold their GPUs for "
         "ever",
         where);
  const double limit = job.limit_s.value_or(models::fleet::kNever.value());
  if (elapsed_s && !(*elapsed_s >= 0 && *elapsed_s < limit))
    return leave_out("should have ended: their limit is over", where, job.id);
  trace_.elapsed.push_back(elapsed_s ? *elapsed_s / limit : kWaits);
  trace_.workload.jobs.push_back(kept(std::move(job), where));
}

// Those that run hold their GPUs before the queue is looked at.
JobTrace JobCollector::finish_unfinished()
{
  auto& jobs = trace_.workload.jobs;
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool waits_a = trace_.elapsed[a] == kWaits, waits_b = trace_.elapsed[b] == kWaits;
    return waits_a != waits_b ? waits_b : waits_a && jobs[a].submit < jobs[b].submit;
  });
  std::vector<models::fleet::Job> sorted;
  std::vector<double> elapsed;
  for (const std::size_t i : order) {
    const bool waits = trace_.elapsed[i] == kWaits;
    elapsed.push_back(waits ? 0 : trace_.elapsed[i]);
    sorted.push_back(std::move(jobs[i]));
    sorted.back().submit = waits ? kLook : Seconds(0);
    sorted.back().limit = sorted.back().limit * (1 - elapsed.back());
    sorted.back().work = sorted.back().limit;
  }
  jobs = std::move(sorted);
  trace_.elapsed = std::move(elapsed);
  std::sort(trace_.used_of_limit.begin(), trace_.used_of_limit.end());
  return std::move(trace_);
}

JobTrace JobCollector::finish()
{
  if (take_ == TakeJobs::unfinished)
    return finish_unfinished();
  auto& jobs = trace_.workload.jobs;
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const auto& a, const auto& b) { return a.submit < b.submit; });
  if (!jobs.empty())
    trace_.first_submit_s = jobs.front().submit.value();
  for (auto& job : jobs)
    job.submit -= Seconds(trace_.first_submit_s);
  return std::move(trace_);
}

void draw_run_times(models::fleet::Workload& workload, const JobTrace& trace, std::uint64_t seed)
{
  const std::vector<double>& used = trace.used_of_limit;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    models::fleet::Job& job = workload.jobs[i];
    const double gone = trace.elapsed[i];
    const auto first = std::upper_bound(used.begin(), used.end(), gone);
    const auto candidates = static_cast<double>(used.end() - first);
    if (candidates == 0)
      continue;
    sim::RandomStream stream(seed, "run times of unfinished jobs", i);
    const auto chosen = static_cast<std::ptrdiff_t>(candidates * stream.uniform());
    job.work = job.limit * ((*(first + chosen) - gone) / (1 - gone));
  }
}

JobTrace read_job_trace(const std::filesystem::path& path, TraceKind kind, TakeJobs take)
{
  JobCollector collector(take);
  reader_of(kind)(path, collector);
  JobTrace trace = collector.finish();
  if (trace.workload.jobs.empty()) {
    std::string why = "expected " + word_of(kind);
    for (const TraceNote& note : trace.notes)
      why += fmt::format("; {} {} (first {})", note.jobs, note.what, note.first);
    throw ConfigError(path.string(), "",
                      take == TakeJobs::ended ? "holds no job that can be replayed"
                                              : "holds no job that runs or waits",
                      why);
  }
  return trace;
}

} // namespace foretrain::experiments
