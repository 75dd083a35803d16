#include "experiments/report/report_html_answer.hpp"

#include "experiments/report/svg_text.hpp"
#include "sim/base/quantity_text.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr const char* kRate = "/throughput_samples_per_s";

double rate(const ReportRow& row)
{
  return row.number(kRate).value_or(0);
}

// Whether later epochs run at another rate by more than a percent.
bool cold(const ReportRow& row)
{
  const auto later = row.number("/later_epochs/throughput_samples_per_s");
  return later && std::abs(*later / rate(row) - 1) > 0.01;
}

bool better(const ReportRow& a, const ReportRow& b)
{
  return a.fits() != b.fits() ? a.fits() : a.judged() > b.judged();
}

std::string own_gpus(const ReportRow& row)
{
  return fmt::format("/jobs/{}/gpus", row.job_index);
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
  const RateKind kind = rate_kind(row);
  return fmt::format("{} {}", number_text(row.number(kind.pointer).value_or(0), true), kind.unit);
}

std::string rate_with_interval(const Report& report, const ReportRow& row)
{
  std::string text = shown_rate(row);
  const std::string pointer = rate_kind(row).pointer;
  const auto low = row.number((pointer + "/low").c_str());
  const auto high = row.number((pointer + "/high").c_str());
  if (low && high)
    text += fmt::format(" ({} interval {} to {})", report.interval(), number_text(*low, true),
                        number_text(*high, true));
  return text;
}

std::string best_sentence(const Report& report, const ReportRow& best, bool only)
{
  std::string text = rate_with_interval(report, best);
  if (!only)
    text += " at best, with " + choice_text(report, best);
  if (const auto step = best.number("/step_time_s"))
    text += fmt::format("; {} ms per step", number_text(1e3 * *step, true));
  const auto speedup = best.number("/speedup");
  const auto efficiency = best.number("/efficiency");
  const auto per_gpu = best.number("/tokens_per_s_per_gpu");
  const auto full = best.number("/mfu/full");
  const auto causal = best.number("/mfu/causal");
  if (per_gpu && full && causal) // a large model has no rate on one GPU
    return text + fmt::format("; {} tokens/s per GPU; MFU {} with attention of all pairs, {} with "
                              "those that are needed.",
                              number_text(*per_gpu, true), percent_text(*full),
                              percent_text(*causal));
  if (speedup && efficiency && best.number("/gpus").value_or(1) > 1)
    text += fmt::format("; {} times one GPU, {} efficiency", number_text(*speedup),
                        percent_text(*efficiency));
  return text + ".";
}

std::string limit_sentence(const ReportRow& best)
{
  const std::string resource = best.limited_by();
  const std::string why = best.text("/bottleneck/why");
  if (resource.empty())
    return "";
  std::string text = "Limited by " + resource;
  if (const auto busy = best.number("/bottleneck/utilisation"); busy && *busy > 0)
    text += fmt::format(" ({} busy)", percent_text(*busy));
  return text + (why.empty() ? "." : ": " + why + ".");
}

// Probability that the best point is faster than this one, where the answer tells it: what the two
// share does not count.
std::optional<double> chance_ahead(const Report& report, const ReportRow& best,
                                   const ReportRow& row)
{
  for (const Json& it : list_at(report.result(), "comparisons"))
    if (it.at("job") == best.name && it.at("point") == best.point && it.at("than") == row.point)
      return it.at("probability").get<double>();
  return {};
}

std::string runner_up_sentence(const Report& report, const Series& rows, const ReportRow& best)
{
  const auto low = best.number("/throughput_samples_per_s/low");
  const ReportRow* second = nullptr;
  std::optional<double> chance;
  std::size_t rivals = 0;
  for (const ReportRow* row : rows) {
    if (row == &best || !low || row->fits() != best.fits())
      continue;
    const auto ahead = chance_ahead(report, best, *row);
    if (ahead ? *ahead > kClear : row->number("/throughput_samples_per_s/high").value_or(0) <= *low)
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

std::string steps_sentence(const Scaling& scaling)
{
  const ScalingStep& step = scaling.telling;
  if (scaling.steps.empty())
    return "";
  const double more = step.gpu_time - 1;
  return fmt::format(
      "{}: from {:g} to {:g} GPUs the rate {} {} times, each sample costs {} {} GPU time, "
      "and each added GPU brings {} of what one GPU alone does.",
      capital(verdict(step)), step.gpus_before, step.gpus_after,
      step.speedup < 1 ? "falls to" : "rises", number_text(step.speedup),
      percent_text(std::abs(more)), more < 0 ? "less" : "more",
      percent_text(std::max(0.0, step.gain)));
}

std::string headline_of(const Report& report, const ReportRow& best, bool only,
                        const Scaling& scaling)
{
  std::string text = best.fits() ? shown_rate(best)
                     : only      ? "It does not fit: " + shown_rate(best) + " with more memory"
                                 : "Nothing fits: " + shown_rate(best) + " with more memory";
  if (cold(best))
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
  const auto needed = row.number("/device_memory_byte/needed");
  const auto available = row.number("/device_memory_byte/available");
  if (row.fits() || !needed || !available)
    return "";
  return fmt::format("It does not fit as it is: about {} of device memory are needed, there are "
                     "{}. The rate is what more memory would allow.",
                     to_text(Bytes(*needed)), to_text(Bytes(*available)));
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
                    to_text(Bytes(fastest->number("/device_memory_byte/needed").value_or(0))),
                    to_text(Bytes(fastest->number("/device_memory_byte/available").value_or(0))));
  return text + ".";
}

// "14.6 h", "35 min", "50 s"
std::string long_time(double seconds)
{
  return seconds >= 7200  ? fmt::format("{:.1f} h", seconds / 3600)
         : seconds >= 120 ? fmt::format("{:.1f} min", seconds / 60)
                          : fmt::format("{:.0f} s", seconds);
}

// "(166 to 225)", of a range
std::string ends_text(const ReportRow& row, const std::string& range, double factor)
{
  const auto low = row.number((range + "/low").c_str());
  const auto high = row.number((range + "/high").c_str());
  return low && high
             ? fmt::format(" ({} to {})", number_text(factor * *low), number_text(factor * *high))
             : "";
}

// For jobs that say how long their training is.
std::string training_sentence(const ReportRow& row)
{
  const auto days = row.number("/days");
  if (!days)
    return "";
  const auto tokens = row.number("/training_tokens");
  const std::string time = *days >= 2 ? number_text(*days) + " days" + ends_text(row, "/days", 1)
                                      : long_time(86400 * *days);
  std::string text = tokens ? fmt::format("{} tokens take {}", tick_text(*tokens), time)
                            : "The whole training takes " + time;
  if (const std::string cost = money_text(row); !cost.empty())
    text += " and cost" + std::string(tokens ? " " : "s ") + cost;
  const auto first = row.number("/training_s/first_epoch");
  const auto later = row.number("/training_s/later_epoch");
  if (!first || !later)
    return text + ".";
  text += fmt::format(": the first epoch {}", long_time(*first));
  if (std::abs(*first / *later - 1) > 0.01)
    text += fmt::format(", later ones {}", long_time(*later));
  return text + ".";
}

// Real input at the first epoch's rate is not what most of a training is.
std::string cold_sentence(const ReportRow& row)
{
  const auto later = row.number("/later_epochs/throughput_samples_per_s");
  if (!later || !cold(row))
    return "";
  std::string text =
      fmt::format("That is the first epoch, whose caches are cold: later ones run at "
                  "{} samples/s",
                  number_text(*later, true));
  return row.number("/days") ? text + "."
                             : text + "; with \"epochs\" in the job the whole training is judged.";
}

// The cheapest of those that fit, where the fastest is not.
std::string cheapest_sentence(const Report& report, const Series& rows, const ReportRow& best)
{
  const ReportRow* cheapest = nullptr;
  for (const ReportRow* row : rows)
    if (const auto cost = row->number("/cost");
        cost && row->fits() && (!cheapest || *cost < *cheapest->number("/cost")))
      cheapest = row;
  if (!cheapest || cheapest == &best || !best.number("/cost") ||
      *cheapest->number("/cost") > 0.995 * *best.number("/cost"))
    return "";
  return fmt::format("Cheapest is {}: {} in {} days, instead of {} in {} days.",
                     choice_text(report, *cheapest), money_text(*cheapest),
                     number_text(cheapest->number("/days").value_or(0)), money_text(best),
                     number_text(best.number("/days").value_or(0)));
}

std::string sharing_sentence(const Report& report, const Series& rows)
{
  const ReportRow* worst = nullptr;
  for (const ReportRow* row : rows)
    if (const auto slowdown = row->number("/slowdown");
        slowdown && (!worst || *slowdown > *worst->number("/slowdown")))
      worst = row;
  if (!worst)
    return "";
  if (*worst->number("/slowdown") < 1.005)
    return "Sharing the machine does not slow it down.";
  std::string text = fmt::format("Sharing the machine slows it down {} times",
                                 number_text(*worst->number("/slowdown")));
  if (const auto alone = number_at(*worst->job, "/alone/throughput_samples_per_s"))
    text += fmt::format(" (alone {} samples/s)", number_text(*alone, true));
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

double gpus_of(const ReportRow* row)
{
  return row->number("/gpus").value_or(0);
}

ScalingStep step_between(const ReportRow* from, const ReportRow* to, double one_gpu)
{
  ScalingStep step{from, to, gpus_of(from), gpus_of(to), 1, 1, 1};
  step.speedup = rate(*to) / rate(*from);
  step.gain = (rate(*to) - rate(*from)) / (step.gpus_after - step.gpus_before) / one_gpu;
  step.gpu_time = step.gpus_after / step.gpus_before / step.speedup;
  return step;
}

// `rows` have rates and ascend in GPUs.
Scaling scaling_of(const Series& rows)
{
  const ReportRow& first = *rows.front();
  const double speedup = first.number("/speedup").value_or(0);
  const double one_gpu = rate(first) / (speedup > 0 ? speedup : gpus_of(&first));
  Scaling scaling;
  for (std::size_t i = 0; i + 1 < rows.size(); ++i)
    scaling.steps.push_back(step_between(rows[i], rows[i + 1], one_gpu));
  if (!scaling.steps.empty())
    scaling.telling = scaling.steps.back();
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    ScalingStep best = scaling.steps[i];
    for (std::size_t j = i + 2; j < rows.size(); ++j)
      if (const ScalingStep step = step_between(rows[i], rows[j], one_gpu); step.gain > best.gain)
        best = step;
    if (!best.pays()) {
      scaling.telling = best;
      break;
    }
  }
  return scaling;
}

Scaling scaling_along(const Series& series)
{
  Series rows;
  for (const ReportRow* row : series)
    if (gpus_of(row) > 0 && rate(*row) > 0 && row->fits())
      rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ReportRow* a, const ReportRow* b) { return gpus_of(a) < gpus_of(b); });
  rows.erase(
      std::unique(rows.begin(), rows.end(),
                  [](const ReportRow* a, const ReportRow* b) { return gpus_of(a) == gpus_of(b); }),
      rows.end());
  return rows.empty() ? Scaling{} : scaling_of(rows);
}

} // namespace

std::vector<Scaling> all_scaling(const Report& report)
{
  std::vector<Scaling> all;
  for (const std::string& leader : report.varying())
    for (const Series& series : series_along(report, leader))
      if (report.leader_of(own_gpus(*series.front())) == leader)
        if (Scaling scaling = scaling_along(series); !scaling.steps.empty())
          all.push_back(std::move(scaling));
  return all;
}

std::vector<Series> series_along(const Report& report, const std::string& pointer)
{
  std::vector<Series> all;
  std::map<std::string, std::size_t> index;
  for (const ReportRow& row : report.rows()) {
    if (!row.job)
      continue;
    Json key = Json::array({row.name});
    for (const std::string& other : report.varying())
      if (other != pointer)
        key.push_back(setting_at(row, other));
    const auto [found, is_new] = index.try_emplace(value_text(key), all.size());
    if (is_new)
      all.emplace_back();
    all[found->second].push_back(&row);
  }
  return all;
}

std::vector<Answer> answers(const Report& report)
{
  std::vector<std::string> subjects;
  std::map<std::string, Series> rows;
  for (const ReportRow& row : report.rows())
    if (row.job && row.number(kRate)) {
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
        differs = differs || std::abs(rate(*row) - rate(*series.front())) > 1e-9 * rate(*row);
      }
    if (compared && !differs)
      sentences.push_back(
          fmt::format("{} has no effect here: all its values give the same results.", pointer));
  }
  return sentences;
}

} // namespace foretrain::experiments
