#include "experiments/run/trace_file.hpp"

#include "sim/base/document.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <fstream>
#include <limits>

namespace foretrain::experiments {

namespace {

constexpr int kCommunicationRanks = 64; // beyond this a collective is drawn on rank 0 only

constexpr double kElement = 4;   // bytes; sizes are told in elements of single precision
constexpr int kHostThread = 100; // that launches, in the timeline

int thread_of(const std::string& stream)
{
  return stream == "compute" ? 0 : stream == "communication" ? 1 : 2;
}

Json name_event(const char* what, int pid, int tid, const std::string& name)
{
  return {{"ph", "M"}, {"name", what}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}};
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

// Kernels as Kineto writes them: HTA and trace_summary.hpp tell computation and communication apart
// by category, stream and name; the host's call is joined by its correlation.
void add_span(Json& events, const models::Job::Interval& it, int pid, Seconds origin, int ranks,
              const std::string& job)
{
  const bool kernel = it.size.value() > 0 || std::string(it.stream) == "compute";
  const int correlation = static_cast<int>(events.size()) + 1;
  Json args = {{"device", pid}, {"stream", thread_of(it.stream)}, {"correlation", correlation}};
  if (it.size.value() > 0) {
    const std::string name = collective_of(it.name);
    const int group = it.group > 0 ? it.group : ranks;
    const double elements = it.size.value() / kElement;
    args["Collective name"] = name;
    args["Process Group Description"] = job;
    args["Group size"] = group;
    args["In msg nelems"] = name == "_allgather_base" ? elements / group : elements;
    args["Out msg nelems"] = name == "_reduce_scatter_base" ? elements / group : elements;
    args["dtype"] = "Float";
    args["In msg bytes"] = it.size.value();
  }
  const double start = (it.start - origin).value() * 1e6;
  events.push_back({{"ph", "X"},
                    {"name", it.name},
                    {"cat", kernel ? "kernel" : "user_annotation"},
                    {"pid", pid},
                    {"tid", thread_of(it.stream)},
                    {"ts", start},
                    {"dur", (it.finish - it.start).value() * 1e6},
                    {"args", std::move(args)}});
  if (kernel)
    events.push_back({{"ph", "X"},
                      {"name", "cudaLaunchKernel"},
                      {"cat", "cuda_runtime"},
                      {"pid", pid},
                      {"tid", kHostThread},
                      {"ts", start},
                      {"dur", 0},
                      {"args", {{"correlation", correlation}}}});
}

} // namespace

void write_trace(const std::string& path, const std::vector<const models::Job*>& jobs)
{
  Json events = Json::array();
  int first_pid = 0;
  for (const auto* job : jobs) {
    const auto intervals = job->last_step();
    const int ranks = job->shown_ranks();
    Seconds origin(std::numeric_limits<double>::infinity());
    for (const auto& it : intervals)
      origin = std::min(origin, it.start);
    Seconds end = origin;
    for (const auto& it : intervals)
      end = std::max(end, it.finish);
    for (int rank = 0; rank < ranks; ++rank) {
      const int pid = first_pid + rank;
      events.push_back(
          name_event("process_name", pid, 0, fmt::format("{} gpu {}", job->schedule().name, rank)));
      events.push_back({{"ph", "X"},
                        {"name", "ProfilerStep#0"},
                        {"cat", "user_annotation"},
                        {"pid", pid},
                        {"tid", kHostThread},
                        {"ts", 0},
                        {"dur", (end - origin).value() * 1e6}});
      for (const char* stream : {"compute", "communication", "input"})
        events.push_back(name_event("thread_name", pid, thread_of(stream), stream));
    }
    for (const auto& it : intervals) {
      if (it.rank >= 0) {
        add_span(events, it, first_pid + it.rank, origin, ranks, job->schedule().name);
        continue;
      }
      for (int rank = 0; rank < (ranks <= kCommunicationRanks ? ranks : 1); ++rank)
        add_span(events, it, first_pid + rank, origin, ranks, job->schedule().name);
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
