#include "models/training_job.hpp"

#include "models/fetch.hpp"
#include "models/paces.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace foretrain::models {

using sim::TaskId;

namespace {
// For each batch that the input is ahead: so long it lasts when others take a tenth of the rate.
constexpr int kStepsToSettle = 10;
// Tasks and edges of communication that are as many with any number of ranks.
constexpr std::size_t kRoom = 65536;

} // namespace

JobSchedule schedule_of(const JobSetup& setup)
{
  return {setup.name,           static_cast<double>(setup.batch) * setup.ranks,
          setup.seed,           setup.warmup_steps,
          setup.measured_steps, setup.start,
          setup.measure_from,   setup.keep_running,
          setup.on_step};
}

TrainingJob::TrainingJob(sim::Engine& engine, JobSetup setup)
    : Job(engine, schedule_of(setup)), setup_(std::move(setup)),
      graph_(engine, "job " + setup_.name), cycles_(setup_.seed, setup_.stream + "/cycles"),
      coordination_(setup_.framework, setup_.ranks)
{
  for (int rank = 0; rank < setup_.ranks; ++rank)
    random_.emplace_back(setup_.seed, setup_.stream, static_cast<std::uint64_t>(rank));
  paces_ = paces(setup_.ranks, setup_.speed_variation,
                 sim::RandomStream(setup_.seed, setup_.stream + "/paces"));
  if (setup_.compute_paths.empty())
    for (const sim::ResourceId gpu : setup_.compute)
      setup_.compute_paths.push_back(sim::make_path({{gpu.value, 1.0}}, {}, 1.0));
  for (auto& stages : setup_.input)
    input_.push_back(std::make_unique<InputPipeline>(engine, std::move(stages)));
  setup_.input = {};
  build();
}

void TrainingJob::build()
{
  const bool communicates = setup_.synchroniser != nullptr;
  Seconds done;
  if (communicates)
    for (const Bucket& bucket : setup_.buckets) {
      stretches_.push_back(std::max(Seconds(0), bucket.ready - done));
      done = std::max(done, bucket.ready);
    }
  stretches_.push_back(std::max(Seconds(0), setup_.profile.backward() - done));
  if (communicates)
    for (std::size_t b = 0; b < setup_.buckets.size(); ++b)
      bucket_ready_.push_back(graph_.add_join("gradients ready", static_cast<int>(b)));
  synchronised_ = graph_.add_join("synchronised");
  if (communicates)
    build_communication();
  else
    passes_ = {setup_.profile.forward()};
  const auto ranks = static_cast<std::size_t>(setup_.ranks);
  graph_.reserve(ranks * (2 + passes_.size() + stretches_.size()) + kRoom,
                 ranks * (2 + 2 * passes_.size() + 2 * stretches_.size()) + kRoom);
  const int before = graph_.size();
  first_rank_ = build_rank(0);
  tasks_per_rank_ = graph_.size() - before;
  for (int rank = 1; rank < setup_.ranks; ++rank)
    build_rank(rank);
}

// A GPU alone limits its kernels by itself; where host cores take part it is worth knowing.
bool TrainingJob::keeps_limits(int rank) const
{
  return setup_.keep_limits ||
         !setup_.compute_paths[static_cast<std::size_t>(rank)]->held.uses.empty();
}

TaskId TrainingJob::add_compute(const char* what, int rank, Seconds time)
{
  const auto& path = setup_.compute_paths[static_cast<std::size_t>(rank)];
  const TaskId task = graph_.add_flow(what, rank, path, time.value());
  if (keeps_limits(rank))
    graph_.keep_limits(task);
  return task;
}

// Whoever fetches variables waits layer by layer.
void TrainingJob::build_forward(int rank, RankTasks& tasks)
{
  for (std::size_t k = 0; k < passes_.size(); ++k) {
    const TaskId stretch = add_compute("forward", rank, passes_[k]);
    if (k > 0)
      graph_.add_edge(tasks.forward.back(), stretch);
    if (!fetched_.empty())
      graph_.add_edge(fetched_[k], stretch);
    tasks.forward.push_back(stretch);
  }
}

TrainingJob::RankTasks TrainingJob::build_rank(int rank)
{
  RankTasks tasks;
  build_forward(rank, tasks);
  if (!input_.empty()) {
    tasks.input = graph_.add_foreign("batch", rank, [this, rank](std::function<void()> got) {
      input_[static_cast<std::size_t>(rank)]->fetch(std::move(got));
    });
    graph_.add_edge(tasks.input, tasks.forward.front());
  }
  TaskId previous = tasks.forward.back();
  for (std::size_t k = 0; k < stretches_.size(); ++k) {
    const bool last = k + 1 == stretches_.size();
    if (stretches_[k].value() > 0) {
      const TaskId stretch = add_compute("backward", rank, stretches_[k]);
      graph_.add_edge(previous, stretch);
      previous = stretch;
    }
    tasks.backward.push_back(previous);
    if (!last && setup_.framework.overlap != Overlap::none)
      graph_.add_edge(previous, bucket_ready_[k]);
  }
  if (setup_.framework.overlap == Overlap::none)
    for (const TaskId ready : bucket_ready_)
      graph_.add_edge(previous, ready);
  graph_.add_edge(previous, synchronised_);
  tasks.optimizer = add_compute("optimizer", rank, setup_.profile.optimizer);
  graph_.add_edge(synchronised_, tasks.optimizer);
  return tasks;
}

// The ranks agree that a bucket is ready everywhere; then it is gathered into the fusion buffer.
TaskId TrainingJob::agreement(std::size_t bucket, TaskId ready)
{
  const TaskId agreed =
      graph_.add_delay("coordination", static_cast<int>(bucket), [this](Seconds now) {
        return coordination_.wait(now - step_start(), cycle_phase_);
      });
  graph_.add_edge(ready, agreed);
  return agreed;
}

void TrainingJob::build_communication()
{
  const Framework& f = setup_.framework;
  Synchroniser& synchroniser = *setup_.synchroniser;
  TaskId previous;
  for (std::size_t b = 0; b < setup_.buckets.size(); ++b) {
    const Bucket& bucket = setup_.buckets[b];
    const int label = static_cast<int>(b);
    TaskId begin = graph_.add_join("synchronisation begins", label);
    graph_.add_edge(agreement(b, bucket_ready_[b]), begin);
    if (previous && synchroniser.in_order())
      graph_.add_edge(previous, begin);
    bucket_begin_.push_back(begin);
    const bool copies = f.fusion_copies && bucket.tensors > 1 && setup_.fusion_copy.value() > 0;
    const auto copy = [&](const char* what, TaskId after) {
      if (!copies)
        return after;
      const TaskId task = graph_.add_delay(what, label, bucket.size / setup_.fusion_copy);
      graph_.add_edge(after, task);
      return task;
    };
    begin = copy("into fusion buffer", begin);
    const bool announced = setup_.stolen_by_communication > 0 || !setup_.shaped.empty();
    if (announced) {
      const TaskId announce =
          graph_.add_delay("collective begins", label, [this, size = bucket.size](Seconds) {
            collective_begins(size);
            return Seconds(0);
          });
      graph_.add_edge(begin, announce);
      begin = announce;
    }
    TaskId end = synchroniser.add(graph_, begin, bucket.size, label, setup_.fidelity, flows_);
    if (announced) {
      const TaskId release = graph_.add_delay("collective ends", label, [this](Seconds) {
        collective_ends();
        return Seconds(0);
      });
      graph_.add_edge(end, release);
      end = release;
    }
    end = copy("out of fusion buffer", end);
    bucket_end_.push_back(end);
    graph_.add_edge(end, synchronised_);
    previous = end;
  }
  cut_forward(synchroniser.fetch(graph_, setup_.fidelity, flows_));
}

// Buckets are in the order of backward: the last one's variables are needed first.
void TrainingJob::cut_forward(const std::vector<TaskId>& fetched)
{
  Seconds done;
  passes_.clear();
  if (!fetched.empty()) {
    const std::vector<Seconds> points = needed_at(setup_.buckets, setup_.profile);
    for (std::size_t b = fetched.size(); b-- > 0;) {
      const bool first = fetched_.empty();
      if (first || points[b] > done) {
        if (!first) {
          passes_.push_back(points[b] - done);
          done = points[b];
        }
        fetched_.push_back(graph_.add_join("layer has its variables", static_cast<int>(b)));
      }
      graph_.add_edge(fetched[b], fetched_.back());
    }
  }
  passes_.push_back(setup_.profile.forward() - done);
}

void TrainingJob::collective_begins(Bytes size)
{
  if (setup_.stolen_by_communication > 0)
    hold_multiprocessors(true);
  for (const ShapedLink& link : setup_.shaped)
    link.bucket->begin(size.value() * link.units_per_byte);
}

void TrainingJob::collective_ends()
{
  if (setup_.stolen_by_communication > 0)
    hold_multiprocessors(false);
  for (const ShapedLink& link : setup_.shaped)
    link.bucket->end();
}

// The blocks of a collective occupy multiprocessors for as long as it runs.
void TrainingJob::hold_multiprocessors(bool hold)
{
  collectives_running_ += hold ? 1 : -1;
  const double left = collectives_running_ > 0 ? 1 - setup_.stolen_by_communication : 1.0;
  for (const sim::ResourceId gpu : setup_.compute)
    engine().set_capacity(gpu, left);
}

void TrainingJob::before_first_step()
{
  for (const auto& pipeline : input_)
    pipeline->start();
}

int TrainingJob::settling_steps() const
{
  int steps = 0;
  if (!input_.empty())
    for (const InputPipeline::StageUse& use : input_.front()->uses())
      steps += kStepsToSettle * use.stage->room;
  return steps;
}

void TrainingJob::begin_measuring()
{
  graph_.clear_limits();
  for (const auto& pipeline : input_)
    pipeline->clear();
}

void TrainingJob::run_step(std::function<void()> done)
{
  const auto before = extra_step() ? std::pair(random_, cycles_)
                                   : std::pair(std::vector<sim::RandomStream>{}, cycles_);
  cycle_phase_ = cycles_.uniform();
  for (std::size_t r = 0; r < random_.size(); ++r) {
    const double factor = paces_[r] * random_[r].spread(setup_.framework.step_variation);
    for (std::size_t k = 0; k < passes_.size(); ++k)
      graph_.set_amount(of_rank(first_rank_.forward[k], r), factor * passes_[k].value());
    for (std::size_t k = 0; k < stretches_.size(); ++k)
      if (stretches_[k].value() > 0)
        graph_.set_amount(of_rank(first_rank_.backward[k], r), factor * stretches_[k].value());
  }
  if (extra_step())
    std::tie(random_, cycles_) = before;
  graph_.start([this, done = std::move(done)]() mutable {
    // Host work of the framework that no kernel hides.
    engine().after(setup_.framework.step_overhead, std::move(done));
  });
}

} // namespace foretrain::models
