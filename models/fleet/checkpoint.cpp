#include "models/fleet/checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace foretrain::models::fleet {

namespace {

Done done_in(double wall, Pace pace)
{
  return {wall * pace.rate, wall, wall * (1 - pace.rate / pace.undisturbed)};
}

// Whole cycles of blocking checkpoints at once: months of them take no time.
void pass_cycles(Progress& p, double cycles, double write, Pace pace, const Checkpointing& c)
{
  p.open += done_in(cycles * c.interval.value(), pace);
  save(p);
  p.writing += cycles * write;
}

void work_for(Progress& p, double wall, Pace pace)
{
  p.open += done_in(wall, pace);
  p.cycle += wall;
}

void advance_blocking(Progress& p, double wall, Pace pace, const Checkpointing& c)
{
  const double write = c.write.value() / pace.write;
  const double cycle = c.interval.value() + write;
  while (wall > 0) {
    if (p.cycle == 0 && wall >= cycle) {
      const double cycles = std::floor(wall / cycle);
      pass_cycles(p, cycles, write, pace, c);
      wall -= cycles * cycle;
      continue;
    }
    const Transfer writing = writing_now(p, c);
    const double left = until_turn(p, pace, c);
    const double passed = std::min(wall, left);
    if (writing == Transfer::none) {
      work_for(p, passed, pace);
    } else {
      p.writing += passed;
      p.written += passed * pace.write;
    }
    if (wall < left)
      return;
    wall -= left;
    turn(p, writing, c);
  }
}

// One that takes longer than the interval delays the next.
void advance_asynchronous(Progress& p, double wall, Pace pace, const Checkpointing& c)
{
  while (wall > 0) {
    const Transfer writing = writing_now(p, c);
    const double left = until_turn(p, pace, c);
    const double passed = std::min(wall, left);
    work_for(p, passed, pace);
    if (writing != Transfer::none)
      p.written += passed * pace.write;
    if (wall < left)
      return;
    wall -= left;
    turn(p, writing, c);
  }
}

} // namespace

Seconds young_interval(Seconds write, Seconds mean_time_to_failure)
{
  return Seconds(std::sqrt(2 * write.value() * mean_time_to_failure.value()));
}

Seconds daly_interval(Seconds write, Seconds mean_time_to_failure)
{
  const double c = write.value(), m = mean_time_to_failure.value();
  if (c >= 2 * m)
    return mean_time_to_failure;
  const double ratio = c / (2 * m);
  return Seconds(std::sqrt(2 * c * m) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - c);
}

double expected_ettr(double failures_per_second, Seconds restart, Seconds interval, Seconds write)
{
  return (1 - failures_per_second * (restart.value() + interval.value() / 2)) /
         (1 + write / interval);
}

Done& Done::operator+=(const Done& more)
{
  work += more.work;
  wall += more.wall;
  slowed += more.slowed;
  return *this;
}

Done& Done::operator-=(const Done& less)
{
  work -= less.work;
  wall -= less.wall;
  slowed -= less.slowed;
  return *this;
}

void advance(Progress& progress, double wall, Pace pace, const Checkpointing& checkpointing)
{
  if (std::isinf(checkpointing.interval.value()))
    work_for(progress, wall, pace);
  else if (checkpointing.asynchronous)
    advance_asynchronous(progress, wall, pace, checkpointing);
  else
    advance_blocking(progress, wall, pace, checkpointing);
}

double time_to(const Progress& progress, double work, double rate, const Checkpointing& c)
{
  const double busy = (work - progress.work()) / rate;
  if (busy <= 0)
    return 0;
  if (std::isinf(c.interval.value()) || c.asynchronous)
    return busy;
  const double first = std::max(0.0, c.interval.value() - progress.cycle); // until a write
  if (busy <= first)
    return busy;
  const double write = c.write.value() - progress.written;
  const double later = busy - first; // work after the first write
  const double writes = std::ceil(later / c.interval.value()) - 1;
  return busy + write + writes * c.write.value();
}

Transfer writing_now(const Progress& p, const Checkpointing& c)
{
  if (c.asynchronous)
    return p.older.wall > 0 ? Transfer::write_beside : Transfer::none;
  return p.cycle >= c.interval.value() ? Transfer::write_alone : Transfer::none;
}

double until_turn(const Progress& p, Pace pace, const Checkpointing& c)
{
  return writing_now(p, c) == Transfer::none
             ? std::max(0.0, c.interval.value() - p.cycle)
             : std::max(0.0, c.write.value() - p.written) / pace.write;
}

void turn(Progress& p, Transfer ended, const Checkpointing& c)
{
  p.written = 0;
  if (ended == Transfer::write_alone) {
    save(p);
    p.cycle = 0;
  } else if (ended == Transfer::write_beside) {
    p.saved += p.older;
    p.open -= p.older;
    p.older = {};
  } else if (c.asynchronous) {
    p.older = p.open;
    p.cycle = 0;
  } else {
    p.cycle = c.interval.value();
  }
}

double fail(Progress& progress)
{
  const double lost = progress.open.wall;
  progress.open = progress.older = {};
  progress.cycle = progress.written = 0;
  return lost;
}

double fail_unsaved(Progress& progress)
{
  const double lost = fail(progress) + progress.saved.wall;
  progress.saved = {};
  return lost;
}

MemoryCopies::MemoryCopies(std::vector<int> nodes)
    : nodes_(std::move(nodes)), gone_(nodes_.size(), false)
{
}

bool MemoryCopies::on(int node) const
{
  return std::find(nodes_.begin(), nodes_.end(), node) != nodes_.end();
}

bool MemoryCopies::lose(int node)
{
  bool some = false;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    gone_[i] = gone_[i] || nodes_[i] == node;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    some = some || (gone_[i] && gone_[(i + 1) % nodes_.size()]);
  return some;
}

void save(Progress& progress)
{
  progress.saved += progress.open;
  progress.open = progress.older = {};
}

} // namespace foretrain::models::fleet
