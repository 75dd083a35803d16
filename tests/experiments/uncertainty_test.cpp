// Intervals from the spread of parameters: closed forms, and two methods against each other.
#include "experiments/run/uncertainty/uncertainty.hpp"

#include "calibration/spreads.hpp"
#include "experiments/answers/comparisons.hpp"
#include "experiments/answers/predict.hpp"
#include "experiments/api/parameter_table.hpp"
#include "experiments/api/schemas.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/run/uncertainty/linear_spreads.hpp"
#include "experiments/run/uncertainty/uncertain_variables.hpp"
#include "experiments/spec/preset_kinds.hpp"
#include "experiments/spec/resolve.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/calibrate_support.hpp"
#include "tests/support/catch.hpp"

#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>

namespace foretrain::uncertainty_test {

using namespace foretrain::experiments;
using namespace foretrain::test;
using Catch::Matchers::Contains;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

constexpr double kHalf90 = 1.6448536; // standard deviations of half a 90 % interval

Json experiment(int gpus, bool anchored, double variation = 0)
{
  Json job = {{"name", "train"},
              {"model", "resnet50"},
              {"framework", {{"extends", "tensorflow-horovod"}, {"step_variation", variation}}},
              {"batch_per_gpu", 64},
              {"gpus", gpus}};
  if (anchored)
    job["anchor"] = {{"samples_per_s", 350}};
  return {{"cluster", {{"platform", "c4140-k-v100-sxm2"}, {"nodes", 2}}},
          {"jobs", Json::array({job})}};
}

RunOptions with(UncertaintyMethod method, int samples = 200, double interval = 0.9)
{
  RunOptions options;
  options.uncertainty = {method, samples, interval};
  return options;
}

double log_width(const Range& range)
{
  return std::log(range.high / range.low);
}

double effect_of(const JobResult& job, const std::string& parameter)
{
  for (const auto& part : job.uncertainty->parts)
    if (part.parameter.find(parameter) != std::string::npos)
      return part.effect;
  return 0;
}

double spread_of(const std::string& kind, const std::string& name = "")
{
  for (const auto& line : calibration::load_spreads().spreads)
    if (line.kind == kind && (name.empty() || line.name == name))
      return line.spread;
  throw std::logic_error(kind + " " + name);
}

} // namespace

TEST_CASE("the rate of an anchored GPU is as uncertain as its anchor", "[uncertainty]")
{
  const LogFolder folder;
  Json json = experiment(1, true);
  json["jobs"][0]["anchor"]["spread"] = 0.05;
  const auto loaded = load_experiment(folder.write("e.json", json.dump()), {});
  const JobResult job = run_point(loaded.points[0], with(UncertaintyMethod::linear)).jobs.front();
  // All of the step comes from the anchor, also the framework's part of it.
  CHECK_THAT(effect_of(job, "anchor"), WithinRel(0.05, 0.02));
  CHECK_THAT(effect_of(job, "dense kernels"), WithinAbs(0, 1e-6));
  CHECK_THAT(effect_of(job, "step overhead"), WithinAbs(0, 1e-6));
  CHECK_THAT(job.uncertainty->parameters, WithinRel(0.05, 0.02));
  // And another run of the job would differ.
  const double all = std::hypot(0.05, spread_of("run"));
  CHECK_THAT(job.uncertainty->run_to_run, WithinRel(spread_of("run"), 0.02));
  CHECK_THAT(log_width(job.throughput), WithinRel(2 * kHalf90 * all, 0.02));
  CHECK_THAT(log_width(job.step_time), WithinRel(2 * kHalf90 * all, 0.02));
}

TEST_CASE("a rate of fewer GPUs leaves what several do beside each other unknown", "[uncertainty]")
{
  const LogFolder folder;
  const auto spread_on = [&](int gpus, int anchor_gpus) {
    Json json = experiment(gpus, true);
    json["jobs"][0]["anchor"]["spread"] = 0.05;
    json["jobs"][0]["anchor"]["gpus"] = anchor_gpus;
    const auto loaded = load_experiment(folder.write("e.json", json.dump()), {});
    const JobResult job = run_point(loaded.points[0], with(UncertaintyMethod::linear)).jobs.front();
    for (const auto& part : job.uncertainty->parts)
      if (part.parameter == "train: anchor")
        return part.spread;
    return 0.0;
  };
  // Both are independent: their squares add.
  const double more = std::hypot(0.05, spread_of("anchored-ranks"));
  CHECK_THAT(spread_on(4, 1), WithinRel(more, 1e-9));
  CHECK_THAT(spread_on(4, 2), WithinRel(more, 1e-9));
  CHECK_THAT(spread_on(1, 1), WithinRel(0.05, 1e-9));
  CHECK_THAT(spread_on(4, 4), WithinRel(0.05, 1e-9));
}

TEST_CASE("tenants that must share cores differ by more than runs of one job", "[uncertainty]")
{
  const LogFolder folder;
  const auto run_to_run = [&](int jobs) {
    Json json = {{"cluster", {{"platform", "vm-2core"}}}, {"jobs", Json::array()}};
    for (int i = 0; i < jobs; ++i)
      json["jobs"].push_back({{"name", "tenant" + std::to_string(i)},
                              {"model", "alexnet"},
                              {"framework", "realrun-cpu"},
                              {"batch_per_gpu", 4},
                              {"gpus", 1}});
    const auto loaded = load_experiment(folder.write("e.json", json.dump()), {});
    return run_point(loaded.points[0], with(UncertaintyMethod::linear))
        .jobs.front()
        .uncertainty->run_to_run;
  };
  CHECK(run_to_run(1) < 0.03);
  CHECK(run_to_run(1) >= spread_of("run"));
  CHECK(run_to_run(2) < 0.05); // a core each
  CHECK(run_to_run(3) >= std::hypot(spread_of("run"), spread_of("shared-cores")));
}

TEST_CASE("what calls leave unexplained widens what waits for them", "[uncertainty]")
{
  const LogFolder folder;
  Json json = experiment(8, true);
  json["jobs"][0]["framework"]["overlap"] = "none";
  json["stack"] = {{"network", "tcp"}};
  const auto loaded = load_experiment(folder.write("e.json", json.dump()), {});
  const JobResult job = run_point(loaded.points[0], with(UncertaintyMethod::linear)).jobs.front();
  // A step's time grows by what it waits for, times the factor on calls.
  const double waits = job.time.exposed_communication.value() / job.step_time.median;
  const double effect = effect_of(job, "calls between nodes");
  REQUIRE(waits > 0.05);
  CHECK_THAT(effect, WithinRel(-waits * spread_of("library", "calls between nodes"), 0.1));
  CHECK(effect_of(job, "calls inside a node") == 0);
}

TEST_CASE("what collectives do to kernels is uncertain, also where a file does not say it",
          "[uncertainty]")
{
  const LogFolder folder;
  // No cycles, on which agreements fall alike whatever kernels take.
  const auto effect = [&](int gpus) {
    Json job = experiment(gpus, true);
    job["jobs"][0]["framework"] = {{"extends", "pytorch-ddp"}, {"step_variation", 0}};
    const auto loaded = load_experiment(folder.write("e.json", job.dump()), {});
    return effect_of(run_point(loaded.points[0], with(UncertaintyMethod::linear)).jobs.front(),
                     "kernels beside a collective");
  };
  CHECK(effect(1) == 0);
  CHECK(effect(4) < -1e-4);
}

TEST_CASE("without an anchor the kernels' time dominates, and their efficiency", "[uncertainty]")
{
  const LogFolder folder;
  const auto loaded = load_experiment(folder.write("e.json", experiment(1, false).dump()), {});
  const JobResult job = run_point(loaded.points[0], with(UncertaintyMethod::linear)).jobs.front();
  REQUIRE(!job.uncertainty->parts.empty());
  CHECK(job.uncertainty->parts.front().parameter == "train: time of kernels");
  // A step is all kernels, but for what the framework adds.
  CHECK_THAT(job.uncertainty->parts.front().effect, WithinAbs(-0.15, 0.005));
  CHECK(effect_of(job, "dense kernels") > 0.05);
  CHECK(effect_of(job, "NVLink") == 0); // one GPU
  CHECK_THAT(job.throughput.median * job.step_time.median, WithinRel(64.0, 1e-6));
}

TEST_CASE("each cause is found as if it had been varied by itself", "[uncertainty]")
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
    std::vector<double> shift(variables.size(), 0);
    shift[v] = variables[v].spread;
    const auto options = with(UncertaintyMethod::steps);
    const double rate =
        run_point(shifted(point, variables, shift), options).jobs.front().throughput.median;
    const double change = std::log(rate / job.throughput.median);
    CAPTURE(variables[v].name, change);
    // Not linear, and of less than 0.0001 nobody asks.
    CHECK_THAT(effect_of(job, variables[v].name), WithinAbs(change, 2e-4 + 0.2 * std::abs(change)));
    const bool searched = variables[v].kind == "nic" || variables[v].kind == "library";
    found += searched && std::abs(change) > 2e-4 ? 1 : 0;
  }
  CHECK(found >= 3);
}

TEST_CASE("a speedup is as uncertain as what one GPU does not share", "[uncertainty]")
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

TEST_CASE("what is one GPU, or does not run on one, has no range of its speedup", "[uncertainty]")
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
  CHECK(linear.throughput.median == sampled.throughput.median);
}

TEST_CASE("a profile's spread replaces the kind's, and its correlations count", "[uncertainty]")
{
  const LogFolder folder;
  const std::string path = folder.write("e.json", experiment(1, false).dump());
  const auto run = [&](double correlation) {
    Json profile = {{"parameters", Json::array()}};
    for (const char* pointer : {"/fp32/dense_efficiency", "/memory_efficiency"})
      profile["parameters"].push_back({{"kind", "gpu"},
                                       {"preset", "v100-sxm2-16gb"},
                                       {"pointer", pointer},
                                       {"value", 0.8},
                                       {"spread", 0.08}});
    if (correlation != 0)
      profile["correlations"] = {{{"a", 0}, {"b", 1}, {"value", correlation}}};
    const auto loaded = load_experiment(path, {}, {folder.write("p.json", profile.dump())});
    return run_point(loaded.points[0], with(UncertaintyMethod::linear)).jobs.front();
  };
  const JobResult free = run(0);
  const double a = effect_of(free, "/fp32/dense_efficiency");
  const double b = effect_of(free, "/memory_efficiency");
  CHECK(a > 0.01);
  CHECK(b > 0.01);
  CHECK(effect_of(free, "dense kernels") == 0);
  const double rest = std::pow(free.uncertainty->parameters, 2) - a * a - b * b;
  for (const double rho : {-0.9, 0.9})
    CHECK_THAT(std::pow(run(rho).uncertainty->parameters, 2),
               WithinRel(rest + a * a + b * b + 2 * rho * a * b, 1e-6));
}

TEST_CASE("a profile that knows links alone leaves what is not known of kernels", "[uncertainty]")
{
  const LogFolder folder;
  const std::string path = folder.write("e.json", experiment(1, false).dump());
  const auto unknown = [&](const char* pointer) {
    Json profile = {{"parameters", Json::array()}};
    profile["parameters"].push_back({{"kind", "gpu"},
                                     {"preset", "v100-sxm2-16gb"},
                                     {"pointer", pointer},
                                     {"value", 0.8},
                                     {"spread", 0.01}});
    const auto loaded = load_experiment(path, {}, {folder.write("p.json", profile.dump())});
    return effect_of(run_point(loaded.points[0], with(UncertaintyMethod::linear)).jobs.front(),
                     "time of kernels");
  };
  CHECK(unknown("/nvlink_collective_efficiency") < -0.1); // slower kernels, fewer samples
  CHECK(unknown("/memory_efficiency") < -0.1);
  CHECK(unknown("/fp32/dense_efficiency") == 0);
}

TEST_CASE("what a profile's fit left unexplained counts for the share of the step it is about",
          "[uncertainty]")
{
  const LogFolder folder;
  const auto run = [&](int measurements, UncertaintyMethod method) {
    Json profile = {{"parameters", Json::array()}};
    for (const char* pointer : {"/fp32/dense_efficiency", "/memory_efficiency"})
      profile["parameters"].push_back(
          {{"kind", "gpu"},
           {"preset", "v100-sxm2-16gb"},
           {"pointer", pointer},
           {"value", 0.8},
           {"spread", 0.0008},
           {"source", "runs"},
           {"residuals", {{"measurements", measurements}, {"mean", 0.06}, {"maximum", 0.2}}}});
    const auto loaded = load_experiment(folder.write("e.json", experiment(1, false).dump()), {},
                                        {folder.write("p.json", profile.dump())});
    return run_point(loaded.points[0], with(method, 300)).jobs.front();
  };
  // Computing is nearly all of a step on one GPU: the whole spread sqrt(pi / 2) 0.06 sqrt(8 / 6).
  const double whole = std::sqrt(3.141592653589793 / 2) * 0.06 * std::sqrt(8.0 / 6);
  const JobResult linear = run(8, UncertaintyMethod::linear);
  const double effect = effect_of(linear, "left unexplained");
  CHECK(effect > 0.8 * whole);
  CHECK(effect <= whole * (1 + 1e-9));
  CHECK(linear.uncertainty->parameters >= effect);
  // Half as many leave two instead of six that are free.
  CHECK_THAT(effect_of(run(4, UncertaintyMethod::linear), "left unexplained") / effect,
             WithinRel(std::sqrt((4.0 / 2) / (8.0 / 6)), 1e-6));
  const JobResult sampled = run(8, UncertaintyMethod::monte_carlo);
  CHECK_THAT(sampled.uncertainty->parameters, WithinRel(linear.uncertainty->parameters, 0.2));
  CHECK_THAT(log_width(sampled.throughput), WithinRel(log_width(linear.throughput), 0.25));
  // Two measurements that two parameters follow say nothing of what is left.
  CHECK(effect_of(run(2, UncertaintyMethod::linear), "left unexplained") == 0);
}

TEST_CASE("what is not modelled of a transformer's step is more with experts", "[uncertainty]")
{
  const auto between_runs = [](const char* model) {
    Json json = Json::parse(R"({"cluster": {"platform": "hgx-h200"}, "jobs": [{"framework": "nemo",
      "precision": "bf16", "gpus": 8, "global_batch": 8, "sequence": 1024}]})");
    json["jobs"][0]["model"] = model;
    const LogFolder folder;
    const auto loaded = load_experiment(folder.write("e.json", json.dump()), {});
    return run_point(loaded.points[0], with(UncertaintyMethod::linear))
        .jobs.front()
        .uncertainty->run_to_run;
  };
  const auto with_runs = [](const char* kind) {
    return std::hypot(spread_of(kind), spread_of("run"));
  };
  CHECK_THAT(between_runs("llama-3-8b"), WithinRel(with_runs("transformer"), 0.02));
  CHECK_THAT(between_runs("qwen3-30b-a3b"), WithinRel(with_runs("transformer-experts"), 0.02));
}

TEST_CASE("a preset may state spreads of its own", "[uncertainty]")
{
  const LogFolder folder;
  Json json = experiment(2, true);
  json["jobs"][0]["framework"]["spread"] = {{"/step_overhead", 0.1}};
  json["jobs"][0]["framework"]["overlap"] = "none";
  const auto loaded = load_experiment(folder.write("e.json", json.dump()), {});
  const auto variables = variables_of(resolve(loaded.points[0]), loaded.points[0]);
  const auto own = std::find_if(variables.begin(), variables.end(), [](const Variable& v) {
    return v.at.front().pointer == "/step_overhead";
  });
  REQUIRE(own != variables.end());
  CHECK(own->spread == 0.1);
  json["jobs"][0]["framework"]["spread"] = {{"/step_overheat", 0.1}};
  const auto wrong = load_experiment(folder.write("wrong.json", json.dump()), {});
  CHECK_THROWS_WITH(variables_of(resolve(wrong.points[0]), wrong.points[0]),
                    Contains("/spread") && Contains("no positive number"));
}

TEST_CASE("a value that is the most that there is acts on one side alone", "[uncertainty]")
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
  const std::vector<LogRates> effects{{0.3}, {-0.2}, {0.4}};
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

TEST_CASE("wider intervals are wider, and long runs keep to steps unasked", "[uncertainty]")
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

TEST_CASE("an interval does not narrow where one more node comes", "[uncertainty]")
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

TEST_CASE("what two points share does not count against their order", "[uncertainty]")
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

TEST_CASE("the bundled spreads speak of keys that exist", "[uncertainty]")
{
  for (const auto& line : calibration::load_spreads().spreads) {
    if (line.kind == "anchor" || line.kind == "run" || line.kind == "shared-cores" ||
        line.kind == "transformer" || line.kind == "transformer-experts" || line.kind == "layers" ||
        line.kind == "anchored-ranks")
      continue;
    CAPTURE(line.name);
    REQUIRE(preset_kind(line.kind) != nullptr);
    for (const std::string& pointer : line.pointers) {
      Json at = schema(line.kind);
      for (const std::string& step : pointer_steps(pointer)) {
        CAPTURE(pointer, step);
        REQUIRE((step == "*" ? at.contains("items") : at.at("properties").contains(step)));
        at = Json(step == "*" ? at.at("items") : at.at("properties").at(step));
      }
    }
  }
}

TEST_CASE("the table of parameters gives each number with spread and source", "[uncertainty]")
{
  const auto all = parameter_table("", "");
  CHECK(all.size() > 500);
  for (const ParameterRow& row : all) {
    CAPTURE(row.kind, row.preset, row.pointer);
    CHECK(!row.source.empty());
    CHECK(!row.value.empty());
  }
  const auto one = parameter_table("gpu", "v100-sxm2-16gb");
  const auto memory = std::find_if(one.begin(), one.end(), [](const ParameterRow& row) {
    return row.pointer == "/memory_efficiency";
  });
  REQUIRE(memory != one.end());
  CHECK(memory->value == "0.825");
  CHECK(memory->spread == 0.05);
  CHECK(parameter_json(one).size() == one.size());
  CHECK_THAT(parameter_text(one), Contains("/memory_efficiency") && Contains("+- 5 %"));
  CHECK_THROWS_WITH(parameter_table("gpus", ""), Contains("did you mean 'gpu'?"));
  CHECK_THROWS_WITH(parameter_table("gpu", "v100-sxm2-16"), Contains("did you mean"));
}

} // namespace foretrain::uncertainty_test
