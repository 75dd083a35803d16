#include "experiments/trace_file.hpp"

#include "sim/base/document.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <fstream>
#include <limits>

namespace foretrain::experiments {

namespace {

constexpr int kCommunicationRanks = 64; // beyond this a collective is drawn on rank 0 only

int thread_of(const std::string& stream)
{
  return stream == "compute" ? 0 : stream == "communication" ? 1 : 2;
}

Json name_event(const char* what, int pid, int tid, const std::string& name)
{
  return {{"ph", "M"}, {"name", what}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}};
}

Json span_event(const models::TrainingJob::Interval& it, int pid, Seconds origin, int ranks,
                const std::string& job)
{
  Json event = {{"ph", "X"},
                {"name", it.name},
                {"cat", it.stream},
                {"pid", pid},
                {"tid", thread_of(it.stream)},
                {"ts", (it.start - origin).value() * 1e6},
                {"dur", (it.finish - it.start).value() * 1e6}};
  if (it.size.value() > 0)
    event["args"] = {{"Collective name", "allreduce"},
                     {"Process Group Description", job},
                     {"Group size", ranks},
                     {"In msg nelems", it.size.value() / 4},
                     {"In msg bytes", it.size.value()}};
  return event;
}

} // namespace

void write_trace(const std::string& path, const std::vector<const models::TrainingJob*>& jobs)
{
  Json events = Json::array();
  int first_pid = 0;
  for (const auto* job : jobs) {
    const auto intervals = job->last_step();
    const int ranks = job->setup().ranks;
    Seconds origin(std::numeric_limits<double>::infinity());
    for (const auto& it : intervals)
      origin = std::min(origin, it.start);
    for (int rank = 0; rank < ranks; ++rank) {
      const int pid = first_pid + rank;
      events.push_back(
          name_event("process_name", pid, 0, fmt::format("{} gpu {}", job->setup().name, rank)));
      for (const char* stream : {"compute", "communication", "input"})
        events.push_back(name_event("thread_name", pid, thread_of(stream), stream));
    }
    for (const auto& it : intervals) {
      if (it.rank >= 0) {
        events.push_back(span_event(it, first_pid + it.rank, origin, ranks, job->setup().name));
        continue;
      }
      for (int rank = 0; rank < (ranks <= kCommunicationRanks ? ranks : 1); ++rank)
        events.push_back(span_event(it, first_pid + rank, origin, ranks, job->setup().name));
    }
    first_pid += ranks;
  }
  const Json trace = {{"traceEvents", events}, {"displayTimeUnit", "ms"}};
  std::ofstream out(path);
  out << trace.dump() << "\n";
  if (!out)
    throw UsageError("cannot write '" + path + "'");
}

} // namespace foretrain::experiments
