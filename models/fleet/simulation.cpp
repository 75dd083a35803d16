#include "models/fleet/simulation.hpp"

#include "models/fleet/active.hpp"
#include "models/fleet/backfill.hpp"
#include "models/fleet/events.hpp"
#include "models/fleet/ledger.hpp"
#include "models/fleet/preempt.hpp"
#include "models/fleet/service.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace foretrain::models::fleet {

namespace {

Happens event_of(Turn turn)
{
  switch (turn) {
  case Turn::data_read:
    return Happens::data_read;
  case Turn::transfer:
    return Happens::turn;
  default:
    return Happens::finish;
  }
}

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
        version_(workload.jobs.size(), 0), slot_(workload.jobs.size(), kNone),
        use_(workload.accounts.size(), 0), account_gpus_(workload.accounts.size(), 0),
        service_(setting, scheduler_, ledger_, events_, result_,
                 {[this](JobId id) { return active(id).gave_up; },
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
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  Active& active(JobId id) { return actives_[slot_[id]]; }
  const Active& active(JobId id) const { return actives_[slot_[id]]; }
  const Job& job(JobId id) const { return workload_.jobs[id]; }
  const Checkpointing& checkpointing(JobId id) const
  {
    return setting_.checkpointing.at(job(id).checkpointing);
  }

  // All that happens at the next time at which something does; false when nothing will.
  bool step()
  {
    Seconds next = arrived_ < workload_.jobs.size() ? workload_.jobs[arrived_].submit : kNever;
    while (!events_.empty() && out_of_date(events_.top()))
      events_.pop();
    if (!events_.empty())
      next = std::min(next, events_.top().time);
    const bool only_outside = arrived_ == workload_.jobs.size() && actives_running_ == 0;
    if (next == kNever ||
        (only_outside && (!outside_may_help() || next - last_active_ > kPatience)))
      return false;
    ledger_.pass(scheduler_, working_, next);
    decay_use(next);
    scheduler_.set_now(next);
    while (!events_.empty() && events_.top().time <= next) {
      const Event event = events_.top();
      events_.pop();
      if (!out_of_date(event))
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

  bool out_of_date(const Event& event) const
  {
    return event.what <= Happens::give_up && event.version != version_[event.subject];
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
      bring_up_to_date(event.subject);
      set_read(event.subject);
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
    if (unused_.empty()) {
      slot_[id] = static_cast<std::uint32_t>(actives_.size());
      actives_.emplace_back();
    } else {
      slot_[id] = unused_.back();
      unused_.pop_back();
      active(id) = {};
    }
    scheduler_.enqueue(id, key(id));
    last_active_ = scheduler_.now();
  }

  double key(JobId id) const
  {
    if (scheduler_.keeps_place(id)) // it goes first
      return -std::numeric_limits<double>::infinity();
    const Active& a = active(id);
    const Seconds expected = scheduler_.expected(id);
    const double done = a.progress.work() + work_since(id);
    const Seconds remaining{std::max(0.0, expected.value() - done)};
    const double attained = a.attained + attained_since(id);
    return order_.key({job(id), expected, remaining, attained, use_[job(id).account]});
  }

  bool runs(JobId id) const { return active(id).runs(); }
  double work_since(JobId id) const
  {
    const Active& a = active(id);
    return runs(id) ? std::max(0.0, (scheduler_.now() - std::max(a.since, a.ready)).value()) *
                          a.rate.work
                    : 0;
  }
  double attained_since(JobId id) const
  {
    const Active& a = active(id);
    return runs(id) ? (scheduler_.now() - a.started).value() * job(id).gpus : 0;
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
    change_rates();
  }

  void started(JobId id)
  {
    Active& a = active(id);
    JobOutcome& outcome = result_.jobs[id];
    const bool again = outcome.start != kNever;
    if (!again)
      outcome.start = scheduler_.now();
    const std::vector<int> nodes = distinct_nodes(scheduler_.held(id));
    outcome.nodes = static_cast<int>(nodes.size());
    const Seconds restart = again ? setting_.restart : Seconds(0);
    const bool restores = again && a.progress.saved.work > 0;
    const Seconds read = restores ? checkpointing(id).read : Seconds(0);
    const bool felt = checkpointing(id).felt;
    a.begin(scheduler_.now(),
            std::max(storage_back_, scheduler_.now() + restart + (felt ? Seconds(0) : read)),
            static_cast<bool>(setting_.speeds.rates), job(id));
    a.to_restore = felt ? read.value() : 0;
    if (checkpointing(id).in_memory)
      a.copies = MemoryCopies(nodes);
    find_uses(id);
    ++actives_running_;
    working_ += job(id).gpus;
    account_gpus_[job(id).account] += job(id).gpus;
    if (job(id).limit != kNever)
      push(Happens::kill, id, scheduler_.now() + job(id).limit);
    else if (again)
      scheduler_.expect_end(id, a.ready + Seconds(a.to_restore) + job(id).alone() -
                                    Seconds(a.progress.work()));
    changed_.push_back(id);
  }

  Placed placed(JobId id) const
  {
    return {id, &scheduler_.held(id), active(id).first_pass, active(id).transfer};
  }

  void find_uses(JobId id)
  {
    if (setting_.speeds.shared)
      active(id).uses = setting_.speeds.shared(placed(id));
  }

  // Its write or read begins or ends.
  void make_turn(JobId id)
  {
    bring_up_to_date(id);
    Active& a = active(id);
    const Transfer over = a.transfer;
    a.turn(checkpointing(id));
    if (over != Transfer::none)
      note(id, over == Transfer::read ? Overhead::restart : Overhead::checkpoint, a.turned);
    a.turned = scheduler_.now();
    a.rate.transfer = transfer_rate_apart(id);
    find_uses(id);
    plan_again(id);
    changed_.push_back(id);
  }

  // From now on its data come out of caches, as far as these hold them.
  void set_read(JobId id)
  {
    active(id).first_pass = false;
    find_uses(id);
    changed_.push_back(id);
  }

  void push(Happens what, JobId id, Seconds time) { events_.push({time, what, id, version_[id]}); }

  // Work of a job until now.
  void bring_up_to_date(JobId id)
  {
    active(id).pass_until(scheduler_.now(), job(id), checkpointing(id));
  }

  // Jobs that started, and those that lost or found others that they meet, have other rates.
  void change_rates()
  {
    if (changed_.empty() && !left_)
      return;
    if (setting_.speeds.rates)
      set_rates();
    else
      for (const JobId id : changed_)
        if (slot_[id] != kNone && runs(id))
          plan_ends(id);
    changed_.clear();
    left_ = false;
  }

  void set_rates()
  {
    std::vector<Placed> running;
    std::vector<std::vector<SharedUse>> uses;
    for (const Ending& ending : scheduler_.endings())
      if (runs(ending.job))
        running.push_back(placed(ending.job));
    std::sort(running.begin(), running.end(),
              [](const Placed& a, const Placed& b) { return a.id < b.id; });
    for (const Placed& it : running)
      uses.push_back(active(it.id).uses);
    for (const Meeting& meeting : meetings(running, uses, setting_.shape.nodes)) {
      std::vector<Placed> jobs;
      for (const std::size_t i : meeting.jobs) {
        jobs.push_back(running[i]);
        if (!meeting.scarce)
          jobs.back().transfer = Transfer::none;
      }
      if (std::any_of(jobs.begin(), jobs.end(),
                      [&](const Placed& it) { return active(it.id).met != jobs; }))
        set_rates(jobs);
    }
  }

  // Of a write or read that only those feel who use the same storage, where there is enough for
  // them: others on its nodes go on as if the job worked, for as short as it is.
  double transfer_rate_apart(JobId id) const
  {
    return active(id).transfer == Transfer::none
               ? 1
               : setting_.speeds.rates(std::vector<Placed>{placed(id)}).front().transfer;
  }

  // If its rate stays as it is.
  void plan_ends(JobId id)
  {
    const Active& a = active(id);
    const NextTurn next = a.next(job(id), checkpointing(id));
    if (next.time <= a.started + job(id).limit)
      push(event_of(next.what), id, next.time);
  }

  void set_rates(const std::vector<Placed>& jobs)
  {
    const std::vector<JobRate> rates = setting_.speeds.rates(jobs);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const JobId id = jobs[i].id;
      bring_up_to_date(id);
      Active& a = active(id);
      a.rate.work = rates[i].work;
      a.rate.transfer =
          jobs[i].transfer != Transfer::none ? rates[i].transfer : transfer_rate_apart(id);
      a.met = jobs;
      plan_again(id);
    }
  }

  // Its end as it was planned is out of date.
  void plan_again(JobId id)
  {
    ++version_[id];
    if (job(id).limit != kNever)
      push(Happens::kill, id, active(id).started + job(id).limit);
    plan_ends(id);
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
    const Active& a = active(id);
    const Seconds now = scheduler_.now();
    if (!setting_.history)
      return;
    if (a.ready > a.started)
      result_.overheads.push_back({id, Overhead::restart, a.started, std::min(now, a.ready)});
    if (!checkpointing(id).felt)
      add_writes(result_.overheads, id, a.ready, now, checkpointing(id));
  }

  // The attempt is over, and the job has its GPUs still.
  void end_attempt(JobId id)
  {
    Active& a = active(id);
    JobOutcome& outcome = result_.jobs[id];
    const Seconds now = scheduler_.now();
    outcome.run += now - a.started;
    a.attained += (now - a.started).value() * job(id).gpus;
    account_gpus_[job(id).account] -= job(id).gpus;
    if (!a.gave_up) {
      working_ -= job(id).gpus;
      note_attempt(id);
    }
    if (setting_.history)
      for (const Slice& slice : scheduler_.held(id))
        result_.spans.push_back({id, slice, a.started, now});
    left_ = true;
    ++version_[id];
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
    bring_up_to_date(id);
    save(active(id).progress);
    leave(id);
    JobOutcome& outcome = result_.jobs[id];
    outcome.state = state;
    outcome.end = scheduler_.now();
    outcome.waited_for = scheduler_.waited_for(id);
    account(id);
    result_.end = std::max(result_.end, scheduler_.now());
    unused_.push_back(slot_[id]);
    slot_[id] = kNone;
    ++ended_;
  }

  // Of a job that ended, or is cut off.
  void account(JobId id)
  {
    const Active& a = active(id);
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
    bring_up_to_date(id);
    save(active(id).progress);
    active(id).progress.cycle = active(id).progress.written = 0;
    ++result_.jobs[id].preemptions;
    leave(id);
    wait_again(id);
  }

  // One that hangs gives its GPUs up when that is noticed.
  void stop_now(JobId id)
  {
    if (!active(id).gave_up)
      preempt(id);
  }

  // A job's node failed: it hangs, and gives up its GPUs when that is noticed.
  void interrupt(JobId id)
  {
    bring_up_to_date(id);
    Active& a = active(id);
    note_attempt(id);
    const double lost = fail(a.progress);
    a.lost += lost;
    note(id, Overhead::lost, std::max(a.started, scheduler_.now() - Seconds(lost)));
    a.gave_up = true;
    working_ -= job(id).gpus;
    ++result_.jobs[id].restarts;
    ++result_.interruptions;
    ++version_[id];
    push(Happens::give_up, id, scheduler_.now() + setting_.detect);
    left_ = true;
  }

  // Checkpoints may go with a node, also of jobs that wait and keep their place.
  void lose_memory(int node)
  {
    const auto lose = [&](JobId id) {
      Active& a = active(id);
      if (!checkpointing(id).in_memory || !a.copies.on(node))
        return;
      if (a.runs())
        bring_up_to_date(id);
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
    note(id, Overhead::restart, active(id).since); // it hung since then
    active(id).since = scheduler_.now();
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
      if (!runs(ending.job))
        continue;
      bring_up_to_date(ending.job);
      active(ending.job).ready = std::max(active(ending.job).ready, storage_back_);
      plan_again(ending.job);
    }
  }

  // What accounts use counts less with time: u' = GPUs - u ln 2 / half-life.
  void decay_use(Seconds until)
  {
    if (!order_.by_account)
      return;
    const double rate = std::log(2.0) / setting_.policy.half_life.value();
    const double left = std::exp(-rate * (until - scheduler_.now()).value());
    for (std::size_t account = 0; account < use_.size(); ++account)
      use_[account] = use_[account] * left + account_gpus_[account] * (1 - left) / rate;
  }

  void close()
  {
    for (JobId id = 0; id < arrived_; ++id)
      if (slot_[id] != kNone) {
        const bool held = !scheduler_.held(id).empty();
        if (active(id).holds) {
          bring_up_to_date(id);
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
  std::vector<std::uint32_t> version_, slot_; // by job
  std::vector<Active> actives_;
  std::vector<std::uint32_t> unused_;
  std::vector<double> use_;       // of accounts, GPU seconds
  std::vector<int> account_gpus_; // that accounts hold now
  int working_ = 0;               // GPUs of jobs that run, and do not hang
  std::vector<JobId> changed_;
  bool left_ = false;      // jobs ended, or hang
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
