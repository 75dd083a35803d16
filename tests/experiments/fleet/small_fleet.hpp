// What tests of fleets share: a fleet of four GPUs that replays a trace.
#pragma once

#include "experiments/fleet/fleet.hpp"
#include "experiments/fleet/fleet_answer.hpp"
#include "tests/experiments/fleet/text_file.hpp"

#include <string>
#include <vector>

namespace foretrain::test {

inline experiments::LoadedFleet load(const std::string& text,
                                     const std::vector<std::string>& set = {},
                                     const std::string& policy = "")
{
  const TextFile file("fleet.json", text);
  return experiments::load_fleet(file.path(), set, policy);
}

/// The text of a fleet of four nodes with a GPU each.
inline std::string with_trace(const TextFile& trace, const std::string& more = "")
{
  return R"({"name": "small", "cluster": {"nodes": 4, "gpus_per_node": 1}, )" + more +
         R"("jobs": {"kind": "swf", "trace": ")" + trace.path().string() + "\"}}";
}

inline experiments::FleetAnswer answer(const experiments::LoadedFleet& fleet, int seeds = 1)
{
  return experiments::fleet_answer(fleet, experiments::run_fleet(fleet, {1, seeds, false, {}}));
}

} // namespace foretrain::test
