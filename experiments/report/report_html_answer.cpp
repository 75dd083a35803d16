#include "experiments/report/report_html_answer.hpp"

#include "experiments/report/svg_text.hpp"
#include "sim/base/json_text.hpp"
#include "sim/base/quantity_text.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// The rate of later epochs, where it differs by more than a percent.
std::optional<double> warm_rate(const ReportRow& row)
{
  const auto& later = row.job->later_epochs;
  return later && std::abs(later->throughput.median / rate_of(row) - 1) > 0.01
             ? std::optional(later->throughput.median)
             : std::nullopt;
}

bool better(const ReportRow& a, const ReportRow& b)
{
  return a.fits() != b.fits() ? a.fits() : a.judged() > b.judged();
}

// What is trained, apart from how: samples of different models cannot be compared. The model of
// another job is how.
std::vector<std::string> subject_settings(const Report& report, const ReportRow& row)
{
  const std::string own = fmt::format("/jobs/{}/", row.job_index);
  std::vector<std::string> names{"job"};
  for (const std::string& pointer : report.varying())
    if (pointer.ends_with("/model") && (!pointer.starts_with("/jobs/") || pointer.starts_with(own)))
      names.push_back(pointer);
  return names;
}

std::string subject_of(const Report& report, const ReportRow& row)
{
  std::vector<std::string> words;
  if (report.jobs().size() > 1)
    words.push_back(row.name);
  for (const std::string& name : subject_settings(report, row))
    if (name != "job")
      words.push_back(report.setting_text(row, name));
  return joined(words);
}

std::string choice_text(const Report& report, const ReportRow& row)
{
  return report.label(row, subject_settings(report, row));
}

// "1,000 samples/s"
std::string shown_rate(const ReportRow& row)
{
  const ToldRate told = told_rate(*row.job);
  return fmt::format("{} {}", number_text(told.rate.median, true), told.unit);
}

std::string rate_with_interval(const Report& report, const ReportRow& row)
{
  const Range rate = told_rate(*row.job).rate;
  return shown_rate(row) + fmt::format(" ({} interval {} to {})", report.interval(),
                                       number_text(rate.low, true), number_text(rate.high, true));
}

std::string bounds_text(const std::optional<Range>& range)
{
  return !range ? ""
                : fmt::format(" ({} to {})", number_text(range->low), number_text(range->high));
}

std::string best_sentence(const Report& report, const ReportRow& best, bool only)
{
  const JobResult& job = *best.job;
  std::string text = rate_with_interval(report, best);
  if (!only)
    text += " at best, with " + choice_text(report, best);
  text += fmt::format("; {} ms per step", number_text(1e3 * job.step_time.median, true));
  if (job.tokens_per_s_per_gpu && job.mfu) // a large model has no rate on one GPU
    return text + fmt::format("; {} tokens/s per GPU; MFU {} with attention of all pairs, {} with "
                              "those that are needed.",
                              number_text(*job.tokens_per_s_per_gpu, true),
                              percent_text(job.mfu->share.full),
                              percent_text(job.mfu->share.causal));
  if (job.gpus > 1)
    text += fmt::format("; {} times one GPU{}, {} efficiency", number_text(job.speedup),
                        bounds_text(job.speedup_range), percent_text(job.efficiency));
  return text + ".";
}

std::string limit_sentence(const ReportRow& best)
{
  const Bottleneck& limit = best.job->bottleneck;
  if (limit.label().empty())
    return "";
  std::string text = "Limited by " + limit.label();
  if (limit.utilisation > 0)
    text += fmt::format(" ({} busy)", percent_text(limit.utilisation));
  return text + (limit.why.empty() ? "." : ": " + limit.why + ".");
}

// Probability that the best point is faster than this one, where the answer tells it: what the two
// share does not count.
std::optional<double> chance_ahead(const Report& report, const ReportRow& best,
                                   const ReportRow& row)
{
  for (const PointComparison& it : report.result().comparisons)
    if (it.job == best.name && it.point == static_cast<int>(best.point) &&
        it.than == static_cast<int>(row.point))
      return it.probability;
  return {};
}

std::string runner_up_sentence(const Report& report, const Series& rows, const ReportRow& best)
{
  const ReportRow* second = nullptr;
  std::optional<double> chance;
  std::size_t rivals = 0;
  for (const ReportRow* row : rows) {
    if (row == &best || row->fits() != best.fits())
      continue;
    const auto ahead = chance_ahead(report, best, *row);
    if (ahead ? *ahead > kClear : row->job->throughput.high <= best.job->throughput.low)
      continue;
    ++rivals;
    if (!second || better(*row, *second)) {
      second = row;
      chance = ahead;
    }
  }
  if (!second)
    return "";
  std::string text = fmt::format("Not clearly ahead of {} with {}", choice_text(report, *second),
                                 rate_with_interval(report, *second));
  text += chance ? fmt::format(": faster with a probability of {}", percent_text(*chance))
                 : ": the intervals overlap";
  if (rivals > 1)
    text += fmt::format("; nor of {} other{}", rivals - 1, rivals == 2 ? "" : "s");
  return text + ".";
}

std::string verdict(const ScalingStep& step)
{
  return step.pays() ? fmt::format("scaling still pays at {:g} GPUs", step.gpus_after)
                     : fmt::format("scaling stops paying after {:g} GPU{}", step.gpus_before,
                                   step.gpus_before == 1 ? "" : "s");
}

std::string capital(std::string text)
{
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

constexpr double kMoreThanOne = 1.2;

std::string steps_sentence(const Scaling& scaling)
{
  const ScalingStep& step = scaling.telling;
  if (scaling.steps.empty())
    return "";
  const double more = step.gpu_time - 1;
  // As where some share their nodes unevenly: "each brings 270 %" alone would be a riddle.
  const std::string held_back =
      step.gain > kMoreThanOne && !step.from->limited_by().empty()
          ? fmt::format(" That is more than one: {:g} GPUs are held back more, by {}.",
                        step.gpus_before, step.from->limited_by())
          : "";
  const std::string text =
      fmt::format("{}: from {:g} to {:g} GPUs the rate {}, each sample costs {} {} GPU time, and ",
                  capital(verdict(step)), step.gpus_before, step.gpus_after,
                  step.speedup < 1 ? "falls to " + percent_text(step.speedup)
                                   : "rises " + number_text(step.speedup) + " times",
                  percent_text(std::abs(more)), more < 0 ? "less" : "more");
  return step.gain < 0
             ? text + "the added GPUs take more than they bring."
             : text + fmt::format("each added GPU brings {} of what one GPU alone does.{}",
                                  percent_text(step.gain), held_back);
}

std::string headline_of(const Report& report, const ReportRow& best, bool only,
                        const Scaling& scaling)
{
  std::string text = best.fits() ? shown_rate(best)
                     : only      ? "It does not fit: " + shown_rate(best) + " with more memory"
                                 : "Nothing fits: " + shown_rate(best) + " with more memory";
  if (warm_rate(best))
    text += " in the first, cold epoch";
  if (!only)
    text += " at best, with " + choice_text(report, best);
  if (const std::string resource = best.limited_by(); !resource.empty())
    text += (only ? ", limited by " : "; limited by ") + resource;
  if (!scaling.steps.empty())
    text += "; " + verdict(scaling.telling);
  return text + ".";
}

std::string limit_moves_sentence(const Scaling& scaling)
{
  for (const ScalingStep& step : scaling.steps) {
    const std::string before = step.from->limited_by();
    const std::string after = step.to->limited_by();
    if (before != after && !before.empty() && !after.empty())
      return fmt::format("At {:g} GPUs the limit moves from {} to {}.", step.gpus_after, before,
                         after);
  }
  return "";
}

// What makes the answer worthless comes first.
std::string memory_sentence(const ReportRow& row)
{
  if (row.fits())
    return "";
  return fmt::format("It does not fit as it is: about {} of device memory are needed, there are "
                     "{}. The rate is what more memory would allow.",
                     gigabytes_text(row.job->memory.needed),
                     gigabytes_text(row.job->memory.available));
}

// Those that would be faster if they fitted are missed otherwise.
std::string misfits_sentence(const Report& report, const Series& rows, const ReportRow& best)
{
  const ReportRow* fastest = nullptr;
  std::size_t misfits = 0;
  for (const ReportRow* row : rows)
    if (!row->fits()) {
      ++misfits;
      if (!fastest || row->judged() > fastest->judged())
        fastest = row;
    }
  if (!fastest || !best.fits())
    return "";
  std::string text =
      fmt::format("{} of {} do not fit in device memory and are no choice", misfits, rows.size());
  if (fastest->judged() > best.judged())
    text +=
        fmt::format(": {} needs {} of {}", choice_text(report, *fastest),
                    to_text(fastest->job->memory.needed), to_text(fastest->job->memory.available));
  return text + ".";
}

// "14.6 h", "35 min", "50 s"
std::string long_time(double seconds)
{
  return seconds >= 7200  ? fmt::format("{:.1f} h", seconds / 3600)
         : seconds >= 120 ? fmt::format("{:.1f} min", seconds / 60)
                          : fmt::format("{:.0f} s", seconds);
}

// For jobs that say how long their training is.
std::string training_sentence(const ReportRow& row)
{
  const JobResult& job = *row.job;
  if (!job.days)
    return "";
  const Range& days = *job.days;
  const std::string time = days.median >= 2
                               ? fmt::format("{} days ({} to {})", number_text(days.median),
                                             number_text(days.low), number_text(days.high))
                               : long_time(86400 * days.median);
  const bool tokens = job.training_tokens.has_value();
  std::string text = tokens
                         ? fmt::format("{} tokens take {}", tick_text(*job.training_tokens), time)
                         : "The whole training takes " + time;
  if (const std::string cost = money_text(job); !cost.empty())
    text += " and cost" + std::string(tokens ? " " : "s ") + cost;
  if (!job.training || !job.training->first_epoch || !job.training->later_epoch)
    return text + ".";
  const double first = job.training->first_epoch->value();
  const double later = job.training->later_epoch->value();
  if (std::abs(first / later - 1) > 0.01)
    return text + fmt::format(": the first epoch {}, later ones {} each.", long_time(first),
                              long_time(later));
  return text + fmt::format(": {} an epoch.", long_time(first));
}

// Real input at the first epoch's rate is not what most of a training is.
std::string cold_sentence(const ReportRow& row)
{
  const auto later = warm_rate(row);
  if (!later)
    return "";
  std::string text =
      fmt::format("That is the first epoch, whose caches are cold: later ones run at "
                  "{} samples/s",
                  number_text(*later, true));
  return row.job->days ? text + "."
                       : text + "; with \"epochs\" in the job the whole training is judged.";
}

// The cheapest of those that fit, where the fastest is not.
std::string cheapest_sentence(const Report& report, const Series& rows, const ReportRow& best)
{
  const ReportRow* cheapest = nullptr;
  for (const ReportRow* row : rows)
    if (const auto& cost = row->job->cost;
        cost && row->fits() && (!cheapest || cost->median < cheapest->job->cost->median))
      cheapest = row;
  if (!cheapest || cheapest == &best || !best.job->cost ||
      cheapest->job->cost->median > 0.995 * best.job->cost->median)
    return "";
  const auto days = [](const ReportRow& row) {
    return number_text(row.job->days ? row.job->days->median : 0);
  };
  return fmt::format("Cheapest is {}: {} in {} days, instead of {} in {} days.",
                     choice_text(report, *cheapest), money_text(*cheapest->job), days(*cheapest),
                     money_text(*best.job), days(best));
}

std::string sharing_sentence(const Report& report, const Series& rows)
{
  const ReportRow* worst = nullptr;
  for (const ReportRow* row : rows)
    if (const auto& slowdown = row->job->slowdown;
        slowdown && (!worst || *slowdown > *worst->job->slowdown))
      worst = row;
  if (!worst)
    return "";
  if (*worst->job->slowdown < 1.005)
    return "Sharing the machine does not slow it down.";
  std::string text =
      fmt::format("Sharing the machine slows it down {} times{}",
                  number_text(*worst->job->slowdown), bounds_text(worst->job->slowdown_range));
  if (const auto& alone = worst->job->alone)
    text +=
        fmt::format("; alone it does {} samples/s", number_text(alone->throughput.median, true));
  return text + (rows.size() > 1 ? ", at worst with " + choice_text(report, *worst) + "." : ".");
}

Answer answer_for(const Report& report, const std::string& subject, const Series& rows,
                  const std::vector<Scaling>& all)
{
  Answer answer{subject, nullptr, {}, {}};
  for (const ReportRow* row : rows)
    if (!answer.best || better(*row, *answer.best))
      answer.best = row;
  Scaling scaling;
  for (const Scaling& candidate : all)
    for (const ScalingStep& step : candidate.steps)
      if (step.to == answer.best || step.from == answer.best)
        scaling = candidate;
  answer.headline = headline_of(report, *answer.best, rows.size() == 1, scaling);
  for (const std::string& sentence :
       {memory_sentence(*answer.best), best_sentence(report, *answer.best, rows.size() == 1),
        cold_sentence(*answer.best), training_sentence(*answer.best),
        cheapest_sentence(report, rows, *answer.best), limit_sentence(*answer.best),
        steps_sentence(scaling), limit_moves_sentence(scaling), sharing_sentence(report, rows),
        misfits_sentence(report, rows, *answer.best),
        runner_up_sentence(report, rows, *answer.best)})
    if (!sentence.empty())
      answer.sentences.push_back(sentence);
  return answer;
}

} // namespace

std::vector<Answer> answers(const Report& report)
{
  std::vector<std::string> subjects;
  std::map<std::string, Series> rows;
  for (const ReportRow& row : report.rows())
    if (row.job) {
      const std::string subject = subject_of(report, row);
      if (rows[subject].empty())
        subjects.push_back(subject);
      rows[subject].push_back(&row);
    }
  const auto scaling = all_scaling(report);
  std::vector<Answer> all;
  for (const std::string& subject : subjects)
    all.push_back(answer_for(report, subject, rows[subject], scaling));
  return all;
}

std::vector<std::string> without_effect(const Report& report)
{
  std::vector<std::string> sentences;
  for (const std::string& pointer : report.varying()) {
    bool compared = false;
    bool differs = false;
    for (const Series& series : series_along(report, pointer))
      for (const ReportRow* row : series) {
        compared = compared || row != series.front();
        differs =
            differs || std::abs(rate_of(*row) - rate_of(*series.front())) > 1e-9 * rate_of(*row);
      }
    if (compared && !differs)
      sentences.push_back(
          fmt::format("{} has no effect here: all its values give the same results.", pointer));
  }
  return sentences;
}

} // namespace foretrain::experiments
