// The list of numbers that shaped a prediction says of each what its file says.
#include "experiments/run/simulate/parameters.hpp"

#include "experiments/spec/experiment.hpp"
#include "experiments/spec/preset_kinds.hpp"
#include "sim/base/text.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <map>

namespace foretrain::parameters_test {

using namespace foretrain::experiments;

namespace {

std::vector<Parameter> listed(const char* text)
{
  return effective_parameters(
      resolve(load_experiment(parse_document(text, "test"), {}, {}).points.front()));
}

std::vector<std::string> names(const std::vector<Parameter>& list)
{
  std::vector<std::string> made;
  for (const Parameter& p : list)
    made.push_back(p.name);
  return made;
}

const Parameter& named(const std::vector<Parameter>& list, const std::string& name)
{
  const auto found =
      std::find_if(list.begin(), list.end(), [&name](const auto& p) { return p.name == name; });
  INFO(name);
  REQUIRE(found != list.end());
  return *found;
}

// A row's value is the one at a pointer of a preset, and the row names the preset's file.
void check_row(const std::vector<Parameter>& list, const std::string& name, const char* kind,
               const std::string& preset, const std::string& pointer)
{
  const Parameter& row = named(list, name);
  CAPTURE(name, row.value, row.source);
  const Value file = resolve_preset(preset, *preset_kind(kind));
  const Json& value = file.json().at(Json::json_pointer(pointer));
  CHECK(row.source.find("/" + preset + ".json") != std::string::npos);
  if (value.is_number()) {
    CHECK(std::stod(row.value) == Approx(value.get<double>()).epsilon(1e-5));
    return;
  }
  const auto told = parse_measure(row.value);
  if (!told) {
    CHECK(row.value == value.get<std::string>());
    return;
  }
  const auto held = parse_measure(value.get<std::string>());
  REQUIRE(held);
  CHECK(told->si() == Approx(held->si()).epsilon(1e-3)); // as many digits as are shown
}

} // namespace

TEST_CASE("parameters of a job with servers and input are those of its files", "[parameters]")
{
  const auto list = listed(R"({
    "cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 3, "storage": "nfs-ssd"},
    "stack": {"network": "tcp"},
    "jobs": [{"name": "j", "model": "resnet50", "framework": "byteps", "batch_per_gpu": 64,
              "gpus": 4, "input": "tfrecord",
              "parameter_servers": {"count": 2}}]})");
  for (const char* key : {"memory_efficiency", "memory_bandwidth", "kernel_launch", "nvlink_brick",
                          "nvlink_collective_efficiency"})
    check_row(list, std::string("gpu/") + key, "gpu", "v100-sxm2-16gb", std::string("/") + key);
  for (const char* key : {"latency", "cpu_per_packet", "copies"})
    check_row(list, std::string("network/") + key, "network", "tcp", std::string("/") + key);
  CHECK(named(list, "network/connections").value == "1");
  for (const char* key : {"overlap", "fusion_threshold", "step_overhead", "step_variation",
                          "launches/per_operation", "launches/per_kernel", "servers/sum_rate",
                          "servers/message", "servers/network_threads", "servers/verbs_rate",
                          "servers/partition", "input/threads_per_gpu", "input/prefetch_batches"})
    check_row(list, std::string("j/") + key, "framework", "byteps", std::string("/") + key);
  CHECK(named(list, "j/servers").value == "2");
  CHECK(std::stod(named(list, "j/parameters").value) == Approx(25.557e6).epsilon(1e-4)); // He 2015
  CHECK(std::stod(named(list, "j/forward_GMAC").value) == Approx(3.8).epsilon(0.02)); // its table 1
  check_row(list, "j/input/samples", "dataset", "imagenet", "/samples");
  check_row(list, "storage/request", "storage", "nfs-ssd", "/request");
  const auto all = names(list);
  for (const std::string& name : all)
    CHECK(std::count(all.begin(), all.end(), name) == 1);
  for (const Parameter& row : list) {
    CHECK_FALSE(row.value.empty());
    CHECK_FALSE(row.source.empty());
  }
}

TEST_CASE("only what a job has is listed", "[parameters]")
{
  const auto list = listed(R"({
    "cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 2}, "stack": {"network": "rdma"},
    "jobs": [{"name": "j", "model": "transformer-big", "batch_per_gpu": 64, "gpus": 4,
              "framework": {"extends": "pytorch-ddp", "library": "gloo"}},
             {"name": "w", "model": "vgg16", "framework": "tensorflow-ps", "batch_per_gpu": 64,
              "gpus": 4}]})");
  const auto all = names(list);
  const auto has = [&all](const std::string& name) {
    return std::find(all.begin(), all.end(), name) != all.end();
  };
  for (const char* key : {"concurrent", "sum_rate"})
    check_row(list, std::string("j/host/") + key, "library", "gloo", std::string("/host/") + key);
  check_row(list, "j/work_variation", "model", "transformer-big", "/work_variation");
  CHECK(has("j/host/half_sum_rate"));
  CHECK(has("w/servers"));
  for (const char* not_here :
       {"w/host/concurrent", "w/work_variation", "j/servers", "j/input/dataset", "storage",
        "network/copies", "w/servers/partition"}) // whole tensors have no parts
    CHECK_FALSE(has(not_here));
  CHECK(named(list, "j/anchor_factor").value == "1");
  CHECK(named(list, "j/step_on_one_gpu").source == "roofline of the GPU over the model's layers");
}

TEST_CASE("variation of a program's or a recording's step is that of its file", "[parameters]")
{
  const auto list = listed(R"({
    "cluster": {"platform": "c4140-k-v100-sxm2"},
    "jobs": [{"name": "p", "program": "pipeline-2x4", "framework": "pytorch-ddp", "gpus": 2},
             {"name": "r", "framework": "pytorch-ddp", "gpus": 2, "model": {"name": "recorded",
      "measured": {"device": "V100", "gpu": "v100-sxm2-16gb", "precision": "fp32", "batch": 32,
        "step": "10 ms", "ranks": 2, "variation": 0.03,
        "forward": [{"product": "2 ms", "kernels": 10}],
        "backward": [{"product": "4 ms", "kernels": 20, "gradients": [1000]}],
        "exchanges": [{"kind": "all-to-all", "size": "100 MB"}],
        "lines": [{"pieces": [
          {"phase": "forward", "product": "2 ms", "kernels": 10, "starts": [0]},
          {"phase": "backward", "product": "4 ms", "kernels": 20, "after": [0]}]}]}}}]})");
  CHECK(named(list, "p/step_variation").source.find("pipeline-2x4.json") != std::string::npos);
  CHECK(named(list, "r/step_variation").value == "0.03");
  CHECK(named(list, "r/step_variation").source.find("test") == 0);
}

} // namespace foretrain::parameters_test
