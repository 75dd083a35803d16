#include "experiments/fleet/policy_names.hpp"

#include "experiments/fleet/fleet_spec.hpp"
#include "sim/base/text.hpp"

namespace foretrain::experiments {

namespace {

using namespace models::fleet;

struct PolicyName {
  const char* name;
  Policy policy;
};

// slurm: sched/backfill looks at the limits of all jobs in order of priority, age first, and
// select/cons_tres fills nodes; kubernetes: no gangs, NodeResourcesFit's LeastAllocated.
const PolicyName kPolicies[] = {
    {"fifo", {}},
    {"sjf", {.order = Order::sjf}},
    {"srtf", {.order = Order::srtf, .preemption = Preemption::priority}},
    {"las", {.order = Order::las, .preemption = Preemption::quantum}},
    {"priority", {.order = Order::priority, .preemption = Preemption::priority}},
    {"fair-share", {.order = Order::fair_share}},
    {"easy", {.backfill = Backfilling::easy}},
    {"conservative", {.backfill = Backfilling::conservative}},
    {"slurm", {.backfill = Backfilling::conservative, .placement = Placement::best_fit}},
    {"recorded", {.backfill = Backfilling::recorded}},
    {"kubernetes", {.gang = false, .placement = Placement::spread}},
};

} // namespace

Policy read_policy(const Value& policy)
{
  if (!policy)
    return {};
  if (policy.json().is_object())
    return read_as<Policy>(policy);
  std::vector<std::string> names;
  for (const PolicyName& entry : kPolicies) {
    if (policy.json() == entry.name)
      return entry.policy;
    names.emplace_back(entry.name);
  }
  const std::string word = policy.json().is_string() ? policy.json().get<std::string>() : "";
  policy.fail("must be the name of a policy, or an object, got " + policy.shown(),
              suggestion(word, names, "policies"));
}

} // namespace foretrain::experiments
