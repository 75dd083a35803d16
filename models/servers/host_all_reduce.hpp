// All-reduce through host memory, as Gloo does it (gloo/cuda_allreduce_halving_doubling.cc,
// CudaHostWorkspace): each process adds the buffers of its GPUs, copies the sum to host memory,
// exchanges parts with other processes while its cores add what arrives, and copies the result back
// to its GPUs.
//
// Of n processes each sends and receives (n - 1) / n of the buffer on the way to the sums, adds as
// much, and sends and receives as much again on the way back:
//
//   T = copies + 2 (rounds latency + (n - 1) / n size / link) + (n - 1) / n size / sum rate
//
// with rounds = n - 1 around a ring, log2 n when halving and doubling. What leaves from one bucket
// does not wait for the bucket before it: `concurrent` of them are on their way at a time.
#pragma once

#include "models/collectives/host_exchange.hpp"
#include "models/servers/synchroniser.hpp"
#include "sim/engine/host_links.hpp"

#include <memory>

namespace foretrain::models {

class HostAllReduce final : public Synchroniser {
public:
  /// The engine must outlive this. `library` adds among the GPUs of a process. `half`: gradients
  /// are of half precision.
  HostAllReduce(sim::Engine& engine, sim::HostLinks links, HostExchange rules,
                const Library& library, bool half);

  sim::TaskId add(sim::TaskGraph& graph, sim::TaskId begin, Bytes size, int index,
                  Fidelity fidelity, std::vector<sim::TaskId>& flows) override;
  const char* name() const override { return "all-reduce"; }
  std::string summary(Bytes size, Fidelity fidelity) const override;
  std::string call(Bytes size, Fidelity fidelity) const override;

private:
  using Ways = std::vector<sim::PathPtr>;
  class Call;

  // One way for all processes at once, or one for each: see Fidelity.
  static Ways ways(const std::vector<sim::Hop>& hops, Fidelity fidelity);
  std::vector<sim::Hop> sums() const;
  sim::TaskId exchange(Call& call, Bytes size, sim::TaskId at) const;

  sim::HostLinks links_;
  HostExchange rules_;
  BytesPerSecond sum_rate_;
  std::vector<std::unique_ptr<Collective>> local_; // of each process with several GPUs
  std::vector<sim::TaskId> last_;                  // bucket in each lane
  int next_ = 0;
};

} // namespace foretrain::models
