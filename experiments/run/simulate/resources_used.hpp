// Which of an engine's resources work passes through.
#pragma once

#include "models/collectives/collective.hpp"

#include <memory>
#include <set>
#include <vector>

namespace foretrain::experiments {

/// Adds those of a path, whether it takes or holds them; nothing of none.
void add_used(std::set<int>& resources, const sim::PathPtr& path);
/// Of every hop of a call's channels.
std::set<int> resources_of(const models::Collective& call);
bool have_common(const std::set<int>& a, const std::set<int>& b);

using CollectivePtr = std::shared_ptr<const models::Collective>;
/// Sets of a group that share nothing with those that have to be `seen`, by way of others either,
/// run beside them unseen: the others.
std::vector<CollectivePtr> that_meet(std::vector<CollectivePtr> sets, std::vector<bool> seen);

} // namespace foretrain::experiments
