// Slurm's `sacct -P` (--parsable2), with its header, or without in the fields that Open XDMoD asks
// for: since version 11 with the QOS, in old ones without AllocTRES.
#include "experiments/fleet/job_trace.hpp"
#include "experiments/fleet/trace_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>

namespace foretrain::experiments {

namespace {

// open.xdmod.org/11.0/resource-manager-slurm.html
const char* const kXdmod =
    "JobID,JobIDRaw,Cluster,Partition,QOS,Account,Group,GID,User,UID,Submit,Eligible,Start,End,"
    "Elapsed,ExitCode,State,NNodes,NCPUS,ReqCPUS,ReqMem,ReqTRES,AllocTRES,Timelimit,NodeList,"
    "JobName";

// Which of them there are tell the place of the first time and the number of fields.
std::vector<std::string> xdmod_head(const std::filesystem::path& path, const std::string& first)
{
  const std::vector<std::string> cells = cells_of(first, '|');
  std::vector<std::string> head = cells_of(kXdmod, ',');
  const auto submit = std::find(head.begin(), head.end(), "Submit") - head.begin();
  if (cells.size() > 10 && time_of(cells[static_cast<std::size_t>(submit) - 1]))
    std::erase(head, "QOS");
  if (cells.size() + 1 == head.size())
    std::erase(head, "AllocTRES");
  if (cells.size() != head.size())
    throw ConfigError(path.string(), "",
                      "has no header, and " + std::to_string(cells.size()) +
                          " fields, not those of Open XDMoD (24 to 26)",
                      "write it with sacct -P, without --noheader");
  return head;
}

TraceTable open_table(const std::filesystem::path& path)
{
  std::string first;
  each_line(path, [&](std::string_view text, std::size_t) {
    if (first.empty())
      first = text;
  });
  if (first.empty())
    throw ConfigError(path.string(), "", "is empty", "expected what sacct -P writes");
  if (first.find('|') == std::string::npos)
    throw ConfigError(path.string(), "", "has no | between fields: '" + excerpt(first, 60) + "'",
                      "write it with sacct -P");
  const std::vector<std::string> cells = cells_of(first, '|');
  const bool named = std::any_of(cells.begin(), cells.end(), [](const std::string& cell) {
    return cell == "JobID" || cell == "JobIDRaw";
  });
  return named ? TraceTable(path, '|') : TraceTable(path, '|', xdmod_head(path, first));
}

// Of "billing=16,gres/gpu=4,gres/gpu:v100=4,node=1", or of the older "gpu:v100:4" on each node.
std::optional<int> gpus_of(const std::string& resources, int nodes)
{
  double typed = 0;
  bool any = false;
  std::istringstream in(resources);
  for (std::string item; std::getline(in, item, ',');) {
    const std::size_t equals = item.find('=');
    if (item.rfind("gres/gpu=", 0) == 0 || item.rfind("gres/gpu:", 0) == 0) {
      const auto number = number_of(item.substr(equals + 1));
      if (!number || *number > 1e9)
        return {};
      if (item[8] == '=')
        return whole_of(*number); // of all types
      typed += *number;
      any = true;
    } else if (item.rfind("gpu", 0) == 0) {
      const std::size_t colon = item.rfind(':');
      const auto number = colon == std::string::npos ? 1.0 : number_of(item.substr(colon + 1));
      if (!number || *number > 1e9)
        return {};
      typed += *number * std::max(1, nodes);
      any = true;
    }
  }
  return any ? std::optional(whole_of(typed)) : std::nullopt;
}

std::string first_word(const std::string& text)
{
  return text.substr(0, text.find(' '));
}

std::string either(const TraceTable::Row& row, std::initializer_list<std::string_view> columns)
{
  for (const std::string_view column : columns)
    if (!row.at(column).empty())
      return row.at(column);
  return "";
}

std::optional<double> run_of(const TraceTable::Row& row, JobCollector& jobs)
{
  const auto start = time_of(row.at("Start")), end = time_of(row.at("End"));
  std::optional<double> elapsed = number_of(row.at("ElapsedRaw"));
  if (!elapsed)
    elapsed = elapsed_of(row.at("Elapsed"));
  if (!elapsed && start && end)
    return *end - *start;
  if (!elapsed || !start || !end)
    return elapsed;
  const double off = std::abs(*end - *start - *elapsed);
  if (off == 3600)
    jobs.note("ran across a change of the clock by an hour: their elapsed time counts",
              row.where());
  else if (off > 1) // which rounding does
    jobs.note("ran another time than from start to end: their elapsed time counts", row.where());
  return elapsed;
}

// What does not depend on how it ended.
TraceJob job_of(const TraceTable::Row& row, const std::string& id, double submit)
{
  TraceJob one;
  one.id = id;
  one.queue = row.at("Partition").empty() ? "default" : row.at("Partition");
  one.account = row.at("Account");
  one.nodes = whole_of(number_of(row.at("NNodes")).value_or(0));
  one.submit_s = submit;
  std::optional<int> gpus;
  for (const std::string_view column : {"AllocTRES", "ReqTRES", "AllocGRES", "ReqGRES"})
    if (!gpus)
      gpus = gpus_of(row.at(column), one.nodes);
  one.gpus = gpus.value_or(0);
  if (const auto minutes = number_of(row.at("TimelimitRaw")))
    one.limit_s = *minutes * 60;
  else
    one.limit_s = elapsed_of(row.at("Timelimit"));
  if (const auto priority = number_of(row.at("Priority")))
    one.priority = *priority;
  return one;
}

void add_running_or_waiting(const TraceTable::Row& row, TraceJob job, bool runs, JobCollector& jobs)
{
  if (!runs) {
    if (row.at("JobID").find("_[") != std::string::npos && jobs.take() == TakeJobs::unfinished)
      jobs.note("are of arrays that wait: an array counts as one job", row.where());
    return jobs.add_unfinished(std::move(job), {}, row.where());
  }
  std::optional<double> elapsed = number_of(row.at("ElapsedRaw"));
  if (!elapsed)
    elapsed = elapsed_of(row.at("Elapsed"));
  if (!elapsed && jobs.take() == TakeJobs::unfinished)
    return jobs.leave_out("cannot be read: no run time", row.where());
  jobs.add_unfinished(std::move(job), elapsed, row.where());
}

void add_job(const TraceTable::Row& row, JobCollector& jobs)
{
  const std::string id = either(row, {"JobIDRaw", "JobID"});
  if (id.find('.') != std::string::npos || row.at("JobID").find('.') != std::string::npos)
    return jobs.leave_out("are steps of jobs (sacct without -X)", row.where());
  const std::string state = first_word(row.at("State"));
  if (state == "SUSPENDED")
    return jobs.leave_out("are suspended", row.where(), id);
  const auto submit = time_of(row.at("Submit"));
  if (!submit)
    return jobs.leave_out("cannot be read: no time of submission", row.where());
  if (const auto start = time_of(row.at("Start")); start && *start < *submit)
    jobs.note("started before they were submitted", row.where());
  TraceJob one = job_of(row, id, *submit);
  if (state == "PENDING" || state == "RUNNING")
    return add_running_or_waiting(row, std::move(one), state == "RUNNING", jobs);
  if (!time_of(row.at("Start")))
    return jobs.leave_out("were cancelled before they started", row.where(), id);
  const auto run = run_of(row, jobs);
  if (!run)
    return jobs.leave_out("cannot be read: no run time", row.where());
  if (state == "CANCELLED" && *run == 0) // Start is then when it was cancelled
    return jobs.leave_out("were cancelled before they started", row.where(), id);
  one.run_s = *run;
  if (one.limit_s && *one.limit_s < one.run_s) { // Slurm looks every half minute
    jobs.note("ran longer than their limit: the limit is their run time", row.where());
    one.limit_s = one.run_s;
  }
  if (const auto restarts = number_of(row.at("Restarts")); restarts && *restarts > 0)
    jobs.note("were requeued by Slurm: their last run is replayed", row.where());
  jobs.add(std::move(one), row.where());
}

} // namespace

void read_sacct(const std::filesystem::path& path, JobCollector& jobs)
{
  const TraceTable table = open_table(path);
  table.need({"JobIDRaw", "JobID"});
  for (const std::string_view column : {"Submit", "Start", "State"})
    table.need({column});
  table.need({"ElapsedRaw", "Elapsed", "End"});
  table.need({"AllocTRES", "ReqTRES", "AllocGRES", "ReqGRES"});
  for (const std::string_view column : {"NNodes", "Partition", "Account"})
    if (!table.has(column))
      jobs.note("column " + std::string(column) + " is missing", "the header");
  if (!table.has("Timelimit") && !table.has("TimelimitRaw"))
    jobs.note("column Timelimit is missing", "the header");
  table.each([&](const TraceTable::Row& row) {
    if (!row.whole())
      return jobs.leave_out("cannot be read: another number of fields", row.where());
    add_job(row, jobs);
  });
}

} // namespace foretrain::experiments
