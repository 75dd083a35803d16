#include "experiments/spec/placement.hpp"

#include "sim/base/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::experiments {

using platforms::GpuPlace;

namespace {

const std::vector<std::string> kWays{"packed", "spread", "round-robin"};

// One entry of a list: [node, gpu].
GpuPlace read_place(const Value& entry)
{
  const Json& json = entry.json();
  if (!json.is_array() || json.size() != 2 || !json[0].is_number_integer() ||
      !json[1].is_number_integer())
    entry.fail("must be [node, gpu], two whole numbers counted from 0, got " + entry.shown());
  constexpr double kMost = 1e9;
  for (const Json& number : json)
    if (number.get<double>() < 0 || number.get<double>() > kMost)
      entry.fail("must be [node, gpu], counted from 0, got " + entry.shown());
  return {json[0].get<int>(), json[1].get<int>()};
}

// Whether so many nodes can have equally many GPUs of a job each, and whole groups of `together`.
bool shares_evenly(int gpus, int nodes, int gpus_per_node, int together)
{
  return gpus % nodes == 0 && (together > gpus_per_node || gpus / nodes % together == 0);
}

} // namespace

int nodes_for(const JobSpec& job, int gpus_per_node, int together)
{
  const int least = (job.gpus + gpus_per_node - 1) / gpus_per_node;
  if (job.placement || together == 0)
    return least;
  for (int count = least; count <= least + std::max(1, least / 4); ++count)
    if (shares_evenly(job.gpus, count, gpus_per_node, together))
      return count;
  return least;
}

int listed_nodes(const JobSpec& job)
{
  int nodes = 0;
  if (job.placement && job.placement.json().is_array())
    for (std::size_t i = 0; i < job.placement.json().size(); ++i)
      nodes = std::max(nodes, read_place(job.placement.at(i)).node + 1);
  return nodes;
}

std::vector<GpuPlace> Placer::listed(const JobSpec& job, const Value& at)
{
  std::vector<GpuPlace> ranks;
  for (std::size_t i = 0; i < job.placement.json().size(); ++i) {
    const Value entry = job.placement.at(i);
    const GpuPlace place = read_place(entry);
    if (place.node < 0 || place.node >= nodes_ || place.local < 0 || place.local >= per_node_)
      entry.fail(fmt::format("is [{}, {}], but there are {} nodes with {} GPUs each", place.node,
                             place.local, nodes_, per_node_),
                 "nodes and GPUs are counted from 0");
    if (std::find(ranks.begin(), ranks.end(), place) != ranks.end())
      entry.fail("is there twice: a job can use a GPU once");
    ranks.push_back(place);
    taken_.insert(place);
  }
  if (at.json().contains("gpus") && static_cast<int>(ranks.size()) != job.gpus)
    at.fail_at("gpus", fmt::format("is {}, but 'placement' lists {} GPUs", job.gpus, ranks.size()));
  return ranks; // as the job numbers them
}

std::vector<GpuPlace> Placer::in_order(const JobSpec& job, const std::string& how)
{
  std::vector<GpuPlace> ranks;
  const auto take = [&](GpuPlace place) {
    if (static_cast<int>(ranks.size()) < job.gpus && taken_.insert(place).second) {
      ranks.push_back(place);
      next_node_ = (place.node + 1) % nodes_;
    }
  };
  if (how == "packed") {
    for (int node = 0; node < nodes_; ++node)
      for (int local = 0; local < per_node_; ++local)
        take({node, local});
  } else {
    const int first = how == "round-robin" ? next_node_ : 0;
    for (int local = 0; local < per_node_; ++local)
      for (int i = 0; i < nodes_; ++i)
        take({(first + i) % nodes_, local});
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::vector<int> Placer::free_on(int node) const
{
  std::vector<int> free;
  for (int local = 0; local < per_node_; ++local)
    if (!taken_.contains({node, local}))
      free.push_back(local);
  return free;
}

// On as few nodes as can be; empty where no equal share fits.
std::vector<GpuPlace> Placer::evenly(const JobSpec& job, int together)
{
  for (int count = (job.gpus + per_node_ - 1) / per_node_; count <= nodes_; ++count) {
    if (!shares_evenly(job.gpus, count, per_node_, together))
      continue;
    const int share = job.gpus / count;
    std::vector<GpuPlace> ranks;
    for (int node = 0; node < nodes_ && static_cast<int>(ranks.size()) < job.gpus; ++node) {
      const std::vector<int> free = free_on(node);
      for (int i = 0; i < share && static_cast<int>(free.size()) >= share; ++i)
        ranks.push_back({node, free[static_cast<std::size_t>(i)]});
    }
    if (static_cast<int>(ranks.size()) < job.gpus)
      continue;
    taken_.insert(ranks.begin(), ranks.end());
    next_node_ = (ranks.back().node + 1) % nodes_;
    return ranks;
  }
  return {};
}

std::vector<GpuPlace> Placer::place(const JobSpec& job, const Value& at, int together)
{
  std::string how = "packed";
  if (job.placement) {
    if (job.placement.json().is_array() && !job.placement.json().empty())
      return listed(job, at);
    if (!job.placement.json().is_string() ||
        std::find(kWays.begin(), kWays.end(), job.placement.json().get<std::string>()) ==
            kWays.end())
      job.placement.fail("must be one of " + joined(kWays) + " or a list of [node, gpu], got " +
                             job.placement.shown(),
                         job.placement.json().is_string()
                             ? suggestion(job.placement.json().get<std::string>(), kWays, "ways")
                             : "");
    how = job.placement.json().get<std::string>();
  }
  std::vector<GpuPlace> ranks;
  if (!job.placement && together > 0)
    ranks = evenly(job, together);
  if (ranks.empty())
    ranks = in_order(job, how);
  if (static_cast<int>(ranks.size()) < job.gpus)
    at.fail_at("gpus",
               fmt::format("is {}, but only {} GPUs are free on {} nodes with {} GPUs each",
                           job.gpus, ranks.size(), nodes_, per_node_),
               "raise /cluster/nodes, or leave it out to get as many nodes as are needed");
  return ranks;
}

} // namespace foretrain::experiments
