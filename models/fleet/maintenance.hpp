// Times known in advance at which nodes are not for everybody: planned maintenance, which takes
// them out of service, and reservations, which keep them for some accounts or queues.
#pragma once

#include "models/fleet/gpu_set.hpp"
#include "models/fleet/job.hpp"
#include "sim/base/units.hpp"

#include <span>
#include <vector>

namespace foretrain::models::fleet {

/// Nodes first ... first + nodes - 1 from one time until another one: out of service, or for jobs
/// of these accounts and queues only.
struct Window {
  Seconds from, until;
  int first = 0, nodes = 0;
  std::vector<std::uint32_t> accounts{}, queues{}; // none of both: maintenance

  bool is_maintenance() const { return accounts.empty() && queues.empty(); }
  bool admits(const Job& job) const;

  bool holds(int node) const { return node >= first && node < first + nodes; }
};

/// Many windows, of which few are at hand at a time.
class Windows {
public:
  /// By their beginning.
  explicit Windows(std::vector<Window> windows);

  bool empty() const { return windows_.empty(); }
  std::span<const Window> all() const { return windows_; }
  /// Those that hold between two times, and maybe some of those between them.
  std::span<const Window> about(Seconds from, Seconds until) const;

private:
  std::vector<Window> windows_;
  std::vector<Seconds> over_; // when each and all before it are
};

/// What of some free GPUs can be used by a job that starts at a time and takes so long: those of
/// nodes that no window keeps from it before its end.
GpuSet without_windows(GpuSet free, const ClusterShape& shape, const Windows& windows,
                       const Job& job, Seconds start, Seconds length);

/// All GPUs of a window's nodes.
Allocation gpus_of(const Window& window, const ClusterShape& shape);

} // namespace foretrain::models::fleet
