#include "models/training/program_job.hpp"

#include "models/training/limits.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

constexpr int kStepsWatched = 4; // at most, until the trend of each GPU's input is known
constexpr int kFollowed = 8;     // times that trends are followed; beyond, input never settles

constexpr std::size_t kRanksDrawn = 64; // beyond, timelines show a collective once

constexpr sim::Phase kExchanges[] = {sim::Phase::tensor, sim::Phase::context, sim::Phase::pipeline,
                                     sim::Phase::expert, sim::Phase::data};

std::size_t at(sim::Phase phase)
{
  return static_cast<std::size_t>(phase);
}

bool moves(const sim::Operation& op)
{
  return (op.kind == sim::WorkKind::collective || op.kind == sim::WorkKind::transfer ||
          op.kind == sim::WorkKind::synchronise) &&
         op.amount > 0;
}

int devices_of(const sim::Program& program)
{
  int devices = 0;
  for (const sim::WorkRank& rank : program.ranks)
    devices += rank.stands_for;
  return devices;
}

} // namespace

ProgramJob::ProgramJob(sim::Engine& engine, JobSchedule schedule,
                       std::shared_ptr<const WorkPlan> plan, std::unique_ptr<JobMachine> machine,
                       const ProgramSetup& setup)
    : Job(engine, std::move(schedule)), plan_(std::move(plan)), machine_(std::move(machine)),
      order_(plan_->program), dates_(plan_->program, order_), in_step_(setup.in_step),
      draws_(in_step_ ? devices_of(plan_->program) : 1, plan_->step_variation,
             setup.speed_variation, this->schedule().seed, setup.stream),
      slowest_(plan_->program.ranks.size(), 1.0), mean_speed_(slowest_)
{
  const sim::Program& program = plan_->program;
  program.check();
  if (auto lengths = machine_->undisturbed()) {
    undisturbed_ = std::move(*lengths);
    for (int rank = 0; rank < static_cast<int>(program.ranks.size()); ++rank)
      devices_.push_back(machine_->compute(rank));
    return;
  }
  executor_ = std::make_unique<sim::Executor>(engine, program, order_, *machine_);
  std::vector<bool> kept;
  for (int rank = 0; rank < static_cast<int>(program.ranks.size()); ++rank)
    kept.push_back(setup.keep_limits || !machine_->compute(rank)->held.uses.empty());
  const auto keep = [&](KeptTasks& tasks, int operation) {
    const int rank = program.operations[static_cast<std::size_t>(operation)].rank;
    tasks.emplace_back(executor_->task_of({operation}),
                       program.ranks[static_cast<std::size_t>(rank)].stands_for);
    executor_->graph().keep_limits(tasks.back().first);
  };
  for (int i = 0; i < static_cast<int>(program.operations.size()); ++i)
    if (const sim::Operation& op = program.operations[static_cast<std::size_t>(i)];
        op.kind == sim::WorkKind::compute && kept[static_cast<std::size_t>(op.rank)])
      keep(kernels_, i);
    else if (op.kind == sim::WorkKind::offload && setup.keep_limits)
      keep(copies_, i);
}

void ProgramJob::before_first_step()
{
  for (const auto& pipeline : machine_->input())
    pipeline->start();
}

// Batches made ready before would last hundreds of steps where others take a part of the input's
// rate: queues that change are brought to where they tend, until none changes.
bool ProgramJob::settled()
{
  const auto& input = machine_->input();
  if (input.empty() || followed_ == kFollowed)
    return true;
  bool known = false;
  bool moved = false;
  if (watched_steps_ > 0) {
    const Seconds step = (engine().now() - watched_from_) / watched_steps_;
    known = std::all_of(input.begin(), input.end(),
                        [](const auto& pipeline) { return pipeline->steady(); });
    if (!known && watched_steps_ == kStepsWatched) {
      known = true;
      for (const auto& pipeline : input) {
        const int trend = pipeline->trend(step);
        pipeline->follow(trend);
        moved = moved || trend != 0;
      }
      followed_ += moved ? 1 : 0;
    }
  }
  if (watched_steps_ == 0 || known) {
    for (const auto& pipeline : input)
      pipeline->watch();
    watched_steps_ = 0;
    watched_from_ = engine().now();
  }
  ++watched_steps_;
  settled_ = known ? !moved : settled_;
  return settled_;
}

void ProgramJob::begin_measuring()
{
  if (executor_)
    executor_->graph().clear_limits();
  for (const auto& pipeline : machine_->input())
    pipeline->clear();
}

// Devices that a rank stands for do the same, and wait for the slowest of them.
void ProgramJob::draw()
{
  int device = 0;
  for (std::size_t rank = 0; rank < slowest_.size(); ++rank) {
    double slowest = 0;
    double sum = 0;
    const int devices = plan_->program.ranks[rank].stands_for;
    for (int i = 0; i < devices; ++i, ++device) {
      const double factor = draws_.factor(in_step_ ? device : 0, step());
      slowest = std::max(slowest, factor);
      sum += factor;
    }
    slowest_[rank] = slowest;
    mean_speed_[rank] = sum / devices / slowest;
  }
}

void ProgramJob::run_step(std::function<void()> done)
{
  draw();
  if (executor_)
    executor_->start(slowest_, draws_.cycle_phase(step()), std::move(done));
  else
    evaluate(std::move(done));
}

void ProgramJob::evaluate(std::function<void()> done)
{
  std::vector<Seconds> lengths = undisturbed_;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    if (const sim::Operation& op = plan_->program.operations[i]; sim::varies(op))
      lengths[i] = slowest_[static_cast<std::size_t>(op.rank)] * lengths[i];
  sim::evaluate(lengths, engine().now(), dates_);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    if (const sim::Operation& op = plan_->program.operations[i];
        op.kind == sim::WorkKind::compute) {
      const auto rank = static_cast<std::size_t>(op.rank);
      const double busy = sim::varies(op) ? mean_speed_[rank] : 1.0;
      engine().charge(*devices_[rank], busy * lengths[i].value());
    }
  engine().after(dates_.finished(dates_.last()) - engine().now(), std::move(done));
}

// Time in which devices wait for the copy of their batch, of the time that they wait for it.
Seconds ProgramJob::copies(Seconds start) const
{
  const auto& input = machine_->input();
  const sim::Program& program = plan_->program;
  Seconds sum;
  double devices = 0;
  for (const sim::WorkRank& rank : program.ranks)
    devices += rank.stands_for;
  for (int i = 0; !input.empty() && i < static_cast<int>(program.operations.size()); ++i) {
    const sim::Operation& op = program.operations[static_cast<std::size_t>(i)];
    if (op.kind != sim::WorkKind::fetch)
      continue;
    const auto rank = static_cast<std::size_t>(op.rank);
    const Seconds copied = std::min(dates_.finished({i}), input.at(rank)->copy_finished()) -
                           std::max(start, input.at(rank)->copy_started());
    sum += program.ranks[rank].stands_for / devices * std::max(Seconds(0), copied);
  }
  return sum;
}

StepTimes ProgramJob::account(Seconds start, Seconds end)
{
  if (executor_)
    executor_->tell(dates_);
  const sim::StepShares shares = sim::shares_of(dates_, start, end, mean_speed_);
  sums_.add(shares);
  ++accounted_;
  StepTimes times;
  for (std::size_t phase = 0; phase < shares.busy.size(); ++phase)
    times.compute += shares.busy[phase];
  times.recompute = shares.busy[at(sim::Phase::recompute)];
  times.compute = times.compute - times.recompute;
  for (const Seconds part : shares.exposed)
    times.exposed_communication += part;
  const Seconds copying = copies(start);
  times.input_stall = shares.input - copying;
  times.host_to_device = shares.offload + copying;
  times.straggler_wait = shares.straggler;
  times.framework = shares.framework;
  times.bubble = shares.bubble;
  return times;
}

std::vector<sim::LimitedBy> ProgramJob::communication_limits() const
{
  std::vector<sim::LimitedBy> sums;
  if (executor_)
    for (const sim::TaskId flow : executor_->flows())
      add_limits(sums, executor_->graph().limits(flow));
  return longest_first(std::move(sums));
}

std::vector<sim::LimitedBy> ProgramJob::limits_of(const KeptTasks& tasks) const
{
  std::vector<sim::LimitedBy> sums;
  for (const auto& [task, devices] : tasks)
    add_limits(sums, executor_->graph().limits(task), devices);
  return longest_first(std::move(sums));
}

std::vector<sim::LimitedBy> ProgramJob::compute_limits() const
{
  return limits_of(kernels_);
}

std::vector<sim::LimitedBy> ProgramJob::all_limits() const
{
  std::vector<sim::LimitedBy> sums = communication_limits();
  add_limits(sums, compute_limits());
  add_limits(sums, limits_of(copies_));
  const auto& input = machine_->input();
  for (std::size_t rank = 0; rank < input.size(); ++rank)
    for (const InputPipeline::StageUse& use : input[rank]->uses())
      add_limits(sums, use.limits, plan_->program.ranks[rank].stands_for);
  return longest_first(std::move(sums));
}

const std::vector<std::unique_ptr<InputPipeline>>& ProgramJob::input() const
{
  return machine_->input();
}

std::string ProgramJob::exchange() const
{
  return machine_->exchange();
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
      sum += Bytes(op.calls * op.amount);
      count += op.calls;
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
    const Seconds begin = dates_.started({i});
    const Seconds end = dates_.finished({i});
    const auto show = [&](int rank, const char* stream, Seconds from, int group = 0) {
      intervals.push_back({rank, moves(op) ? machine_->call(op) : program.name_of(op), stream, from,
                           end, moves(op) ? op.calls * Bytes(op.amount) : Bytes(0), group});
    };
    if (moves(op) && sim::of_group(op)) {
      // The kernel of a rank that is early runs until the others have come.
      const sim::WorkGroup& group = program.groups[static_cast<std::size_t>(op.group)];
      for (std::size_t r = 0; r < (group.ranks.size() <= kRanksDrawn ? group.ranks.size() : 1); ++r)
        show(group.ranks[r], "communication", dates_.arrived({i}, group.ranks[r]), group.members());
    } else if (moves(op))
      show(op.rank, "communication", begin, 2);
    else if (op.kind == sim::WorkKind::fetch)
      show(op.rank, "input", begin);
    else if (op.rank >= 0 && end > begin)
      show(op.rank, op.kind == sim::WorkKind::compute ? "compute" : "host", begin);
  }
  return intervals;
}

std::vector<std::string> ProgramJob::shown_ranks() const
{
  std::vector<std::string> names;
  for (const sim::WorkRank& rank : plan_->program.ranks)
    names.push_back(rank.stands_for == 1 ? fmt::format("gpu {}", rank.device)
                                         : fmt::format("gpus {} to {}", rank.device,
                                                       rank.device + rank.stands_for - 1));
  return names;
}

} // namespace foretrain::models
