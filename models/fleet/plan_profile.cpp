#include "models/fleet/plan_profile.hpp"

#include <algorithm>
#include <optional>

namespace foretrain::models::fleet {

namespace {

// What is free in all spans of a range, whose ends only move forward: suffixes of its front, of
// which the first is taken as it moves, and all of its back together. A span is met at most twice.
class FreeInAll {
public:
  explicit FreeInAll(const std::vector<GpuSet>& spans) : spans_(spans) {}

  GpuSet of(std::size_t first, std::size_t last)
  {
    if (first >= middle_) {
      suffixes_.assign(1, spans_[last - 1]);
      for (std::size_t k = last - 1; k > first; --k) {
        suffixes_.push_back(suffixes_.back());
        suffixes_.back().intersect(spans_[k - 1]);
      }
      middle_ = last_ = last;
      return suffixes_.back();
    }
    suffixes_.erase(suffixes_.begin() + static_cast<std::ptrdiff_t>(middle_ - first),
                    suffixes_.end());
    for (; last_ < last; ++last_)
      if (back_ && last_ > middle_)
        back_->intersect(spans_[last_]);
      else
        back_ = spans_[last_];
    GpuSet free = suffixes_.back();
    if (last_ > middle_)
      free.intersect(*back_);
    return free;
  }

private:
  const std::vector<GpuSet>& spans_;
  std::vector<GpuSet> suffixes_; // the shortest first
  std::optional<GpuSet> back_;
  std::size_t middle_ = 0, last_ = 0;
};

} // namespace

PlanProfile::PlanProfile(Seconds now, const GpuSet& free)
    : starts_{now}, free_{free}, counts_{free.count()}
{
}

std::size_t PlanProfile::split(Seconds time)
{
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), time);
  const auto index = after - starts_.begin();
  if (index == 0)
    return 0;
  if (starts_[static_cast<std::size_t>(index) - 1] == time)
    return static_cast<std::size_t>(index) - 1;
  if (time == kNever)
    return starts_.size();
  const auto in = static_cast<std::size_t>(index) - 1;
  starts_.insert(after, time);
  counts_.insert(counts_.begin() + index, counts_[in]);
  const GpuSet copy = free_[in];
  free_.insert(free_.begin() + index, copy);
  return static_cast<std::size_t>(index);
}

void PlanProfile::keep_boundary(Seconds time)
{
  boundaries_.insert(std::upper_bound(boundaries_.begin(), boundaries_.end(), time), time);
  split(time);
}

// Spans that do not differ from the one before are one.
void PlanProfile::join_equal(std::size_t at)
{
  if (at == 0 || at >= starts_.size() || counts_[at] != counts_[at - 1] ||
      !(free_[at] == free_[at - 1]) ||
      std::binary_search(boundaries_.begin(), boundaries_.end(), starts_[at]))
    return;
  const auto index = static_cast<std::ptrdiff_t>(at);
  starts_.erase(starts_.begin() + index);
  free_.erase(free_.begin() + index);
  counts_.erase(counts_.begin() + index);
}

void PlanProfile::take(const Allocation& gpus, Seconds from, Seconds until)
{
  const std::size_t first = split(from), last = split(until);
  for (std::size_t i = first; i < last; ++i) {
    free_[i].remove(gpus);
    counts_[i] = free_[i].count();
  }
  join_equal(last);
  join_equal(first);
}

void PlanProfile::give_back(const Allocation& gpus, Seconds from, Seconds until)
{
  const std::size_t first = split(from), last = split(until);
  for (std::size_t i = first; i < last; ++i) {
    free_[i].add(gpus);
    counts_[i] = free_[i].count();
  }
  join_equal(last);
  join_equal(first);
}

void PlanProfile::pass_to(Seconds now)
{
  const auto over = std::upper_bound(starts_.begin(), starts_.end(), now) - starts_.begin() - 1;
  if (over < 0)
    return;
  starts_.erase(starts_.begin(), starts_.begin() + over);
  free_.erase(free_.begin(), free_.begin() + over);
  counts_.erase(counts_.begin(), counts_.begin() + over);
  starts_.front() = now;
}

// The first span from one on that has too few GPUs, or begins at `until` or later.
std::size_t PlanProfile::first_short(std::size_t from, int gpus, Seconds until) const
{
  std::size_t at = from;
  while (at < starts_.size() && starts_[at] < until && counts_[at] >= gpus)
    ++at;
  return at;
}

Slot PlanProfile::earliest(int gpus, Seconds length, const Fits& fits) const
{
  FreeInAll in_all(free_);
  std::size_t i = 0;
  while (i < starts_.size()) {
    const Seconds until = starts_[i] + length;
    const std::size_t end = first_short(i, gpus, until);
    if (end < starts_.size() && starts_[end] < until) {
      i = end + 1; // whoever begins before is in the way of that span, too
      continue;
    }
    if (const GpuSet free = in_all.of(i, end); free.count() >= gpus)
      if (Allocation place = fits(free, starts_[i]); !place.empty())
        return {starts_[i], std::move(place)};
    ++i;
  }
  return {};
}

bool PlanProfile::may_fit_before(Seconds start, int gpus, Seconds length) const
{
  std::size_t i = 0;
  while (i < starts_.size() && starts_[i] < start) {
    // From `start` on the reservation itself is given back: there are as many as it needs.
    const Seconds until = std::min(starts_[i] + length, start);
    const std::size_t end = first_short(i, gpus, until);
    if (end == starts_.size() || starts_[end] >= until)
      return true;
    i = end + 1;
  }
  return false;
}

} // namespace foretrain::models::fleet
