#include "experiments/validate/claim_effects.hpp"

#include "calibration/spreads.hpp"
#include "experiments/run/keep/result_json.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/run/uncertainty/uncertain_variables.hpp"
#include "experiments/spec/resolve.hpp"
#include "platforms/show.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr int kBriefSteps = 4; // measured, of runs that compare parameters
constexpr double kShift = 0.1; // of the logarithm of a parameter, in runs of their own
constexpr const char* kCopies = "/peer_copies";

// Over pairs of different GPUs.
double median_of_pairs(const std::vector<std::vector<double>>& matrix)
{
  std::vector<double> pairs;
  for (std::size_t i = 0; i < matrix.size(); ++i)
    for (std::size_t k = 0; k < matrix.size(); ++k)
      if (i != k)
        pairs.push_back(matrix[i][k]);
  return pairs.empty() ? 0 : quantile(pairs, 0.5);
}

Json peer_copies(const ResolvedExperiment& experiment)
{
  Json copies;
  for (const bool access : {true, false}) {
    const auto matrix = platforms::peer_matrix(experiment.platform, experiment.stack, access);
    copies[access ? "true" : "false"] = {{"one_way_GB_per_s", median_of_pairs(matrix.one_way)},
                                         {"both_ways_GB_per_s", median_of_pairs(matrix.both_ways)},
                                         {"latency_us", median_of_pairs(matrix.latency)}};
  }
  return copies;
}

bool of_copies(const Asked& asked)
{
  return asked.pointer.starts_with(kCopies);
}

bool of_rates(const Asked& asked)
{
  return asked.pointer == "/throughput_samples_per_s/median";
}

// Throughput and nothing else that run_point finds out.
Json rates_alone(const Point& point, const RunOptions& options)
{
  Json jobs = Json::array();
  for (const double rate : point_throughputs(point, options))
    jobs.push_back({{"throughput_samples_per_s", {{"median", rate}}}});
  return {{"jobs", std::move(jobs)}};
}

bool of_limits(const Asked& asked)
{
  return asked.pointer.starts_with("/bottleneck/");
}

Json plain_result(const Point& point, const std::set<Asked>& asked, RunOptions options)
{
  options.doubles_limits = std::any_of(asked.begin(), asked.end(), of_limits);
  const bool run = !std::all_of(asked.begin(), asked.end(), of_copies);
  Json result = run ? to_json(run_point(point, options)) : Json::object();
  result.erase("parameters");
  if (std::any_of(asked.begin(), asked.end(), of_copies))
    result["peer_copies"] = peer_copies(resolve(point));
  return result;
}

// Change of the quantity's logarithm with that of throughput; nothing where it is not known.
std::optional<double> per_throughput(const Json& result, const Asked& asked)
{
  if (asked.pointer.starts_with("/throughput_samples_per_s/"))
    return 1;
  if (asked.pointer.starts_with("/step_time_s/") || asked.pointer.starts_with("/latency_s/"))
    return -1;
  if (asked.pointer != "/elapsed_s/total")
    return std::nullopt;
  const double steps = asked_value(result, {asked.job, "/elapsed_s/steps"}).get<double>();
  return -steps / asked_value(result, asked).get<double>();
}

bool needs_runs(const Json& result, const Asked& asked)
{
  const Json& value = asked_value(result, asked);
  return value.is_number() && value.get<double>() > 0 && !per_throughput(result, asked);
}

std::string key_of(const Asked& asked)
{
  return fmt::format("{} {}", asked.job, asked.pointer);
}

// The point with few measured steps, of a job that is alone.
Point shortened(const Point& point, const Json& result)
{
  const auto document = own_document(Value(point.document));
  if (result.contains("jobs") && result.at("jobs").size() > 1)
    return point; // few steps of jobs that share fall beside each other by chance
  for (std::size_t i = 0; i < result.value("jobs", Json::array()).size(); ++i)
    set_in_experiment(*document, fmt::format("/jobs/{}/steps", i), kBriefSteps, "claim");
  return single_point(document, point.settings, {});
}

// Change of the logarithm of each quantity by one standard deviation of each parameter.
Json measured_effects(const Point& point, const std::set<Asked>& asked, const Json& base,
                      RunOptions options)
{
  options.uncertainty.method = UncertaintyMethod::steps;
  const auto variables = variables_of(resolve(point), point);
  Json effects = Json::object();
  for (std::size_t v = 0; v < variables.size(); ++v) {
    std::vector<double> shift(variables.size(), 0);
    // Down: efficiencies may be at their most. A library that is faster meets its links.
    shift[v] = variables[v].kind == "library" ? kShift : -kShift;
    const Json result = plain_result(shifted(point, variables, shift), asked, options);
    for (const Asked& it : asked) {
      const double change =
          std::log(asked_value(result, it).get<double>() / asked_value(base, it).get<double>());
      effects[key_of(it)][variables[v].name] = change * variables[v].spread / shift[v];
    }
  }
  return effects;
}

// Variance between runs, relative.
double variance_of_runs()
{
  static const double kVariance = [] {
    double variance = 0;
    for (const calibration::SpreadLine& line : calibration::load_spreads().spreads)
      if (line.kind == "run")
        variance += line.spread * line.spread;
    return variance;
  }();
  return kVariance;
}

// Steps alone do not tell how runs differ.
double between_runs(const Json& uncertainty)
{
  const double steps = uncertainty.at("run_to_run").get<double>();
  return uncertainty.at("method") == "steps" ? std::sqrt(steps * steps + variance_of_runs())
                                             : steps;
}

// What a standard deviation of its guests, "slower" or "faster", does to the job's throughput.
double guest_deviation(const Json& job, const std::string& side)
{
  return job.at("uncertainty").at("guest").at(side).get<double>() /
         half_width(job.at("throughput_samples_per_s").at("interval").get<double>());
}

} // namespace

Json claim_result(const Point& point, const std::set<Asked>& asked, RunOptions options)
{
  options.uncertainty.method = UncertaintyMethod::steps;
  return std::all_of(asked.begin(), asked.end(), of_rates) ? rates_alone(point, options)
                                                           : plain_result(point, asked, options);
}

Json with_effects(Json result, const Point& point, const std::set<Asked>& asked, RunOptions options)
{
  const Point brief = shortened(point, result);
  options.uncertainty.method = UncertaintyMethod::linear;
  const Json moved = plain_result(brief, asked, options);
  if (result.contains("jobs"))
    for (std::size_t i = 0; i < result.at("jobs").size(); ++i) {
      result["jobs"][i]["uncertainty"] = moved.at("jobs")[i].at("uncertainty");
      result["jobs"][i]["throughput_samples_per_s"]["interval"] =
          moved.at("jobs")[i].at("throughput_samples_per_s").at("interval");
    }
  std::set<Asked> apart;
  for (const Asked& it : asked)
    if (needs_runs(result, it))
      apart.insert(it);
  if (!apart.empty())
    result["effects"] = measured_effects(brief, apart, moved, options);
  return result;
}

const Json& asked_value(const Json& result, const Asked& asked)
{
  static const Json kNone;
  const Json::json_pointer at(asked.pointer);
  const auto job = static_cast<std::size_t>(asked.job);
  if (result.contains("jobs") && job < result.at("jobs").size() &&
      result.at("jobs")[job].contains(at))
    return result.at("jobs")[job].at(at);
  return result.contains(at) ? result.at(at) : kNone;
}

LinearNumber linear_number(const Json& result, const Asked& asked, const std::string& name)
{
  LinearNumber number{asked_value(result, asked).get<double>()};
  const auto power = per_throughput(result, asked);
  if (!power) {
    const Json effects = result.value("effects", Json::object()).value(key_of(asked), Json());
    for (const auto& effect : effects.items())
      number.effects[effect.key()] = number.value * effect.value().get<double>();
    return number;
  }
  const Json& job = result.at("jobs")[static_cast<std::size_t>(asked.job)];
  const double scale = number.value * *power;
  const std::string runs = fmt::format("runs of {}, job {}", name, asked.job);
  if (!job.contains("uncertainty")) {
    number.effects[runs] = scale * std::sqrt(variance_of_runs());
    return number;
  }
  const Json& uncertainty = job.at("uncertainty");
  for (const Json& part : uncertainty.at("contributions"))
    number.effects[part.at("parameter").get<std::string>()] +=
        scale * part.at("effect").get<double>();
  number.effects[runs] = scale * between_runs(uncertainty);
  if (uncertainty.contains("guest")) {
    const auto host = uncertainty.at("guest").at("host").get<std::string>();
    number.guests[host + ", slower"] = -scale * guest_deviation(job, "slower");
    number.guests[host + ", faster"] = scale * guest_deviation(job, "faster");
  }
  return number;
}

} // namespace foretrain::experiments
