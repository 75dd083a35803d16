// Which spread counts for what: anchors, profiles, presets, what is not modelled.
#include "experiments/run/uncertainty/uncertainty.hpp"

#include "calibration/spreads.hpp"
#include "experiments/answers/comparisons.hpp"
#include "experiments/answers/predict.hpp"
#include "experiments/api/parameter_table.hpp"
#include "experiments/api/schemas.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/run/uncertainty/uncertain_variables.hpp"
#include "experiments/spec/preset_kinds.hpp"
#include "experiments/spec/resolve.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/calibrate_support.hpp"
#include "tests/experiments/uncertainty_support.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::spreads_test {

using namespace foretrain::test;
using namespace foretrain::uncertainty_test;
using Catch::Matchers::Contains;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

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

TEST_CASE("a rate of fewer GPUs leaves what several do beside each other unknown",
          "[uncertainty][long]")
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

TEST_CASE("tenants that must share cores differ by more than runs of one job",
          "[uncertainty][long]")
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

TEST_CASE("what calls leave unexplained widens what waits for them", "[uncertainty][long]")
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
          "[uncertainty][long]")
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
  CHECK_THAT(job.uncertainty->parts.front().effect, WithinAbs(-0.11, 0.005));
  CHECK(effect_of(job, "dense kernels") > 0.05);
  CHECK(effect_of(job, "NVLink") == 0); // one GPU
  CHECK_THAT(job.throughput.median * job.step_time.median, WithinRel(64.0, 1e-6));
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
                                       {"spread", 0.04}});
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
          "[uncertainty][long]")
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

TEST_CASE(
    "what is not modelled of a transformer's step is more with experts, and nearly all common",
    "[uncertainty][long]")
{
  const auto job = [](const char* model, const char* more) {
    Json json = Json::parse(R"({"cluster": {"platform": "hgx-h200"}, "jobs": [{"framework": "nemo",
      "precision": "bf16", "gpus": 8, "global_batch": 64, "sequence": 4096}]})");
    json["jobs"][0]["model"] = model;
    json["jobs"][0].update(Json::parse(more));
    const LogFolder folder;
    const auto loaded = load_experiment(folder.write("e.json", json.dump()), {});
    return run_point(loaded.points[0], with(UncertaintyMethod::linear)).jobs.front();
  };
  const double own = spread_of("transformer-scale");
  for (const auto& [model, kind] : {std::pair{"llama-3-8b", "transformer"},
                                    std::pair{"qwen3-30b-a3b", "transformer-experts"}}) {
    const JobResult one = job(model, "{}");
    CHECK_THAT(one.uncertainty->run_to_run, WithinRel(std::hypot(own, spread_of("run")), 0.02));
    CHECK_THAT(std::hypot(own, effect_of(one, "not modelled")), WithinRel(spread_of(kind), 1e-9));
  }
  // An anchor holds it, all in the job that was measured, and what is common at another scale.
  const JobResult measured = job("llama-3-8b", R"({"anchor": {"samples_per_s": 20}})");
  CHECK(effect_of(measured, "not modelled") == 0);
  CHECK_THAT(measured.uncertainty->run_to_run, WithinRel(spread_of("run"), 0.05));
  const JobResult fewer = job("llama-3-8b", R"({"anchor": {"samples_per_s": 10, "gpus": 4}})");
  CHECK(effect_of(fewer, "not modelled") == 0);
  CHECK_THAT(fewer.uncertainty->run_to_run, WithinRel(std::hypot(own, spread_of("run")), 0.02));
  // It cancels between two numbers of GPUs or batches of one job, not between two plans.
  const JobResult base = job("llama-3-8b", "{}");
  const auto deviation = [&](const char* more) {
    return deviations_of_ratio(base, job("llama-3-8b", more), nullptr).larger();
  };
  const double runs = std::sqrt(2.0) * std::hypot(own, spread_of("run"));
  CHECK_THAT(deviation("{}"), WithinRel(runs, 0.02));
  CHECK(deviation(R"({"gpus": 4, "global_batch": 32})") < 1.3 * runs);
  CHECK(deviation(R"({"parallel": {"tensor": 2}})") > std::sqrt(2.0) * spread_of("transformer"));
}

TEST_CASE("presets that say the same vary together, named or written out", "[uncertainty][long]")
{
  const LogFolder folder;
  const auto run = [&](bool written_out) {
    Json json =
        Json::parse(R"({"cluster": {"platform": "dgx-a100", "nodes": 2}, "jobs": [{"model": "vgg16",
      "framework": "pytorch-ddp", "precision": "fp16", "batch_per_gpu": 16, "gpus": 16}]})");
    if (written_out) {
      Json nics = resolve_preset(std::string("dgx-a100"), platforms::kPlatformKind)
                      .json()
                      .at("node")
                      .at("nics");
      for (Json& nic : nics)
        nic["type"] = {{"extends", nic.at("type")}};
      json["cluster"]["platform"] = {{"extends", "dgx-a100"}, {"node", {{"nics", nics}}}};
    }
    const auto loaded = load_experiment(folder.write("e.json", json.dump()), {});
    return run_point(loaded.points[0], with(UncertaintyMethod::linear)).jobs.front();
  };
  const JobResult named = run(false);
  const JobResult written = run(true);
  CHECK_THAT(written.throughput.low, WithinRel(named.throughput.low, 1e-9));
  CHECK_THAT(written.throughput.high, WithinRel(named.throughput.high, 1e-9));
  CHECK(written.uncertainty->parts.size() == named.uncertainty->parts.size());
}

TEST_CASE("a layer's copies are those of what it stands on, and vary with them", "[uncertainty]")
{
  const LogFolder folder;
  const auto copies_of = [&](const Json& network) {
    Json json = experiment(8, true);
    json["stack"] = {{"host", "bare-metal"}, {"network", network}};
    const auto loaded = load_experiment(folder.write("e.json", json.dump()), {});
    std::vector<std::string> names;
    for (const Variable& v : variables_of(resolve(loaded.points[0]), loaded.points[0]))
      if (v.kind == "network" && v.at.front().pointer == "/copy_rate")
        names.push_back(v.name);
    return names;
  };
  const std::vector<std::string> below{"network host-network: copies of the transport"};
  CHECK(copies_of("flannel-vxlan") == below);
  CHECK(copies_of("host-network") == below);
  const Json own = {{"extends", "flannel-vxlan"}, {"copy_rate", "9 GB/s"}};
  CHECK(copies_of(own).size() == 2);
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

TEST_CASE("the bundled spreads speak of keys that exist", "[uncertainty]")
{
  for (const auto& line : calibration::load_spreads().spreads) {
    if (line.kind == "anchor" || line.kind == "run" || line.kind == "shared-cores" ||
        line.kind == "transformer" || line.kind == "transformer-experts" || line.kind == "layers" ||
        line.kind == "anchored-ranks" || line.kind == "transformer-scale")
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

} // namespace foretrain::spreads_test
