#include "experiments/run/simulate/trace_events.hpp"
#include "sim/base/files.hpp"

namespace foretrain::experiments {

namespace {

constexpr double kMicroseconds = 1e6;

} // namespace

Json name_event(const char* what, int pid, int tid, const std::string& name)
{
  return {{"ph", "M"}, {"name", what}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}};
}

Json step_event(int pid, Seconds length)
{
  return {{"ph", "X"},
          {"name", "ProfilerStep#0"},
          {"cat", "user_annotation"},
          {"pid", pid},
          {"tid", kHostThread},
          {"ts", 0},
          {"dur", length.value() * kMicroseconds}};
}

void add_kernel(Json& events, const std::string& name, int pid, int stream, Seconds start,
                Seconds length, Json args)
{
  const int correlation = static_cast<int>(events.size()) + 1;
  args["device"] = pid;
  args["stream"] = stream;
  args["correlation"] = correlation;
  events.push_back({{"ph", "X"},
                    {"name", name},
                    {"cat", "kernel"},
                    {"pid", pid},
                    {"tid", stream},
                    {"ts", start.value() * kMicroseconds},
                    {"dur", length.value() * kMicroseconds},
                    {"args", std::move(args)}});
  events.push_back({{"ph", "X"},
                    {"name", "cudaLaunchKernel"},
                    {"cat", "cuda_runtime"},
                    {"pid", pid},
                    {"tid", kHostThread},
                    {"ts", start.value() * kMicroseconds},
                    {"dur", 0},
                    {"args", {{"correlation", correlation}}}});
}

void write_events(const std::string& path, const Json& events)
{
  write_file(path, Json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump() + "\n");
}

} // namespace foretrain::experiments
