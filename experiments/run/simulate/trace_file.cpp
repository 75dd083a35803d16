#include "experiments/run/simulate/trace_file.hpp"

#include "experiments/run/simulate/trace_events.hpp"

#include <fmt/format.h>

#include <limits>

namespace foretrain::experiments {

namespace {

int thread_of(const std::string& stream)
{
  return stream == "compute" ? 0 : stream == "communication" ? 1 : 2;
}

struct NamedCollective {
  const char* in_kernel;
  const char* name; // as torch.distributed calls it
};

// "ncclDevKernel_AllGather_RING_LL" -> "_allgather_base".
constexpr NamedCollective kCollectiveNames[] = {{"AllGather", "_allgather_base"},
                                                {"ReduceScatter", "_reduce_scatter_base"},
                                                {"Broadcast", "broadcast"},
                                                {"SendRecv", "all_to_all"}};

const char* collective_of(const std::string& kernel)
{
  for (const NamedCollective& known : kCollectiveNames)
    if (kernel.find(known.in_kernel) != std::string::npos)
      return known.name;
  return "allreduce";
}

void add_span(Json& events, const models::Job::Interval& it, int pid, Seconds origin, int ranks,
              const std::string& job)
{
  const int stream = thread_of(it.stream);
  const Seconds start = it.start - origin;
  const Seconds length = it.finish - it.start;
  Json args = Json::object();
  if (it.size.value() > 0) {
    const std::string name = collective_of(it.name);
    const int group = it.group > 0 ? it.group : ranks;
    const double bytes = it.size.value(); // told in bytes: exchanges have several precisions
    const double in = name == "_allgather_base" ? bytes / group : bytes;
    args["Collective name"] = name;
    args["Process Group Description"] = job;
    args["Group size"] = group;
    args["In msg nelems"] = in;
    args["Out msg nelems"] = name == "_reduce_scatter_base" ? bytes / group : bytes;
    args["dtype"] = "Byte";
    args["In msg bytes"] = in;
  }
  if (it.size.value() > 0 || std::string(it.stream) == "compute")
    add_kernel(events, it.name, pid, stream, start, length, std::move(args));
  else
    events.push_back({{"ph", "X"},
                      {"name", it.name},
                      {"cat", "user_annotation"},
                      {"pid", pid},
                      {"tid", stream},
                      {"ts", start.value() * 1e6},
                      {"dur", length.value() * 1e6}});
}

} // namespace

void write_trace(const std::string& path, const std::vector<const models::Job*>& jobs)
{
  Json events = Json::array();
  int first_pid = 0;
  for (const auto* job : jobs) {
    const auto intervals = job->last_step();
    const auto names = job->shown_ranks();
    const int ranks = static_cast<int>(names.size());
    Seconds origin(std::numeric_limits<double>::infinity());
    for (const auto& it : intervals)
      origin = std::min(origin, it.start);
    Seconds end = origin;
    for (const auto& it : intervals)
      end = std::max(end, it.finish);
    for (int rank = 0; rank < ranks; ++rank) {
      const int pid = first_pid + rank;
      events.push_back(name_event(
          "process_name", pid, 0,
          fmt::format("{} {}", job->schedule().name, names[static_cast<std::size_t>(rank)])));
      events.push_back(step_event(pid, end - origin));
      for (const char* stream : {"compute", "communication", "input"})
        events.push_back(name_event("thread_name", pid, thread_of(stream), stream));
    }
    for (const auto& it : intervals)
      add_span(events, it, first_pid + it.rank, origin, ranks, job->schedule().name);
    first_pid += ranks;
  }
  write_events(path, events);
}

} // namespace foretrain::experiments
