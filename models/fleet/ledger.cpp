#include "models/fleet/ledger.hpp"

#include <algorithm>

namespace foretrain::models::fleet {

Ledger::Ledger(const ClusterShape& shape, int spares, bool history)
    : gpus_((shape.nodes - spares) * shape.gpus_per_node),
      spare_gpus_(spares * shape.gpus_per_node), history_(history)
{
}

void Ledger::pass(const Scheduler& s, int working, int spares_up, Seconds until)
{
  if (begin_ == kNever)
    begin_ = s.now();
  end_ = until;
  const double time = (until - s.now()).value();
  const int free = s.free().count(), missing = s.down() - spare_gpus_;
  out_time_ += out_ * time;
  spare_time_ += spares_up * time;
  time_.repair += missing * time;
  const auto first = std::find_if(s.waiting().begin(), s.waiting().end(),
                                  [](const Waiting& waiting) { return !waiting.gone; });
  if (first == s.waiting().end())
    time_.idle += free * time;
  else if (s.cause(first->job) == Cause::fragmentation)
    time_.fragmented += free * time;
  else
    time_.queued += free * time;
  const int held = held_by_waiting(s);
  time_.held += held * time;
  time_.restart += (gpus_ - missing - free - working - held) * time; // jobs that hang
}

int Ledger::held_by_waiting(const Scheduler& s)
{
  int held = 0;
  Holdings now;
  if (s.waiting_jobs_hold())
    for (const Waiting& waiting : s.waiting())
      if (!waiting.gone)
        for (const Slice& slice : s.held(waiting.job)) {
          const GpuBits gpus = slice.gpus & ~s.down_on(slice.node);
          held += count(Slice{slice.node, gpus});
          if (history_ && gpus != 0)
            now.try_emplace({waiting.job, slice.node}, Holding{0, s.now()}).first->second.gpus |=
                gpus;
        }
  if (history_)
    follow(std::move(now), s.now());
  return held;
}

// What is held no more, or no more as before, was held until a time.
void Ledger::follow(Holdings now, Seconds time)
{
  for (const auto& [of, holding] : holdings_)
    if (const auto still = now.find(of); still != now.end() && still->second.gpus == holding.gpus)
      still->second.since = holding.since;
    else if (holding.since < time)
      held_.push_back({of.first, {of.second, holding.gpus}, holding.since, time});
  holdings_ = std::move(now);
}

void Ledger::note(const Scheduler& s)
{
  if (!history_)
    return;
  const int missing = s.down() - spare_gpus_;
  const Moment moment{s.now(), gpus_ - missing - s.free().count(), missing,
                      static_cast<int>(s.count_waiting())};
  if (!moments_.empty() && moments_.back().time == moment.time)
    moments_.back() = moment;
  else
    moments_.push_back(moment);
}

void Ledger::close(FleetResult& result)
{
  result.gpu_time.idle += time_.idle;
  result.gpu_time.queued += time_.queued;
  result.gpu_time.fragmented += time_.fragmented;
  result.gpu_time.held += time_.held;
  result.gpu_time.restart += time_.restart;
  result.gpu_time.repair += time_.repair;
  result.spare_time = spare_time_;
  result.down_most = out_most_;
  const double length = begin_ == kNever ? 0 : (end_ - begin_).value();
  result.down_mean = length > 0 ? out_time_ / length : 0;
  result.moments = std::move(moments_);
  follow({}, end_);
  result.held_waiting = std::move(held_);
}

void Ledger::set_nodes_out(int nodes)
{
  out_ = nodes;
  out_most_ = std::max(out_most_, nodes);
}

} // namespace foretrain::models::fleet
