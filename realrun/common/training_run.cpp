#include "realrun/common/training_run.hpp"

#include "realrun/common/clock.hpp"
#include "realrun/common/machine.hpp"
#include "realrun/common/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>

namespace foretrain::realrun {

namespace {
constexpr int kFewestSteps = 5;
constexpr int kMostSteps = 100000;
} // namespace

int agree_on_steps(World& world, const Settings& settings, std::span<const double> warmup_s)
{
  if (settings.steps > 0)
    return settings.steps;
  const double step = std::max(summarise(warmup_s).mean, 1e-7);
  const double fitting = std::min(settings.seconds.value() / step, 1e6);
  const int steps = std::clamp(static_cast<int>(fitting), kFewestSteps, kMostSteps);
  return std::stoi(world.broadcast(std::to_string(steps)));
}

void run_repetition(World& world, const Settings& settings, Recorder& recorder,
                    const std::function<StepDone(Recorder*)>& step)
{
  recorder.next_repetition();
  std::vector<double> warmup_s;
  for (int i = 0; i < settings.warmup; ++i) {
    const StepDone done = step(nullptr);
    warmup_s.push_back(done.seconds);
    recorder.add("warmup_loss", "1", done.loss);
  }
  const int steps = agree_on_steps(world, settings, warmup_s);
  world.barrier();
  const double cpu = process_cpu_s();
  const double start = now_s();
  for (int i = 0; i < steps; ++i)
    step(&recorder);
  const double elapsed = now_s() - start;
  recorder.add("throughput", "sample/s",
               static_cast<double>(steps) * settings.batch * world.size() / elapsed);
  recorder.add("steps", "1", steps);
  recorder.add("cpu_time_per_step", "s", (process_cpu_s() - cpu) / steps);
}

Record begin_training_record(const CommandLine& line, const Model& model, const Program& program,
                             const char* program_name)
{
  Record record = begin_record("training", line.settings.name, program_name, line.words);
  record.settings = to_json(line.settings);
  record.settings["precision"] = model.precision;
  record.settings["parameters"] = program.parameter_count;
  record.settings["flop_per_sample"] = program.flop_per_sample();
  record.settings.update(line.labels);
  record.model = to_json(model);
  return record;
}

void finish_training_record(World& world, const CommandLine& line, Record record,
                            Recorder& recorder, double started_s)
{
  std::vector<Series> mine;
  if (!world.is_root()) {
    for (Series series : recorder.series())
      if (series.labels.empty()) {
        series.labels["rank"] = world.rank();
        mine.push_back(std::move(series));
      }
  }
  const auto all = world.gather(pack(mine));
  if (!world.is_root())
    return;
  for (const auto& text : all)
    recorder.append(unpack(text));
  record.series = recorder.series();
  record.duration_s = now_s() - started_s;
  write_record(record, line.settings.out, std::cout);
}

int compare_gradients(World& world, std::span<const float> ranks, std::span<const float> alone,
                      double tolerance)
{
  double difference = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const double a = static_cast<double>(ranks[i]);
    const double b = static_cast<double>(alone[i]);
    difference += (a - b) * (a - b);
    size += b * b;
  }
  double relative = std::sqrt(difference) / std::max(std::sqrt(size), 1e-30);
  if (!std::isfinite(relative))
    relative = std::numeric_limits<double>::max();
  const bool agree = relative <= tolerance;
  double worst = 0.0;
  bool all_agree = true;
  for (const auto& text : world.all_gather(Json(relative).dump() + (agree ? " y" : " n"))) {
    worst = std::max(worst, std::stod(text));
    all_agree = all_agree && text.back() == 'y';
  }
  if (world.is_root())
    std::cout << "gradients of " << world.size() << (world.size() == 1 ? " rank " : " ranks ")
              << (all_agree ? "agree" : "DISAGREE")
              << " with one rank on the whole batch: relative difference " << relative
              << " (rank 0), " << worst << " (worst), tolerance " << tolerance << "\n";
  return all_agree ? 0 : 1;
}

} // namespace foretrain::realrun
