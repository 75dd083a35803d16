// Intervals from the spread of parameters: closed forms, and two methods against each other.
#include "experiments/run/uncertainty/uncertainty.hpp"

#include "experiments/answers/comparisons.hpp"
#include "experiments/answers/predict.hpp"
#include "experiments/run/keep/range.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/run/uncertainty/linear_effects.hpp"
#include "experiments/run/uncertainty/linear_spreads.hpp"
#include "experiments/run/uncertainty/uncertain_variables.hpp"
#include "experiments/spec/resolve.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/calibrate_support.hpp"
#include "tests/experiments/uncertainty_support.hpp"
#include "tests/support/catch.hpp"

#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>

namespace foretrain::uncertainty_test {

using namespace foretrain::test;
using Catch::Matchers::Contains;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

TEST_CASE("each cause is found as if it had been varied by itself", "[uncertainty][long]")
{
  const LogFolder folder;
  // The adapter's rate brings time, calls and latencies of the library take it.
  Json json = experiment(8, true);
  json["jobs"][0]["framework"] = {{"extends", "pytorch-ddp"}, {"step_variation", 0}};
  json["jobs"][0]["steps"] = 12;
  json["stack"] = {{"network", "tcp"}};
  const auto loaded = load_experiment(folder.write("e.json", json.dump()), {});
  const Point& point = loaded.points[0];
  const JobResult job = run_point(point, with(UncertaintyMethod::linear)).jobs.front();
  const auto variables = variables_of(resolve(point), point);
  int found = 0;
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const auto per_deviation = [&](double deviations) {
      std::vector<double> shift(variables.size(), 0);
      shift[v] = deviations * variables[v].spread;
      const auto options = with(UncertaintyMethod::steps);
      const double rate =
          run_point(shifted(point, variables, shift), options).jobs.front().throughput.median;
      return std::log(rate / job.throughput.median) / deviations;
    };
    // What bytes go through may be slower by more than it may be faster.
    const double reach = half_width(0.9);
    const double change =
        !acts_unevenly(variables[v])
            ? per_deviation(1)
            : std::max(per_deviation(reach), per_deviation(-reach),
                       [](double a, double b) { return std::abs(a) < std::abs(b); });
    CAPTURE(variables[v].name, change);
    // Not linear, and of less than 0.0001 nobody asks.
    CHECK_THAT(effect_of(job, variables[v].name), WithinAbs(change, 2e-4 + 0.2 * std::abs(change)));
    const bool searched = variables[v].kind == "nic" || variables[v].kind == "library";
    found += searched && std::abs(change) > 2e-4 ? 1 : 0;
  }
  CHECK(found >= 3);
}

TEST_CASE("no cause is hidden by another that reaches the same limit", "[uncertainty][closed-form]")
{
  constexpr double kSpread = 0.1;
  std::vector<Variable> variables;
  for (const char* name : {"large", "idle", "small", "idle too"}) {
    Variable variable{name, "network", {}, kSpread};
    variable.at.push_back({std::string("/") + name, {1, "", 1}, 0, 1e9});
    variables.push_back(variable);
  }
  // Either half of the four makes it no shorter than 1.
  const RatesOf rates = [](const Point& at, bool) {
    std::map<std::string, double> is{{"/large", 1}, {"/small", 1}};
    if (at.document->overlay)
      for (const OverlayEntry& entry : at.document->overlay->entries)
        is[entry.pointer] = entry.value.get<double>();
    return LogRates{-std::log(std::max(1.0, 0.9 / is["/large"] + 0.15 / is["/small"]))};
  };
  const LinearEffects effects =
      linear_effects({{}, std::make_shared<Document>(), nullptr}, rates, variables);
  const double shift = half_width(0.9) * kSpread;
  const double small = std::log(1.05 / (0.9 + 0.15 * std::exp(-shift)));
  CHECK_THAT(effects.more[0].front(), WithinRel(std::log(1.05) * kSpread / shift, 1e-9));
  CHECK_THAT(effects.more[2].front(), WithinRel(small * kSpread / shift, 1e-9));
  CHECK(effects.more[1].front() == 0);
  CHECK(effects.more[3].front() == 0);
}

TEST_CASE("of two limits that are as near the slower one counts", "[uncertainty][closed-form]")
{
  constexpr double kSpread = 0.1;
  std::vector<Variable> variables;
  for (const auto& [name, kind] : {std::pair{"kernels", "gpu"}, std::pair{"disk", "disk"},
                                   std::pair{"idle", "disk"}, std::pair{"call", "latency"}}) {
    Variable variable{name, kind, {}, kSpread};
    variable.at.push_back({std::string("/") + name, {1, "", 1}, 0, 1e9});
    variables.push_back(variable);
  }
  variables.back().at.front().value.unit = "us"; // more of it is worse
  int runs = 0;
  const auto effects_where_disk_is = [&](double ahead) {
    runs = 0;
    const RatesOf rates = [&](const Point& at, bool) {
      ++runs;
      std::map<std::string, double> is{{"/kernels", 1}, {"/disk", ahead}, {"/call", 1}};
      if (at.document->overlay)
        for (const OverlayEntry& entry : at.document->overlay->entries)
          is[entry.pointer] *= entry.value.is_string() ? std::stod(entry.value.get<std::string>())
                                                       : entry.value.get<double>();
      return LogRates{
          -std::log(std::max({1 / is["/kernels"], 1 / is["/disk"], 0.95 * is["/call"]}))};
    };
    return linear_effects({{}, std::make_shared<Document>(), nullptr}, rates, variables);
  };
  const double reach = half_width(0.9) * kSpread;
  const LinearEffects tie = effects_where_disk_is(1);
  for (const std::size_t v : {0u, 1u}) {
    CHECK(tie.more[v].front() == 0);
    CHECK_THAT(tie.less[v].front(), WithinRel(kSpread, 1e-9));
  }
  CHECK(tie.less[2].front() == 0);
  CHECK(tie.less[3].front() == 0); // a shorter call
  const double longer = kSpread + std::log(0.95);
  CHECK_THAT(tie.more[3].front(), WithinRel(-longer, 1e-6));
  const LinearEffects ahead = effects_where_disk_is(1.05);
  CHECK_THAT(ahead.less[1].front(), WithinRel((reach - std::log(1.05)) * kSpread / reach, 1e-9));
  CHECK_THAT(ahead.less[0].front(), WithinRel(kSpread, 1e-9));
  const LinearEffects far = effects_where_disk_is(10);
  CHECK(far.less[1].front() == 0);
}

TEST_CASE("a speedup is as uncertain as what one GPU does not share", "[uncertainty][long]")
{
  const LogFolder folder;
  Json json = experiment(8, true);
  json["jobs"][0]["anchor"]["spread"] = 0.3;
  const auto loaded = load_experiment(folder.write("e.json", json.dump()), {});
  const Point& point = loaded.points[0];
  const JobResult job = run_point(point, with(UncertaintyMethod::linear)).jobs.front();
  REQUIRE(job.speedup_range);
  CHECK(job.speedup_range->median == job.speedup);
  CHECK(log_width(*job.speedup_range) < 0.3 * log_width(job.throughput));
  // Each parameter by itself, in whole predictions.
  const auto experiment_of = resolve(point);
  const auto variables = variables_of(experiment_of, point);
  double squares = 2 * std::pow(job.uncertainty->run_to_run, 2);
  for (std::size_t v = 0; v < variables.size(); ++v) {
    std::vector<double> shift(variables.size(), 0);
    shift[v] = 0.1;
    const JobResult other =
        run_point(shifted(point, variables, shift), with(UncertaintyMethod::steps)).jobs[0];
    squares += std::pow(std::log(other.speedup / job.speedup) / 0.1 * variables[v].spread, 2);
    // And what a rate of one GPU does not tell of several.
    const double of_rate = std::log(other.throughput.median / job.throughput.median) / 0.1;
    squares += std::pow(of_rate * variables[v].of_several, 2);
  }
  CHECK_THAT(log_width(*job.speedup_range), WithinRel(2 * kHalf90 * std::sqrt(squares), 0.1));
  CHECK_THAT(
      log_width(
          *run_point(point, with(UncertaintyMethod::monte_carlo, 20)).jobs.front().speedup_range),
      WithinRel(log_width(*job.speedup_range), 0.01));
}

TEST_CASE("what is one GPU, or does not run on one, has no range of its speedup",
          "[uncertainty][long]")
{
  const LogFolder folder;
  const auto range = [&](const Json& json, UncertaintyMethod method) {
    const auto loaded = load_experiment(folder.write("e.json", json.dump()), {});
    return run_point(loaded.points[0], with(method)).jobs.front().speedup_range;
  };
  CHECK_FALSE(range(experiment(1, true), UncertaintyMethod::linear));
  CHECK_FALSE(range(experiment(8, true), UncertaintyMethod::steps));
  Json large = {{"cluster", {{"platform", "hgx-h100"}, {"nodes", 1}}},
                {"jobs", Json::array({{{"name", "train"},
                                       {"model", "gpt3-1.7b"},
                                       {"framework", "megatron"},
                                       {"batch_per_gpu", 1},
                                       {"gpus", 8}}})}};
  CHECK_FALSE(range(large, UncertaintyMethod::linear));
}

TEST_CASE("linear and Monte Carlo agree", "[uncertainty][many]")
{
  const LogFolder folder;
  const bool anchored = GENERATE(true, false);
  const int gpus = GENERATE(1, 8);
  const auto loaded =
      load_experiment(folder.write("e.json", experiment(gpus, anchored, 0.01).dump()), {});
  const auto linear = run_point(loaded.points[0], with(UncertaintyMethod::linear)).jobs.front();
  const auto sampled =
      run_point(loaded.points[0], with(UncertaintyMethod::monte_carlo, 300)).jobs.front();
  CAPTURE(anchored, gpus, linear.throughput.low, linear.throughput.high, sampled.throughput.low,
          sampled.throughput.high);
  // 300 samples know a 90 % interval to about 8 %.
  CHECK_THAT(log_width(sampled.throughput), WithinRel(log_width(linear.throughput), 0.25));
  CHECK_THAT(sampled.uncertainty->parameters, WithinRel(linear.uncertainty->parameters, 0.2));
  const Deviations one = linear.uncertainty->deviations(), many = sampled.uncertainty->deviations();
  CHECK_THAT(many.below, WithinRel(one.below, 0.25));
  CHECK_THAT(many.above, WithinRel(one.above, 0.25));
  CHECK(linear.throughput.median == sampled.throughput.median);
}

TEST_CASE("a value that is the most that there is acts on one side alone", "[uncertainty][long]")
{
  const LogFolder folder;
  const auto throughput = [&](const char* flow_rate, const Json& spread) {
    Json fabric = {{"extends", "aws-vpc"}, {"flow_rate", flow_rate}};
    if (!spread.is_null())
      fabric["spread"] = {{"/flow_rate", spread}};
    const Json json = {
        {"cluster", {{"platform", "g4dn-12xlarge"}, {"nodes", 2}, {"fabric", fabric}}},
        {"stack", {{"host", "container"}, {"network", "calico"}}},
        {"jobs",
         {{{"model", "resnet50"},
           {"framework", "pytorch-ddp"},
           {"batch_per_gpu", 20},
           {"gpus", 8}}}}};
    const auto loaded = load_experiment(folder.write("flow.json", json.dump()), {});
    return run_point(loaded.points[0], with(UncertaintyMethod::linear, 200, 0.9))
        .jobs[0]
        .throughput;
  };
  const Range exact = throughput("10 Gb/s", nullptr);
  const Range most = throughput("10 Gb/s", {{"below", 0.42}});
  const Range both = throughput("10 Gb/s", 0.42);
  const Range slower = throughput("6.5705 Gb/s", nullptr); // one standard deviation
  CHECK(most.median == exact.median);
  CHECK_THAT(most.high, WithinRel(exact.high, 1e-3));
  const double deviation = half_width(0.9) * std::log(exact.median / slower.median);
  CHECK(deviation > 0.2);
  CHECK_THAT(std::log(most.median / most.low),
             WithinRel(std::hypot(std::log(exact.median / exact.low), deviation), 0.01));
  CHECK(both.high > 1.1 * most.high);
  for (const char* text : {R"({"above": 0.42})", R"({"below": -1})", R"({"below": 1, "x": 2})"})
    CHECK_THROWS_WITH(throughput("10 Gb/s", Json::parse(text)), Contains("must be a number"));
}

TEST_CASE("one-sided causes widen the side of slower rates, or of faster ones", "[uncertainty]")
{
  std::vector<Variable> variables(3);
  variables[0].at_most = variables[1].at_most = true; // a rate and a latency
  const std::vector<LogRates> both{{0.3}, {-0.2}, {0.4}};
  const LinearEffects effects{both, both};
  const std::vector<std::vector<double>> alone{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const Deviations found = deviations_of(variables, effects, alone, 0);
  CHECK_THAT(found.below, WithinRel(0.5, 1e-12));
  CHECK_THAT(found.above, WithinRel(std::sqrt(0.2), 1e-12));
  CHECK(found.larger() == found.below);
  const Range range = rate_widened({8, 8, 8, 0.9}, found, 1.2);
  CHECK_THAT(std::log(8 / range.low), WithinRel(1.3 * half_width(0.9), 1e-12));
  CHECK_THAT(std::log(range.high / 8),
             WithinRel(std::hypot(found.above, 1.2) * half_width(0.9), 1e-12));
  const Range time = time_widened({8, 8, 8, 0.9}, found, 0);
  CHECK_THAT(std::log(time.high / 8), WithinRel(0.5 * half_width(0.9), 1e-12));
  CHECK_THAT(std::log(8 / time.low), WithinRel(found.above * half_width(0.9), 1e-12));
}

TEST_CASE("a cause that does less one way than the other widens its sides by as much",
          "[uncertainty]")
{
  const std::vector<Variable> variables(2);
  const LinearEffects effects{{{-0.3}, {0.4}}, {{-0.1}, {0.4}}};
  const Deviations found = deviations_of(variables, effects, {{1, 0}, {0, 1}}, 0);
  CHECK_THAT(found.below, WithinRel(0.5, 1e-12)); // more of the first is slower
  CHECK_THAT(found.above, WithinRel(std::hypot(0.1, 0.4), 1e-12));
}

TEST_CASE("shifts stay within what a format allows", "[uncertainty]")
{
  const LogFolder folder;
  const auto loaded = load_experiment(folder.write("e.json", experiment(4, false).dump()), {});
  const Point& point = loaded.points[0];
  const auto variables = variables_of(resolve(point), point);
  CHECK(variables.size() > 10);
  for (const double z : {-3.0, 3.0}) {
    std::vector<double> shift;
    for (const Variable& v : variables)
      shift.push_back(z * v.spread);
    CHECK_NOTHROW(resolve(shifted(point, variables, shift)));
  }
}

TEST_CASE("wider intervals are wider, and long runs keep to steps unasked", "[uncertainty][long]")
{
  const LogFolder folder;
  const auto loaded = load_experiment(folder.write("e.json", experiment(2, true, 0.02).dump()), {});
  const auto width = [&](UncertaintyMethod method, double interval) {
    return log_width(
        run_point(loaded.points[0], with(method, 200, interval)).jobs.front().throughput);
  };
  CHECK(width(UncertaintyMethod::linear, 0.5) < width(UncertaintyMethod::linear, 0.9));
  CHECK(width(UncertaintyMethod::steps, 0.9) < width(UncertaintyMethod::linear, 0.9));
  CHECK(width(UncertaintyMethod::automatic, 0.9) == width(UncertaintyMethod::linear, 0.9));
  Json longer = experiment(96, true); // more than 300,000 pieces of parameters
  longer["cluster"].erase("nodes");
  longer["jobs"][0]["framework"] = "mxnet";
  const auto many = load_experiment(folder.write("long.json", longer.dump()), {});
  CHECK(run_point(many.points[0], with(UncertaintyMethod::automatic))
            .jobs.front()
            .uncertainty->method == "steps");
}

TEST_CASE("an interval does not narrow where one more node comes", "[uncertainty][long]")
{
  const LogFolder folder;
  Json text = experiment(64, false, 0.01);
  text["cluster"].erase("nodes");
  text["sweep"] = {{"/jobs/0/gpus", {64, 68, 512}}};
  const auto loaded = load_experiment(folder.write("e.json", text.dump()), {});
  const auto width = [&](std::size_t point) {
    const JobResult job =
        run_point(loaded.points[point], with(UncertaintyMethod::automatic)).jobs.front();
    CHECK(job.bottleneck.gain_if_doubled);
    return log_width(job.throughput);
  };
  const double one = width(0);
  CHECK_THAT(width(1), WithinRel(one, 0.02));
  CHECK_THAT(width(2), WithinRel(one, 0.1));
}

TEST_CASE("Monte Carlo draws correlated parameters together", "[uncertainty][many]")
{
  const LogFolder folder;
  const std::string path = folder.write("e.json", experiment(1, false).dump());
  for (const double rho : {-0.9, 0.9}) {
    Json profile = {{"parameters", Json::array()}};
    for (const char* pointer : {"/fp32/dense_efficiency", "/memory_efficiency"})
      profile["parameters"].push_back({{"kind", "gpu"},
                                       {"preset", "v100-sxm2-16gb"},
                                       {"pointer", pointer},
                                       {"value", 0.8},
                                       {"spread", 0.08}});
    profile["correlations"] = {{{"a", 0}, {"b", 1}, {"value", rho}}};
    const auto loaded = load_experiment(path, {}, {folder.write("p.json", profile.dump())});
    const auto parameters = [&](UncertaintyMethod method) {
      return run_point(loaded.points[0], with(method, 300)).jobs.front().uncertainty->parameters;
    };
    CHECK_THAT(parameters(UncertaintyMethod::monte_carlo),
               WithinRel(parameters(UncertaintyMethod::linear), 0.15));
  }
}

TEST_CASE("steps that vary are not taken for parameters that are uncertain", "[uncertainty][many]")
{
  const LogFolder folder;
  Json json = experiment(1, true, 0.1); // twelve steps: their mean varies by 3 %
  json["jobs"][0]["anchor"]["spread"] = 0;
  const auto loaded = load_experiment(folder.write("e.json", json.dump()), {});
  const auto sampled = run_point(loaded.points[0], with(UncertaintyMethod::monte_carlo, 300));
  CHECK_THAT(sampled.jobs.front().uncertainty->parameters, WithinAbs(0, 0.015));
}

TEST_CASE("few steps make an interval as wide as Student's distribution says", "[uncertainty]")
{
  const LogFolder folder;
  Json json = experiment(1, true, 0.02);
  json["jobs"][0]["steps"] = 4;
  const auto loaded = load_experiment(folder.write("e.json", json.dump()), {});
  const auto width = [&](double interval) {
    return log_width(run_point(loaded.points[0], with(UncertaintyMethod::steps, 0, interval))
                         .jobs.front()
                         .step_time);
  };
  const boost::math::students_t student(3);
  CHECK_THAT(
      width(0.9) / width(0.7),
      WithinRel(boost::math::quantile(student, 0.95) / boost::math::quantile(student, 0.85), 1e-6));
}

TEST_CASE("what two points share does not count against their order", "[uncertainty][long]")
{
  const LogFolder folder;
  Json json = experiment(8, false, 0.01);
  json["sweep"]["/jobs/0/batch_per_gpu"] = {64, 32};
  const auto loaded = load_experiment(folder.write("e.json", json.dump()), {});
  const Prediction prediction = predict(loaded, {}, [](int, int) {});
  const auto& points = prediction.result.points;
  const Range& fast = points[0].jobs[0].throughput;
  const Range& slow = points[1].jobs[0].throughput;
  CHECK(slow.high > fast.low); // the intervals overlap
  const PointComparison& comparison = prediction.result.comparisons.at(0);
  CHECK(comparison.point == 0);
  CHECK(comparison.than == 1);
  CHECK(comparison.probability > 0.9);
}

TEST_CASE("the probability of being faster in closed form", "[uncertainty]")
{
  const auto point = [](double rate, double shared, double own) {
    JobResult job;
    job.name = "train";
    job.throughput = {rate, rate, rate, 0.9};
    job.uncertainty =
        Uncertainty{"linear", 0, 0, {{"shared", 0, shared}, {rate > 101 ? "a" : "b", 0, own}}};
    PointResult result;
    result.jobs.push_back(job);
    return result;
  };
  const LogFolder folder;
  Json json = experiment(1, true);
  json["sweep"]["/jobs/0/batch_per_gpu"] = {64, 32};
  const auto loaded = load_experiment(folder.write("e.json", json.dump()), {});
  const auto probability = [&](double own) {
    return compare_points({point(102, 0.3, own), point(100, 0.3, own)}, loaded)[0].probability;
  };
  CHECK(probability(0) == 1);
  const double z = std::log(1.02) / (0.02 * std::sqrt(2.0));
  CHECK_THAT(probability(0.02), WithinRel(0.5 * std::erfc(-z / std::sqrt(2.0)), 1e-9));
  CHECK_THAT(probability(10), WithinAbs(0.5, 0.01));
}

} // namespace foretrain::uncertainty_test
