// What would help, against closed forms, and against the same change made in the presets.
#include "experiments/answers/explain.hpp"

#include "experiments/report/report_explain.hpp"
#include "experiments/run/limits/gains.hpp"
#include "experiments/run/limits/pulled.hpp"
#include "experiments/run/limits/resource_words.hpp"
#include "experiments/spec/resolve.hpp"
#include "sim/base/overlay.hpp"
#include "sim/engine/random.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace foretrain::explain_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

Json experiment_json(const std::string& platform, const std::string& model,
                     const std::string& network, int gpus, int batch, const std::string& input)
{
  Json json = {{"cluster", {{"platform", platform}}},
               {"jobs",
                {{{"model", model},
                  {"framework", "pytorch-horovod"},
                  {"batch_per_gpu", batch},
                  {"input", input},
                  {"gpus", gpus}}}}};
  if (!network.empty())
    json["stack"] = {{"network", network}};
  return json;
}

LoadedExperiment loaded(const Json& json)
{
  LoadedExperiment experiment;
  auto document = parse_document(json.dump(), "test");
  experiment.document = document;
  experiment.points.push_back({{}, document, nullptr});
  experiment.spec = read_point(experiment.points.front());
  return experiment;
}

Json explained(const Json& json)
{
  ExplainOptions options;
  options.swaps = false;
  return written(explain(loaded(json), 0, options)).at("jobs")[0];
}

double gain_of(const Json& job, const std::string& lever, const char* which = "gain_if_doubled")
{
  for (const Json& it : job.at("levers"))
    if (it.at("lever") == lever)
      return it.at(which).get<double>();
  FAIL("no lever " + lever);
  return 0;
}

// Gain when a rate in presets of a kind is `factor` times as high; an adapter's with its port's.
double gain_in_presets(const Json& json, const std::string& kind, const std::string& pointer,
                       double factor)
{
  const Point point = loaded(json).points.front();
  const auto base = throughputs_with(resolve(point), {}, 1, {});
  auto overlay = std::make_shared<Overlay>();
  const auto raise = [&](const PresetUse& use, const std::string& at) {
    if (!use.value.json().contains(Json::json_pointer(at)))
      return;
    Measure value = *parse_measure(use.value.json().at(Json::json_pointer(at)).get<std::string>());
    value.value *= factor;
    overlay->entries.push_back({use.kind, use.id, at, to_text(value), "test"});
  };
  for (const PresetUse& use : resolve(point).presets)
    if (use.kind == kind)
      raise(use, pointer);
    else if (kind == "nic" && use.kind == "fabric")
      raise(use, "/port_rate");
  auto document = std::make_shared<Document>(*point.document);
  document->overlay = overlay;
  return throughputs_with(resolve({{}, document, nullptr}), {}, 1, {})[0] / base[0] - 1;
}

} // namespace

TEST_CASE("On one GPU nothing but the GPU helps, by as much as its part of the step")
{
  const Json job =
      explained(experiment_json("c4140-k-v100-sxm2", "resnet50", "", 1, 64, "synthetic"));
  CHECK(job.at("limited_by").at("lever") == "gpu");
  double compute = 0;
  for (const Json& part : job.at("critical_path"))
    if (part.at("part") == "compute")
      compute = part.at("share").get<double>();
  CHECK(compute > 0.9);
  CHECK(gain_of(job, "gpu") == Approx(1 / (1 - compute / 2) - 1).epsilon(0.01));
  for (const char* idle : {"nic", "nvlink", "pcie", "disk", "fabric", "storage-network"})
    CHECK(std::abs(gain_of(job, idle)) < 1e-6);
}

TEST_CASE("Parts of the critical path add up to the step")
{
  const Json job = explained(experiment_json("c4140-k-v100-sxm2", "vgg16", "tcp", 8, 32, "jpeg"));
  double sum = 0;
  for (const Json& part : job.at("critical_path"))
    sum += part.at("time_s").get<double>();
  CHECK(sum == Approx(job.at("step_time_s").get<double>()).epsilon(1e-4));
}

TEST_CASE("Copies of batches wait for their way to the GPU, stalls for what comes before", "[long]")
{
  Json json = experiment_json("c4140-k-v100-sxm2", "resnet50", "", 2, 64, "jpeg");
  json["jobs"][0]["framework"] = "mxnet";
  json["jobs"][0]["precision"] = "fp16";
  json["cluster"]["storage"] = "nfs-nlsas";
  json["stack"]["host"] = "vm"; // copies are slow enough to be seen behind late batches
  bool stalls = false, copies = false;
  const Json job = explained(json);
  for (const Json& part : job.at("critical_path")) {
    const std::string limits = part.at("limited_by").dump();
    if (part.at("part") == "input_stall") {
      stalls = true;
      CHECK_THAT(limits, Contains("disk") && !Contains("pcie"));
    } else if (part.at("part") == "host_to_device") {
      copies = true;
      CHECK_THAT(limits, !Contains("disk") && !Contains("input"));
    }
  }
  CHECK(stalls);
  CHECK(copies);
}

TEST_CASE("Gains are those of the same change in the presets", "[explain][long]")
{
  const Json json = experiment_json("c4140-k-v100-sxm2", "vgg16", "tcp", 8, 32, "synthetic");
  const Json job = explained(json);
  CHECK(job.at("limited_by").at("lever") == "nic");
  CHECK(gain_of(job, "nic") == Approx(gain_in_presets(json, "nic", "/rate", 2)).epsilon(1e-6));
  CHECK(gain_of(job, "nic", "gain_if_10_percent_better") ==
        Approx(gain_in_presets(json, "nic", "/rate", 1.1)).epsilon(1e-6));
  ExplainOptions options;
  const Explanation told = explain(loaded(json), 0, options);
  const Json answer = written(told);
  const Json& best = answer.at("jobs")[0].at("swaps")[0];
  CHECK(best.at("gain").get<double>() > 1); // RDMA over InfiniBand instead of 1 Gb/s
  CHECK(answer.dump().find("caffe2") != std::string::npos);
  CHECK(answer.dump().find("realrun-cpu") == std::string::npos); // computes on CPUs
  CHECK_THAT(report_explain(told), Contains("Limited by network adapters: network adapters twice "
                                            "as fast would bring +"));
  CHECK_THAT(explain_html(told), Contains("<svg"));
}

TEST_CASE("Runs that are compared take four steps of a job whose steps repeat, twelve of others")
{
  const auto rate = [](const char* framework, int steps) {
    Json json = experiment_json("c4140-k-v100-sxm2", "resnet50", "tcp", 8, 32, "synthetic");
    json["jobs"][0]["framework"] = framework;
    json["jobs"][0]["steps"] = steps;
    return throughputs_with(resolve(loaded(json).points.front()), {}, 1, {}).front();
  };
  CHECK(rate("pytorch-ddp", 20) == rate("pytorch-ddp", 4));
  CHECK(rate("pytorch-ddp", 20) != rate("pytorch-ddp", 3));
  CHECK(rate("tensorflow-horovod", 20) == rate("tensorflow-horovod", 12)); // it has a cycle
  CHECK(rate("tensorflow-horovod", 20) != rate("tensorflow-horovod", 11));
}

TEST_CASE("A recorded job is not offered another framework than it was recorded with",
          "[explain][long]")
{
  const auto offered = [](const std::string& model) {
    Json json = experiment_json("p3dn", model, "", 1, 32, "synthetic");
    json["jobs"][0]["framework"] = "pytorch-ddp";
    json["jobs"][0].erase("input");
    return written(explain(loaded(json), 0, {})).dump().find("/jobs/0/framework") !=
           std::string::npos;
  };
  CHECK(offered("resnet50"));
  CHECK(!offered(data_root() / "experiments/validation/hardware/resnet50-v100.json"));
}

TEST_CASE("A job is offered what it could choose, and nothing at another job's cost", "[long]")
{
  // Two jobs that share adapters: one in double the bytes would leave the other one more time.
  Json json = experiment_json("hgx-h100-100gbe", "vgg16", "tcp", 4, 32, "synthetic");
  json["cluster"]["nodes"] = 2;
  json["jobs"][0]["placement"] = "spread";
  json["jobs"].push_back({{"name", "large"},
                          {"model", "llama-3.2-1b"},
                          {"framework", "megatron"},
                          {"precision", "bf16"},
                          {"global_batch", 4},
                          {"gpus", 4},
                          {"placement", "spread"},
                          {"steps", 2},
                          {"parallel", {{"zero", 1}}}});
  const Json jobs = written(explain(loaded(json), 0, {})).at("jobs");
  std::set<std::string> networks, frameworks;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    for (const Json& swap : jobs[i].at("swaps")) {
      const auto pointer = swap.at("pointer").get<std::string>();
      const auto to = swap.at("to").get<std::string>();
      if (pointer == "/stack/network")
        networks.insert(to);
      if (pointer == "/jobs/1/framework")
        frameworks.insert(to);
      if (pointer.starts_with("/jobs/") && pointer[6] != '0' + static_cast<char>(i))
        for (const Json& own : jobs[1 - i].at("swaps"))
          if (own.at("pointer") == pointer && own.at("to") == to)
            CHECK(own.at("gain") > -2e-3);
    }
  CHECK(networks.contains("ipoib") + networks.contains("tcp-jumbo") > 0);
  CHECK(!networks.contains("loopback"));
  CHECK(!networks.contains("veth"));
  CHECK(frameworks.contains("deepspeed"));
  CHECK(!frameworks.contains("tensorflow-ps"));
}

TEST_CASE("The named limit, doubled, is the best single change on random systems", "[long]")
{
  sim::RandomStream random(7, "explain", 0);
  const auto one = [&random](const std::vector<std::string>& of) {
    return of[std::min(of.size() - 1, static_cast<std::size_t>(random.uniform() *
                                                               static_cast<double>(of.size())))];
  };
  int best = 0;
  constexpr int kSystems = 8;
  for (int i = 0; i < kSystems; ++i) {
    const std::string model = one({"resnet50", "vgg16", "alexnet"});
    const std::string network = one({"rdma", "ipoib", "tcp"});
    const std::string input = one({"synthetic", "jpeg", "raw"});
    const Json json = experiment_json("c4140-k-v100-sxm2", model, network,
                                      random.uniform() < 0.5 ? 4 : 8, 64, input);
    const double named = explained(json).at("limited_by").at("gain_if_doubled").get<double>();
    double other = 0;
    for (const auto& [kind, pointer] :
         {std::pair("nic", "/rate"), std::pair("disk", "/read"), std::pair("cpu", "/clock"),
          std::pair("cpu", "/memory_bandwidth"), std::pair("gpu", "/nvlink_brick"),
          std::pair("fabric", "/port_rate"), std::pair("network", "/copy_rate")})
      other = std::max(other, gain_in_presets(json, kind, pointer, 2));
    INFO(json.dump() << " named " << named << " other " << other);
    CHECK(named > 0);
    best += named >= other - 0.005 ? 1 : 0;
  }
  CHECK(best == kSystems);
}

TEST_CASE("Resources in words")
{
  using enum sim::ResourceKind;
  const auto out = sim::Direction::out;
  CHECK(resource_words({pcie, 0, "plx0", out}) == "PCIe uplink of plx0 of node 0");
  CHECK(resource_words({compute, 12, "gpu3"}) == "GPU 3 of node 12");
  CHECK(resource_words({storage_disks, -1, "disks"}) == "disks of the file server");
  CHECK(resource_words({cores, 0, ""}) == "CPU cores of node 0");
  CHECK(resource_words({uplink, -1, "leaf1", out}) == "uplinks of switch 1");
  CHECK(resource_words({disk, 0, "sda"}) == "disk sda of node 0");
  CHECK(std::string(lever_of(adapter)->key) == "nic");
  CHECK(std::string(lever_of(nvlink)->key) == "nvlink");
  CHECK(std::string(lever_of(disk)->key) == "disk");
  CHECK(lever_of(other) == nullptr);
  CHECK_THROWS_AS(lever_named("gpus"), std::logic_error);
}

TEST_CASE("of a large model: what doubled brings is what the same platform twice as fast brings",
          "[explain][long]")
{
  Json json = {{"cluster", {{"platform", "hgx-h100"}, {"nodes", 2}}},
               {"jobs",
                {{{"model", "llama-3-8b"},
                  {"framework", "megatron"},
                  {"precision", "bf16"},
                  {"gpus", 16},
                  {"global_batch", 16},
                  {"parallel", {{"tensor", 8}}}}}}};
  const Json job = explained(json);
  double whole = 0;
  for (const Json& part : job.at("critical_path"))
    whole += part.at("time_s").get<double>();
  CHECK(whole == Approx(job.at("step_time_s").get<double>()));
  CHECK(gain_of(job, "gpu") > 0.05);
  CHECK(gain_of(job, "nvlink") > 0.05);
  CHECK(gain_of(job, "nic") > 0);
  CHECK(std::abs(gain_of(job, "disk")) < 1e-9);
  for (const Json& lever : job.at("levers")) {
    CHECK(lever.at("gain_if_doubled").get<double>() >=
          lever.at("gain_if_10_percent_better").get<double>() - 1e-9);
    CHECK(lever.at("gain_if_10_percent_better") >= -1e-9);
  }
  json["cluster"]["platform"] = {
      {"extends", "hgx-h100"},
      {"node",
       {{"gpus", {{"type", {{"extends", "h100-sxm5-80gb"}, {"nvlink_brick", "50 GB/s"}}}}}}}};
  const Json twice = explained(json);
  // Gains are of mean steps, rates are medians.
  CHECK(gain_of(job, "nvlink") == Approx(twice.at("throughput_samples_per_s").get<double>() /
                                             job.at("throughput_samples_per_s").get<double>() -
                                         1)
                                      .epsilon(0.002));
}

TEST_CASE("what costs hides nothing that helps, and is told apart from what brings nothing",
          "[long]")
{
  // BytePS' reads pass one another: more of some resources makes them slower.
  const Json json = {{"cluster", {{"platform", "dgx1-v100"}}},
                     {"jobs",
                      {{{"model", "vgg11"},
                        {"framework", "byteps"},
                        {"precision", "fp16"},
                        {"batch_per_gpu", 32},
                        {"gpus", 12}}}}};
  ExplainOptions options;
  options.swaps = false;
  const Explanation told = explain(loaded(json), 0, options);
  const ExplainedJob& job = told.jobs.front();
  const auto [worst, best] =
      std::minmax_element(job.levers.begin(), job.levers.end(),
                          [](const LeverGain& a, const LeverGain& b) { return a.twice < b.twice; });
  REQUIRE(worst->twice < -0.005);
  REQUIRE(best->twice > 0.005);
  REQUIRE(job.limited_by);
  CHECK(job.limited_by->twice == Approx(best->twice).margin(0.01));
  const std::string text = report_explain(told);
  CHECK_THAT(text, Contains("Would cost: ") && Contains(worst->doubled));
}

TEST_CASE("code that the job's own has replaced is no swap, nor what is older than the GPU")
{
  const Json json = {{"cluster", {{"platform", "hgx-h100"}}},
                     {"jobs",
                      {{{"model", "llama-3.2-1b"},
                        {"framework", "nemo"},
                        {"precision", "bf16"},
                        {"gpus", 8},
                        {"global_batch", 64}}}}};
  const Json answer = written(explain(loaded(json), 0, {}));
  std::set<std::string> offered;
  for (const Json& swap : answer.at("jobs")[0].at("swaps"))
    if (swap.at("pointer") == "/jobs/0/framework")
      offered.insert(swap.at("to").get<std::string>());
  CHECK(offered.count("torchtitan") == 1);
  CHECK(offered.count("nemo-1") == 0);   // whose newer code is nemo
  CHECK(offered.count("megatron") == 0); // of 2021, and H100 came in 2022
}

TEST_CASE("other rules for experts are offered as a job can say them", "[long]")
{
  const auto offered = [](const char* model, const Json& framework = "nemo") {
    const Json json = {{"cluster", {{"platform", "hgx-h100"}, {"nodes", 2}}},
                       {"jobs",
                        {{{"model", model},
                          {"framework", framework},
                          {"precision", "bf16"},
                          {"gpus", 16},
                          {"parallel", {{"expert", model[0] == 'q' ? 16 : 1}, {"zero", 1}}},
                          {"global_batch", 64}}}}};
    std::map<std::string, double> gains;
    const Json answer = written(explain(loaded(json), 0, {}));
    for (const Json& swap : answer.at("jobs")[0].at("swaps")) {
      if (!swap.at("pointer").get<std::string>().starts_with("/jobs/0/framework"))
        continue;
      auto changed = std::make_shared<Document>(*loaded(json).document);
      set_value(*changed, swap.at("pointer"), swap.at("to"),
                "test"); // throws where it leads nowhere
      const Json& now = changed->root["jobs"][0]["framework"];
      if (!now.is_string())
        for (const auto& rule : now.at("transformer").items())
          gains[rule.value()] = swap.at("gain");
    }
    return gains;
  };
  const auto experts = offered("qwen3-30b-a3b");
  REQUIRE(experts.contains("layer"));
  CHECK(experts.at("layer") > 0.02);
  REQUIRE(experts.contains("hybrid-ep"));
  CHECK(experts.at("hybrid-ep") > 0.02);
  for (const Json& framework :
       {Json{{"extends", "nemo"}}, Json{{"extends", "nemo"}, {"transformer", Json::object()}}})
    CHECK(offered("qwen3-30b-a3b", framework) == experts);
  CHECK(offered("llama-3.2-1b").empty());
}

} // namespace foretrain::explain_test
