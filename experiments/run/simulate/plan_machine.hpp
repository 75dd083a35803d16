// The machine as a work program of one job sees it: kernels on the job's GPUs, collectives and
// transfers between them, copies to host memory, input.
#pragma once

#include "experiments/run/simulate/exchange_clock.hpp"
#include "experiments/spec/resolved.hpp"
#include "models/servers/synchroniser.hpp"
#include "models/training/program_job.hpp"
#include "platforms/machine.hpp"
#include "platforms/rings.hpp"
#include "sim/engine/token_bucket.hpp"

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace foretrain::experiments {

/// What a job brings along beside its program.
struct JobParts {
  std::vector<double> host_threads; // of each of the job's devices: cores that its process keeps
                                    // busy, where they can run short
  std::vector<sim::TokenBucket*> shaped;                     // links that let bursts through
  std::shared_ptr<models::Synchroniser> synchroniser;        // of what the program synchronises
  std::shared_ptr<const models::Collective> all_reduce;      // of its group 0, if made already
  std::vector<std::unique_ptr<models::InputPipeline>> input; // of each rank; none: synthetic
};

class PlanMachine final : public models::JobMachine {
public:
  /// All of them must outlive this. Device d of the program is job.ranks[d].
  PlanMachine(sim::Engine& engine, const platforms::Machine& machine, const ResolvedJob& job,
              const models::WorkPlan& plan, models::Fidelity fidelity, JobParts parts);

  sim::PathPtr compute(int rank) override;
  sim::PathPtr host(int rank) override;
  sim::PathPtr offload(int rank, bool to_host) override;
  sim::TaskGraph::ForeignWork fetch(int rank) override;
  sim::TaskId add_collective(sim::TaskGraph& graph, sim::TaskId begin, const sim::Operation& op,
                             int index, std::vector<sim::TaskId>& flows) override;
  sim::TaskId add_transfer(sim::TaskGraph& graph, sim::TaskId begin, const sim::Operation& op,
                           int index, std::vector<sim::TaskId>& flows) override;
  sim::TaskId add_synchronisation(sim::TaskGraph& graph, sim::TaskId begin,
                                  const sim::Operation& op, int index,
                                  std::vector<sim::TaskId>& flows) override;
  std::vector<sim::TaskId> add_variables(sim::TaskGraph& graph,
                                         std::vector<sim::TaskId>& flows) override;
  bool watches(const sim::Operation& op) const override;
  void begins(const sim::Operation& op) override;
  void ends(const sim::Operation& op) override;
  std::string exchange() const override;
  std::string exchange_summary(const sim::Program& program) const override;
  const std::vector<std::unique_ptr<models::InputPipeline>>& input() const override
  {
    return parts_.input;
  }
  std::string call(const sim::Operation& op) const override;
  std::optional<std::vector<Seconds>> undisturbed() override;

  /// Resources that the job's work takes, and more where that is not known so closely: of a job
  /// that synchronises by servers or host memory all of its nodes.
  std::set<int> uses();
  /// Those of them that others use, too; to be told before anything runs.
  void meet(const std::set<int>& shared);

private:
  using Calls = std::vector<std::shared_ptr<const models::Collective>>; // one for each set
  struct Way {                                                          // of a transfer
    sim::PathPtr path;
    Seconds latency;
  };

  const sim::Program& program() const { return plan_.program; }
  platforms::GpuPlace place(int rank) const;
  /// The first of the devices that a rank stands for.
  int first_device(int rank) const;
  /// Of every set that a group lists; of those that run beside others.
  const Calls& sets(int group, sim::CollectiveKind kind);
  const Calls& calls(int group, sim::CollectiveKind kind);
  void hold(const sim::Operation& op, int change);
  std::string buckets_summary() const;
  std::vector<platforms::GpuPlace> places(const std::vector<int>& devices) const;
  void add_nodes(std::set<int>& resources) const;
  /// Whether an exchange is what it is alone: nobody else uses what its group does.
  bool by_itself(const sim::Operation& op);
  /// One call of so many bytes, with the other sets of its group.
  Seconds alone(const sim::Operation& op, Bytes size);
  /// All its calls.
  Seconds whole(const sim::Operation& op);
  Way way(int from_device, int to_device) const;
  const std::vector<Way>& ways(const sim::Operation& op);

  sim::Engine& engine_;
  const platforms::Machine& machine_;
  const ResolvedJob& job_;
  const models::WorkPlan& plan_;
  models::Fidelity fidelity_;
  JobParts parts_;
  int buckets_ = 0; // synchronised so far: servers go by their number
  platforms::GraphRules graph_rules_;
  std::map<int, sim::PathPtr> compute_;
  std::map<int, int> holding_; // collectives that run on each rank's device
  std::set<int> met_;          // resources that others use, too
  std::map<std::pair<int, sim::CollectiveKind>, Calls> sets_, calls_; // of each group
  std::map<std::tuple<int, int, int>, std::vector<Way>> ways_;        // from, to, group
  std::map<std::tuple<int, int, int>, bool> apart_; // by_itself: group, kind; from, to of transfers
  std::unique_ptr<ExchangeClock> clock_;
  std::map<std::pair<int, sim::CollectiveKind>, ExchangeClock::Calls> timed_; // of each group
  std::map<std::tuple<int, sim::CollectiveKind, double>, Seconds> times_;     // by size
};

} // namespace foretrain::experiments
