// Shanghai AI Laboratory's Acme (trace_seren.csv, trace_kalos.csv).
#include "experiments/fleet/job_trace.hpp"
#include "experiments/fleet/trace_text.hpp"

namespace foretrain::experiments {

void read_acme(const std::filesystem::path& path, JobCollector& jobs)
{
  const TraceTable table(path, ',');
  for (const std::string_view column : {"job_id", "gpu_num", "submit_time", "duration"})
    table.need({column});
  table.each([&](const TraceTable::Row& row) {
    const auto submit = time_of(row.at("submit_time"));
    const auto run = number_of(row.at("duration")), gpus = number_of(row.at("gpu_num"));
    if (!submit || !gpus)
      return jobs.leave_out("cannot be read: no submit_time or gpu_num", row.where());
    if (!run || row.at("start_time").empty())
      return jobs.leave_out("were cancelled before they started", row.where());
    TraceJob one;
    one.id = row.at("job_id");
    one.queue = row.at("type").empty() ? "default" : row.at("type");
    one.account = row.at("user");
    one.gpus = whole_of(*gpus);
    one.nodes = whole_of(number_of(row.at("node_num")).value_or(0));
    one.submit_s = *submit;
    one.run_s = *run;
    jobs.add(std::move(one), row.where());
  });
}

} // namespace foretrain::experiments
