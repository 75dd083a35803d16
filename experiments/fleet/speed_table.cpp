#include "experiments/fleet/speed_table.hpp"

#include "experiments/run/scenario.hpp"
#include "experiments/spec/resolve.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace foretrain::experiments {

namespace {

using namespace models::fleet;

// Nodes by new numbers, in the order in which they appear, under as many switches as they are.
class NodeNumbers {
public:
  explicit NodeNumbers(int nodes_per_switch) : per_switch_(nodes_per_switch) {}

  int of(int node)
  {
    if (const auto known = numbers_.find(node); known != numbers_.end())
      return known->second;
    if (per_switch_ <= 0)
      return numbers_[node] = last_ = static_cast<int>(numbers_.size());
    const auto [group, is_new] =
        groups_.emplace(node / per_switch_, std::pair(static_cast<int>(groups_.size()), 0));
    const int number = group->second.first * per_switch_ + group->second.second++;
    last_ = std::max(last_, number);
    return numbers_[node] = number;
  }
  int count() const { return last_ + 1; }

private:
  int per_switch_;
  int last_ = -1;
  std::map<int, int> numbers_;
  std::map<int, std::pair<int, int>> groups_; // switch -> its number, and its nodes so far
};

Json placement_of(Allocation gpus, NodeNumbers& numbers)
{
  std::sort(gpus.begin(), gpus.end(),
            [](const Slice& a, const Slice& b) { return a.node < b.node; });
  Json list = Json::array();
  for (const Slice& slice : gpus)
    for (std::uint64_t left = slice.gpus; left != 0; left &= left - 1)
      list.push_back({numbers.of(slice.node), std::countr_zero(left)});
  return list;
}

// Jobs of a situation in an order that does not depend on who came first.
std::vector<std::size_t> in_order(const std::vector<std::uint32_t>& kinds,
                                  const std::vector<Allocation>& gpus)
{
  std::vector<std::size_t> order(kinds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto masks = [&](std::size_t i) {
    std::vector<std::uint64_t> words;
    for (const Slice& slice : gpus[i])
      words.push_back(slice.gpus);
    std::sort(words.begin(), words.end());
    return words;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(kinds[a], masks(a)) < std::pair(kinds[b], masks(b));
  });
  return order;
}

} // namespace

SpeedTable::SpeedTable(SpeedCluster cluster) : cluster_(std::move(cluster)) {}

std::uint32_t SpeedTable::kind(const SpeedKind& kind)
{
  const std::string key = kind.job.json().dump() + " " + std::to_string(kind.gpus);
  const auto [number, is_new] =
      kind_numbers_.emplace(key, static_cast<std::uint32_t>(kinds_.size()));
  if (is_new)
    kinds_.push_back(kind);
  return number->second;
}

Json SpeedTable::job_json(std::uint32_t kind) const
{
  Json job = kinds_[kind].job.json();
  job["gpus"] = kinds_[kind].gpus;
  return job;
}

Point SpeedTable::point_of(const Json& jobs, int nodes) const
{
  auto document = std::make_shared<Document>(*cluster_.document);
  document->root = Json::object();
  document->root["cluster"] = cluster_.cluster;
  document->root["cluster"]["nodes"] = nodes;
  if (!cluster_.stack.is_null())
    document->root["stack"] = cluster_.stack;
  document->root["jobs"] = jobs;
  document->text = document->root.dump(2);
  document->name += " (jobs that run together)";
  document->overridden.clear();
  return single_point(std::move(document), {}, {});
}

double SpeedTable::reference(std::uint32_t kind)
{
  const Allocation packed =
      on_empty_cluster(Placement::first_fit, cluster_.shape, {kinds_[kind].gpus, 0});
  return throughputs({kind}, {packed}).front();
}

double SpeedTable::step_samples(std::uint32_t kind) const
{
  const JobSpec job = read_as<JobSpec>(kinds_[kind].job);
  return job.global_batch ? *job.global_batch : job.batch_per_gpu * kinds_[kind].gpus;
}

// A job by itself, on as few nodes as can be.
ResolvedExperiment SpeedTable::resolved(Json job, int gpus) const
{
  const int per_node = cluster_.shape.gpus_per_node;
  return resolve(point_of(Json::array({std::move(job)}), (gpus + per_node - 1) / per_node));
}

double SpeedTable::epoch_samples(std::uint32_t kind) const
{
  Json job = job_json(kind);
  job["epochs"] = 1; // else synthetic input has no data set
  return resolved(std::move(job), kinds_[kind].gpus).jobs.front().input.dataset.samples;
}

std::optional<Bytes> SpeedTable::checkpoint_bytes(std::uint32_t kind) const
{
  if (kind >= kinds_.size()) // of jobs whose run times are given
    return {};
  return experiments::checkpoint_bytes(resolved(job_json(kind), kinds_[kind].gpus).jobs.front());
}

std::vector<double> SpeedTable::throughputs(const std::vector<std::uint32_t>& kinds,
                                            const std::vector<Allocation>& gpus)
{
  NodeNumbers numbers(cluster_.shape.nodes_per_switch);
  const std::vector<std::size_t> order = in_order(kinds, gpus);
  Json jobs = Json::array();
  std::string key;
  for (const std::size_t i : order) {
    Json job = job_json(kinds[i]);
    job["name"] = "job " + std::to_string(jobs.size());
    job["placement"] = placement_of(gpus[i], numbers);
    key += std::to_string(kinds[i]) + job["placement"].dump();
    jobs.push_back(std::move(job));
  }
  auto known = known_.find(key);
  if (known == known_.end())
    known =
        known_.emplace(key, point_throughputs(point_of(jobs, numbers.count()), RunOptions{})).first;
  std::vector<double> found(kinds.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    found[order[i]] = known->second[i];
  return found;
}

Speeds SpeedTable::speeds(const Workload& workload)
{
  return [this, &workload](std::span<const Placed> jobs) {
    std::vector<std::uint32_t> kinds;
    std::vector<Allocation> gpus;
    std::vector<double> rates(jobs.size(), 1.0);
    std::vector<std::size_t> simulated;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (workload.jobs[jobs[i].id].kind == kNoSpeed)
        continue;
      simulated.push_back(i);
      kinds.push_back(workload.jobs[jobs[i].id].kind);
      gpus.push_back(*jobs[i].gpus);
    }
    if (simulated.empty())
      return rates;
    const std::vector<double> found = throughputs(kinds, gpus);
    for (std::size_t k = 0; k < simulated.size(); ++k)
      rates[simulated[k]] = found[k] / reference(kinds[k]);
    return rates;
  };
}

} // namespace foretrain::experiments
