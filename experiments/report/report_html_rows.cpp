#include "experiments/report/report_html_rows.hpp"

#include "experiments/report/svg_text.hpp"
#include "experiments/run/keep/judged.hpp"
#include "sim/base/json_text.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

const Json kNull;

// How parts are called that have a name of their own, as a heading and in short.
struct PartName {
  const char* title;
  const char* brief;
};
const std::map<std::string, PartName> kPartNames{
    {"exposed_communication", {"exposed communication", "comm"}},
    {"input_stall", {"input stall", "input"}},
    {"host_to_device", {"host to device", "copy"}},
    {"straggler_wait", {"straggler wait", "wait"}}};

} // namespace

std::optional<double> TimePart::of(const JobResult& job) const
{
  return part->planned && !job.planned ? std::nullopt
                                       : std::optional((job.time.*part->time).value());
}

const Json& setting_at(const ReportRow& row, const std::string& pointer)
{
  const Settings& settings = row.result->settings;
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const auto& it) { return it.first == pointer; });
  return found != settings.end() ? found->second : kNull;
}

ToldRate told_rate(const JobResult& job)
{
  return job.tokens_per_s ? ToldRate{*job.tokens_per_s, "tokens/s"}
                          : ToldRate{job.throughput, "samples/s"};
}

OneUnit::OneUnit(const std::vector<ReportRow>& rows)
{
  double least = 0, most = 0;
  for (const ReportRow& row : rows) {
    if (row.job && !row.job->tokens_per_s)
      return;
    if (!row.job)
      continue;
    const double tokens = tokens_per_sample(*row.job);
    least = most > 0 ? std::min(least, tokens) : tokens;
    most = std::max(most, tokens);
  }
  tokens_ = most > least * (1 + 1e-6);
}

double OneUnit::rate_alone(const JobResult& job) const
{
  return job.alone ? job.alone->throughput.median * (tokens_ ? tokens_per_sample(job) : 1) : 0;
}

std::string money_text(const JobResult& job)
{
  return job.cost ? number_text(job.cost->median, true) +
                        (job.currency.empty() ? "" : " " + job.currency)
                  : "";
}

double ReportRow::judged() const
{
  return job ? judged_rate(*job) : 0;
}

std::string ReportRow::limited_by() const
{
  return job ? job->bottleneck.label() : "";
}

std::string ReportRow::limit() const
{
  return fits() ? limited_by() : "does not fit";
}

Report::Report(const ExperimentResult& result) : result_(result)
{
  if (result.interrupted)
    add_warning("the run was interrupted: only the points that were done are here", std::nullopt);
  for (const std::string& warning : result.warnings)
    add_warning(warning, std::nullopt);
  for (const PointResult& point : result.points)
    add_point(point);
  unit_ = OneUnit(rows_);
  find_varying();
  find_parts();
}

void Report::add_point(const PointResult& point)
{
  ReportRow row;
  row.point = points_++;
  row.result = &point;
  for (const auto& [pointer, value] : point.settings)
    if (std::find(settings_.begin(), settings_.end(), pointer) == settings_.end())
      settings_.push_back(pointer);
  for (const std::string& warning : point.warnings)
    add_warning(warning, row.point);
  row.error = point.error;
  if (point.jobs.empty()) {
    rows_.push_back(row);
    return;
  }
  for (const JobResult& job : point.jobs) {
    row.job = &job;
    row.name = job.name;
    if (std::find(jobs_.begin(), jobs_.end(), row.name) == jobs_.end())
      jobs_.push_back(row.name);
    rows_.push_back(row);
    ++row.job_index;
  }
}

void Report::add_warning(const std::string& text, std::optional<std::size_t> point)
{
  const auto [known, is_new] = warning_of_.try_emplace(text, warnings_.size());
  if (is_new)
    warnings_.push_back({text, {}});
  ReportWarning& warning = warnings_[known->second];
  if (point && (warning.points.empty() || warning.points.back() != *point))
    warning.points.push_back(*point);
}

void Report::find_varying()
{
  std::vector<std::string> candidates;
  for (const std::string& pointer : settings_)
    if (values_of(pointer).size() > 1)
      candidates.push_back(pointer);
  std::stable_partition(candidates.begin(), candidates.end(), [](const auto& p) {
    return p.size() > 5 && p.substr(p.size() - 5) == "/gpus"; // what others follow, if linked
  });
  for (const std::string& pointer : candidates) {
    const auto leader = std::find_if(candidates.begin(), candidates.end(), [&](const auto& other) {
      return leaders_.count(other) > 0 && leaders_.at(other) == other && fixes(other, pointer);
    });
    leaders_[pointer] = leader == candidates.end() ? pointer : *leader;
  }
  for (const std::string& pointer : settings_)
    if (leader_of(pointer) == pointer)
      varying_.push_back(pointer);
}

bool Report::fixes(const std::string& leader, const std::string& follower) const
{
  std::map<std::string, std::string> values;
  return std::all_of(rows_.begin(), rows_.end(), [&](const ReportRow& row) {
    const std::string value = value_text(setting_at(row, follower));
    return values.try_emplace(value_text(setting_at(row, leader)), value).first->second == value;
  });
}

std::string Report::leader_of(const std::string& pointer) const
{
  const auto found = leaders_.find(pointer);
  return found != leaders_.end() ? found->second : "";
}

std::vector<std::string> Report::linked_sentences() const
{
  std::vector<std::string> sentences;
  for (const std::string& leader : varying_) {
    std::vector<std::string> followers;
    for (const std::string& pointer : settings_)
      if (pointer != leader && leader_of(pointer) == leader)
        followers.push_back(short_name(pointer));
    if (!followers.empty())
      sentences.push_back(fmt::format("{} var{} with {}.", joined(followers, " and "),
                                      followers.size() == 1 ? "ies" : "y", short_name(leader)));
  }
  return sentences;
}

void Report::find_parts()
{
  for (const StepPart& part : kStepParts) {
    if (std::none_of(rows_.begin(), rows_.end(), [&](const ReportRow& row) {
          return row.job && (!part.planned || row.job->planned);
        }))
      continue;
    const auto named = kPartNames.find(part.key);
    parts_.push_back(named == kPartNames.end()
                         ? TimePart{&part, part.key, part.key}
                         : TimePart{&part, named->second.title, named->second.brief});
  }
}

std::vector<Json> Report::values_of(const std::string& pointer) const
{
  std::vector<Json> values;
  std::set<std::string> seen;
  for (const ReportRow& row : rows_)
    if (const Json& value = setting_at(row, pointer); seen.insert(value_text(value)).second)
      values.push_back(value);
  return values;
}

std::string short_pointer(const std::string& pointer, const std::vector<std::string>& all)
{
  const auto last = [](const std::string& p) { return p.substr(p.rfind('/') + 1); };
  const std::string name = last(pointer);
  const bool number = name.find_first_not_of("0123456789") == std::string::npos;
  const bool shared = std::count_if(all.begin(), all.end(), [&](const std::string& other) {
                        return last(other) == name;
                      }) > 1;
  return number || shared ? pointer.substr(pointer.rfind('/', 0) == 0 ? 1 : 0) : name;
}

std::string Report::short_name(const std::string& pointer) const
{
  const std::string name = pointer.substr(pointer.rfind('/') + 1);
  for (std::size_t j = 0; jobs_.size() > 1 && j < jobs_.size(); ++j)
    if (pointer == fmt::format("/jobs/{}/{}", j, name))
      return jobs_[j] + " " + name;
  const bool of_one_job = jobs_.size() > 1 && pointer.rfind("/jobs/", 0) == 0;
  return of_one_job ? pointer.substr(1) : short_pointer(pointer, settings_);
}

std::string Report::setting_text(const ReportRow& row, const std::string& pointer) const
{
  const Json& value = setting_at(row, pointer);
  return value.is_null() ? "-" : clipped(value_text(value), 48);
}

std::string Report::setting_words(const ReportRow& row, const std::string& pointer) const
{
  const Json& value = setting_at(row, pointer);
  const std::string name = short_name(pointer);
  if (value.is_number() && (name == "gpus" || name == "nodes"))
    return fmt::format("{} {}{}", value_text(value), name == "gpus" ? "GPU" : "node",
                       value == 1 ? "" : "s");
  if (value.is_string() && name.find_first_of("/ ") == std::string::npos)
    return setting_text(row, pointer);
  return name + " " + setting_text(row, pointer);
}

std::string Report::label(const ReportRow& row, const std::vector<std::string>& without) const
{
  const auto wanted = [&](const std::string& what) {
    return std::find(without.begin(), without.end(), what) == without.end();
  };
  std::vector<std::string> words;
  if (jobs_.size() > 1 && row.job && wanted("job"))
    words.push_back(row.name);
  for (const std::string& pointer : varying_)
    if (wanted(pointer))
      words.push_back(setting_words(row, pointer));
  if (words.empty() && without.empty())
    words.push_back(row.name.empty() ? fmt::format("point {}", row.point + 1) : row.name);
  return joined(words);
}

std::string Report::points_text(const std::vector<std::size_t>& points) const
{
  if (points.empty() || points.size() == points_)
    return "all points";
  if (points.size() == 1)
    for (const ReportRow& row : rows_)
      if (row.point == points.front())
        return varying_.empty() ? fmt::format("point {}", row.point + 1) : label(row, {"job"});
  const std::set<std::size_t> chosen(points.begin(), points.end());
  for (const std::string& pointer : varying_) { // one setting that says it all
    std::map<std::string, bool> inside;
    std::vector<std::string> words;
    bool clear = true;
    for (const ReportRow& row : rows_) {
      const bool is_chosen = chosen.count(row.point) > 0;
      const std::string value = value_text(setting_at(row, pointer));
      const auto [found, is_new] = inside.try_emplace(value, is_chosen);
      clear = clear && found->second == is_chosen;
      if (is_new && is_chosen)
        words.push_back(setting_words(row, pointer));
    }
    if (clear && words.size() <= 4)
      return joined(words);
  }
  std::vector<std::string> runs;
  for (auto first = chosen.begin(); first != chosen.end();) {
    auto last = first;
    while (std::next(last) != chosen.end() && *std::next(last) == *last + 1)
      ++last;
    runs.push_back(*first == *last ? fmt::format("{}", *first + 1)
                                   : fmt::format("{}-{}", *first + 1, *last + 1));
    first = std::next(last);
  }
  if (runs.size() > 12)
    return fmt::format("{} of {} points", chosen.size(), points_);
  return "points " + joined(runs);
}

std::string Report::interval() const
{
  const auto first = std::find_if(rows_.begin(), rows_.end(),
                                  [](const ReportRow& row) { return row.job != nullptr; });
  if (first == rows_.end())
    return "90 %";
  const bool steps_only = std::all_of(rows_.begin(), rows_.end(), [](const ReportRow& row) {
    return !row.job || row.job->uncertainty->method == "steps";
  });
  return (steps_only ? "steps' " : "") + percent_text(first->job->throughput.interval);
}

} // namespace foretrain::experiments
