#include "models/collectives/loads.hpp"

#include <algorithm>
#include <map>

namespace foretrain::models {

void Loads::add(const sim::Hop& hop, double bytes)
{
  for (const sim::Use& use : hop.uses) {
    const auto at = static_cast<std::size_t>(use.resource);
    if (at >= by_resource_.size())
      by_resource_.resize(at + 1);
    by_resource_[at].on(hop) += use.weight * bytes;
  }
  most_.on(hop) = std::max(most_.on(hop), bytes);
  if (hop.cap > 0)
    caps_.on(hop) = std::min(caps_.on(hop), hop.cap / bytes);
  bytes_ += bytes;
  if (keeps_each_)
    each_.push_back({hop, bytes});
}

void Loads::finish()
{
  sums_ = {{}};
  std::map<InsideBetween, unsigned> number{{{}, 0}};
  sum_of_.reserve(by_resource_.size());
  for (; !by_resource_.empty(); by_resource_.pop_front()) { // one list shrinks as the other grows
    const InsideBetween& sum = by_resource_.front();
    const auto [at, added] = number.try_emplace(sum, static_cast<unsigned>(sums_.size()));
    if (added)
      sums_.push_back(sum);
    sum_of_.push_back(at->second);
  }
}

std::size_t Loads::sum_of(int resource) const
{
  return resource < resources() ? sum_of_[static_cast<std::size_t>(resource)] : 0;
}

} // namespace foretrain::models
