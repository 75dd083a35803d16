// Times of a parallel plan's exchanges, simulated on the machine.
#pragma once

#include "experiments/spec/graph_rules.hpp"
#include "experiments/spec/large_job.hpp"
#include "models/collectives/collective.hpp"

#include <map>
#include <memory>
#include <tuple>

namespace foretrain::experiments {

/// Each exchange is run once with every group of its kind that reaches the nodes of the first one:
/// they share what is between them. Groups elsewhere see the same machine.
class PlanExchanges : public models::ExchangeTimes {
public:
  /// The experiment must outlive this.
  PlanExchanges(const LargeExperiment& experiment, models::Fidelity fidelity);

  /// Another plan on the same machine; what was simulated stays known.
  void change_plan(const models::MemorySetting& setting) { setting_ = &setting; }

  Seconds time(models::PlanGroup group, models::Operation operation, Bytes size) override;
  int ranks(models::PlanGroup group) const override;
  std::uint64_t flows() const { return engine_.statistics().flows; }

private:
  struct Layout { // of a group's ranks: first + i x stride
    int count = 1;
    int stride = 1;
    auto operator<=>(const Layout&) const = default;
  };
  Layout layout(models::PlanGroup group) const;
  std::vector<std::vector<platforms::GpuPlace>> sets(const Layout& own) const;
  const std::vector<std::unique_ptr<models::Collective>>& collectives(const Layout& own,
                                                                      models::Operation operation);

  const LargeExperiment& e_;
  const models::MemorySetting* setting_; // the plan
  models::Fidelity fidelity_;
  sim::Engine engine_;
  platforms::Machine machine_;
  platforms::GraphRules graph_rules_; // with all graphs that were found on the machine
  std::vector<std::unique_ptr<sim::TaskGraph>> graphs_; // the engine knows them to its end
  std::map<std::pair<Layout, models::Operation>, std::vector<std::unique_ptr<models::Collective>>>
      collectives_;
  std::map<std::tuple<Layout, models::Operation, double>, Seconds> known_;
};

} // namespace foretrain::experiments
