#include "experiments/fleet/speed_table.hpp"

#include "experiments/run/keep/fingerprint.hpp"
#include "experiments/spec/resolve.hpp"
#include "experiments/spec/training_length.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using namespace models::fleet;

// Nodes by new numbers, in the order in which they appear, below as many switches as they are.
class NodeNumbers {
public:
  explicit NodeNumbers(int nodes_per_leaf) : per_leaf_(nodes_per_leaf) {}

  int of(int node)
  {
    if (const auto known = numbers_.find(node); known != numbers_.end())
      return known->second;
    if (per_leaf_ <= 0)
      return numbers_[node] = last_ = static_cast<int>(numbers_.size());
    const auto [group, is_new] =
        groups_.emplace(node / per_leaf_, std::pair(static_cast<int>(groups_.size()), 0));
    const int number = group->second.first * per_leaf_ + group->second.second++;
    last_ = std::max(last_, number);
    return numbers_[node] = number;
  }
  int count() const { return last_ + 1; }
  // The switch above a node that has such a new number.
  int leaf_above(int number) const
  {
    for (const auto& [leaf, group] : groups_)
      if (group.first == number / per_leaf_)
        return leaf;
    return -1;
  }

private:
  int per_leaf_;
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
    for (GpuBits left = slice.gpus; left != 0; left &= left - 1)
      list.push_back({numbers.of(slice.node), lowest(left)});
  return list;
}

// Its data are in caches as far as these hold them.
void set_warm(Json& job)
{
  if (job["input"].is_string())
    job["input"] = {{"format", job["input"]}};
  job["input"]["cache"] = word_of(PageCache::warm);
}

} // namespace

SpeedTable::SpeedTable(SpeedCluster cluster) : cluster_(std::move(cluster)) {}

std::uint32_t SpeedTable::kind(const SpeedKind& kind)
{
  const std::string key = kind.job.json().dump() + " " + std::to_string(kind.gpus);
  const auto [number, is_new] =
      kind_numbers_.emplace(key, static_cast<std::uint32_t>(kinds_.size()));
  if (is_new) {
    const Value input = read_as<JobSpec>(kind.job).input;
    kinds_.push_back({kind, checksum(key), input ? read_input(input) : InputSpec{}});
  }
  return number->second;
}

// Jobs of a situation in an order that does not depend on who came first.
std::vector<std::size_t> SpeedTable::in_order(const std::vector<SpeedJob>& jobs) const
{
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) {
    std::vector<GpuBits> words;
    for (const Slice& slice : jobs[i].gpus)
      words.push_back(slice.gpus);
    std::sort(words.begin(), words.end());
    const std::string_view name = kinds_[jobs[i].kind].name;
    return std::tuple(name, jobs[i].first_pass, jobs[i].transfer, words);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

Json SpeedTable::job_json(std::uint32_t kind) const
{
  Json job = kinds_[kind].does.job.json();
  job["gpus"] = kinds_[kind].does.gpus;
  return job;
}

// What is wrong with a job stands where the fleet says what it does.
Point SpeedTable::point_of(const Json& jobs, const std::vector<std::uint32_t>& kinds,
                           int nodes) const
{
  auto document = std::make_shared<Document>(*cluster_.document);
  document->root = Json::object();
  document->root["cluster"] = cluster_.cluster;
  document->root["cluster"]["nodes"] = nodes;
  if (!cluster_.stack.is_null())
    document->root["stack"] = cluster_.stack;
  document->root["jobs"] = jobs;
  document->text = document->root.dump(2);
  document->overridden = {{"/cluster", "/cluster"}, {"/stack", "/stack"}};
  for (std::size_t i = 0; i < kinds.size(); ++i)
    document->overridden["/jobs/" + std::to_string(i)] = kinds_[kinds[i]].does.job.pointer();
  return single_point(std::move(document), {}, {});
}

std::string SpeedTable::fingerprint(std::uint32_t kind) const
{
  return experiments::fingerprint(alone(job_json(kind), kind), RunOptions{});
}

double SpeedTable::reference(std::uint32_t kind)
{
  return rates({packed(kind)}).throughputs.front();
}

Seconds SpeedTable::transfer_time(std::uint32_t kind, Bytes checkpoint, Transfer transfer)
{
  return checkpoint / BytesPerSecond(rates({packed(kind, false, transfer)}).transfers.front());
}

SpeedJob SpeedTable::packed(std::uint32_t kind, bool first_pass, Transfer transfer) const
{
  return {kind, on_empty_cluster(Placement::first_fit, cluster_.shape, {kinds_[kind].does.gpus, 0}),
          first_pass, transfer};
}

FirstPass SpeedTable::first_pass(std::uint32_t kind)
{
  if (kind == kNoSpeed)
    return {};
  const auto [entry, is_new] = first_passes_.emplace(kind, FirstPass{});
  if (is_new && kinds_[kind].reads() && kinds_[kind].input.cache == PageCache::cold) {
    const double warm = reference(kind);
    entry->second = {Seconds(epoch_samples(kind) / warm),
                     rates({packed(kind, true)}).throughputs.front() / warm};
  }
  return entry->second;
}

double SpeedTable::step_samples(std::uint32_t kind) const
{
  return samples_of_step(resolve(alone(job_json(kind), kind)).jobs.front());
}

// A job by itself, on as few nodes as can be.
Point SpeedTable::alone(Json job, std::uint32_t kind) const
{
  const int per_node = cluster_.shape.gpus_per_node;
  return point_of(Json::array({std::move(job)}), {kind},
                  (kinds_[kind].does.gpus + per_node - 1) / per_node);
}

double SpeedTable::epoch_samples(std::uint32_t kind) const
{
  Json job = job_json(kind);
  job["epochs"] = 1; // else synthetic input has no data set
  return resolve(alone(std::move(job), kind)).jobs.front().input.dataset.samples;
}

std::optional<double> SpeedTable::samples_of_tokens(std::uint32_t kind, const Json& tokens) const
{
  Json job = job_json(kind);
  job["tokens"] = tokens;
  const auto resolved = resolve(alone(std::move(job), kind)).jobs.front();
  return resolved.transformer ? samples_of_training(resolved, 0) : std::nullopt;
}

std::optional<Bytes> SpeedTable::checkpoint_bytes(std::uint32_t kind) const
{
  if (kind >= kinds_.size()) // of jobs whose run times are given
    return {};
  return experiments::checkpoint_bytes(resolve(alone(job_json(kind), kind)).jobs.front());
}

std::vector<std::string> SpeedTable::misfits() const
{
  std::vector<std::string> list;
  for (std::uint32_t k = 0; k < kinds_.size(); ++k) {
    const ResolvedExperiment e = resolve(alone(job_json(k), k));
    const Bytes needed = device_memory(e.jobs.front());
    if (needed > e.platform.gpu.memory)
      list.push_back(kinds_[k].does.job.pointer() + ": " + memory_text(needed, e.platform.gpu) +
                     ": such jobs would not run, and their speed is what more memory would allow");
  }
  return list;
}

const PointRates& SpeedTable::simulated(const std::vector<SpeedJob>& asked)
{
  NodeNumbers numbers(cluster_.nodes_per_leaf);
  Json jobs = Json::array();
  std::vector<std::uint32_t> kinds;
  CheckpointTransfers transfers;
  std::string key;
  for (const std::size_t i : in_order(asked)) {
    Json job = job_json(asked[i].kind);
    job["name"] = "job " + std::to_string(jobs.size());
    job["placement"] = placement_of(asked[i].gpus, numbers);
    if (kinds_[asked[i].kind].reads() && !asked[i].first_pass)
      set_warm(job);
    key += kinds_[asked[i].kind].name + (asked[i].first_pass ? "*" : "") +
           std::string(static_cast<std::size_t>(asked[i].transfer), '+') + job["placement"].dump();
    transfers.jobs.push_back(asked[i].transfer);
    if (asked[i].transfer != Transfer::none)
      transfers.to = cluster_.checkpoints;
    jobs.push_back(std::move(job));
    kinds.push_back(asked[i].kind);
  }
  const int nodes = cluster_.nodes_per_leaf > 0 ? std::max(cluster_.shape.nodes, numbers.count())
                                                : numbers.count();
  auto known = known_.find(key);
  if (known == known_.end())
    known = known_.emplace(key, point_rates(point_of(jobs, kinds, nodes), RunOptions{}, transfers))
                .first;
  return known->second;
}

PointRates SpeedTable::rates(const std::vector<SpeedJob>& jobs)
{
  const PointRates& known = simulated(jobs);
  const std::vector<std::size_t> order = in_order(jobs);
  PointRates found = known;
  for (std::size_t i = 0; i < order.size(); ++i) {
    found.throughputs[order[i]] = known.throughputs[i];
    found.transfers[order[i]] = known.transfers[i];
  }
  return found;
}

// Nothing but servers of files and the uplinks of switches is no node's.
bool SpeedTable::may_share(const SpeedJob& job) const
{
  const int under = cluster_.nodes_per_leaf;
  const auto other_leaf = [&](const Slice& slice) {
    return slice.node / under != job.gpus.front().node / under;
  };
  return (cluster_.file_servers && kinds_[job.kind].reads()) ||
         (cluster_.checkpoint_servers && job.transfer != Transfer::none) ||
         (under > 0 && std::any_of(job.gpus.begin(), job.gpus.end(), other_leaf));
}

std::vector<SharedUse> SpeedTable::shared_by(const SpeedJob& job)
{
  if (!may_share(job))
    return {};
  NodeNumbers numbers(cluster_.nodes_per_leaf);
  placement_of(job.gpus, numbers);
  std::vector<SharedUse> uses;
  for (const FabricUse& use : simulated({job}).fabric) {
    std::string name = use.resource;
    if (use.first_below >= 0)
      name += " of leaf " + std::to_string(numbers.leaf_above(use.first_below));
    const auto number =
        resource_numbers_.emplace(name, static_cast<std::uint32_t>(resource_numbers_.size()));
    uses.push_back({number.first->second, use.share});
  }
  return uses;
}

Speeds SpeedTable::speeds(const Workload& workload)
{
  const auto kind_of = [&workload](const Placed& job) { return workload.jobs[job.id].kind; };
  const auto job_of = [kind_of](const Placed& job) {
    return SpeedJob{kind_of(job), *job.gpus, job.first_pass, job.transfer};
  };
  const auto rates_of = [this, kind_of, job_of](std::span<const Placed> jobs) {
    std::vector<JobRate> told(jobs.size());
    std::vector<SpeedJob> simulated;
    for (const Placed& job : jobs)
      if (kind_of(job) != kNoSpeed)
        simulated.push_back(job_of(job));
    if (simulated.empty())
      return told;
    const PointRates found = rates(simulated);
    std::size_t k = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (kind_of(jobs[i]) == kNoSpeed)
        continue;
      const SpeedJob& job = simulated[k];
      told[i].work = found.throughputs[k] / reference(job.kind);
      if (job.transfer != Transfer::none)
        told[i].transfer =
            found.transfers[k] / rates({packed(job.kind, false, job.transfer)}).transfers.front();
      ++k;
    }
    return told;
  };
  const auto shared = [this, kind_of, job_of](const Placed& job) {
    return kind_of(job) == kNoSpeed ? std::vector<SharedUse>{} : shared_by(job_of(job));
  };
  return {rates_of, shared};
}

} // namespace foretrain::experiments
