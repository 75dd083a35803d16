#include "experiments/run/limits/gains.hpp"

#include "experiments/run/limits/other_algorithm.hpp"
#include "experiments/run/limits/pulled.hpp"
#include "experiments/run/limits/socket_remark.hpp"
#include "experiments/run/limits/tight_links.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr double kClearlyMore = 0.01;  // gain by which another lever must be ahead
constexpr double kClearlyWaits = 0.05; // part of the step that waits for exchanges
constexpr double kMore = 1e-9; // what levers that bring the same differ by; the first one is named

using Group = std::vector<const Lever*>;

class Doubled {
public:
  /// `named`: levers that are likely, because what the step waits for belongs to them.
  Doubled(const ResolvedExperiment& experiment, const RunOptions& options, Group named)
      : experiment_(experiment), options_(options),
        base_(throughputs_with(experiment, {}, 1, options)), most_(base_.size(), 0.0)
  {
    Group others;
    for (const Lever& lever : levers())
      if (std::find(named.begin(), named.end(), &lever) == named.end())
        others.push_back(&lever);
    for (const Lever* lever : named)
      halve({lever});
    halve(others);
  }

  const std::vector<double>& base() const { return base_; }
  /// 0 for what was not worth asking.
  double gain(const Lever* lever, std::size_t job) const
  {
    for (const auto& [of, gains] : gains_)
      if (of == lever)
        return gains[job];
    return 0;
  }
  const Lever* best(std::size_t job) const
  {
    const Lever* best = nullptr;
    for (const Lever& lever : levers())
      if (const double brings = gain(&lever, job);
          brings > kNoGain && (best == nullptr || brings > gain(best, job) + kMore))
        best = &lever;
    return best;
  }
  /// Other levers that bring as much, or nearly.
  std::vector<const Lever*> as_good_as(const Lever* lever, std::size_t job) const
  {
    std::vector<const Lever*> ties;
    for (const Lever& other : levers())
      if (&other != lever && gain(&other, job) > std::max(kNoGain, gain(lever, job) - kClearlyMore))
        ties.push_back(&other);
    return ties;
  }

private:
  // What brings clearly less together than the best so far brings alone holds no better one, unless
  // one of them costs, and hides what another brings.
  void halve(const Group& group)
  {
    std::vector<double> gains =
        gains_over(base_, throughputs_with(experiment_, group, 2, options_));
    bool more = false;
    for (std::size_t i = 0; i < gains.size(); ++i)
      more |= gains[i] > std::max(kNoGain, most_[i] - kClearlyMore) || gains[i] < -kNoGain;
    if (group.size() == 1) {
      for (std::size_t i = 0; i < gains.size(); ++i)
        most_[i] = std::max(most_[i], gains[i]);
      gains_.emplace_back(group.front(), std::move(gains));
      return;
    }
    if (!more)
      return;
    const auto middle = group.begin() + static_cast<std::ptrdiff_t>(group.size() / 2);
    halve({group.begin(), middle});
    halve({middle, group.end()});
  }

  const ResolvedExperiment& experiment_;
  const RunOptions& options_;
  std::vector<double> base_;
  std::vector<double> most_; // of any single lever so far, by job
  std::vector<std::pair<const Lever*, std::vector<double>>> gains_;
};

// The busiest resource that levers are about, else what people call them.
void name_instead(const Group& levers, const std::string& name, JobResult& job)
{
  job.bottleneck.resource = job.bottleneck.words = job.bottleneck.name = name;
  job.bottleneck.utilisation = 0;
  for (const ResourceUse& use : job.busiest)
    if (std::find(levers.begin(), levers.end(), lever_of(use.kind)) != levers.end()) {
      job.bottleneck.resource = use.resource;
      job.bottleneck.words = use.words;
      job.bottleneck.utilisation = use.utilisation;
      break;
    }
}

void add_ties(Bottleneck& bottleneck)
{
  for (const std::string& tie : bottleneck.ties)
    bottleneck.why += fmt::format("; {} would bring as much", tie);
}

// Jobs that wait for exchanges, where no single lever takes a third of what they wait away.
std::vector<bool> hardly_helped(const Doubled& doubled, const PointResult& result)
{
  std::vector<bool> asked;
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    const models::StepTimes& t = result.jobs[i].time;
    const double waits = t.exposed_communication / t.total();
    const Lever* best = doubled.best(i);
    const double gain = best != nullptr ? doubled.gain(best, i) : 0;
    asked.push_back(waits > kClearlyWaits && saved_by(gain) < waits / 3);
  }
  return asked;
}

// Links that hide each other are one limit.
void name_together(const TightLinks& links, JobResult& job)
{
  std::vector<std::string> names, better, alone;
  for (const Lever* lever : links.levers) {
    names.emplace_back(lever->name);
    better.emplace_back(lever->better);
  }
  for (const double gain : links.alone)
    alone.push_back(fmt::format("{:+.0f} %", 100 * gain));
  const std::string name = joined(names, " and ");
  name_instead(links.levers, name, job);
  Bottleneck& limit = job.bottleneck;
  limit.lever = links.levers.front();
  limit.tight = links.levers;
  limit.gain_if_doubled = links.gain;
  limit.doubled = joined(better, " and ");
  limit.open = false;
  limit.why = fmt::format("each hides what the other would bring: {:+.0f} % twice as fast "
                          "together, one by one {}; {}",
                          100 * links.gain, joined(alone, " and "), limit.why);
}

} // namespace

void add_gains(const ResolvedExperiment& experiment, const RunOptions& options, PointResult& result)
{
  Group awaited;
  for (const JobResult& job : result.jobs)
    if (const Lever* lever = job.bottleneck.lever;
        lever != nullptr && std::find(awaited.begin(), awaited.end(), lever) == awaited.end())
      awaited.push_back(lever);
  const Doubled doubled(experiment, options, awaited);
  const auto tight =
      tight_links(experiment, doubled.base(), hardly_helped(doubled, result), options);
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    JobResult& job = result.jobs[i];
    for (const auto remark : {&remark_algorithm, &remark_sockets})
      if (std::string said = remark(experiment, i, doubled.base()[i], options, job); !said.empty())
        result.warnings.push_back(std::move(said));
    const Lever* named = job.bottleneck.lever;
    const Lever* best = doubled.best(i);
    if (tight[i] && tight[i]->gain > (best != nullptr ? doubled.gain(best, i) : 0) + kClearlyMore) {
      name_together(*tight[i], job);
      continue;
    }
    const double own = named != nullptr ? doubled.gain(named, i) : 0;
    const bool stays = best == nullptr || doubled.gain(best, i) <= own + kClearlyMore;
    const Lever* limit = stays && named != nullptr ? named : best;
    job.bottleneck.gain_if_doubled = limit != nullptr ? std::max(0.0, doubled.gain(limit, i)) : 0;
    job.bottleneck.doubled = limit != nullptr ? limit->better : "";
    job.bottleneck.lever = limit;
    for (const Lever* tie : doubled.as_good_as(limit, i))
      job.bottleneck.ties.emplace_back(tie->better);
    if (stays) {
      if (job.bottleneck.open && limit != nullptr)
        job.bottleneck.name = limit->name;
      if (limit != nullptr && limit->key == std::string("connections") && own > kClearlyMore)
        job.bottleneck.why += ": more connections would help";
      add_ties(job.bottleneck);
      continue;
    }
    if (named != nullptr) // else it is a limit of its own, like threads that nobody can double
      name_instead({best}, best->name, job);
    job.bottleneck.why = fmt::format("{} would bring most, {:+.0f} %; {}", best->better,
                                     100 * *job.bottleneck.gain_if_doubled, job.bottleneck.why);
    add_ties(job.bottleneck);
  }
}

} // namespace foretrain::experiments
