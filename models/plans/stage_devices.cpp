#include "models/plans/stage_devices.hpp"

#include "models/plans/plan_groups.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace foretrain::models {

StageDevices::StageDevices(const std::vector<int>& nodes, const std::vector<bool>& busy,
                           const MemorySetting& setting)
    : nodes_(nodes), busy_(busy), setting_(setting),
      per_stage_(static_cast<int>(nodes.size()) / setting.plan.pipeline)
{
  int most = 0;
  for (int lane = 0; lane < per_stage_; ++lane) {
    int among_others = 0;
    for (int stage = 0; stage < setting.plan.pipeline; ++stage)
      among_others += is_busy(first_of(stage) + lane) ? 1 : 0;
    if (among_others > most) {
      most = among_others;
      lane_ = lane;
    }
  }
}

std::vector<std::vector<int>> StageDevices::groups(PlanGroup group, int stage) const
{
  return relevant(
      groups_among(layout_of(group, setting_), first_of(stage), first_of(stage) + per_stage_),
      of(stage));
}

std::vector<std::vector<int>> StageDevices::pairs(int from, int to) const
{
  std::vector<std::vector<int>> all;
  for (int lane = 0; lane < per_stage_; ++lane)
    all.push_back({first_of(from) + lane, first_of(to) + lane});
  return relevant(std::move(all), of(from));
}

std::vector<std::vector<int>> StageDevices::relevant(std::vector<std::vector<int>> all,
                                                     int own) const
{
  const auto mine = std::find_if(all.begin(), all.end(), [&](const std::vector<int>& set) {
    return std::find(set.begin(), set.end(), own) != set.end();
  });
  std::rotate(all.begin(), mine, std::next(mine));
  std::set<int> nodes;
  for (const int device : all.front())
    nodes.insert(node(device));
  std::erase_if(all, [&](const std::vector<int>& set) {
    return std::none_of(set.begin(), set.end(), [&](int device) {
      return nodes.contains(node(device)) || is_busy(device);
    });
  });
  return all;
}

} // namespace foretrain::models
