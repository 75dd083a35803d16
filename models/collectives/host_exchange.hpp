// How a library adds gradients through host memory, as Gloo does where no adapter reaches GPUs.
#pragma once

#include "sim/base/choice.hpp"
#include "sim/base/schema.hpp"

#include <cmath>

namespace foretrain::models {

/// Which GPUs are one process: those of a node, or each by itself.
enum class HostProcess { node, gpu };
constexpr auto choices(HostProcess)
{
  return std::to_array<Choice<HostProcess>>(
      {{HostProcess::node, "node"}, {HostProcess::gpu, "gpu"}});
}

/// The order in which processes exchange parts.
enum class HostSteps { ring, halving_doubling };
constexpr auto choices(HostSteps)
{
  return std::to_array<Choice<HostSteps>>(
      {{HostSteps::ring, "ring"}, {HostSteps::halving_doubling, "halving-doubling"}});
}

struct HostExchange {
  HostProcess process = HostProcess::node;
  HostSteps steps = HostSteps::ring;
  int concurrent = 1;             // buckets on their way at a time, each the work of one thread
  Bytes on_devices{};             // buckets from here on are first added among the GPUs
  BytesPerSecond sum_rate{7e9};   // at which one core adds what arrived
  BytesPerSecond half_sum_rate{}; // the same in half precision; 0: as any other
  bool sockets = false;           // it speaks TCP only

  /// Exchanges that follow each other on the way to the sums, and again on the way back.
  int rounds(int processes) const
  {
    return steps == HostSteps::ring ? processes - 1
                                    : static_cast<int>(std::ceil(std::log2(processes)));
  }
};

template <class V>
void describe(V& v, HostExchange& s)
{
  v.optional("process", s.process, "the GPUs of a node are one process, or each is one");
  v.optional("steps", s.steps, "in which order processes exchange parts");
  v.optional("concurrent", s.concurrent,
             "buckets on their way at a time, each the work of one thread of a process",
             between(1, 1024));
  v.optional("on_devices", s.on_devices,
             "buckets of this size and larger are added among the GPUs of a process first, smaller "
             "ones on its cores",
             non_negative());
  v.optional("sum_rate", s.sum_rate, "at which one core adds what arrived", positive());
  v.optional("half_sum_rate", s.half_sum_rate,
             "the same in half precision; 0: at the rate of any other", non_negative());
  v.optional("sockets", s.sockets,
             "between nodes it speaks TCP only: on a transport of RDMA it takes its \"sockets\"");
}

} // namespace foretrain::models
