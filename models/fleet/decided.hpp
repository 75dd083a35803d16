// Starts and stops what somebody outside decides: a policy of the user's own.
#pragma once

#include "models/fleet/backfill.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace foretrain::models::fleet {

struct Decision {
  JobId job = 0;
  std::vector<int> nodes{}; // as many GPUs on each; none: as the policy's placement chooses
};
/// When somebody is asked, each more often than those before.
enum class Ask {
  when_free, // while jobs wait and GPUs are free
  when_full, // while jobs wait
  always,    // whenever something happens
};
struct Decisions {
  Decisions() = default;
  Decisions(std::vector<Decision> jobs) : start(std::move(jobs)) {}

  std::vector<JobId> stop{}; // first: they keep their work and wait again
  std::vector<Decision>
      start{};              // in this order; one that quota or placement do not let start waits
  Seconds again{kNever};    // when to ask again, though nothing else happens
  Ask ask = Ask::when_free; // from now on, at least
};
/// Asked while jobs wait and GPUs are free, until it asks for more.
using Decide = std::function<Decisions(const Scheduler& scheduler)>;

/// Throws UsageError for a decision that cannot be carried out.
std::unique_ptr<Backfill> decided_by(Decide decide, std::function<void(JobId)> stop);

} // namespace foretrain::models::fleet
