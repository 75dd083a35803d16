#include "models/program_job.hpp"

#include "models/limits.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::models {

namespace {

constexpr sim::Phase kExchanges[] = {sim::Phase::tensor, sim::Phase::context, sim::Phase::pipeline,
                                     sim::Phase::expert, sim::Phase::data};

std::size_t at(sim::Phase phase)
{
  return static_cast<std::size_t>(phase);
}

bool moves(const sim::Operation& op)
{
  return (op.kind == sim::WorkKind::collective || op.kind == sim::WorkKind::transfer) &&
         op.amount > 0;
}

// Devices that do the same wait for the slowest of them, step by step. Beyond so many, more draws
// hardly move the largest: that of n normal draws grows with the root of 2 ln n.
constexpr int kMostDraws = 512;

double slowest_of(sim::RandomStream& random, int devices, double variation)
{
  if (variation <= 0)
    return 1;
  double slowest = random.spread(variation);
  for (int i = 1; i < std::min(devices, kMostDraws); ++i)
    slowest = std::max(slowest, random.spread(variation));
  return slowest;
}

} // namespace

ProgramJob::ProgramJob(sim::Engine& engine, JobSchedule schedule,
                       std::shared_ptr<const WorkPlan> plan, std::unique_ptr<JobMachine> machine,
                       bool keep_limits)
    : Job(engine, std::move(schedule)), plan_(std::move(plan)), machine_(std::move(machine)),
      executor_(engine, plan_->program, *machine_), stretch_(plan_->program.ranks.size(), 1.0)
{
  for (std::size_t rank = 0; rank < stretch_.size(); ++rank)
    random_.emplace_back(this->schedule().seed, this->schedule().name,
                         static_cast<std::uint64_t>(rank));
  if (!keep_limits)
    return;
  const auto& operations = plan_->program.operations;
  for (int i = 0; i < static_cast<int>(operations.size()); ++i)
    if (operations[static_cast<std::size_t>(i)].kind == sim::WorkKind::compute) {
      kernels_.push_back(executor_.task_of({i}));
      executor_.graph().keep_limits(kernels_.back());
    }
}

void ProgramJob::before_first_step()
{
  for (const auto& pipeline : machine_->input())
    pipeline->start();
}

void ProgramJob::begin_measuring()
{
  executor_.graph().clear_limits();
  for (const auto& pipeline : machine_->input())
    pipeline->clear();
}

void ProgramJob::run_step(std::function<void()> done)
{
  for (std::size_t rank = 0; rank < stretch_.size(); ++rank)
    stretch_[rank] =
        slowest_of(random_[rank], plan_->program.ranks[rank].stands_for, plan_->step_variation);
  executor_.start(stretch_, std::move(done));
}

StepTimes ProgramJob::account(Seconds start, Seconds end)
{
  const sim::StepShares shares = sim::shares_of(executor_, start, end);
  sums_.add(shares);
  ++accounted_;
  StepTimes times;
  for (std::size_t phase = 0; phase < shares.busy.size(); ++phase)
    times.compute += shares.busy[phase];
  times.recompute = shares.busy[at(sim::Phase::recompute)];
  times.compute = times.compute - times.recompute;
  for (const Seconds part : shares.exposed)
    times.exposed_communication += part;
  times.input_stall = shares.input;
  times.host_to_device = shares.offload;
  times.straggler_wait = shares.straggler;
  times.framework = shares.framework;
  times.bubble = shares.bubble;
  return times;
}

std::vector<sim::LimitedBy> ProgramJob::communication_limits() const
{
  std::vector<sim::LimitedBy> sums;
  for (const sim::TaskId flow : executor_.flows())
    add_limits(sums, executor_.graph().limits(flow));
  return longest_first(std::move(sums));
}

std::vector<sim::LimitedBy> ProgramJob::compute_limits() const
{
  std::vector<sim::LimitedBy> sums;
  for (const sim::TaskId task : kernels_)
    add_limits(sums, executor_.graph().limits(task));
  return longest_first(std::move(sums));
}

std::vector<sim::LimitedBy> ProgramJob::all_limits() const
{
  std::vector<sim::LimitedBy> sums = communication_limits();
  add_limits(sums, compute_limits());
  for (const auto& pipeline : machine_->input())
    for (const InputPipeline::StageUse& use : pipeline->uses())
      add_limits(sums, use.limits);
  return longest_first(std::move(sums));
}

const std::vector<std::unique_ptr<InputPipeline>>& ProgramJob::input() const
{
  return machine_->input();
}

std::string ProgramJob::exchange() const
{
  const auto& operations = plan_->program.operations;
  return std::any_of(operations.begin(), operations.end(), moves) ? "exchanges between GPUs" : "";
}

std::string ProgramJob::exchange_summary() const
{
  return machine_->exchange_summary(plan_->program);
}

Bytes ProgramJob::mean_exchange() const
{
  Bytes sum;
  double count = 0;
  for (const sim::Operation& op : plan_->program.operations)
    if (moves(op)) {
      sum += Bytes(op.amount);
      count += 1;
    }
  return sum / std::max(1.0, count);
}

std::vector<ExposedPart> ProgramJob::exposed_by_group() const
{
  std::vector<ExposedPart> parts;
  for (const sim::Phase phase : kExchanges)
    parts.push_back({sim::name_of(phase),
                     sums_.exposed[at(phase)] / static_cast<double>(std::max(1, accounted_))});
  return parts;
}

std::vector<Job::Interval> ProgramJob::last_step() const
{
  const sim::Program& program = plan_->program;
  std::vector<Interval> intervals;
  for (int i = 0; i < static_cast<int>(program.operations.size()); ++i) {
    const sim::Operation& op = program.operations[static_cast<std::size_t>(i)];
    const Seconds begin = executor_.started({i});
    const Seconds end = executor_.finished({i});
    const auto show = [&](int rank, const char* stream, Seconds from, int group = 0) {
      intervals.push_back({rank, moves(op) ? machine_->call(op) : program.name_of(op), stream, from,
                           end, moves(op) ? Bytes(op.amount) : Bytes(0), group});
    };
    if (moves(op) && op.kind == sim::WorkKind::collective) {
      // The kernel of a rank that is early runs until the others have come.
      const sim::WorkGroup& group = program.groups[static_cast<std::size_t>(op.group)];
      for (const int rank : group.ranks)
        show(rank, "communication", executor_.arrived({i}, rank),
             static_cast<int>(group.devices.front().size()));
    } else if (moves(op))
      show(op.rank, "communication", begin, 2);
    else if (op.kind == sim::WorkKind::fetch)
      show(op.rank, "input", begin);
    else if (op.kind != sim::WorkKind::join && end > begin)
      show(op.rank, op.kind == sim::WorkKind::compute ? "compute" : "host", begin);
  }
  return intervals;
}

int ProgramJob::shown_ranks() const
{
  return static_cast<int>(plan_->program.ranks.size());
}

} // namespace foretrain::models
