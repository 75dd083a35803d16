#include "models/fleet/checkpoint.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::models::fleet {

namespace {

// Wall time of a blocking cycle: work, then the write.
double cycle_of(const Checkpointing& c)
{
  return c.interval.value() + (c.asynchronous ? 0 : c.write.value());
}

// Whole cycles of blocking checkpoints at once: months of them take no time.
void pass_cycles(Progress& p, double cycles, double rate, const Checkpointing& c)
{
  const double wall = cycles * c.interval.value();
  p.saved += p.open + wall * rate;
  p.saved_wall += p.open_wall + wall;
  p.open = p.open_wall = 0;
  p.writing += cycles * c.write.value();
}

void work_for(Progress& p, double wall, double rate)
{
  p.open += wall * rate;
  p.open_wall += wall;
  p.cycle += wall;
}

void advance_blocking(Progress& p, double wall, double rate, const Checkpointing& c)
{
  const double cycle = cycle_of(c);
  while (wall > 0) {
    if (p.cycle == 0 && wall >= cycle) {
      const double cycles = std::floor(wall / cycle);
      pass_cycles(p, cycles, rate, c);
      wall -= cycles * cycle;
      continue;
    }
    if (const double left = c.interval.value() - p.cycle; left > 0) {
      work_for(p, std::min(wall, left), rate);
      if (wall < left)
        return;
      wall -= left;
      p.cycle = c.interval.value();
    }
    const double left = cycle - p.cycle;
    p.writing += std::min(wall, left);
    p.cycle += wall;
    if (wall < left)
      return;
    wall -= left;
    save(p);
    p.cycle = 0;
  }
}

// A write begins with every cycle and is done `write` later.
void advance_asynchronous(Progress& p, double wall, double rate, const Checkpointing& c)
{
  const double write = std::min(c.write.value(), c.interval.value());
  while (wall > 0) {
    const bool writes = p.older > 0 || p.older_wall > 0;
    const double until = writes && p.cycle < write ? write : c.interval.value();
    const double left = until - p.cycle;
    work_for(p, std::min(wall, left), rate);
    if (wall < left)
      return;
    wall -= left;
    p.cycle = until;
    if (writes && p.cycle == write) {
      p.saved += p.older;
      p.saved_wall += p.older_wall;
      p.open -= p.older;
      p.open_wall -= p.older_wall;
      p.older = p.older_wall = 0;
    }
    if (p.cycle >= c.interval.value()) {
      p.older = p.open;
      p.older_wall = p.open_wall;
      p.cycle = 0;
    }
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

void advance(Progress& progress, double wall, double rate, const Checkpointing& checkpointing)
{
  if (std::isinf(checkpointing.interval.value()))
    work_for(progress, wall, rate);
  else if (checkpointing.asynchronous)
    advance_asynchronous(progress, wall, rate, checkpointing);
  else
    advance_blocking(progress, wall, rate, checkpointing);
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
  const double write = std::min(c.write.value(), cycle_of(c) - progress.cycle);
  const double later = busy - first; // work after the first write
  const double writes = std::ceil(later / c.interval.value()) - 1;
  return busy + write + writes * c.write.value();
}

double fail(Progress& progress)
{
  const double lost = progress.open_wall;
  progress.open = progress.open_wall = progress.cycle = 0;
  progress.older = progress.older_wall = 0;
  return lost;
}

void save(Progress& progress)
{
  progress.saved += progress.open;
  progress.saved_wall += progress.open_wall;
  progress.open = progress.open_wall = progress.older = progress.older_wall = 0;
}

} // namespace foretrain::models::fleet
