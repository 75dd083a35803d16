#include "models/traces/seen_collective.hpp"

#include "models/traces/exchange_names.hpp"

#include <algorithm>
#include <cstdlib>

namespace foretrain::models {

namespace {

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

// "nccl:send 0->1", "nccl:recv 1<-0": places in the group, whose ranks are known or all. -1 where
// the title names none.
int peer_in(const std::string& title, const std::vector<int>& members)
{
  const std::vector<int> places = ranks_in(title);
  if (places.size() != 2)
    return -1;
  const auto place = static_cast<std::size_t>(places[1]);
  if (members.empty())
    return places[1];
  return place < members.size() ? members[place] : -1;
}

} // namespace

double SeenCollective::bus_rate(double seconds) const
{
  if (bytes <= 0 || group < 2 || seconds <= 0)
    return 0;
  const double n = group;
  const double factor = kind == "all-reduce" ? 2 * (n - 1) / n
                        : kind == "broadcast" || kind == "reduce" || kind == "send" ? 1
                                                                                    : (n - 1) / n;
  return factor * bytes / seconds;
}

SeenCollective seen_collective(const Trace& trace, const DeviceWork& work)
{
  SeenCollective seen;
  seen.kind = exchange_kind(trace.name_of(work.collective)); // its arguments know best
  if (seen.kind == "other")
    seen.kind = exchange_kind(trace.name_of(work.name));
  seen.bytes = work.bytes;
  seen.group = work.group > 0 ? work.group : trace.world;
  const Stretch* annotation = annotation_of(trace, work);
  if (annotation == nullptr)
    return seen;
  if (seen.kind == "send" || seen.kind == "other")
    if (const auto kind = exchange_kind(trace.name_of(annotation->name)); kind != "other")
      seen.kind = kind;
  if (seen.bytes <= 0) {
    seen.bytes = annotation->elements * annotation->element_bytes;
    if (seen.kind == "all-gather") // the call takes a rank's own part
      seen.bytes *= std::max(1, seen.group);
  }
  return seen;
}

std::vector<SeenMessage> seen_messages(const Trace& trace, const DeviceWork& work)
{
  const Stretch* annotation = annotation_of(trace, work);
  const std::string title = annotation == nullptr ? "" : trace.name_of(annotation->name);
  const std::string& told = trace.name_of(work.collective);
  const bool sends = told == "send" || (told != "recv" && title.starts_with("nccl:send"));
  if (sends || told == "recv" || title.starts_with("nccl:recv")) {
    SeenMessage one{sends, work.peer, seen_collective(trace, work).bytes};
    if (one.peer < 0)
      one.peer = peer_in(title, ranks_in(trace.name_of(work.members)));
    return {one};
  }
  std::vector<SeenMessage> batch;
  const auto first = std::lower_bound(
      trace.messages.begin(), trace.messages.end(), work.correlation,
      [](const Message& message, std::int64_t wanted) { return message.correlation < wanted; });
  if (work.correlation >= 0)
    for (auto it = first; it != trace.messages.end() && it->correlation == work.correlation; ++it)
      batch.push_back({it->sends, it->peer, it->bytes});
  return batch;
}

std::vector<int> members_of(const std::string& text, int group)
{
  std::vector<int> told = ranks_in(text);
  const auto cut = text.find("...");
  const std::vector<int> first = ranks_in(text.substr(0, cut));
  if (cut == std::string::npos || first.size() < 2 || group <= static_cast<int>(told.size()))
    return told;
  const int stride = first[1] - first[0];
  std::vector<int> all;
  for (int i = 0; i < group; ++i)
    all.push_back(first[0] + i * stride);
  const bool goes_on = std::equal(first.begin(), first.end(), all.begin()) &&
                       (told.size() == first.size() || told.back() == all.back());
  return goes_on ? all : told;
}

std::vector<int> ranks_in(const std::string& text)
{
  std::vector<int> ranks;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] < '0' || text[i] > '9') {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9')
      ++end;
    if (end - i < 8)
      ranks.push_back(std::atoi(text.substr(i, end - i).c_str()));
    i = end;
  }
  return ranks;
}

} // namespace foretrain::models
