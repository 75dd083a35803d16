#include "experiments/run/limits/lever_sets.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace foretrain::experiments {

namespace {

constexpr double kFelt = 0.01; // of throughput, or of a step: what is worth a word
constexpr std::size_t kMost = 6;
constexpr int kLargest = 3;

// By place among the levers that are missed.
using Members = unsigned;

// Those, by place in levers(), that some job misses when all others are doubled; in their order.
std::vector<std::size_t> missed_levers(const ResolvedExperiment& experiment,
                                       const RunOptions& options, const std::function<void()>& done)
{
  std::vector<const Lever*> all;
  for (const Lever& lever : levers())
    all.push_back(&lever);
  const auto with_all = throughputs_with(experiment, all, 2, options);
  std::vector<std::pair<double, std::size_t>> missed; // what is lost, lever
  for (std::size_t k = 0; k < all.size(); ++k) {
    std::vector<const Lever*> others = all;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
    const auto lost = gains_over(throughputs_with(experiment, others, 2, options), with_all);
    if (const double most = *std::max_element(lost.begin(), lost.end()); most > kFelt)
      missed.emplace_back(-most, k);
    done();
  }
  std::stable_sort(missed.begin(), missed.end());
  std::vector<std::size_t> most_missed;
  for (std::size_t k = 0; k < std::min(kMost, missed.size()); ++k)
    most_missed.push_back(missed[k].second);
  std::sort(most_missed.begin(), most_missed.end());
  return most_missed;
}

// What the better of two parts of a set, pulled one by one, save together at most.
double saved_by_parts(Members set, std::size_t job,
                      const std::map<Members, std::vector<double>>& gains)
{
  double most = 0;
  for (Members part = (set - 1) & set; part != 0; part = (part - 1) & set)
    most = std::max(most, std::max(0.0, saved_by(gains.at(part)[job])) +
                              std::max(0.0, saved_by(gains.at(set ^ part)[job])));
  return most;
}

} // namespace

std::vector<std::vector<LeverSet>> sets_that_help(const ResolvedExperiment& experiment,
                                                  const std::vector<double>& base,
                                                  const std::vector<std::vector<double>>& doubled,
                                                  const RunOptions& options,
                                                  const std::function<void()>& done)
{
  const auto missed = missed_levers(experiment, options, done);
  std::map<Members, std::vector<double>> gains;
  for (std::size_t k = 0; k < missed.size(); ++k)
    gains[1U << k] = doubled[missed[k]];
  std::vector<std::vector<LeverSet>> sets(base.size());
  for (int size = 2; size <= kLargest; ++size)
    for (Members set = 1; set < 1U << missed.size(); ++set) {
      if (std::popcount(set) != size)
        continue;
      std::vector<const Lever*> pulled;
      for (std::size_t k = 0; k < missed.size(); ++k)
        if ((set >> k & 1U) != 0)
          pulled.push_back(&levers()[missed[k]]);
      const auto& gained = gains[set] =
          gains_over(base, throughputs_with(experiment, pulled, 2, options));
      done();
      for (std::size_t i = 0; i < base.size(); ++i) {
        const double surplus = saved_by(gained[i]) - saved_by_parts(set, i, gains);
        if (surplus > kFelt)
          sets[i].push_back({pulled, gained[i], surplus});
      }
    }
  for (auto& of_job : sets)
    std::stable_sort(of_job.begin(), of_job.end(),
                     [](const LeverSet& a, const LeverSet& b) { return a.surplus > b.surplus; });
  return sets;
}

} // namespace foretrain::experiments
