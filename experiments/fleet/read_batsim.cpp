// Batsim's workloads: jobs, and profiles of which those that only wait give a run time.
#include "experiments/fleet/job_trace.hpp"
#include "experiments/fleet/trace_text.hpp"
#include "sim/base/document.hpp"
#include "sim/base/error.hpp"

namespace foretrain::experiments {

namespace {

std::string text_or_number(const Json& value)
{
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::optional<double> number_at(const Json& object, const char* key)
{
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>())
                                                     : std::nullopt;
}

} // namespace

void read_batsim(const std::filesystem::path& path, JobCollector& jobs)
{
  std::string text;
  each_line(path, [&](std::string_view line, std::size_t) { text.append(line).append("\n"); });
  const auto document = parse_document(std::move(text), path.string());
  const Value root{DocumentPtr(document)};
  for (const char* key : {"jobs", "profiles"})
    if (!root.json().is_object() || !root.json().contains(key))
      root.fail("is no workload of Batsim: it has no \"" + std::string(key) + "\"");
  const Json& profiles = root.json().at("profiles");
  std::size_t number = 0;
  for (const Json& job : root.json().at("jobs")) {
    const std::string where = "job " + std::to_string(number++);
    if (!job.is_object() || !job.contains("id") || !job.contains("profile")) {
      jobs.leave_out("cannot be read: no id or no profile", where);
      continue;
    }
    const auto submit = number_at(job, "subtime"), gpus = number_at(job, "res");
    if (!submit || !gpus) {
      jobs.leave_out("cannot be read: no subtime or no res", where);
      continue;
    }
    const auto profile = profiles.find(text_or_number(job.at("profile")));
    const auto delay = profile == profiles.end() ? std::nullopt : number_at(*profile, "delay");
    if (!delay) {
      jobs.leave_out("have a profile without \"delay\": it gives no run time", where);
      continue;
    }
    TraceJob one;
    one.id = text_or_number(job.at("id"));
    one.queue = "default";
    one.gpus = whole_of(*gpus);
    one.submit_s = *submit;
    one.run_s = *delay;
    if (const auto limit = number_at(job, "walltime"); limit && *limit > 0)
      one.limit_s = limit;
    if (const auto priority = number_at(job, "priority"))
      one.priority = *priority;
    jobs.add(std::move(one), where);
  }
}

} // namespace foretrain::experiments
