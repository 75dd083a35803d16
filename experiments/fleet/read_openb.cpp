// Alibaba's openb (cluster-trace-gpu-v2023): pods, some with a part of a GPU.
#include "experiments/fleet/job_trace.hpp"
#include "experiments/fleet/trace_text.hpp"

namespace foretrain::experiments {

void read_openb(const std::filesystem::path& path, JobCollector& jobs)
{
  const TraceTable table(path, ',');
  for (const std::string_view column :
       {"name", "num_gpu", "gpu_milli", "creation_time", "deletion_time", "scheduled_time"})
    table.need({column});
  table.each([&](const TraceTable::Row& row) {
    const auto created = number_of(row.at("creation_time"));
    const auto deleted = number_of(row.at("deletion_time"));
    const auto scheduled = number_of(row.at("scheduled_time"));
    const auto gpus = number_of(row.at("num_gpu")), milli = number_of(row.at("gpu_milli"));
    if (!created || !deleted || !gpus)
      return jobs.leave_out("cannot be read: no creation_time, deletion_time or num_gpu",
                            row.where());
    if (!scheduled)
      return jobs.leave_out("were never scheduled", row.where());
    if (*gpus == 1 && milli && *milli > 0 && *milli < 1000)
      jobs.note("asked for a part of a GPU: they get a whole one", row.where());
    TraceJob one;
    one.id = row.at("name");
    one.queue = row.at("qos").empty() ? "default" : row.at("qos");
    one.gpus = whole_of(*gpus);
    one.nodes = one.gpus > 0 ? 1 : 0; // a pod
    one.submit_s = *created;
    one.run_s = *deleted - *scheduled;
    jobs.add(std::move(one), row.where());
  });
}

} // namespace foretrain::experiments
