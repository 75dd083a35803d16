#include "models/fleet/plan_profile.hpp"

#include <algorithm>
#include <optional>

namespace foretrain::models::fleet {

namespace {

using Id = SpanTree::Id;

// What is free in all spans of a window, whose ends only move forward: suffixes of its front, of
// which the first is taken as it moves, and all of its back together. A span is met at most twice.
class FreeInAll {
public:
  /// `own` counts as given back.
  FreeInAll(const SpanTree& spans, const Slot& own) : spans_(spans), own_(own) {}

  /// From `first` until a time. Where it finds fewer than `gpus` it moves `first` to the first span
  /// from which there may be more, and has nothing.
  std::optional<GpuSet> of(Id& first, Seconds until, int gpus)
  {
    if (suffixes_.empty() || spans_.begin(first) >= middle_)
      return begin_at(first, until, gpus);
    while (suffixes_.back().first != first)
      suffixes_.pop_back();
    for (; last_ != SpanTree::kNone && spans_.begin(last_) < until; last_ = spans_.next(last_))
      if (back_)
        back_->intersect(free_in(last_));
      else
        back_ = free_in(last_);
    GpuSet free = suffixes_.back().free;
    if (back_)
      free.intersect(*back_);
    return free;
  }

private:
  struct Suffix {
    Id first;
    GpuSet free;
  };

  GpuSet free_in(Id id) const
  {
    GpuSet free = spans_.free(id);
    if (spans_.begin(id) >= own_.start)
      free.add(own_.gpus);
    return free;
  }

  std::optional<GpuSet> begin_at(Id& first, Seconds until, int gpus)
  {
    suffixes_.clear();
    back_.reset();
    Id id = first;
    while (spans_.end(id) < until)
      id = spans_.next(id);
    last_ = spans_.next(id);
    middle_ = spans_.end(id);
    for (;; id = spans_.previous(id)) {
      GpuSet free = free_in(id);
      if (!suffixes_.empty())
        free.intersect(suffixes_.back().free);
      if (free.count() < gpus) {
        first = spans_.next(id);
        return std::nullopt;
      }
      suffixes_.push_back({id, std::move(free)});
      if (id == first)
        return suffixes_.back().free;
    }
  }

  const SpanTree& spans_;
  const Slot& own_;
  std::vector<Suffix> suffixes_; // the shortest first
  std::optional<GpuSet> back_;
  Seconds middle_{};
  Id last_ = SpanTree::kNone;
};

} // namespace

void PlanProfile::keep_boundary(Seconds time)
{
  boundaries_.insert(std::upper_bound(boundaries_.begin(), boundaries_.end(), time), time);
  spans_.cut(time);
}

// Spans that do not differ from the one before are one.
void PlanProfile::join_equal(Id at)
{
  if (at == SpanTree::kNone)
    return;
  const Id before = spans_.previous(at);
  if (before == SpanTree::kNone || spans_.count(at) != spans_.count(before) ||
      !(spans_.free(at) == spans_.free(before)) ||
      std::binary_search(boundaries_.begin(), boundaries_.end(), spans_.begin(at)))
    return;
  spans_.join(at);
}

// At the ends of what changed.
void PlanProfile::join_equal(Id first, Id last)
{
  join_equal(last);
  if (first != last)
    join_equal(first);
}

void PlanProfile::take(const Allocation& gpus, TimeSpan time)
{
  const Id first = spans_.cut(time.from), last = spans_.cut(time.until);
  spans_.remove(gpus, spans_.begin(first), time.until);
  join_equal(first, last);
}

void PlanProfile::give_back(const Allocation& gpus, TimeSpan time)
{
  const Id first = spans_.cut(time.from), last = spans_.cut(time.until);
  spans_.add(gpus, spans_.begin(first), time.until);
  join_equal(first, last);
}

Slot PlanProfile::earliest(int gpus, Seconds length, const Fits& fits) const
{
  return earlier({}, {Seconds(0), kNever}, gpus, length, fits);
}

// The next span from which there are so many for `length`, or until a reservation of one's own.
Id PlanProfile::enough_until(Id from, Seconds own_start, int gpus, Seconds length) const
{
  const Id found = spans_.long_enough_from(from, gpus, length);
  if (from == SpanTree::kNone || own_start == kNever)
    return found;
  const Id before = spans_.short_before(own_start, gpus);
  Id last = before == SpanTree::kNone ? spans_.first() : spans_.next(before);
  if (last == SpanTree::kNone || spans_.begin(last) < spans_.begin(from))
    last = from;
  const bool is_found = found != SpanTree::kNone && spans_.begin(found) <= spans_.begin(last);
  return is_found || spans_.begin(last) >= own_start ? found : last;
}

Slot PlanProfile::earlier(const Slot& own, TimeSpan starts, int gpus, Seconds length,
                          const Fits& fits) const
{
  FreeInAll in_all(spans_, own);
  Id i = enough_until(spans_.at(starts.from), own.start, gpus, length);
  while (i != SpanTree::kNone && spans_.begin(i) < starts.until) {
    const Id end = spans_.short_from(i, gpus);
    const bool ends = end != SpanTree::kNone && spans_.begin(end) < own.start;
    const Seconds until = ends ? spans_.begin(end) : kNever;
    while (i != end && i != SpanTree::kNone && spans_.begin(i) < starts.until &&
           spans_.begin(i) + length <= until) {
      const Id first = i;
      const std::optional<GpuSet> free = in_all.of(i, spans_.begin(first) + length, gpus);
      if (i != first)
        continue;
      if (free->count() >= gpus)
        if (Allocation place = fits(*free, spans_.begin(i)); !place.empty())
          return {spans_.begin(i), std::move(place)};
      i = spans_.next(i);
    }
    i = enough_until(end, own.start, gpus, length); // whoever begins before is in the way of `end`
  }
  return {};
}

bool PlanProfile::may_start_now(int gpus, Seconds length) const
{
  const Id end = spans_.short_from(spans_.first(), gpus);
  return end == SpanTree::kNone || spans_.begin(end) >= spans_.begin(spans_.first()) + length;
}

bool PlanProfile::may_fit_before(Seconds start, int gpus, Seconds length, TimeSpan freed) const
{
  if (freed.from >= start + length)
    return false;
  Id i = spans_.at(std::min(freed.from, start));
  if (spans_.begin(i) >= start)
    i = spans_.previous(i);
  if (i != SpanTree::kNone && spans_.count(i) >= gpus) {
    const Id before = spans_.short_before(spans_.begin(i), gpus);
    i = before == SpanTree::kNone ? spans_.first() : spans_.next(before);
  }
  i = enough_until(i, start, gpus, length); // from there on the reservation itself is given back
  // What is freed behind it may be others than its own.
  return i != SpanTree::kNone && spans_.begin(i) < std::min(freed.until, start);
}

GpuSet PlanProfile::free_throughout(TimeSpan time) const
{
  Id id = spans_.at(time.from);
  GpuSet free = spans_.free(id);
  if (const Id none = spans_.short_from(id, 1);
      none != SpanTree::kNone && spans_.begin(none) < time.until)
    return spans_.free(none);
  for (id = spans_.next(id);
       id != SpanTree::kNone && spans_.begin(id) < time.until && free.count() > 0;
       id = spans_.next(id))
    free.intersect(spans_.free(id));
  return free;
}

bool PlanProfile::some_free_in(TimeSpan time) const
{
  const Id some = spans_.enough_from(spans_.at(time.from), 1);
  return some != SpanTree::kNone && spans_.begin(some) < time.until;
}

} // namespace foretrain::models::fleet
