// SenseTime's Helios (cluster_log.csv), and slices of it with other names of columns.
#include "experiments/fleet/job_trace.hpp"
#include "experiments/fleet/trace_text.hpp"

namespace foretrain::experiments {

namespace {

// A date, or seconds; some slices count in microseconds.
std::optional<double> submitted(const std::string& text, bool microseconds)
{
  if (const auto number = number_of(text))
    return microseconds ? *number * 1e-6 : *number;
  return time_of(text);
}

} // namespace

void read_helios(const std::filesystem::path& path, JobCollector& jobs)
{
  const TraceTable table(path, ',');
  const auto id = table.need({"job_id"}), submit = table.need({"submit_time"});
  const auto gpus = table.need({"gpu_num", "num_chips"});
  const auto run = table.need({"duration", "duration_s"});
  const auto queue = table.need({"vc", "tenant"});
  const bool slice = table.has("num_chips"); // as fleetsim writes them
  table.each([&](const TraceTable::Row& row) {
    const auto at = submitted(row.at(submit), slice);
    const auto length = number_of(row.at(run)), number = number_of(row.at(gpus));
    if (!at || !length || !number)
      return jobs.leave_out("cannot be read: no submit_time, duration or number of GPUs",
                            row.where());
    if (table.has("start_time") && !submitted(row.at("start_time"), slice) && *length <= 0)
      return jobs.leave_out("were cancelled before they started", row.where());
    TraceJob one;
    one.id = row.at(id);
    one.queue = row.at(queue);
    one.account = row.at("user");
    one.gpus = whole_of(*number);
    one.nodes = whole_of(number_of(row.at(slice ? "num_nodes" : "node_num")).value_or(0));
    one.submit_s = *at;
    one.run_s = *length;
    jobs.add(std::move(one), row.where());
  });
}

} // namespace foretrain::experiments
