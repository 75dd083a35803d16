// What exchanges take on a machine where nothing else runs, simulated once each.
#pragma once

#include "experiments/spec/graph_rules.hpp"
#include "models/collectives/collective.hpp"
#include "platforms/machine.hpp"

#include <memory>
#include <vector>

namespace foretrain::experiments {

/// The machine and which of its GPUs a job has, by rank.
struct ExchangeSite {
  const platforms::PlatformSpec& platform;
  const platforms::Stack& stack;
  const models::Library& library;
  int nodes = 1;
  std::vector<platforms::GpuPlace> ranks;
  double pcie_scale = 1; // as in platforms::Machine
};

class ExchangeClock {
public:
  using Sets = std::vector<std::vector<int>>; // of ranks
  struct Calls {
    std::vector<std::unique_ptr<models::Collective>> own, others;
  };

  /// Platform, stack and library must outlive this.
  ExchangeClock(ExchangeSite site, models::Fidelity fidelity);

  Calls calls(const Sets& own, const Sets& others, models::Operation operation);
  /// All of them at once, until the last of its own has ended. `size` as nccl-tests counts it.
  Seconds time(const Calls& calls, Bytes size);

private:
  std::unique_ptr<models::Collective> call(const std::vector<int>& ranks,
                                           models::Operation operation);

  ExchangeSite site_;
  models::Fidelity fidelity_;
  sim::Engine engine_;
  platforms::Machine machine_;
  platforms::GraphRules graph_rules_;
  std::vector<std::unique_ptr<sim::TaskGraph>> graphs_; // the engine knows them to its end
};

} // namespace foretrain::experiments
