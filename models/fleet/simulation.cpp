#include "models/fleet/simulation.hpp"

#include "models/fleet/account_use.hpp"
#include "models/fleet/active_jobs.hpp"
#include "models/fleet/backfill.hpp"
#include "models/fleet/events.hpp"
#include "models/fleet/ledger.hpp"
#include "models/fleet/preempt.hpp"
#include "models/fleet/service.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace foretrain::models::fleet {

namespace {

// For so long repairs and the ends of windows are awaited where nobody runs or comes any more: a
// job may need more GPUs than are ever up at once.
constexpr Seconds kPatience{366 * 86400.0};

class Simulation {
public:
  Simulation(const Workload& workload, const FleetSetting& setting)
      : workload_(workload), setting_(setting), order_(order_of(setting.policy.order)),
        preempt_(preempt_by(setting.policy.preemption)),
        backfill_(setting.decide ? decided_by(setting.decide, [this](JobId id) { stop_now(id); })
                                 : backfill_by(setting.policy)),
        scheduler_(workload, setting.shape, setting.policy, setting.quotas, setting.windows),
        quotas_(setting.quotas), ledger_(setting.shape, setting.spares, setting.history),
        jobs_(workload, setting, scheduler_, events_),
        accounts_(workload.accounts.size(), setting.policy.half_life),
        service_(setting, scheduler_, ledger_, events_, result_,
                 {[this](JobId id) { return jobs_[id].gave_up; },
                  [this](int node) { lose_memory(node); }, [this](JobId id) { interrupt(id); },
                  [this](JobId id) { preempt(id); }, [this](Seconds back) { hang_until(back); }})
  {
    result_.jobs.resize(workload.jobs.size());
  }

  FleetResult run()
  {
    if (workload_.jobs.empty())
      return std::move(result_);
    result_.start = workload_.jobs.front().submit;
    scheduler_.set_now(result_.start);
    if (setting_.policy.preemption == Preemption::quantum)
      events_.push({result_.start + setting_.policy.quantum, Happens::quantum, 0, 0});
    service_.begin();
    std::size_t rounds = 0;
    while (ended_ < workload_.jobs.size() && step()) {
      // Whoever decides may be slow, and so is what simulates speeds.
      const bool ask = setting_.decide || setting_.speeds.rates || ++rounds % 4096 == 0;
      if (setting_.go_on && ask && !setting_.go_on(ended_)) {
        result_.stopped = true;
        break;
      }
    }
    close();
    return std::move(result_);
  }

private:
  const Job& job(JobId id) const { return workload_.jobs[id]; }

  // All that happens at the next time at which something does; false when nothing will.
  bool step()
  {
    Seconds next = arrived_ < workload_.jobs.size() ? workload_.jobs[arrived_].submit : kNever;
    while (!events_.empty() && jobs_.out_of_date(events_.top()))
      events_.pop();
    if (!events_.empty())
      next = std::min(next, events_.top().time);
    const bool only_outside = arrived_ == workload_.jobs.size() && actives_running_ == 0;
    if (next == kNever ||
        (only_outside && (!outside_may_help() || next - last_active_ > kPatience)))
      return false;
    ledger_.pass(scheduler_, working_, service_.spares_up(), next);
    if (order_.by_account)
      accounts_.pass(next - scheduler_.now());
    scheduler_.set_now(next);
    while (!events_.empty() && events_.top().time <= next) {
      const Event event = events_.top();
      events_.pop();
      if (!jobs_.out_of_date(event))
        happen(event);
    }
    while (arrived_ < workload_.jobs.size() && workload_.jobs[arrived_].submit <= next)
      arrive(static_cast<JobId>(arrived_++));
    schedule();
    ledger_.note(scheduler_);
    return true;
  }

  // Nobody runs or comes any more: only repairs, maintenance that passes, and the beginning of a
  // reservation let somebody start.
  bool outside_may_help() const
  {
    const bool reserved = next_start_ > scheduler_.now();
    return scheduler_.count_waiting() > 0 && (service_.may_grow() || reserved);
  }

  void happen(const Event& event)
  {
    switch (event.what) {
    case Happens::finish:
      end(event.subject, JobState::completed);
      break;
    case Happens::kill:
      end(event.subject, JobState::timeout);
      break;
    case Happens::data_read:
      jobs_.bring_up_to_date(event.subject);
      jobs_.set_read(event.subject);
      break;
    case Happens::turn:
      make_turn(event.subject);
      break;
    case Happens::give_up:
      stop(event.subject);
      break;
    case Happens::repair:
    case Happens::spare:
    case Happens::outage:
    case Happens::open:
    case Happens::close:
      service_.happen(event);
      break;
    case Happens::quantum:
      quantum_ = true;
      if (ended_ < workload_.jobs.size())
        events_.push({scheduler_.now() + setting_.policy.quantum, Happens::quantum, 0, 0});
      break;
    case Happens::reservation: // jobs start, if they may, when all has happened
      break;
    }
  }

  void arrive(JobId id)
  {
    const Job& job = workload_.jobs[id];
    const int base = (setting_.shape.nodes - setting_.spares) * setting_.shape.gpus_per_node;
    const bool fits =
        job.gpus <= base && quotas_.ever_allow(job.queue, job.gpus) &&
        (!setting_.policy.gang ||
         !on_empty_cluster(setting_.policy.placement, setting_.shape, {job.gpus, job.nodes})
              .empty());
    if (!fits) {
      result_.jobs[id].state = JobState::rejected;
      ++ended_;
      return;
    }
    jobs_.add(id);
    scheduler_.enqueue(id, key(id));
    last_active_ = scheduler_.now();
  }

  double key(JobId id) const
  {
    if (scheduler_.keeps_place(id)) // it goes first
      return -std::numeric_limits<double>::infinity();
    const Seconds now = scheduler_.now(), expected = scheduler_.expected(id);
    const Seconds remaining{std::max(0.0, expected.value() - jobs_[id].work_by(now))};
    return order_.key({job(id), expected, remaining, jobs_[id].attained_by(now, job(id).gpus),
                       accounts_.of(job(id).account)});
  }

  void schedule()
  {
    if (order_.by_account || quantum_) {
      for (Waiting& waiting : scheduler_.waiting())
        if (!waiting.gone)
          scheduler_.set_key(waiting, key(waiting.job));
      scheduler_.sort();
    }
    if (setting_.policy.preemption == Preemption::priority || quantum_)
      for (const JobId id : preempt_(scheduler_, [this](JobId other) { return key(other); }))
        stop_now(id);
    quantum_ = false;
    backfill_->pass(scheduler_);
    for (const JobId id : scheduler_.take_started())
      started(id);
    if (const Seconds next = backfill_->next_start();
        next != kNever && next > scheduler_.now() && next != next_start_) {
      next_start_ = next;
      events_.push({next, Happens::reservation, 0, 0});
    }
    scheduler_.set_grew(false);
    scheduler_.forget_arrived();
    scheduler_.drop_gone();
    jobs_.change_rates();
  }

  void started(JobId id)
  {
    Active& a = jobs_[id];
    const Checkpointing& checkpointing = jobs_.checkpointing(id);
    JobOutcome& outcome = result_.jobs[id];
    const bool again = outcome.start != kNever;
    if (!again)
      outcome.start = scheduler_.now();
    const std::vector<int> nodes = distinct_nodes(scheduler_.held(id));
    outcome.nodes = static_cast<int>(nodes.size());
    const Seconds restart = again ? setting_.restart : Seconds(0);
    const bool restores = again && a.progress.saved.work > 0;
    const Seconds read = restores ? checkpointing.read : Seconds(0);
    const Seconds begin = scheduler_.now() + restart + (checkpointing.felt ? Seconds(0) : read);
    jobs_.begin(id, std::max(storage_back_, begin));
    a.to_restore = checkpointing.felt ? read.value() : 0;
    if (checkpointing.in_memory)
      a.copies = MemoryCopies(nodes);
    ++actives_running_;
    working_ += job(id).gpus;
    accounts_.hold(job(id).account, job(id).gpus);
    if (job(id).limit != kNever)
      jobs_.push(Happens::kill, id, scheduler_.now() + job(id).limit);
    else if (again)
      scheduler_.expect_end(id, a.ready + Seconds(a.to_restore) + job(id).alone() -
                                    Seconds(a.progress.work()));
  }

  // Its write or read begins or ends.
  void make_turn(JobId id)
  {
    jobs_.bring_up_to_date(id);
    if (const Transfer over = jobs_[id].transfer; over != Transfer::none)
      note(id, over == Transfer::read ? Overhead::restart : Overhead::checkpoint, jobs_[id].turned);
    jobs_.turn(id);
  }

  // From a time until now.
  void note(JobId id, Overhead what, Seconds from)
  {
    if (setting_.history && from < scheduler_.now())
      result_.overheads.push_back({id, what, from, scheduler_.now()});
  }

  // Of an attempt that works no more: until when it restarted, and the writes that took no turns.
  void note_attempt(JobId id)
  {
    const Active& a = jobs_[id];
    const Seconds now = scheduler_.now();
    if (!setting_.history)
      return;
    if (a.ready > a.started)
      result_.overheads.push_back({id, Overhead::restart, a.started, std::min(now, a.ready)});
    if (const Checkpointing& checkpointing = jobs_.checkpointing(id); !checkpointing.felt)
      add_writes(result_.overheads, id, a.ready, now, checkpointing);
  }

  // The attempt is over, and the job has its GPUs still.
  void end_attempt(JobId id)
  {
    Active& a = jobs_[id];
    JobOutcome& outcome = result_.jobs[id];
    const Seconds now = scheduler_.now();
    outcome.run += now - a.started;
    a.attained += (now - a.started).value() * job(id).gpus;
    accounts_.hold(job(id).account, -job(id).gpus);
    if (!a.gave_up) {
      working_ -= job(id).gpus;
      note_attempt(id);
    }
    if (setting_.history)
      for (const Slice& slice : scheduler_.held(id))
        result_.spans.push_back({id, slice, a.started, now});
    jobs_.left();
    jobs_.forget_events(id);
    a.holds = false;
    a.gave_up = false;
    --actives_running_;
    last_active_ = now;
  }

  void leave(JobId id)
  {
    end_attempt(id);
    release(id);
  }

  void release(JobId id)
  {
    scheduler_.release(id);
    service_.job_left();
  }

  void end(JobId id, JobState state)
  {
    jobs_.bring_up_to_date(id);
    save(jobs_[id].progress);
    leave(id);
    JobOutcome& outcome = result_.jobs[id];
    outcome.state = state;
    outcome.end = scheduler_.now();
    outcome.waited_for = scheduler_.waited_for(id);
    account(id);
    result_.end = std::max(result_.end, scheduler_.now());
    jobs_.remove(id);
    ++ended_;
  }

  // Of a job that ended, or is cut off.
  void account(JobId id)
  {
    const Active& a = jobs_[id];
    const int gpus = job(id).gpus;
    GpuTime& time = result_.gpu_time;
    Done done = a.progress.saved;
    done += a.progress.open;
    time.productive += (done.wall - done.slowed) * gpus;
    time.contended += done.slowed * gpus;
    time.checkpoint += a.progress.writing * gpus;
    time.lost += a.lost * gpus;
    time.restart += a.restarting * gpus;
    result_.jobs[id].lost = a.lost * gpus;
  }

  void wait_again(JobId id) { scheduler_.enqueue(id, key(id)); }

  void preempt(JobId id)
  {
    jobs_.bring_up_to_date(id);
    save(jobs_[id].progress);
    jobs_[id].progress.cycle = jobs_[id].progress.written = 0;
    ++result_.jobs[id].preemptions;
    leave(id);
    wait_again(id);
  }

  // One that hangs gives its GPUs up when that is noticed.
  void stop_now(JobId id)
  {
    if (!jobs_[id].gave_up)
      preempt(id);
  }

  // A job's node failed: it hangs, and gives up its GPUs when that is noticed.
  void interrupt(JobId id)
  {
    jobs_.bring_up_to_date(id);
    Active& a = jobs_[id];
    note_attempt(id);
    const double lost = fail(a.progress);
    a.lost += lost;
    note(id, Overhead::lost, std::max(a.started, scheduler_.now() - Seconds(lost)));
    a.gave_up = true;
    working_ -= job(id).gpus;
    ++result_.jobs[id].restarts;
    ++result_.interruptions;
    jobs_.forget_events(id);
    jobs_.push(Happens::give_up, id, scheduler_.now() + setting_.detect);
    jobs_.left();
  }

  // Checkpoints may go with a node, also of jobs that wait and keep their place.
  void lose_memory(int node)
  {
    const auto lose = [&](JobId id) {
      Active& a = jobs_[id];
      if (!jobs_.checkpointing(id).in_memory || !a.copies.on(node))
        return;
      if (a.runs())
        jobs_.bring_up_to_date(id);
      if (a.copies.lose(node))
        a.lost += fail_unsaved(a.progress);
    };
    for (const Ending& ending : scheduler_.endings())
      lose(ending.job);
    for (const Waiting& waiting : scheduler_.waiting())
      if (!waiting.gone && scheduler_.keeps_place(waiting.job))
        lose(waiting.job);
  }

  // It is noticed that a job hangs.
  void stop(JobId id)
  {
    note(id, Overhead::restart, jobs_[id].since); // it hung since then
    jobs_[id].since = scheduler_.now();
    end_attempt(id);
    if (!setting_.keep_place) {
      release(id);
      wait_again(id);
    } else if (lacks_gpus(id)) {
      scheduler_.keep_place(id);
      service_.job_left();
      wait_again(id);
    } else { // what was down is repaired
      scheduler_.expect_end(id, scheduler_.now() + scheduler_.expected(id));
      started(id);
    }
  }

  bool lacks_gpus(JobId id) const
  {
    return count(scheduler_.up_part(scheduler_.held(id))) < job(id).gpus;
  }

  // All that run wait for the storage, and lose nothing.
  void hang_until(Seconds back)
  {
    storage_back_ = std::max(storage_back_, back);
    for (const Ending& ending : scheduler_.endings()) {
      if (!jobs_.runs(ending.job))
        continue;
      jobs_.bring_up_to_date(ending.job);
      jobs_[ending.job].ready = std::max(jobs_[ending.job].ready, storage_back_);
      jobs_.plan_again(ending.job);
    }
  }

  void close()
  {
    for (JobId id = 0; id < arrived_; ++id)
      if (jobs_.has(id)) {
        const bool held = !scheduler_.held(id).empty();
        if (jobs_[id].holds) {
          jobs_.bring_up_to_date(id);
          result_.jobs[id].state = JobState::running;
        } else if (held && !result_.stopped) {
          ++result_.stuck;
        }
        result_.jobs[id].waited_for = scheduler_.cause(id);
        account(id);
      }
    result_.end = std::max(result_.end, scheduler_.now()); // until then GPU time is told
    ledger_.close(result_);
  }

  const Workload& workload_;
  const FleetSetting& setting_;
  OrderEntry order_;
  Preempt preempt_;
  std::unique_ptr<Backfill> backfill_;
  Scheduler scheduler_;
  Quotas quotas_; // of an empty cluster
  Ledger ledger_;
  Events events_;
  ActiveJobs jobs_;
  AccountUse accounts_;
  int working_ = 0;        // GPUs of jobs that run, and do not hang
  Seconds storage_back_{}; // after an outage
  std::size_t arrived_ = 0, ended_ = 0;
  int actives_running_ = 0;
  bool quantum_ = false;
  Seconds next_start_{-1}; // the last one that was asked for
  Seconds last_active_{};  // when somebody came, or was done with GPUs
  FleetResult result_;
  Service service_;
};

} // namespace

FleetResult simulate(const Workload& workload, const FleetSetting& setting)
{
  return Simulation(workload, setting).run();
}

} // namespace foretrain::models::fleet
