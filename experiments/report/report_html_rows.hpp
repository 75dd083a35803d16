// A prediction as rows, one per point and job: what table, CSV and HTML have in common.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/run/keep/step_parts.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretrain::experiments {

/// A part of the step time.
struct TimePart {
  const StepPart* part;
  std::string title; // "exposed communication"
  std::string brief; // "comm"

  /// Seconds; none where the job's steps have no such part.
  std::optional<double> of(const JobResult& job) const;
};

/// One job at one point, or a point without result.
struct ReportRow {
  std::size_t point = 0;
  std::size_t job_index = 0;
  const PointResult* result = nullptr;
  const JobResult* job = nullptr; // absent: the point failed
  std::string name;               // of the job
  std::string error;

  /// What limits the job, as people call it; empty where that is not known.
  std::string limited_by() const;
  /// Whether the device holds what the job needs.
  bool fits() const { return !job || job->memory.fits(); }
  /// What the row is judged by: keep/judged.hpp; 0 where there is no rate.
  double judged() const;
  /// "does not fit" instead of what limits the job, where that is so.
  std::string limit() const;
};

/// How a job's rate is told: tokens where its samples are made of them.
struct ToldRate {
  Range rate;
  const char* unit; // "samples/s"
};
ToldRate told_rate(const JobResult& job);

/// The same by one unit: tokens where all jobs' samples are made of them, in different numbers.
class OneUnit {
public:
  OneUnit() = default;
  explicit OneUnit(const std::vector<ReportRow>& rows);
  const char* name() const { return tokens_ ? "tokens/s" : "samples/s"; }
  const char* sentence() const { return tokens_ ? "Tokens per second" : "Samples per second"; }
  const Range& rate(const JobResult& job) const
  {
    return tokens_ ? *job.tokens_per_s : job.throughput;
  }
  /// Of the same kind of samples.
  double rate_alone(const JobResult& job) const;

private:
  bool tokens_ = false;
};

/// What the training costs, with its currency; "" where it is not told.
std::string money_text(const JobResult& job);

/// A warning and the points that raised it; none: the whole run did.
struct ReportWarning {
  std::string text;
  std::vector<std::size_t> points;
};

/// "nodes" for "/cluster/nodes" where no other of them ends so, else "cluster/nodes".
std::string short_pointer(const std::string& pointer, const std::vector<std::string>& all);

/// A result, ready to be shown. Refers to what it was made from, which must outlive it.
class Report {
public:
  explicit Report(const ExperimentResult& result);
  explicit Report(ExperimentResult&&) = delete;

  const ExperimentResult& result() const { return result_; }
  const std::vector<ReportRow>& rows() const { return rows_; }
  const std::vector<std::string>& jobs() const { return jobs_; }
  const std::vector<ReportWarning>& warnings() const { return warnings_; }
  std::size_t points() const { return points_; }

  /// All pointers set by any point.
  const std::vector<std::string>& settings() const { return settings_; }
  /// Those that tell points apart: they take more than one value, and no other one fixes theirs.
  const std::vector<std::string>& varying() const { return varying_; }
  /// The varying setting that fixes this one: itself, if it varies on its own; "" if it is
  /// constant.
  std::string leader_of(const std::string& pointer) const;
  /// "batch_per_gpu varies with precision.": for settings that a sweep varies together.
  std::vector<std::string> linked_sentences() const;
  /// The different values of a setting, in order of appearance.
  std::vector<Json> values_of(const std::string& pointer) const;

  /// By which rows are shown beside each other.
  const OneUnit& unit() const { return unit_; }

  /// The parts of the step time that occur, known ones first.
  const std::vector<TimePart>& parts() const { return parts_; }

  /// "precision" for "/jobs/0/precision" where that is clear, else "jobs/0/precision".
  std::string short_name(const std::string& pointer) const;
  /// "train, 8 GPUs, fp16": what tells this row from others, without what `without` names: settings
  /// by pointer, and "job".
  std::string label(const ReportRow& row, const std::vector<std::string>& without = {}) const;
  std::string setting_text(const ReportRow& row, const std::string& pointer) const;
  /// "all points", "precision fp16" or "points 1, 3-5": a short name for these points.
  std::string points_text(const std::vector<std::size_t>& points) const;
  /// "90 %"; "steps' 90 %" where intervals hold how steps vary and nothing else
  std::string interval() const;

private:
  std::string setting_words(const ReportRow& row, const std::string& pointer) const;
  void add_point(const PointResult& point);
  void add_warning(const std::string& text, std::optional<std::size_t> point);
  void find_varying();
  bool fixes(const std::string& leader, const std::string& follower) const;
  void find_parts();

  const ExperimentResult& result_;
  std::vector<ReportRow> rows_;
  OneUnit unit_;
  std::vector<std::string> jobs_;
  std::vector<ReportWarning> warnings_;
  std::map<std::string, std::size_t> warning_of_; // text -> index
  std::vector<std::string> settings_;
  std::vector<std::string> varying_;
  std::map<std::string, std::string> leaders_; // of varying settings
  std::vector<TimePart> parts_;
  std::size_t points_ = 0;
};

/// The setting's value at this row; null if the point does not set it.
const Json& setting_at(const ReportRow& row, const std::string& pointer);

} // namespace foretrain::experiments
