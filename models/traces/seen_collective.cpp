#include "models/traces/seen_collective.hpp"

#include <algorithm>
#include <cctype>

namespace foretrain::models {

namespace {

std::string lower(const std::string& text)
{
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string kind_in(const std::string& name)
{
  static const std::pair<const char*, const char*> kKinds[] = {{"allreduce", "all-reduce"},
                                                               {"all_reduce", "all-reduce"},
                                                               {"reducescatter", "reduce-scatter"},
                                                               {"reduce_scatter", "reduce-scatter"},
                                                               {"allgather", "all-gather"},
                                                               {"all_gather", "all-gather"},
                                                               {"alltoall", "all-to-all"},
                                                               {"all_to_all", "all-to-all"},
                                                               {"all2all", "all-to-all"},
                                                               {"broadcast", "broadcast"},
                                                               {"sendrecv", "send"},
                                                               {"nccl:send", "send"},
                                                               {"nccl:recv", "send"},
                                                               {"reduce", "reduce"}};
  const std::string text = lower(name);
  for (const auto& [part, kind] : kKinds)
    if (text.find(part) != std::string::npos)
      return kind;
  return "other";
}

// The "nccl:..." annotation around the call that launched it.
const Stretch* annotation_of(const Trace& trace, const DeviceWork& work)
{
  const Call* call = call_of(trace, work);
  if (call == nullptr)
    return nullptr;
  auto next = std::upper_bound(trace.stretches.begin(), trace.stretches.end(), call->start,
                               [](double t, const Stretch& s) { return t < s.start; });
  constexpr int kNearby = 64; // annotations of other threads and operators may lie between
  for (int i = 0; i < kNearby && next != trace.stretches.begin(); ++i) {
    --next;
    if (next->thread == call->thread && next->finish >= call->start &&
        trace.name_of(next->name).starts_with("nccl:"))
      return &*next;
  }
  return nullptr;
}

} // namespace

double SeenCollective::bus_rate(double seconds) const
{
  if (bytes <= 0 || group < 2 || seconds <= 0)
    return 0;
  const double n = group;
  const double factor = kind == "all-reduce"                    ? 2 * (n - 1) / n
                        : kind == "broadcast" || kind == "send" ? 1
                                                                : (n - 1) / n;
  return factor * bytes / seconds;
}

SeenCollective seen_collective(const Trace& trace, const DeviceWork& work)
{
  SeenCollective seen;
  seen.kind = kind_in(trace.name_of(work.collective)); // its arguments know best
  if (seen.kind == "other")
    seen.kind = kind_in(trace.name_of(work.name));
  seen.bytes = work.bytes;
  seen.group = work.group > 0 ? work.group : trace.world;
  const Stretch* annotation = annotation_of(trace, work);
  if (annotation == nullptr)
    return seen;
  if (seen.kind == "send" || seen.kind == "other")
    if (const auto kind = kind_in(trace.name_of(annotation->name)); kind != "other")
      seen.kind = kind;
  if (seen.bytes <= 0) {
    seen.bytes = annotation->elements * annotation->element_bytes;
    if (seen.kind == "all-gather") // the call takes a rank's own part
      seen.bytes *= std::max(1, seen.group);
  }
  return seen;
}

} // namespace foretrain::models
