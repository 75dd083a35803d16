// Jobs of a trace that a site recorded. A kind is one reader and one line of the table in
// job_trace.cpp.
#pragma once

#include "models/fleet/job.hpp"
#include "sim/base/choice.hpp"

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace foretrain::experiments {

/// When the queue of unfinished jobs is looked at: those that run have got their GPUs by then.
inline constexpr Seconds kLook{1e-6};

enum class TraceKind { sacct, swf, batsim, philly, helios, acme, openb, kueue };
constexpr auto choices(TraceKind)
{
  return std::to_array<Choice<TraceKind>>({{TraceKind::sacct, "sacct"},
                                           {TraceKind::swf, "swf"},
                                           {TraceKind::batsim, "batsim"},
                                           {TraceKind::philly, "philly"},
                                           {TraceKind::helios, "helios"},
                                           {TraceKind::acme, "acme"},
                                           {TraceKind::openb, "openb"},
                                           {TraceKind::kueue, "kueue"}});
}

/// Which jobs of a trace are taken: those that have ended, to be replayed, or those that run and
/// wait at its end.
enum class TakeJobs { ended, unfinished };
constexpr auto choices(TakeJobs)
{
  return std::to_array<Choice<TakeJobs>>(
      {{TakeJobs::ended, "ended"}, {TakeJobs::unfinished, "unfinished"}});
}

/// Something about a trace that its user should know.
struct TraceNote {
  std::string what;  // "were cancelled before they started"
  int jobs = 0;      // of how many
  std::string first; // the first of them, like "line 17"
};

/// "have no limit", of one job "has no limit".
std::string what_of_one(const std::string& what);
/// "3 have no limit (first: line 17)"; of one "1 has no limit".
std::string note_text(const TraceNote& note);

/// A job as a reader finds it.
struct TraceJob {
  std::string id, queue, account;
  int gpus = 0;
  int nodes = 0; // 0: not told
  double submit_s = 0;
  double run_s = 0;
  std::optional<double> limit_s;
  double priority = 0;
};

struct JobTrace {
  models::fleet::Workload workload; // in order of submission, the first at 0
  double first_submit_s = 0;        // of the trace's own clock
  std::vector<TraceNote> notes;
  std::size_t read = 0;     // jobs and other lines
  std::size_t left_out = 0; // for reasons that notes tell
  // Of unfinished jobs, of which those that run come first; their work is what their limits leave:
  std::vector<double> elapsed;                    // by job: shares of limits that are gone
  std::vector<double> used_of_limit;              // by jobs that have ended, in ascending order
  std::map<std::string, std::size_t> left_out_by; // notes by id, beside unfinished jobs
};

/// Unfinished jobs take the shares of their limits that jobs took which have ended: one of those
/// that took more than is gone already, all as likely; the whole limit where there is none.
void draw_run_times(models::fleet::Workload& workload, const JobTrace& trace, std::uint64_t seed);

/// Collects what a reader finds; nothing is lost in silence.
class JobCollector {
public:
  explicit JobCollector(TakeJobs take = TakeJobs::ended) : take_(take) {}
  TakeJobs take() const { return take_; }
  /// A job that has ended; left out where its numbers make no sense, or where unfinished ones are
  /// taken.
  void add(TraceJob job, const std::string& where);
  /// One that runs, for `elapsed_s` so far, or waits (nothing).
  void add_unfinished(TraceJob job, std::optional<double> elapsed_s, const std::string& where);
  void leave_out(const std::string& why, const std::string& where, const std::string& id = "");
  /// Something worth telling of a job that is kept.
  void note(const std::string& what, const std::string& where);
  JobTrace finish();

private:
  JobTrace finish_unfinished();
  bool makes_sense(const TraceJob& job, const std::string& where);
  models::fleet::Job kept(TraceJob job, const std::string& where);
  std::size_t tell(const std::string& what, const std::string& where); // which note it is
  std::uint32_t position(std::vector<std::string>& names,
                         std::map<std::string, std::uint32_t>& known, const std::string& name);

  TakeJobs take_;
  JobTrace trace_;
  std::map<std::string, std::size_t> notes_;
  std::map<std::string, std::uint32_t> queues_, accounts_;
  std::set<std::string> ids_;
};

/// Throws ConfigError when the file can't be read, or holds no job of those that are taken.
JobTrace read_job_trace(const std::filesystem::path& path, TraceKind kind,
                        TakeJobs take = TakeJobs::ended);

using TraceReader = void (*)(const std::filesystem::path& path, JobCollector& jobs);
void read_sacct(const std::filesystem::path& path, JobCollector& jobs);
void read_swf(const std::filesystem::path& path, JobCollector& jobs);
void read_batsim(const std::filesystem::path& path, JobCollector& jobs);
void read_philly(const std::filesystem::path& path, JobCollector& jobs);
void read_helios(const std::filesystem::path& path, JobCollector& jobs);
void read_acme(const std::filesystem::path& path, JobCollector& jobs);
void read_openb(const std::filesystem::path& path, JobCollector& jobs);
void read_kueue(const std::filesystem::path& path, JobCollector& jobs);

} // namespace foretrain::experiments
