#include "models/fleet/service.hpp"

#include <algorithm>
#include <utility>

namespace foretrain::models::fleet {

namespace {

Slice gpu_of(const Outage& outage)
{
  return {outage.first, GpuBits{1} << outage.gpu};
}

} // namespace

Service::Service(const FleetSetting& setting, Scheduler& scheduler, Ledger& ledger, Events& events,
                 FleetResult& result, Hurt hurt)
    : setting_(setting), scheduler_(scheduler), ledger_(ledger), events_(events), result_(result),
      hurt_(std::move(hurt)), nodes_(setting.shape, setting.spares)
{
  for (int node = setting.shape.nodes - setting.spares; node < setting.shape.nodes; ++node)
    scheduler_.set_down(node, true);
}

void Service::begin()
{
  take_outage();
  for (std::uint32_t i = 0; i < setting_.windows.size(); ++i) {
    if (setting_.windows[i].until <= scheduler_.now())
      continue;
    events_.push({std::max(scheduler_.now(), setting_.windows[i].from), Happens::open, i, 0});
    events_.push({setting_.windows[i].until, Happens::close, i, 0});
    ++windows_left_;
  }
}

void Service::happen(const Event& event)
{
  switch (event.what) {
  case Happens::repair:
    repaired(event.subject);
    break;
  case Happens::spare:
    if (nodes_.end_start(static_cast<int>(event.subject), event.version))
      come_back(static_cast<int>(event.subject));
    break;
  case Happens::outage:
    outage(event.subject);
    break;
  case Happens::open:
    open_window(setting_.windows[event.subject]);
    break;
  case Happens::close:
    close_window(setting_.windows[event.subject]);
    break;
  default:
    break;
  }
}

bool Service::may_grow() const
{
  return windows_left_ > 0 || scheduler_.down() > setting_.spares * setting_.shape.gpus_per_node;
}

int Service::spares_up() const
{
  return setting_.spare_start > Seconds(0) ? 0 : nodes_.standing_by();
}

void Service::take_outage()
{
  if (!setting_.outages)
    return;
  if (const std::optional<Outage> next = setting_.outages()) {
    outages_.push_back({*next});
    events_.push({std::max(scheduler_.now(), next->time), Happens::outage,
                  static_cast<std::uint32_t>(outages_.size() - 1), 0});
  }
}

void Service::outage(std::uint32_t which)
{
  const Outage outage = outages_[which].outage;
  switch (outage.hits) {
  case Hits::nodes:
    if (outage.drained)
      drain(which);
    else
      nodes_fail(outages_[which]);
    break;
  case Hits::gpu:
    gpu_fails(outages_[which]);
    break;
  case Hits::storage:
    count(outage, result_.failures);
    hurt_.no_storage(outage.repaired);
    break;
  }
  if (!outage.drained)
    events_.push({outage.repaired, Happens::repair, which, 0});
  take_outage();
}

// All that is told begins with the first job.
void Service::count(const Outage& outage, int& number) const
{
  number += outage.time >= result_.start ? 1 : 0;
}

void Service::nodes_fail(Broken& broken)
{
  const Outage& outage = broken.outage;
  const int end = std::min(outage.first + outage.nodes, setting_.shape.nodes);
  for (int node = outage.first; node < end; ++node) {
    const NodeStates::Broke broke = nodes_.break_node(node);
    if (broke != NodeStates::Broke::nothing)
      broken.nodes.push_back(node);
    if (broke != NodeStates::Broke::in_service)
      continue;
    count(outage, result_.failures);
    std::erase_if(draining_, [&](std::uint32_t i) { return outages_[i].outage.first == node; });
    hurt_.lose_memory(node);
    go_down({node, scheduler_.every_gpu()});
    replace();
  }
}

// One GPU of a node that goes on with the others; what is out of service already does not fail.
void Service::gpu_fails(Broken& broken)
{
  const Slice gpu = gpu_of(broken.outage);
  if ((scheduler_.down_on(gpu.node) & gpu.gpus) != 0)
    return;
  broken.gpu = true;
  count(broken.outage, result_.failures);
  nodes_.break_gpus(gpu);
  go_down(gpu);
}

// A node that is found faulty in time: nothing starts there any more, and it is repaired when its
// jobs have ended.
void Service::drain(std::uint32_t which)
{
  const int node = outages_[which].outage.first;
  if (nodes_.is_out(node) || nodes_.in_maintenance(node) || scheduler_.drains(node))
    return;
  count(outages_[which].outage, result_.drained);
  scheduler_.drain(node);
  draining_.push_back(which);
  job_left();
}

void Service::job_left()
{
  std::erase_if(draining_, [this](std::uint32_t which) {
    Broken& broken = outages_[which];
    const int node = broken.outage.first;
    if (!scheduler_.is_down(node))
      return false;
    if (nodes_.break_node(node) == NodeStates::Broke::nothing)
      return true; // maintenance has come first, and repairs it
    broken.nodes.push_back(node);
    const Seconds length = broken.outage.repaired - broken.outage.time;
    broken.outage.time = scheduler_.now();
    events_.push({scheduler_.now() + length, Happens::repair, which, 0});
    replace();
    return true;
  });
}

// Those that hold some of these GPUs, but for those that hang.
std::vector<JobId> Service::jobs_on(const Slice& gpus) const
{
  std::vector<JobId> jobs;
  for (const Ending& ending : scheduler_.endings())
    if (!hurt_.hangs(ending.job) &&
        std::any_of(scheduler_.held(ending.job).begin(), scheduler_.held(ending.job).end(),
                    [&](const Slice& slice) {
                      return slice.node == gpus.node && (slice.gpus & gpus.gpus) != 0;
                    }))
      jobs.push_back(ending.job);
  return jobs;
}

// Nodes go out of service; a job that is still there keeps its work and waits again. Spares do
// not take their place, and stay where they are when it is their turn. A reservation leaves those
// that run.
void Service::open_window(const Window& window)
{
  if (!window.is_maintenance())
    return;
  for (int node = window.first; node < window.first + window.nodes; ++node) {
    if (!nodes_.enter_window(node))
      continue;
    const Slice all{node, scheduler_.every_gpu()};
    const bool foreseen = scheduler_.free().on(node) == all.gpus;
    if (foreseen)
      foreseen_.insert(node);
    for (const JobId id : jobs_on(all))
      hurt_.preempt(id);
    scheduler_.set_down(all, true, foreseen);
    scheduler_.take_from_waiting(all);
    ledger_.set_nodes_out(ledger_.nodes_out() + 1);
  }
}

void Service::close_window(const Window& window)
{
  --windows_left_;
  if (!window.is_maintenance()) {
    scheduler_.set_grew(true); // for those who could not have its nodes
    return;
  }
  for (int node = window.first; node < window.first + window.nodes; ++node)
    if (nodes_.leave_window(node)) {
      if (setting_.history)
        result_.down.push_back({node, window.from, scheduler_.now()});
      come_back(node, foreseen_.erase(node) > 0);
    }
}

// Into service where nodes are missing, else as a spare; not before maintenance is over.
void Service::come_back(int node, bool foreseen)
{
  if (nodes_.in_maintenance(node))
    return;
  if (ledger_.nodes_out() > 0) {
    ledger_.set_nodes_out(ledger_.nodes_out() - 1);
    into_service(node, foreseen);
  } else {
    nodes_.stand_by(node);
  }
}

void Service::into_service(int node, bool foreseen)
{
  const GpuBits broken = nodes_.broken_gpus(node);
  scheduler_.set_down({node, scheduler_.every_gpu() & ~broken}, false, foreseen && broken == 0);
}

void Service::go_down(const Slice& gpus)
{
  const std::vector<JobId> hurt = jobs_on(gpus);
  scheduler_.set_down(gpus, true);
  scheduler_.take_from_waiting(gpus);
  for (const JobId id : hurt)
    hurt_.interrupt(id);
}

// A node in service went down; a spare one takes its place.
void Service::replace()
{
  const std::optional<int> spare = nodes_.call_spare();
  const bool cold = setting_.spare_start > Seconds(0);
  if (spare && !cold) {
    into_service(*spare);
    return;
  }
  ledger_.set_nodes_out(ledger_.nodes_out() + 1);
  if (spare)
    events_.push({scheduler_.now() + setting_.spare_start, Happens::spare,
                  static_cast<std::uint32_t>(*spare), nodes_.start(*spare)});
}

void Service::repaired(std::uint32_t which)
{
  if (outages_[which].gpu) {
    const Slice gpu = gpu_of(outages_[which].outage);
    nodes_.repair_gpus(gpu);
    if (!nodes_.is_out(gpu.node) && !nodes_.in_maintenance(gpu.node) &&
        !scheduler_.drains(gpu.node))
      scheduler_.set_down(gpu, false);
  }
  for (const int node : outages_[which].nodes) {
    nodes_.repair(node);
    if (setting_.history)
      result_.down.push_back({node, outages_[which].outage.time, scheduler_.now()});
    come_back(node);
  }
}

} // namespace foretrain::models::fleet
