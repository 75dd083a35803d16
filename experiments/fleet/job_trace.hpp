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

/// Something about a trace that its user should know.
struct TraceNote {
  std::string what;  // "were cancelled before they started"
  int jobs = 0;      // of how many
  std::string first; // the first of them, like "line 17"
};

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
};

/// Collects what a reader finds; nothing is lost in silence.
class JobCollector {
public:
  /// A job; left out where its numbers make no sense.
  void add(TraceJob job, const std::string& where);
  void leave_out(const std::string& why, const std::string& where);
  /// Something worth telling of a job that is kept.
  void note(const std::string& what, const std::string& where);
  JobTrace finish();

private:
  void tell(const std::string& what, const std::string& where);
  std::uint32_t position(std::vector<std::string>& names,
                         std::map<std::string, std::uint32_t>& known, const std::string& name);

  JobTrace trace_;
  std::map<std::string, std::size_t> notes_;
  std::map<std::string, std::uint32_t> queues_, accounts_;
  std::set<std::string> ids_;
};

/// Throws ConfigError when the file can't be read, or holds no job.
JobTrace read_job_trace(const std::filesystem::path& path, TraceKind kind);

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
