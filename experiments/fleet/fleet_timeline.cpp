#include "experiments/fleet/fleet_timeline.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using namespace models::fleet;

constexpr double kMicroseconds = 1e6;
constexpr int kFirstNode = 1; // process of node 0: process 0 has the counters

// Writes events one by one: as a document they would take ten times the memory.
class Timeline {
public:
  explicit Timeline(Seconds start) : start_(start) {}

  void name(const char* what, int pid, int tid, const std::string& name)
  {
    add(fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, pid,
                    tid, Json(name).dump()));
  }

  void piece(const std::string& name, int pid, int tid, Seconds from, Seconds until,
             const Json& args)
  {
    add(fmt::format(R"({{"ph":"X","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{}}})",
                    quoted(Json(name)), pid, tid, micro(from - start_), micro(until - from),
                    quoted(args)));
  }

  void counter(const char* name, Seconds time, const Json& values)
  {
    add(fmt::format(R"({{"ph":"C","name":"{}","pid":0,"ts":{},"args":{}}})", name,
                    micro(time - start_), values.dump()));
  }

  std::string text() && { return std::move(text_) + "],\"displayTimeUnit\":\"ms\"}\n"; }

private:
  // Names of traces may hold what is no UTF-8.
  static std::string quoted(const Json& json)
  {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  static std::string micro(Seconds time)
  {
    return fmt::format("{:.0f}", time.value() * kMicroseconds);
  }

  void add(const std::string& event)
  {
    text_ += (first_ ? "" : ",\n") + event;
    first_ = false;
  }

  Seconds start_;
  bool first_ = true;
  std::string text_ = "{\"traceEvents\":[\n";
};

void add_names(Timeline& timeline, const FleetRun& run, int gpus_per_node)
{
  std::set<int> nodes;
  for (const auto* spans : {&run.result.spans, &run.result.held_waiting})
    for (const HeldSpan& span : *spans)
      nodes.insert(span.slice.node);
  for (const DownSpan& span : run.result.down)
    nodes.insert(span.node);
  timeline.name("process_name", 0, 0, "cluster");
  for (const int node : nodes) {
    timeline.name("process_name", kFirstNode + node, 0, fmt::format("node {}", node));
    for (int gpu = 0; gpu < gpus_per_node; ++gpu)
      timeline.name("thread_name", kFirstNode + node, gpu, fmt::format("GPU {}", gpu));
    timeline.name("thread_name", kFirstNode + node, gpus_per_node, "down");
  }
}

const char* text_of(Overhead what)
{
  switch (what) {
  case Overhead::checkpoint:
    return "checkpoint";
  case Overhead::restart:
    return "restart";
  default:
    return "lost work";
  }
}

// What a job did other than work, on each slice that it held then.
template <class Add> // (span of the slice, overhead)
void each_overhead(const FleetResult& result, const Add& add)
{
  std::map<JobId, std::vector<const HeldSpan*>> held;
  if (!result.overheads.empty())
    for (const HeldSpan& span : result.spans)
      held[span.job].push_back(&span);
  for (const OverheadSpan& overhead : result.overheads)
    for (const HeldSpan* span : held[overhead.job])
      if (span->from <= overhead.from && overhead.until <= span->until)
        add(*span, overhead);
}

} // namespace

std::size_t timeline_pieces(const FleetRun& run)
{
  return run.result.spans.size() + run.result.held_waiting.size() + run.result.down.size() +
         run.result.moments.size();
}

std::string fleet_timeline(const FleetRun& run, int gpus_per_node)
{
  Timeline timeline(run.result.start);
  add_names(timeline, run, gpus_per_node);
  for (const HeldSpan& span : run.result.spans) {
    const Job& job = run.workload.jobs[span.job];
    const JobOutcome& outcome = run.result.jobs[span.job];
    timeline.piece(job.id, kFirstNode + span.slice.node, lowest(span.slice.gpus), span.from,
                   span.until,
                   {{"gpus", job.gpus},
                    {"gpus_here", count(span.slice)},
                    {"queue", run.workload.queues[job.queue]},
                    {"account", run.workload.accounts[job.account]},
                    {"wait_s", (outcome.start - job.submit).value()},
                    {"waited_for", text_of(outcome.waited_for)},
                    {"state", text_of(outcome.state)},
                    {"restarts", outcome.restarts},
                    {"preemptions", outcome.preemptions}});
  }
  std::size_t overheads = 0;
  each_overhead(run.result, [&](const HeldSpan&, const OverheadSpan&) { ++overheads; });
  const bool room = timeline_pieces(run) + overheads <= kMostTimelinePieces;
  each_overhead(run.result, [&](const HeldSpan& span, const OverheadSpan& overhead) {
    if (room)
      timeline.piece(text_of(overhead.what), kFirstNode + span.slice.node, lowest(span.slice.gpus),
                     overhead.from, overhead.until, {{"job", run.workload.jobs[overhead.job].id}});
  });
  for (const HeldSpan& span : run.result.held_waiting)
    timeline.piece("waits", kFirstNode + span.slice.node, lowest(span.slice.gpus), span.from,
                   span.until,
                   {{"job", run.workload.jobs[span.job].id}, {"gpus_here", count(span.slice)}});
  for (const DownSpan& span : run.result.down)
    timeline.piece("down", kFirstNode + span.node, gpus_per_node, span.from,
                   std::min(span.until, run.result.end), Json::object());
  for (const Moment& moment : run.result.moments) {
    timeline.counter("GPUs", moment.time, {{"held", moment.busy}, {"down", moment.down}});
    timeline.counter("jobs that wait", moment.time, {{"jobs", moment.waiting}});
  }
  return std::move(timeline).text();
}

} // namespace foretrain::experiments
