// Times of a parallel plan's exchanges, simulated on the machine.
#pragma once

#include "experiments/run/simulate/exchange_clock.hpp"
#include "experiments/spec/known_exchanges.hpp"
#include "models/plans/plan_groups.hpp"

#include <map>
#include <tuple>
#include <utility>

namespace foretrain::experiments {

/// Each exchange is run once with every group of its kind that reaches the nodes of the stage's
/// first one: they share what is between them. The stage's groups elsewhere are run with them where
/// they lie otherwise among their nodes. Stages that lie alike take the same time.
class PlanExchanges : public models::ExchangeTimes {
public:
  /// Platform, stack, library and setting must outlive this.
  PlanExchanges(ExchangeSite site, const models::MemorySetting& setting, models::Fidelity fidelity,
                std::size_t job = 0,
                std::shared_ptr<KnownExchanges> known = std::make_shared<KnownExchanges>());

  /// Another plan on the same machine; what was simulated stays known.
  void change_plan(const models::MemorySetting& setting) { setting_ = &setting; }

  void of_stage(int stage) override { stage_ = stage; }
  Seconds time(models::PlanGroup group, models::Operation operation, Bytes size) override;
  int ranks(models::PlanGroup group) const override;
  int nodes(models::PlanGroup group) const override;
  Seconds transfer(int from_stage, Bytes size) override;
  models::ExchangeSets sets(models::PlanGroup group) override;
  std::vector<std::vector<int>> pairs(int from_stage, int to_stage) override;

private:
  using Layout = models::GroupLayout;
  using StagePlace = KnownExchanges::StagePlace;
  ExchangeClock& clock();
  int per_stage() const;
  StagePlace place_of_stage() const;
  models::ExchangeSets sets(const Layout& own) const;
  const ExchangeClock::Calls& calls(const Layout& own, models::Operation operation);

  ExchangeSite site_;
  models::Fidelity fidelity_;
  std::size_t job_;                      // number in its experiment
  std::unique_ptr<ExchangeClock> clock_; // made when something is not known
  const models::MemorySetting* setting_; // the plan
  int stage_ = 0;
  int even_ = 0; // GPUs on each node, where ranks fill them one after the other alike; else 0
  std::map<std::tuple<Layout, StagePlace, models::Operation>, ExchangeClock::Calls> calls_;
  std::vector<ExchangeClock::Calls> sends_;
  std::shared_ptr<KnownExchanges> known_;
};

} // namespace foretrain::experiments
