#include "models/fleet/plan_profile.hpp"

#include <algorithm>

namespace foretrain::models::fleet {

PlanProfile::PlanProfile(Seconds now, const GpuSet& free) : spans_{{now, free}}
{
  note_most();
}

std::size_t PlanProfile::split(Seconds time)
{
  const auto after = std::upper_bound(spans_.begin(), spans_.end(), time,
                                      [](Seconds t, const Span& span) { return t < span.start; });
  if (after == spans_.begin())
    return 0;
  const auto in = after - 1;
  const auto index = static_cast<std::size_t>(after - spans_.begin());
  if (in->start == time)
    return index - 1;
  if (time == kNever)
    return spans_.size();
  const Span copy{time, in->free};
  spans_.insert(after, copy);
  return index;
}

void PlanProfile::take(const Allocation& gpus, Seconds from, Seconds until)
{
  const std::size_t first = split(from), last = split(until);
  for (std::size_t i = first; i < last; ++i)
    spans_[i].free.remove(gpus);
  note_most();
}

void PlanProfile::give_back(const Allocation& gpus, Seconds from, Seconds until)
{
  const std::size_t first = split(from), last = split(until);
  for (std::size_t i = first; i < last; ++i)
    spans_[i].free.add(gpus);
  note_most();
}

void PlanProfile::pass_to(Seconds now)
{
  const auto after = std::upper_bound(spans_.begin(), spans_.end(), now,
                                      [](Seconds t, const Span& span) { return t < span.start; });
  if (after == spans_.begin())
    return;
  spans_.erase(spans_.begin(), after - 1);
  spans_.front().start = now;
  note_most();
}

Slot PlanProfile::earliest(int gpus, Seconds length, const Fits& fits) const
{
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    if (spans_[i].free.count() < gpus)
      continue;
    GpuSet free = spans_[i].free;
    const Seconds until = spans_[i].start + length;
    std::size_t k = i + 1;
    for (; k < spans_.size() && spans_[k].start < until && free.count() >= gpus; ++k)
      free.intersect(spans_[k].free);
    if (free.count() < gpus)
      continue;
    if (Allocation place = fits(free); !place.empty())
      return {spans_[i].start, std::move(place)};
  }
  return {};
}

int PlanProfile::most_free_before(Seconds time) const
{
  const auto at = std::lower_bound(spans_.begin(), spans_.end(), time,
                                   [](const Span& span, Seconds t) { return span.start < t; });
  return at == spans_.begin() ? 0 : most_[static_cast<std::size_t>(at - spans_.begin()) - 1];
}

void PlanProfile::note_most()
{
  most_.resize(spans_.size());
  int most = 0;
  for (std::size_t i = 0; i < spans_.size(); ++i)
    most_[i] = most = std::max(most, spans_[i].free.count());
}

} // namespace foretrain::models::fleet
