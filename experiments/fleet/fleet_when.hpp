// When one job of a fleet starts, how sure that is, and what it waits for.
#pragma once

#include "experiments/fleet/fleet_answer.hpp"

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace foretrain::experiments {

struct FleetWhenAnswer {
  std::string fleet, version;
  std::uint64_t seed = 1;
  int seeds = 1;
  std::string policy;
  std::string job;
  std::string queue;
  int gpus = 1;
  double submit_s = 0;
  int starts = 0;                                      // seeds in which it does
  std::optional<Range> start_s, wait_s, end_s;         // of these
  std::vector<std::pair<std::string, int>> waited_for; // cause -> seeds
};

/// `job`: its id in the trace. Throws UsageError where jobs are drawn, or none is called so.
FleetWhenAnswer fleet_when(const LoadedFleet& fleet, std::span<const FleetRun> runs,
                           const std::string& job);

/// Throws UsageError, as fleet_when would, before anything is simulated.
void require_job(const LoadedFleet& fleet, const std::string& job);

std::string fleet_when_text(const FleetWhenAnswer& answer);

template <class V>
void describe(V& v, FleetWhenAnswer& s)
{
  v.required("fleet", s.fleet, "its name");
  v.required("version", s.version, "of foretrain");
  v.required("seed", s.seed, "the first");
  v.required("seeds", s.seeds, "how often it was simulated");
  v.required("policy", s.policy, "its name");
  v.required("job", s.job, "its id in the trace");
  v.required("queue", s.queue, "that it was submitted to");
  v.required("gpus", s.gpus, "that it asks for");
  v.required("submit_s", s.submit_s,
             "when it is submitted; times are from the first submission, "
             "or from now on where unfinished jobs are taken");
  v.required("starts", s.starts, "seeds in which it starts");
  v.optional("start_s", s.start_s, "when it starts, over these seeds");
  v.optional("wait_s", s.wait_s, "from submission to start");
  v.optional("end_s", s.end_s, "when it ends");
  v.required("waited_for", s.waited_for, "seeds by what took most of its wait");
}

} // namespace foretrain::experiments
