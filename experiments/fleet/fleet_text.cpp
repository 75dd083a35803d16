#include "experiments/fleet/fleet_text.hpp"

#include "experiments/report/report_csv.hpp"
#include "experiments/report/svg_text.hpp"
#include "experiments/report/text_table.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using namespace models::fleet;

// One number, or three where seeds differ.
template <class Text>
std::string range_text(const Range& range, const Text& text)
{
  const std::string median = text(range.median);
  const std::string low = text(range.low), high = text(range.high);
  return low == high ? median : median + " (" + low + " to " + high + ")";
}

std::string number(double value)
{
  return fmt::format("{:.4g}", value);
}

// Of GPU hours, money and energy: what is large has its digits in groups.
std::string amount(double value)
{
  return number_text(value, true);
}

std::vector<std::string> spread_line(const std::string& name, const FleetSpread& spread,
                                     std::string (*text)(double))
{
  return {name, range_text(spread.mean, text), range_text(spread.median, text),
          range_text(spread.p90, text), range_text(spread.p99, text)};
}

std::string times(const FleetAnswer& answer)
{
  if (!answer.wait_s || !answer.completion_s || !answer.slowdown)
    return "No job ran to its end: there are no waits, completion times or slowdowns.\n";
  TextTable table;
  table.header = {"", "mean", "median", "p90", "p99"};
  table.texts = 1;
  table.lines = {spread_line("wait", *answer.wait_s, &duration_text),
                 spread_line("completion", *answer.completion_s, &duration_text),
                 spread_line("slowdown", *answer.slowdown, &number)};
  return table_text(table);
}

std::string hours(const FleetAnswer& answer)
{
  const double all = cluster_gpu_hours(answer);
  std::string text = "\nGPU hours\n";
  TextTable table;
  table.header = {"", "GPU h", "share"};
  table.texts = 1;
  for (const auto& [name, part] : fleet_hours_parts())
    if (const Range& range = answer.gpu_hours.*part; range.high > 0)
      table.lines.push_back(
          {name, range_text(range, &amount), percent_of(all > 0 ? range.median / all : 0)});
  return text + table_text(table);
}

std::string groups(const char* title,
                   const std::vector<std::pair<std::string, FleetGroup>>& entries)
{
  if (entries.size() < 2)
    return "";
  TextTable table;
  table.header = {title, "jobs", "GPU h", "wait mean", "p90", "completion mean"};
  table.texts = 1;
  for (const auto& [name, one] : entries) {
    if (!one.wait_s || !one.completion_s) {
      table.lines.push_back(
          {name.empty() ? "(none)" : name, "0", range_text(one.gpu_hours, &amount), "-", "-", "-"});
      continue;
    }
    table.lines.push_back({name.empty() ? "(none)" : name, std::to_string(one.jobs),
                           range_text(one.gpu_hours, &amount),
                           range_text(one.wait_s->mean, &duration_text),
                           range_text(one.wait_s->p90, &duration_text),
                           range_text(one.completion_s->mean, &duration_text)});
  }
  return "\n" + table_text(table);
}

std::string notes(const FleetAnswer& answer)
{
  if (!answer.trace || answer.trace->notes.empty())
    return "";
  std::string text = fmt::format("\nThe trace: {} read, {} left out\n", answer.trace->read,
                                 answer.trace->left_out);
  for (const TraceNote& note : answer.trace->notes)
    text += item_text(note_text(note), 110);
  return text;
}

std::string failures(const FleetAnswer& answer)
{
  if (!answer.failures)
    return "";
  const auto& drained = answer.failures->drained;
  return fmt::format(
      "\nFailures {}, interruptions of jobs {}{}; nodes down without a spare in their place: {} on "
      "average, {} at most{}\n",
      range_text(answer.failures->failures, &number),
      range_text(answer.failures->interruptions, &number),
      drained ? ", nodes drained " + range_text(*drained, &number) : "",
      range_text(answer.failures->nodes_down_mean, &number),
      range_text(answer.failures->nodes_down_most, &number),
      answer.interval_of_daly
          ? fmt::format("; checkpoints best at {:.2f} of Daly's interval", *answer.interval_of_daly)
          : "");
}

std::string seconds(Seconds time)
{
  return time == kNever ? "" : fmt::format("{}", time.value());
}

} // namespace

std::string jobs_text(const FleetAnswer& answer)
{
  const FleetJobCounts& jobs = answer.jobs;
  std::string text = fmt::format("{} jobs: {} completed", fmt::group_digits(jobs.submitted),
                                 fmt::group_digits(jobs.completed));
  const std::pair<const char*, int> others[] = {
      {"killed at their limit", jobs.timeout},
      {"rejected: larger than the cluster or their queue's quota, or more GPUs on a node than "
       "nodes have",
       jobs.rejected},
      {"never started", jobs.waiting - jobs.unfinished - jobs.stuck},
      {"started and never got GPUs again", jobs.unfinished},
      {"still running", jobs.running},
      {"stuck: they wait for each other's GPUs", jobs.stuck}};
  for (const auto& [what, number_of_jobs] : others)
    if (number_of_jobs > 0)
      text += fmt::format(", {} {}", fmt::group_digits(number_of_jobs), what);
  return text;
}

std::string percent_of(double fraction)
{
  return fmt::format("{:.1f} %", 100 * fraction);
}

std::string duration_text(double s)
{
  if (s < 0.9995)
    return fmt::format("{:.3g} s", s);
  if (s < 120)
    return fmt::format("{:.1f} s", s);
  if (s < 7200)
    return fmt::format("{:.1f} min", s / 60);
  if (s < 2 * 86400)
    return fmt::format("{:.1f} h", s / 3600);
  return fmt::format("{:.1f} d", s / 86400);
}

std::string fleet_table(const FleetAnswer& answer)
{
  std::string text = fmt::format("{}: {} GPUs, {}", answer.fleet, answer.gpus, answer.policy);
  if (answer.seeds > 1)
    text += fmt::format(", {} seeds (ranges hold 90 %)", answer.seeds);
  text += "\n" + jobs_text(answer) + "\n\n" + times(answer);
  text += fmt::format(
      "\nmakespan {}, utilisation {}, goodput {}, ETTR {}\n",
      range_text(answer.makespan_s, &duration_text), range_text(answer.utilisation, &percent_of),
      range_text(answer.goodput, &percent_of), range_text(answer.ettr, &percent_of));
  if (answer.cost)
    text += fmt::format("cost {}{}\n", range_text(*answer.cost, &amount),
                        answer.currency.empty() ? "" : " " + answer.currency);
  if (answer.energy_kwh)
    text += fmt::format("energy {} kWh\n", range_text(*answer.energy_kwh, &amount));
  text += hours(answer) + groups("queue", answer.by_queue);
  text += groups("account", answer.by_account) + groups("GPUs", answer.by_size);
  if (!answer.waited_for.empty()) {
    text += "\nWaited most for: ";
    for (std::size_t i = 0; i < answer.waited_for.size(); ++i) {
      const auto& [cause, jobs] = answer.waited_for[i];
      text +=
          fmt::format("{}{} ({} {})", i == 0 ? "" : ", ", cause, jobs, jobs == 1 ? "job" : "jobs");
    }
    text += "\n";
  }
  if (answer.situations)
    text += fmt::format("\nSpeeds: {} situations of jobs beside each other were simulated.\n",
                        *answer.situations);
  text += failures(answer) + notes(answer);
  for (const std::string& warning : answer.warnings)
    text += "\nwarning: " + warning + "\n";
  if (answer.interrupted)
    text += "\nInterrupted: this is of what has happened so far.\n";
  return text;
}

std::string jobs_csv(const FleetRun& run)
{
  std::string text = csv_line({"id", "queue", "account", "gpus", "submit_s", "start_s", "end_s",
                               "wait_s", "run_s", "nodes", "restarts", "state", "waited_for"});
  for (std::size_t i = 0; i < run.workload.jobs.size(); ++i) {
    const Job& job = run.workload.jobs[i];
    const JobOutcome& outcome = run.result.jobs[i];
    const bool started = outcome.start != kNever;
    text += csv_line({job.id, run.workload.queues[job.queue], run.workload.accounts[job.account],
                      std::to_string(job.gpus), seconds(job.submit), seconds(outcome.start),
                      seconds(outcome.end), started ? seconds(outcome.start - job.submit) : "",
                      started ? seconds(outcome.run) : "", std::to_string(outcome.nodes),
                      std::to_string(outcome.restarts), text_of(outcome.state),
                      text_of(outcome.waited_for)});
  }
  return text;
}

std::string jobs_swf(const FleetRun& run, const FleetAnswer& answer)
{
  std::string text =
      fmt::format("; Version: 2.2\n; Computer: {} (simulated by foretrain {})\n"
                  "; MaxJobs: {}\n; MaxProcs: {}\n; Note: processors are GPUs\n",
                  answer.fleet, answer.version, run.workload.jobs.size(), answer.gpus);
  if (std::ranges::any_of(run.workload.jobs, [](const Job& job) { return job.nodes > 0; }))
    text += "; Note: nodes that jobs asked for have no column here: replayed, they go where "
            "placement puts their GPUs\n";
  for (std::size_t q = 0; q < run.workload.queues.size(); ++q)
    text += fmt::format("; Queue: {} {}\n", q, run.workload.queues[q]);
  for (std::size_t i = 0; i < run.workload.jobs.size(); ++i) {
    const Job& job = run.workload.jobs[i];
    const JobOutcome& outcome = run.result.jobs[i];
    const bool ended = outcome.end != kNever;
    const int status = !ended ? 5 : outcome.state == JobState::completed ? 1 : 0;
    text +=
        fmt::format("{} {:.0f} {:.0f} {:.0f} {} -1 -1 {} {:.0f} -1 {} -1 {} -1 {} -1 -1 -1\n",
                    i + 1, job.submit.value(), ended ? (outcome.start - job.submit).value() : -1.0,
                    ended ? outcome.run.value() : -1.0, job.gpus, job.gpus,
                    job.limit == kNever ? -1.0 : job.limit.value(), status, job.account, job.queue);
  }
  return text;
}

} // namespace foretrain::experiments
