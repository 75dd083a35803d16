// Times of a parallel plan's exchanges, simulated on the machine.
#pragma once

#include "experiments/spec/graph_rules.hpp"
#include "experiments/spec/large_job.hpp"
#include "models/collectives/collective.hpp"
#include "models/plans/plan_groups.hpp"

#include <map>
#include <memory>
#include <tuple>
#include <utility>

namespace foretrain::experiments {

/// The machine and which of its GPUs a job has, by rank.
struct ExchangeSite {
  const platforms::PlatformSpec& platform;
  const platforms::Stack& stack;
  const models::Library& library;
  int nodes = 1;
  std::vector<platforms::GpuPlace> ranks;
};

/// Each exchange is run once with every group of its kind that reaches the nodes of the stage's
/// first one: they share what is between them. The stage's groups elsewhere are run with them where
/// they lie otherwise among their nodes. Stages that lie alike take the same time.
class PlanExchanges : public models::ExchangeTimes {
public:
  /// The experiment must outlive this.
  PlanExchanges(const LargeExperiment& experiment, models::Fidelity fidelity);
  /// A job of several: platform, setting and library must outlive this.
  PlanExchanges(const ExchangeSite& site, const models::MemorySetting& setting,
                models::Fidelity fidelity);

  /// Another plan on the same machine; what was simulated stays known.
  void change_plan(const models::MemorySetting& setting) { setting_ = &setting; }

  void of_stage(int stage) override { stage_ = stage; }
  Seconds time(models::PlanGroup group, models::Operation operation, Bytes size) override;
  int ranks(models::PlanGroup group) const override;
  Seconds transfer(int from_stage, Bytes size) override;
  std::uint64_t flows() const { return engine_.statistics().flows; }

private:
  using Layout = models::GroupLayout;
  /// Stages of which this is the same lie alike among their nodes: where the first GPU is, and how
  /// many there are.
  using StagePlace = std::pair<int, int>;
  int per_stage() const;
  StagePlace place_of_stage() const;
  struct Sets { // of GPUs that exchange at once
    std::vector<std::vector<platforms::GpuPlace>> own, others;
  };
  Sets sets(const Layout& own) const;
  struct Calls {
    std::vector<std::unique_ptr<models::Collective>> own, others;
  };
  std::unique_ptr<models::Collective> call(const std::vector<platforms::GpuPlace>& places,
                                           models::Operation operation);
  Seconds run(const Calls& calls, Bytes size);
  const Calls& collectives(const Layout& own, models::Operation operation);

  ExchangeSite site_;
  const models::MemorySetting* setting_; // the plan
  int stage_ = 0;
  int even_ = 0; // GPUs on each node, where ranks fill one after the other; else 0
  models::Fidelity fidelity_;
  sim::Engine engine_;
  platforms::Machine machine_;
  platforms::GraphRules graph_rules_; // with all graphs that were found on the machine
  std::vector<std::unique_ptr<sim::TaskGraph>> graphs_; // the engine knows them to its end
  std::map<std::tuple<Layout, StagePlace, models::Operation>, Calls> collectives_;
  std::vector<Calls> sends_; // of transfers_
  std::map<std::tuple<Layout, StagePlace, models::Operation, double>, Seconds> known_;
  std::map<std::tuple<int, int, int, double>, Seconds> transfers_; // from, to, GPUs of a stage
};

} // namespace foretrain::experiments
