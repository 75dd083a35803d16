#include "experiments/fleet/read_leases.hpp"

#include "experiments/fleet/trace_text.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using namespace models::fleet;

using JobsById = std::map<std::string, JobId, std::less<>>;

JobsById jobs_by_id(const Workload& workload)
{
  JobsById jobs;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i)
    jobs.emplace(workload.jobs[i].id, static_cast<JobId>(i));
  return jobs;
}

class LeaseReader {
public:
  LeaseReader(const std::filesystem::path& path, const JobTrace& trace, const ClusterShape& shape)
      : path_(path), trace_(trace), shape_(shape), jobs_(jobs_by_id(trace.workload))
  {
  }

  std::vector<Lease> read()
  {
    const TraceTable table(path_, ',');
    for (const std::string_view column : {"job", "start_s", "end_s", "nodes"})
      table.need({column});
    table.each([&](const TraceTable::Row& row) { add(row); });
    return std::move(leases_);
  }

private:
  [[noreturn]] void fail(const TraceTable::Row& row, const std::string& what) const
  {
    throw ConfigError(path_.string() + ": " + row.where(), "", what);
  }

  std::vector<int> nodes_of(const TraceTable::Row& row) const
  {
    std::vector<int> nodes;
    std::istringstream words(row.at("nodes"));
    for (std::string word; words >> word;) {
      const auto node = number_of(word);
      if (!node || *node < 0 || *node >= shape_.nodes || *node != static_cast<int>(*node))
        fail(row, fmt::format("names node '{}', and the cluster has nodes 0 to {}", word,
                              shape_.nodes - 1));
      nodes.push_back(static_cast<int>(*node));
    }
    std::sort(nodes.begin(), nodes.end());
    if (std::adjacent_find(nodes.begin(), nodes.end()) != nodes.end())
      fail(row, "names a node twice");
    return nodes;
  }

  void add(const TraceTable::Row& row)
  {
    const auto job = jobs_.find(row.at("job"));
    if (job == jobs_.end())
      fail(row, "names job '" + row.at("job") + "', which the trace does not have");
    const auto start = number_of(row.at("start_s")), end = number_of(row.at("end_s"));
    if (!start || !end || *end <= *start)
      fail(row, "must have an end_s after its start_s, in seconds");
    Lease lease{job->second, Seconds(*start - trace_.first_submit_s),
                Seconds(*end - trace_.first_submit_s), nodes_of(row)};
    const int gpus = trace_.workload.jobs[lease.job].gpus;
    const auto nodes = static_cast<int>(lease.nodes.size());
    if (nodes == 0 || gpus % nodes != 0 || gpus / nodes > shape_.gpus_per_node)
      fail(row, fmt::format("gives {} nodes of {} GPUs to a job of {} GPUs", nodes,
                            shape_.gpus_per_node, gpus));
    Seconds& last = ends_.emplace(lease.job, lease.start).first->second;
    if (lease.start < last)
      fail(row, "begins before the job's lease above it ends");
    last = lease.end;
    leases_.push_back(std::move(lease));
  }

  std::filesystem::path path_;
  const JobTrace& trace_;
  ClusterShape shape_;
  JobsById jobs_;
  std::map<JobId, Seconds> ends_; // of each job's last lease
  std::vector<Lease> leases_;
};

} // namespace

std::vector<Lease> read_leases(const std::filesystem::path& path, const JobTrace& trace,
                               const ClusterShape& shape)
{
  return LeaseReader(path, trace, shape).read();
}

std::vector<Lease> leases_of(std::vector<Lease> leases, const Workload& trace,
                             const Workload& workload)
{
  const JobsById jobs = jobs_by_id(workload);
  for (Lease& lease : leases)
    lease.job = jobs.at(trace.jobs[lease.job].id);
  return leases;
}

} // namespace foretrain::experiments
