#include "sim/engine/engine.hpp"

#include "sim/base/error.hpp"
#include "sim/base/quantity_text.hpp"
#include "sim/base/text.hpp"
#include "sim/engine/engine_impl.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace foretrain::sim {

namespace {
// Dates this close count as one: what is left is rounding of dates that should be equal.
bool reached(double date, double now)
{
  return date <= now + 1e-12 * std::max(1e-3, now);
}
} // namespace

Engine::Impl::Impl(Sharing s) : sharing(s), solver(s != Sharing::plugged_full) {}

void Engine::Impl::push(Due due)
{
  due_.push_back(due);
  std::push_heap(due_.begin(), due_.end());
}

void Engine::Impl::schedule(double date, Callback callback)
{
  if (!(date >= now)) // also refuses NaN
    throw std::logic_error("an event in the past");
  unsigned event = 0;
  if (free_events_.empty()) {
    event = static_cast<unsigned>(events_.size());
    events_.push_back(std::move(callback));
  } else {
    event = free_events_.back();
    free_events_.pop_back();
    events_[event] = std::move(callback);
  }
  push({date, sequence_++, -1, event});
}

void Engine::Impl::start(FlowSpec spec, FlowDone done)
{
  int i = 0;
  if (free_slots_.empty()) {
    i = static_cast<int>(slots_.size());
    slots_.emplace_back();
  } else {
    i = free_slots_.back();
    free_slots_.pop_back();
  }
  Slot& it = slot(i);
  const double latency = spec.path->latency.value();
  it.spec = std::move(spec);
  it.done = std::move(done);
  it.started = Seconds(now);
  it.limited_by.clear();
  it.active = false;
  ++statistics.flows;
  if (it.spec.amount <= 0)
    push({now + latency, sequence_++, i, it.version});
  else if (latency > 0 || native()) // a native flow can only start once SimGrid's platform is built
    schedule(now + latency, [this, i] { activate(i); });
  else
    activate(i);
}

void Engine::Impl::activate(int i)
{
  Slot& it = slot(i);
  it.active = true;
  it.left = it.spec.amount;
  it.updated = now;
  if (native()) {
    simgrid_adapter::start_native(*this, i);
    return;
  }
  const Path& path = *it.spec.path;
  if (path.held.uses.empty()) {
    it.holder = -1;
    it.solver_flow = solver.add_flow(path.uses, path.cap, it.spec.priority);
  } else {
    it.holder = solver.add_flow(path.held.uses, path.cap, path.held.priority);
    it.solver_flow = solver.add_follower(path.uses, it.holder, it.spec.priority);
    it.held = 0;
    it.held_updated = now;
  }
  const auto f = static_cast<std::size_t>(std::max(it.solver_flow, it.holder));
  if (slot_of_flow_.size() <= f)
    slot_of_flow_.resize(f + 1);
  for (const int flow : {it.solver_flow, it.holder})
    if (flow >= 0)
      slot_of_flow_[static_cast<std::size_t>(flow)] = i;
}

void Engine::Impl::attribute(Slot& it)
{
  const double elapsed = now - it.updated;
  if (elapsed <= 0)
    return;
  const int limiting = it.limiting;
  for (LimitedBy& known : it.limited_by)
    if (known.resource == limiting) {
      known.time += Seconds(elapsed);
      return;
    }
  it.limited_by.push_back({limiting, Seconds(elapsed)});
}

void Engine::Impl::hold(Slot& it)
{
  it.held += solver.rate(it.holder) * (now - it.held_updated);
  it.held_updated = now;
}

// The solver's rate() is still the old one here, its limiting() the new one already.
void Engine::Impl::rate_changed(int i, double rate)
{
  Slot& it = slot(i);
  it.left = std::max(0.0, it.left - solver.rate(it.solver_flow) * (now - it.updated));
  attribute(it);
  it.limiting = solver.limiting(it.solver_flow);
  it.updated = now;
  ++it.version;
  if (it.left <= 0)
    push({now, sequence_++, i, it.version});
  else if (rate > 0)
    push({now + it.left / rate, sequence_++, i, it.version});
}

double Engine::Impl::next_date()
{
  if (!native())
    solver.solve([this](int flow, double rate) {
      const int i = slot_of_flow_[static_cast<std::size_t>(flow)];
      if (flow == slot(i).holder)
        hold(slot(i));
      else
        rate_changed(i, rate);
    });
  while (!due_.empty() && due_.front().slot >= 0 &&
         due_.front().version != slot(due_.front().slot).version) {
    std::pop_heap(due_.begin(), due_.end());
    due_.pop_back();
  }
  return due_.empty() ? -1.0 : due_.front().date;
}

void Engine::Impl::advance(double date)
{
  now = date;
  while (!due_.empty()) {
    const Due top = due_.front();
    const bool stale = top.slot >= 0 && top.version != slot(top.slot).version;
    if (!stale && !reached(top.date, now))
      break;
    std::pop_heap(due_.begin(), due_.end());
    due_.pop_back();
    if (stale)
      continue;
    if (top.slot >= 0) {
      finish(top.slot);
    } else {
      ready_.push_back({-1, std::move(events_[top.version])});
      free_events_.push_back(top.version);
    }
  }
}

void Engine::Impl::finish(int i)
{
  Slot& it = slot(i);
  ++it.version;
  if (it.active && !native()) {
    attribute(it);
    solver.remove_flow(it.solver_flow);
  }
  if (it.active && it.holder >= 0) {
    hold(it);
    for (const Use& use : it.spec.path->held.uses)
      consumed[static_cast<std::size_t>(use.resource)] += use.weight * it.held;
    solver.remove_flow(it.holder);
    it.holder = -1;
  }
  if (it.active)
    for (const Use& use : it.spec.path->uses)
      consumed[static_cast<std::size_t>(use.resource)] += use.weight * it.spec.amount;
  it.active = false;
  ready_.push_back({i, {}});
}

void Engine::Impl::consumed_since(std::vector<double>& before) const
{
  before.resize(consumed.size());
  for (std::size_t i = 0; i < consumed.size(); ++i)
    before[i] = consumed[i] - before[i];
  const auto add = [&](const std::vector<Use>& uses, double amount) {
    for (const Use& use : uses)
      before[static_cast<std::size_t>(use.resource)] += use.weight * amount;
  };
  for (const Slot& it : slots_) {
    if (!it.active || native())
      continue;
    const double left = it.left - solver.rate(it.solver_flow) * (now - it.updated);
    add(it.spec.path->uses, it.spec.amount - std::max(0.0, left));
    if (it.holder >= 0)
      add(it.spec.path->held.uses, it.held + solver.rate(it.holder) * (now - it.held_updated));
  }
}

void Engine::Impl::native_ended(int i, double date)
{
  now = date;
  finish(i);
}

void Engine::Impl::flush()
{
  running_.swap(ready_);
  for (Ready& ready : running_) {
    ++statistics.events;
    if (ready.slot < 0) {
      ready.event();
      continue;
    }
    // Starting flows from the callback may move the slots: take out what is needed first.
    Slot& it = slot(ready.slot);
    const FlowDone done = std::move(it.done);
    std::vector<LimitedBy> limited_by;
    limited_by.swap(it.limited_by);
    const FlowRecord record{it.started, Seconds(now), &limited_by};
    it.spec.path.reset();
    free_slots_.push_back(ready.slot);
    if (done)
      done(record);
    Slot& again = slot(ready.slot);
    if (again.limited_by.capacity() == 0) { // give the memory back for the next flow
      limited_by.clear();
      again.limited_by.swap(limited_by);
    }
  }
  running_.clear();
}

void Engine::Impl::run_date()
{
  flush();
  while (next_date() == now) {
    advance(now);
    flush();
  }
}

std::vector<std::string> Engine::Impl::stalled() const
{
  std::vector<std::string> found;
  for (const Slot& it : slots_) {
    if (!it.active)
      continue;
    std::string on = "a resource of its path";
    if (!native()) {
      const int limiting = solver.limiting(it.solver_flow);
      if (limiting >= 0)
        on = fmt::format("{} (capacity {:g})",
                         name_of(resources[static_cast<std::size_t>(limiting)]),
                         solver.capacity(limiting));
    }
    found.push_back(fmt::format("{} waits for {}", it.spec.what, on));
  }
  for (const auto& list : waiting)
    for (auto& line : list())
      found.push_back(line);
  return found;
}

Engine::Engine(Sharing sharing) : impl_(std::make_unique<Impl>(sharing)) {}
Engine::~Engine() = default;

ResourceId Engine::add_resource(const Resource& what, double capacity)
{
  if (!(capacity >= 0) || !std::isfinite(capacity))
    throw std::logic_error(
        fmt::format("resource {} with a capacity that is not a finite number >= 0", name_of(what)));
  impl_->resources.add(what);
  impl_->consumed.push_back(0);
  return {impl_->solver.add_resource(capacity)};
}

void Engine::set_capacity(ResourceId resource, double capacity)
{
  if (impl_->native())
    throw std::logic_error("native sharing keeps capacities as they were at the start");
  impl_->solver.set_capacity(resource.value, capacity);
}

double Engine::capacity(ResourceId resource) const
{
  return impl_->solver.capacity(resource.value);
}

std::string Engine::name(ResourceId resource) const
{
  return name_of(this->resource(resource));
}

Resource Engine::resource(ResourceId resource) const
{
  return impl_->resources[static_cast<std::size_t>(resource.value)];
}

ResourceKind Engine::kind(ResourceId resource) const
{
  return impl_->resources.kind(static_cast<std::size_t>(resource.value));
}

int Engine::resource_count() const
{
  return static_cast<int>(impl_->resources.size());
}

void Engine::consumed_since(std::vector<double>& before) const
{
  impl_->consumed_since(before);
}

double Engine::consumed(ResourceId resource) const
{
  return impl_->consumed[static_cast<std::size_t>(resource.value)];
}

void Engine::charge(const Path& path, double amount)
{
  for (const Use& use : path.uses)
    impl_->consumed[static_cast<std::size_t>(use.resource)] += use.weight * amount;
}

Seconds Engine::now() const
{
  return Seconds(impl_->now);
}

void Engine::at(Seconds date, Callback callback)
{
  impl_->schedule(date.value(), std::move(callback));
}

void Engine::after(Seconds delay, Callback callback)
{
  at(now() + delay, std::move(callback));
}

void Engine::declare(const PathPtr& path)
{
  if (impl_->native() && !path->held.uses.empty())
    throw std::logic_error("native sharing knows no resources that are held");
  if (impl_->native())
    impl_->declared.push_back(path);
}

void Engine::start(FlowSpec flow, FlowDone done)
{
  if (!flow.path)
    throw std::logic_error("a flow without a path");
  impl_->start(std::move(flow), std::move(done));
}

void Engine::expect_end(Waiting waiting)
{
  impl_->waiting.push_back(std::move(waiting));
}

void Engine::run()
{
  simgrid_adapter::run(*impl_);
  auto left = impl_->stalled();
  if (left.empty())
    return;
  const std::size_t count = left.size();
  if (count > 8) {
    left.resize(8);
    left.push_back(fmt::format("and {} more", count - 8));
  }
  throw StallError(fmt::format("nothing can happen any more at {}, but {} things are left: {}",
                               to_text(now()), count, joined(left, "; ")));
}

Engine::Statistics Engine::statistics() const
{
  return impl_->statistics;
}

} // namespace foretrain::sim
