#include "experiments/fleet/seed_workers.hpp"

#include "experiments/fleet/seed_bytes.hpp"
#include "experiments/run/workers.hpp"

#include <exception>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace foretrain::experiments {

using models::fleet::FleetResult;

namespace {

std::set<std::string> names_of(const Situations& situations)
{
  std::set<std::string> names;
  for (const auto& [name, rates] : situations)
    names.insert(name);
  return names;
}

} // namespace

std::optional<FleetResult> SeedRunner::find(int index) const
{
  const std::string name = kept != nullptr ? seeds.name(index) : "";
  return name.empty() ? std::nullopt : kept->find(name, table);
}

std::pair<FleetRun, Situations> SeedRunner::simulated(int index) const
{
  const std::set<std::string> before = names_of(table.known());
  FleetRun run = seeds.prepare(index);
  seeds.simulate(run, index);
  Situations learnt;
  for (const auto& entry : table.known())
    if (!before.contains(entry.first))
      learnt.insert(entry);
  const std::string name = kept != nullptr && !run.result.stopped ? seeds.name(index) : "";
  if (!name.empty())
    kept->keep(name, run.result, learnt);
  return {std::move(run), std::move(learnt)};
}

FleetRun SeedRunner::run(int index) const
{
  std::optional<FleetResult> result = find(index);
  if (!result)
    return simulated(index).first;
  FleetRun run = seeds.prepare(index);
  run.result = std::move(*result);
  return run;
}

std::vector<FleetRun> SeedRunner::run(const std::vector<int>& indices, int jobs,
                                      const std::function<void(int)>& progress) const
{
  std::map<int, FleetResult> results;
  std::vector<int> missing;
  for (const int index : indices)
    if (std::optional<FleetResult> result = find(index))
      results.emplace(index, std::move(*result));
    else
      missing.push_back(index);
  int ended = static_cast<int>(results.size());
  const auto index_of = [&missing](int i) { return missing[static_cast<std::size_t>(i)]; };
  const auto work = [&](int i) -> Outcome {
    try {
      const auto [run, learnt] = simulated(index_of(i));
      return {0, packed(run.result, learnt)};
    } catch (const std::exception& error) { // thrown again where the seed is simulated instead
      return {3, error.what()};
    }
  };
  const auto done = [&](int i, const Outcome& outcome) {
    if (outcome.status == 0)
      results.emplace(index_of(i), unpacked(outcome.text, table));
    progress(++ended);
  };
  const bool complete = run_workers(static_cast<int>(missing.size()), jobs, work, done);
  std::vector<FleetRun> runs;
  for (const int index : indices) {
    const auto result = results.find(index);
    if (result == results.end() && !complete)
      continue;
    if (result == results.end()) {
      runs.push_back(simulated(index).first);
      continue;
    }
    runs.push_back(seeds.prepare(index));
    runs.back().result = std::move(result->second);
  }
  if (!complete && !runs.empty())
    runs.back().result.stopped = true;
  return runs;
}

} // namespace foretrain::experiments
