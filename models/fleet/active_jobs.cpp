#include "models/fleet/active_jobs.hpp"

#include <algorithm>

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

} // namespace

ActiveJobs::ActiveJobs(const Workload& workload, const FleetSetting& setting, Scheduler& scheduler,
                       Events& events)
    : workload_(workload), setting_(setting), scheduler_(scheduler), events_(events),
      version_(workload.jobs.size(), 0), slot_(workload.jobs.size(), kNone)
{
}

void ActiveJobs::add(JobId id)
{
  if (unused_.empty()) {
    slot_[id] = static_cast<std::uint32_t>(actives_.size());
    actives_.emplace_back();
  } else {
    slot_[id] = unused_.back();
    unused_.pop_back();
    (*this)[id] = {};
  }
}

void ActiveJobs::remove(JobId id)
{
  unused_.push_back(slot_[id]);
  slot_[id] = kNone;
}

const Checkpointing& ActiveJobs::checkpointing(JobId id) const
{
  return setting_.checkpointing.at(job(id).checkpointing);
}

bool ActiveJobs::out_of_date(const Event& event) const
{
  return event.what <= Happens::give_up && event.version != version_[event.subject];
}

void ActiveJobs::bring_up_to_date(JobId id)
{
  (*this)[id].pass_until(scheduler_.now(), job(id), checkpointing(id));
}

void ActiveJobs::begin(JobId id, Seconds ready)
{
  (*this)[id].begin(scheduler_.now(), ready, static_cast<bool>(setting_.speeds.rates), job(id));
  find_uses(id);
  changed_.push_back(id);
}

void ActiveJobs::turn(JobId id)
{
  Active& a = (*this)[id];
  a.turn(checkpointing(id));
  a.turned = scheduler_.now();
  a.rate.transfer = transfer_rate_apart(id);
  find_uses(id);
  plan_again(id);
  changed_.push_back(id);
}

void ActiveJobs::set_read(JobId id)
{
  (*this)[id].first_pass = false;
  find_uses(id);
  changed_.push_back(id);
}

Placed ActiveJobs::placed(JobId id) const
{
  const Active& a = (*this)[id];
  return {id, &scheduler_.held(id), a.first_pass, a.transfer};
}

void ActiveJobs::find_uses(JobId id)
{
  if (setting_.speeds.shared)
    (*this)[id].uses = setting_.speeds.shared(placed(id));
}

void ActiveJobs::change_rates()
{
  if (changed_.empty() && !left_)
    return;
  if (setting_.speeds.rates)
    set_rates();
  else
    for (const JobId id : changed_)
      if (has(id) && runs(id))
        plan_ends(id);
  changed_.clear();
  left_ = false;
}

void ActiveJobs::set_rates()
{
  std::vector<Placed> running;
  std::vector<std::vector<SharedUse>> uses;
  for (const Ending& ending : scheduler_.endings())
    if (runs(ending.job))
      running.push_back(placed(ending.job));
  std::sort(running.begin(), running.end(),
            [](const Placed& a, const Placed& b) { return a.id < b.id; });
  for (const Placed& it : running)
    uses.push_back((*this)[it.id].uses);
  for (const Meeting& meeting : meetings(running, uses, setting_.shape.nodes)) {
    std::vector<Placed> jobs;
    for (const std::size_t i : meeting.jobs) {
      jobs.push_back(running[i]);
      if (!meeting.scarce)
        jobs.back().transfer = Transfer::none;
    }
    if (std::any_of(jobs.begin(), jobs.end(),
                    [&](const Placed& it) { return (*this)[it.id].met != jobs; }))
      set_rates(jobs);
  }
}

void ActiveJobs::set_rates(const std::vector<Placed>& jobs)
{
  const std::vector<JobRate> rates = setting_.speeds.rates(jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const JobId id = jobs[i].id;
    bring_up_to_date(id);
    Active& a = (*this)[id];
    a.rate.work = rates[i].work;
    a.rate.transfer =
        jobs[i].transfer != Transfer::none ? rates[i].transfer : transfer_rate_apart(id);
    a.met = jobs;
    plan_again(id);
  }
}

// Of a write or read that only those feel who use the same storage, where there is enough for
// them: others on its nodes go on as if the job worked, for as short as it is.
double ActiveJobs::transfer_rate_apart(JobId id) const
{
  return (*this)[id].transfer == Transfer::none
             ? 1
             : setting_.speeds.rates(std::vector<Placed>{placed(id)}).front().transfer;
}

// If its rate stays as it is.
void ActiveJobs::plan_ends(JobId id)
{
  const Active& a = (*this)[id];
  const NextTurn next = a.next(job(id), checkpointing(id));
  if (next.time <= a.started + job(id).limit)
    push(event_of(next.what), id, next.time);
}

void ActiveJobs::plan_again(JobId id)
{
  forget_events(id);
  if (job(id).limit != kNever)
    push(Happens::kill, id, (*this)[id].started + job(id).limit);
  plan_ends(id);
}

} // namespace foretrain::models::fleet
