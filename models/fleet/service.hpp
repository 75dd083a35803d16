// GPUs go out of service and come back: outages, repairs, spares, drained nodes and maintenance.
#pragma once

#include "models/fleet/events.hpp"
#include "models/fleet/fleet_result.hpp"
#include "models/fleet/ledger.hpp"
#include "models/fleet/node_states.hpp"
#include "models/fleet/scheduler.hpp"
#include "models/fleet/setting.hpp"

#include <functional>
#include <set>
#include <vector>

namespace foretrain::models::fleet {

/// What becomes of jobs on what goes out of service.
struct Hurt {
  std::function<bool(JobId)> hangs;        // whether it has failed, and holds its GPUs still
  std::function<void(int)> lose_memory;    // of a node, and what jobs have there
  std::function<void(JobId)> interrupt;    // it fails
  std::function<void(JobId)> preempt;      // it keeps its work and waits again
  std::function<void(Seconds)> no_storage; // all hang until then, and lose nothing
};

class Service {
public:
  /// All of them must outlive this.
  Service(const FleetSetting& setting, Scheduler& scheduler, Ledger& ledger, Events& events,
          FleetResult& result, Hurt hurt);

  /// Asks for what happens first.
  void begin();
  /// One of `repair`, `spare`, `outage`, `open` and `close`.
  void happen(const Event& event);
  /// A job has left its GPUs: nodes that drain may be empty.
  void job_left();
  /// Whether GPUs come back, or windows pass, without a job's doing.
  bool may_grow() const;
  /// Nodes that are up to take the place of others at once.
  int spares_up() const;

private:
  struct Broken {
    Outage outage;
    std::vector<int> nodes{}; // that went down with it
    bool gpu = false;         // one that was in service did
  };

  void take_outage();
  void outage(std::uint32_t which);
  void repaired(std::uint32_t which);
  void open_window(const Window& window);
  void close_window(const Window& window);
  void count(const Outage& outage, int& number) const;
  void nodes_fail(Broken& broken);
  void gpu_fails(Broken& broken);
  void drain(std::uint32_t which);
  std::vector<JobId> jobs_on(const Slice& gpus) const;
  void come_back(int node, bool foreseen = false);
  void into_service(int node, bool foreseen = false);
  void go_down(const Slice& gpus);
  void replace();

  const FleetSetting& setting_;
  Scheduler& scheduler_;
  Ledger& ledger_;
  Events& events_;
  FleetResult& result_;
  Hurt hurt_;
  NodeStates nodes_;
  std::vector<Broken> outages_;
  std::vector<std::uint32_t> draining_; // outages whose node waits for its jobs to end
  std::size_t windows_left_ = 0;        // that have not passed
  std::set<int> foreseen_;              // nodes in maintenance that nothing else had taken any of
};

} // namespace foretrain::models::fleet
