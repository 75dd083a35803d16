#include "experiments/cli/sweep_note.hpp"

#include "experiments/run/keep/result_json.hpp"
#include "sim/base/version.hpp"

#include <unistd.h>

namespace foretrain::cli {

using namespace experiments;

namespace {

constexpr std::chrono::milliseconds kBetweenPoints{100};
constexpr std::chrono::milliseconds kBetweenNotes{1000};

std::string this_host()
{
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "?";
}

} // namespace

SweepNote::SweepNote(ResultStore& store, const LoadedExperiment& experiment,
                     const PredictOptions& options)
    : store_(store), blank_{"",           experiment.spec.name,      version(),
                            options.seed, word_of(options.fidelity), {}}
{
  run_.experiment = experiment.spec.name;
  run_.answer = written(answer_head(experiment, options)).dump();
  run_.points = static_cast<std::int64_t>(experiment.points.size());
  run_.host = this_host();
  run_.process = getpid();
  number_ = store_.begin(run_);
}

void SweepNote::watch(PredictOptions& options)
{
  options.keeper.at = [this](std::size_t position, const std::string& key) {
    members_.emplace_back(position, key);
  };
  options.keeper.put = [this](const std::string& key, const Json& point) {
    points_.push_back(blank_);
    points_.back().key = key;
    points_.back().result = point;
    ++(point.contains("error") ? run_.failed : run_.done);
    tell();
  };
  if (options.keeper.find)
    options.keeper.find = [this, find = options.keeper.find](const std::string& key) {
      ++run_.known;
      tell();
      return find(key);
    };
  options.keeper.idle = [this] {
    if (!members_.empty())
      write();
  };
}

void SweepNote::end(const ExperimentResult& answer)
{
  run_.answer = written(ExperimentResult{answer.experiment,
                                         answer.description,
                                         answer.version,
                                         answer.seed,
                                         answer.fidelity,
                                         answer.input,
                                         answer.warnings,
                                         answer.comparisons,
                                         {},
                                         answer.interrupted})
                    .dump();
  run_.ended = run_.done + run_.known + run_.failed >= run_.points;
  write();
}

void SweepNote::tell()
{
  const auto now = Clock::now();
  if (now >= next_note_)
    write();
  else if (now >= next_points_)
    write_points();
}

void SweepNote::write_points()
{
  next_points_ = Clock::now() + kBetweenPoints;
  store_.put(points_);
  points_.clear();
}

// A note about a point comes after the point: who reads between the two finds no hole.
void SweepNote::write()
{
  next_note_ = Clock::now() + kBetweenNotes;
  write_points();
  store_.enrol(number_, members_);
  members_.clear();
  store_.update(number_, run_);
}

} // namespace foretrain::cli
