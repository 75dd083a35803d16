#include "experiments/run/simulate/input_folding.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace foretrain::experiments {

namespace {

// By resource, per unit of a stage's progress: of what is taken, and of what is held.
struct Loads {
  std::unordered_map<int, double> taken, held;
};

std::vector<Loads> loads_of(const GpuStages& stages, std::size_t first, std::size_t count,
                            const std::vector<bool>& apart)
{
  std::vector<Loads> loads(stages[first].size());
  for (std::size_t gpu = first; gpu < first + count; ++gpu)
    for (std::size_t k = 0; !apart[gpu] && k < loads.size(); ++k) {
      const sim::Path& path = *stages[gpu][k].path;
      for (const sim::Use& use : path.uses)
        loads[k].taken[use.resource] += use.weight;
      for (const sim::Use& use : path.held.uses)
        loads[k].held[use.resource] += use.weight;
    }
  return loads;
}

// What a GPU's batches meet: rates, and of each resource kind, capacity, own load and that of all.
using Signature = std::vector<double>;

Signature signature_of(const sim::Engine& engine, const std::vector<models::InputStage>& stages,
                       const std::vector<Loads>& loads)
{
  Signature signature;
  for (std::size_t k = 0; k < stages.size(); ++k) {
    const sim::Path& path = *stages[k].path;
    signature.insert(signature.end(), {stages[k].amount, stages[k].priority, path.cap,
                                       path.latency.value(), path.held.priority});
    std::vector<std::vector<double>> met;
    const auto add = [&](const std::vector<sim::Use>& uses,
                         const std::unordered_map<int, double>& all) {
      for (const sim::Use& use : uses)
        met.push_back({static_cast<double>(engine.resource({use.resource}).kind),
                       engine.capacity({use.resource}), use.weight, all.at(use.resource)});
    };
    add(path.uses, loads[k].taken);
    add(path.held.uses, loads[k].held);
    std::sort(met.begin(), met.end());
    for (const auto& of_resource : met)
      signature.insert(signature.end(), of_resource.begin(), of_resource.end());
  }
  return signature;
}

} // namespace

void keep_alike(const sim::Engine& engine, const GpuStages& stages, std::vector<bool>& apart)
{
  // Who is set apart no longer loads what the others do: until nobody is.
  for (bool more = true; more;) {
    more = false;
    const auto loads = loads_of(stages, 0, stages.size(), apart);
    std::map<Signature, std::vector<std::size_t>> classes;
    for (std::size_t gpu = 0; gpu < stages.size(); ++gpu)
      if (!apart[gpu])
        classes[signature_of(engine, stages[gpu], loads)].push_back(gpu);
    const auto most =
        std::max_element(classes.begin(), classes.end(), [](const auto& a, const auto& b) {
          return a.second.size() < b.second.size();
        });
    std::size_t expected = classes.empty() ? 0 : most->second.front();
    for (const auto& [signature, gpus] : classes)
      for (const std::size_t gpu : gpus) {
        const bool in_row = &gpus == &most->second && gpu == expected;
        expected += in_row ? 1 : 0;
        apart[gpu] = !in_row;
        more = more || !in_row;
      }
  }
}

std::vector<models::InputStage> folded_stages(const GpuStages& stages, int first, int count)
{
  const auto from = static_cast<std::size_t>(first);
  std::vector<models::InputStage> folded = stages[from];
  if (count == 1)
    return folded;
  const auto loads = loads_of(stages, from, static_cast<std::size_t>(count),
                              std::vector<bool>(stages.size(), false));
  for (std::size_t k = 0; k < folded.size(); ++k) {
    const sim::Path& one = *folded[k].path;
    std::vector<sim::Use> uses = one.uses;
    for (sim::Use& use : uses)
      use.weight = loads[k].taken.at(use.resource);
    sim::Held held = one.held;
    for (sim::Use& use : held.uses)
      use.weight = loads[k].held.at(use.resource);
    folded[k].path = sim::make_path(std::move(uses), one.latency, one.cap, std::move(held));
  }
  return folded;
}

} // namespace foretrain::experiments
