#include "models/fleet/decided.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace foretrain::models::fleet {

namespace {

class Decided final : public Backfill {
public:
  Decided(Decide decide, std::function<void(JobId)> stop)
      : decide_(std::move(decide)), stop_(std::move(stop))
  {
  }

  void pass(Scheduler& s) override
  {
    if (asks(s)) {
      const Decisions decisions = decide_(s);
      ask_ = std::max(ask_, decisions.ask);
      again_ = decisions.again;
      for (const JobId id : decisions.stop)
        stop(s, id);
      for (const Decision& decision : decisions.start)
        carry_out(s, decision);
    }
    for (const Waiting& waiting : s.waiting())
      if (!waiting.gone)
        s.blame(waiting.job, why_not(s, waiting.job));
  }

  Seconds next_start() const override { return again_; }

private:
  bool asks(const Scheduler& s) const
  {
    const bool waits = s.count_waiting() > 0;
    return ask_ == Ask::always || (waits && (ask_ == Ask::when_full || s.free().count() > 0));
  }

  static Cause why_not(const Scheduler& s, JobId id)
  {
    if (!s.allowed(id))
      return Cause::quota;
    return s.place(s.free(), id).empty() ? s.why_not(id) : Cause::order;
  }

  [[noreturn]] static void refuse(const Scheduler& s, JobId id, const std::string& why)
  {
    throw UsageError(
        fmt::format("the policy starts job {} at {:g} s, {}", id, s.now().value(), why));
  }

  void stop(const Scheduler& s, JobId id)
  {
    if (std::none_of(s.endings().begin(), s.endings().end(),
                     [&](const Ending& ending) { return ending.job == id; }))
      throw UsageError(fmt::format("the policy stops job {} at {:g} s, which does not run", id,
                                   s.now().value()));
    stop_(id);
  }

  static Waiting& waiting_job(Scheduler& s, JobId id)
  {
    const auto it =
        std::find_if(s.waiting().begin(), s.waiting().end(),
                     [&](const Waiting& waiting) { return waiting.job == id && !waiting.gone; });
    if (it == s.waiting().end())
      refuse(s, id, "which does not wait");
    return *it;
  }

  // What quota or placement do not let start stays in the queue: neither is told to who decides.
  static void carry_out(Scheduler& s, const Decision& decision)
  {
    Waiting& waiting = waiting_job(s, decision.job);
    if (s.free().count() < waiting.gpus)
      refuse(s, decision.job,
             fmt::format("which needs {} GPUs, {} are free", waiting.gpus, s.free().count()));
    Allocation gpus =
        decision.nodes.empty() ? s.place(s.free(), decision.job) : on_nodes(s, decision);
    if (!gpus.empty() && s.allowed(decision.job))
      s.start(waiting, std::move(gpus));
  }

  static Allocation on_nodes(const Scheduler& s, const Decision& decision)
  {
    const int gpus = s.wanted(decision.job);
    const auto nodes = static_cast<int>(decision.nodes.size());
    if (gpus % nodes != 0)
      refuse(s, decision.job, fmt::format("whose {} GPUs {} nodes do not share", gpus, nodes));
    Allocation allocation;
    for (const int node : decision.nodes) {
      const bool twice = std::any_of(allocation.begin(), allocation.end(),
                                     [&](const Slice& slice) { return slice.node == node; });
      if (node < 0 || node >= s.shape().nodes || twice)
        refuse(s, decision.job,
               fmt::format("on node {}, which is {}", node,
                           twice ? "named twice"
                                 : fmt::format("none of 0 to {}", s.shape().nodes - 1)));
      if (s.free().count_on(node) < gpus / nodes)
        refuse(s, decision.job,
               fmt::format("with {} GPUs on node {}, which has {} free", gpus / nodes, node,
                           s.free().count_on(node)));
      allocation.push_back({node, lowest(s.free().on(node), gpus / nodes)});
    }
    return allocation;
  }

  Decide decide_;
  std::function<void(JobId)> stop_;
  Ask ask_ = Ask::when_free;
  Seconds again_ = kNever;
};

} // namespace

std::unique_ptr<Backfill> decided_by(Decide decide, std::function<void(JobId)> stop)
{
  return std::make_unique<Decided>(std::move(decide), std::move(stop));
}

} // namespace foretrain::models::fleet
