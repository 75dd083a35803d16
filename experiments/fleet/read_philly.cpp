// Microsoft's Philly: its own JSON (cluster_job_log), or the table of Pollux' authors.
#include "experiments/fleet/job_trace.hpp"
#include "experiments/fleet/trace_text.hpp"
#include "sim/base/document.hpp"
#include "sim/base/error.hpp"

namespace foretrain::experiments {

namespace {

void read_table(const std::filesystem::path& path, JobCollector& jobs)
{
  const TraceTable table(path, ',');
  for (const std::string_view column : {"timestamp", "duration", "num_gpus"})
    table.need({column});
  std::size_t number = 0;
  table.each([&](const TraceTable::Row& row) {
    const auto submit = time_of(row.at("timestamp"));
    const auto run = number_of(row.at("duration")), gpus = number_of(row.at("num_gpus"));
    if (!submit || !run || !gpus)
      return jobs.leave_out("cannot be read: no timestamp, duration or num_gpus", row.where());
    TraceJob one;
    one.id = std::to_string(number++);
    one.queue = row.at("cluster").empty() ? "default" : row.at("cluster");
    one.gpus = whole_of(*gpus);
    one.submit_s = *submit;
    one.run_s = *run;
    jobs.add(std::move(one), row.where());
  });
}

std::string member_text(const Json& object, const char* key)
{
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

int gpus_of(const Json& attempt)
{
  int gpus = 0;
  if (const auto detail = attempt.find("detail"); detail != attempt.end() && detail->is_array())
    for (const Json& node : *detail)
      if (node.is_object() && node.contains("gpus"))
        gpus += static_cast<int>(node.at("gpus").size());
  return gpus;
}

// Every attempt ran; the job is replayed as one run of them all.
void add_logged(const Json& job, const std::string& where, JobCollector& jobs)
{
  if (!job.is_object() || member_text(job, "jobid").empty())
    return jobs.leave_out("cannot be read: no jobid", where);
  const auto submit = time_of(member_text(job, "submitted_time"));
  const auto attempts = job.find("attempts");
  if (!submit || attempts == job.end() || !attempts->is_array())
    return jobs.leave_out("cannot be read: no submitted_time or attempts", where);
  TraceJob one;
  for (const Json& attempt : *attempts) {
    if (!attempt.is_object())
      continue;
    const auto start = time_of(member_text(attempt, "start_time"));
    const auto end = time_of(member_text(attempt, "end_time"));
    if (start && end && *end >= *start)
      one.run_s += *end - *start;
    one.gpus = std::max(one.gpus, gpus_of(attempt));
  }
  if (one.run_s == 0)
    return jobs.leave_out("never ran", where);
  if (attempts->size() > 1)
    jobs.note("ran in several attempts: they are replayed as one run", where);
  one.id = member_text(job, "jobid");
  one.queue = member_text(job, "vc");
  one.account = member_text(job, "user");
  one.submit_s = *submit;
  jobs.add(std::move(one), where);
}

} // namespace

void read_philly(const std::filesystem::path& path, JobCollector& jobs)
{
  std::string text;
  bool json = false;
  each_line(path, [&](std::string_view line, std::size_t number) {
    json |= number == 1 && line.rfind('[', 0) == 0;
    if (json)
      text.append(line).append("\n");
  });
  if (!json)
    return read_table(path, jobs);
  std::size_t number = 0;
  const auto document = parse_document(std::move(text), path.string());
  for (const Json& job : document->root)
    add_logged(job, "job " + std::to_string(number++), jobs);
}

} // namespace foretrain::experiments
