// A collective as a trace shows it: kind by name, size and group by arguments or by the host's
// call.
#pragma once

#include "models/traces/trace.hpp"

#include <string>
#include <vector>

namespace foretrain::models {

struct SeenCollective {
  /// "all-reduce", "all-to-all", "all-gather", "reduce-scatter", "broadcast", "reduce", "gather",
  /// "scatter", "send", "other".
  std::string kind;
  double bytes = 0; // of the whole buffer of a rank; 0: not told
  int group = 0;    // ranks; 0: not told
  /// Bytes over the busiest link per second, as nccl-tests count them; 0 where that is not known.
  double bus_rate(double seconds) const;
};

/// What a piece of device work of class collective is.
SeenCollective seen_collective(const Trace& trace, const DeviceWork& work);

/// A send or a receive of a kernel.
struct SeenMessage {
  bool sends = false; // else it receives
  int peer = -1;      // the other rank; -1: not told
  double bytes = 0;   // 0: not told
};

/// The messages of a kernel of kind "send": its own, or what the host asked for before it launched
/// a batch of them. Empty where nothing tells them.
std::vector<SeenMessage> seen_messages(const Trace& trace, const DeviceWork& work);

/// "[0, 2, 4]": numbers of ranks.
std::vector<int> ranks_in(const std::string& text);

/// The ranks of a group of so many. PyTorch cuts lists of more than 30 ("[0, 8, ...]", or "[0, 8,
/// ..., 248]"): they go on where those that are told are at equal distances. What can't be
/// completed is returned as it is told.
std::vector<int> members_of(const std::string& text, int group);

} // namespace foretrain::models
