#include "experiments/run/limits/tight_links.hpp"

#include <array>
#include <bit>
#include <map>

namespace foretrain::experiments {

namespace {

constexpr double kLittle = 0.01; // of throughput
constexpr std::array kLinks = {"nvlink", "pcie", "fabric", "nic", "memory"};

using Members = unsigned; // of kLinks, by place

std::vector<const Lever*> levers_of(Members members)
{
  std::vector<const Lever*> of;
  for (std::size_t k = 0; k < kLinks.size(); ++k)
    if ((members >> k & 1U) != 0)
      of.push_back(lever_named(kLinks[k]));
  return of;
}

} // namespace

std::vector<std::optional<TightLinks>> tight_links(const ResolvedExperiment& experiment,
                                                   const std::vector<double>& base,
                                                   const std::vector<bool>& asked,
                                                   const RunOptions& options)
{
  std::map<Members, std::vector<double>> runs;
  const auto gain = [&](Members members, std::size_t job) {
    auto& gains = runs[members];
    if (gains.empty())
      gains = gains_over(base, throughputs_with(experiment, levers_of(members), 2, options));
    return gains[job];
  };
  std::vector<std::optional<TightLinks>> tight(base.size());
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (!asked[i])
      continue;
    Members needed = (1U << kLinks.size()) - 1;
    const double all = gain(needed, i);
    for (std::size_t k = 0; k < kLinks.size(); ++k)
      if (const Members fewer = needed & ~(1U << k); gain(fewer, i) > all - kLittle)
        needed = fewer;
    if (std::popcount(needed) < 2)
      continue;
    tight[i] = TightLinks{levers_of(needed), {}, gain(needed, i)};
    double one_by_one = 0;
    for (std::size_t k = 0; k < kLinks.size(); ++k)
      if ((needed >> k & 1U) != 0) {
        tight[i]->alone.push_back(gain(1U << k, i));
        one_by_one += saved_by(tight[i]->alone.back());
      }
    if (saved_by(tight[i]->gain) <= one_by_one + kLittle) // each has a part of the step to itself
      tight[i].reset();
  }
  return tight;
}

} // namespace foretrain::experiments
