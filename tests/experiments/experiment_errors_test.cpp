// Experiments that cannot be meant: each is refused where the mistake is, with what would be right.
#include "experiments/spec/resolve.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::experiment_errors_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

const char* const kSmall = R"({
  "cluster": {"platform": "dgx1-v100"},
  "jobs": [{"name": "a", "model": "resnet50", "framework": "pytorch-ddp", "precision": "fp16",
            "batch_per_gpu": 64, "gpus": 4}]})";
const char* const kLarge = R"({
  "cluster": {"platform": "hgx-h100"},
  "jobs": [{"model": "llama-3-8b", "framework": "nemo", "precision": "bf16", "gpus": 8,
            "global_batch": 8, "sequence": 4096, "parallel": {"tensor": 2, "zero": 1}}]})";
const char* const kExperts = R"({
  "cluster": {"platform": "hgx-h100"},
  "jobs": [{"model": "mixtral-8x7b", "framework": "nemo", "precision": "bf16", "gpus": 8,
            "global_batch": 8, "sequence": 4096, "parallel": {"expert": 8, "zero": 1}}]})";

// The message, or "" where all is well.
std::string problem(const char* text, const Settings& settings,
                    const std::vector<std::string>& set = {})
{
  auto document = parse_document(text, "test");
  for (const auto& [pointer, value] : settings)
    set_value(*document, pointer, value);
  try {
    for (const Point& point : load_experiment(document, set, {}).points)
      static_cast<void>(resolve(point));
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST_CASE("what an experiment says of itself has to be of its kind", "[experiment][errors]")
{
  const auto [key, value, why] = GENERATE(table<std::string, std::string, std::string>({
      {"/sweep", "[1]", "/sweep must be an object of JSON pointers and lists, got [1]"},
      {"/sweep", R"({"/jobs/0/gpus": 8})",
       "/sweep/~1jobs~10~1gpus must be a list of values, got 8"},
      {"/sweep", R"({"/jobs/0/gpus": []})", "must be a list of values, got []"},
      {"/sweep", R"({"/jobs/0/gpus": [1, 2, 1]})", "/sweep/~1jobs~10~1gpus/2 is there twice: 1"},
      {"/sweep", R"({"gpus": [8]})", "/sweep/gpus must be a JSON pointer, like /jobs/0/gpus"},
      {"/sweep", R"({"": [8]})", "must be a JSON pointer, like /jobs/0/gpus"},
      {"/sweep", R"({"/jobs/0/gpus /jobs/0/batch_per_gpu": [[8]]})",
       "must be a list of 2 values, one for each pointer, got [8]"},
      {"/sweep", R"({"/jobs/0/gpus": [8], "/jobs/0/gpus /jobs/0/batch_per_gpu": [[8, 1]]})",
       "sets /jobs/0/gpus a second time"},
      {"/sweep", R"({"/jobs/0": [{}], "/jobs/0/gpus": [8]})",
       "sets /jobs/0/gpus, and /jobs/0 is set too"},
      {"/profiles", "3", "/profiles must be a list of profiles, got 3"},
      {"/cluster/price_per_gpu_hour", "-2", "must be a price that is not negative, got -2"},
      {"/cluster/price_per_gpu_hour", "\"2\"", "must be a price that is not negative, got \"2\""},
      {"/cluster/price_per_gpu_hour", R"({"dgx1-v100": -1})", "must be a price that is not"},
      {"/cluster/price_per_gpu_hour", R"({"hgx-h100": 1})",
       "has no price of platform 'dgx1-v100'\n  hint: priced are hgx-h100"},
      {"/jobs", "[]", "/jobs must hold at least one job"},
      {"/jobs/0", R"([])", "/jobs/0 must be an object"},
      {"/jobs", R"([{"name": "a", "framework": "nemo"}, {"name": "a", "framework": "nemo"}])",
       "/jobs/1 has the name of another job: 'a'\n  hint: give each job a \"name\" of its own"},
  }));
  CAPTURE(key, value);
  CHECK_THAT(problem(kSmall, {{key, value}}), Contains(why));
}

TEST_CASE("what no training can be is refused", "[experiment][errors]")
{
  CHECK_THAT(problem(kLarge, {{"/jobs/0/program", "\"none\""}}),
             Contains("/jobs/0/model stands beside a program"));
  CHECK_THAT(problem(kLarge, {{"/jobs/0/global_batch", "100000000"}}),
             Contains("are simulated at most") && Contains("at most 400000"));
  CHECK_THAT(
      problem(kLarge, {{"/jobs/0/lora", R"({"rank": 4097})"}}),
      Contains("/jobs/0/lora/rank is 4097, and no product of the model is of a higher rank"));
  CHECK_THAT(problem(kExperts, {{"/jobs/0/model", R"({"extends": "mixtral-8x7b",
                                 "transformer": {"top_k": 4, "routing_groups": 8,
                                                 "routed_groups": 2}})"}}),
             Contains("top_k is 4, but 2 of 8 groups of experts hold 2"));
}

TEST_CASE("an expectation has to name a number, and what is expected of it", "[experiment][errors]")
{
  const auto [expected, why] = GENERATE(table<std::string, std::string>({
      {R"("quantity": "speedup", "at_least": 1)",
       "/expect/0/quantity must be a JSON pointer below a job's results, like /speedup"},
      {R"("quantity": "", "at_least": 1)", "/expect/0/quantity must be a JSON pointer below"},
      {R"("quantity": "/a~2", "at_least": 1)", "/expect/0/quantity is not a valid JSON pointer"},
      {R"("quantity": "/speedup", "at_least": 5, "at_most": 3)",
       "/expect/0/at_most is 3, below at_least, which is 5"},
      {R"("quantity": "/speedup")", "/expect/0 must have at_least, at_most, contains or is"},
      {R"("quantity": "/speedup", "at_least": 1, "point": 2)",
       "/expect/0/point must be an object of pointers and values, got 2"},
      {R"("quantity": "/speedup", "at_least": 1, "point": {"gpus": 2})",
       "/expect/0/point must have JSON pointers as keys, got 'gpus'"},
      {R"("quantity": "/speedup", "at_least": 1, "point": {"/a~1b": 2})",
       "/expect/0/point must have JSON pointers as keys, got '/a~1b'"},
      {R"("quantity": "/speedup", "at_least": 1, "than": 2)",
       "/expect/0/than must be an object of pointers and values, got 2"},
      {R"("quantity": "/limit", "contains": "x", "than": {"/jobs/0/gpus": 1})",
       "/expect/0 compares no numbers: 'contains' goes without 'than' and 'than_job'"},
      {R"("quantity": "/limit", "is": true, "than_job": "a")",
       "/expect/0 compares no numbers: 'is' goes without"},
  }));
  CAPTURE(expected);
  CHECK_THAT(problem(kSmall, {{"/expect", "[{" + expected + "}]"}}), Contains(why));
}

TEST_CASE("settings of the command line that undo each other are refused", "[experiment][errors]")
{
  CHECK_THAT(problem(kSmall, {}, {"/jobs/0/gpus=8", "/jobs/0/gpus=4"}),
             Contains("--set /jobs/0/gpus is given twice: one would undo the other"));
  CHECK_THAT(problem(kSmall, {{"/sweep", R"({"/jobs/0/gpus": [1, 2]})"}}, {"/jobs/0={}"}),
             Contains("--set /jobs/0: the sweep varies /jobs/0/gpus"));
  CHECK_THAT(problem(kSmall, {}, {"/jobs/0/gpus"}),
             Contains("--set needs POINTER=VALUE, like --set /jobs/0/gpus=8; got '/jobs/0/gpus'"));
  CHECK(problem(kSmall, {{"/sweep", R"({"/jobs/0/gpus": [1, 2]})"}}, {"/jobs/0/gpus=8"}).empty());
  CHECK_THAT(problem("[1]", {}), Contains("must be a JSON object, got [1]"));
  CHECK_THAT(problem(R"({"arrivals": {}})", {}), Contains("is a fleet, not an experiment"));
  CHECK_THAT(problem(R"({"jobs": {"trace": "x.swf"}})", {}), Contains("is a fleet, not an"));
}

TEST_CASE("parts that an experiment describes are wrong where they stand in it",
          "[experiment][errors]")
{
  const auto [key, value, why] = GENERATE(table<std::string, std::string, std::string>({
      {"/cluster/platform", R"({"extends": "dgx1-v10"})",
       "/cluster/platform/extends is not a known platform: 'dgx1-v10'"},
      {"/stack", R"({"host": {"extends": "vm", "quality": [{"low": 3, "median": 1, "high": 4}]}})",
       "/stack/host/quality/0"},
      {"/jobs/0/framework", R"({"extends": "pytorch-ddp", "algorithm": "tre"})",
       "/jobs/0/framework/algorithm is not a known algorithm: 'tre'\n  hint: did you mean 'tree'?"},
      {"/jobs/0/framework", R"({"extends": "pytorch-ddp", "algorithm": "tree"})", ""},
  }));
  CAPTURE(key, value);
  const std::string found = problem(kSmall, {{key, value}});
  CHECK_THAT(found, Contains(why));
  CHECK((why.empty() == found.empty()));
}

TEST_CASE("a part of a file is wrong where it stands in the file", "[experiment][errors]")
{
  const char* const text = R"({
  "cluster": {"platform": {"extends": "dgx1-v100",
                           "max_nodes": -3}},
  "jobs": [{"model": "resnet50", "framework": "pytorch-ddp", "batch_per_gpu": 64}]})";
  CHECK_THAT(problem(text, {}), Contains("test:3:41: error: /cluster/platform/max_nodes must be"));
}

TEST_CASE("nodes of a cluster do not talk as processes of one machine do", "[experiment][errors]")
{
  const Settings nodes{{"/jobs/0/gpus", "16"}};
  const auto with = [&](const std::string& network) {
    Settings settings = nodes;
    settings.emplace_back("/stack", R"({"network": ")" + network + "\"}");
    return problem(kSmall, settings);
  };
  for (const char* network : {"loopback", "veth", "veth-vxlan"})
    CHECK_THAT(with(network), Contains("/stack/network is '") &&
                                  Contains("which joins processes of one machine, no nodes") &&
                                  !Contains("veth,"));
  CHECK(with("tcp").empty());
  CHECK(problem(kSmall, {{"/stack", R"({"network": "loopback"})"}}).empty()); // one node
}

TEST_CASE("a job that a cluster cannot hold is refused with what it has", "[experiment][errors]")
{
  const auto [key, value, why] = GENERATE(table<std::string, std::string, std::string>({
      {"/jobs/0/placement", "[]", "/jobs/0/placement must be one of"},
      {"/jobs/0/placement", "\"sprad\"", "did you mean 'spread'?"},
      {"/jobs/0/placement", "[[0, 1], [0]]",
       "/jobs/0/placement/1 must be [node, gpu], two whole numbers counted from 0, got [0]"},
      {"/jobs/0/placement", "[[0, 1.5]]", "must be [node, gpu], two whole numbers"},
      {"/jobs/0/placement", "[[0.5, 1]]", "must be [node, gpu], two whole numbers"},
      {"/jobs/0/placement", "[[0, -1]]", "must be [node, gpu], counted from 0, got [0,-1]"},
      {"/jobs/0/placement", "[[0, 3000000000]]", "must be [node, gpu], counted from 0, got"},
      {"/jobs/0/placement", "[[0, 1], [0, 8]]",
       "/jobs/0/placement/1 is [0, 8], but there are 1 nodes with 8 GPUs each"},
      {"/jobs/0/placement", "[[0, 1], [0, 1]]",
       "/jobs/0/placement/1 is there twice: a job can use a GPU once"},
      {"/jobs/0/placement", "[[0, 1], [0, 2]]", "/jobs/0/gpus is 4, but 'placement' lists 2 GPUs"},
      {"/cluster/nodes", "999999", "/cluster/nodes is 999999, but 'dgx1-v100' has at most"},
      {"/jobs/0/gpus", "1048577", "/jobs/0/gpus must be at most 1048576, got 1048577"},
      {"/jobs/0/gpus", "1048576", "/cluster/platform has at most"},
      {"/cluster", R"({"platform": "dgx1-v100", "nodes": 1})", ""},
      {"/cluster", R"({"platform": {"extends": "dgx1-v100", "max_nodes": 1}, "nodes": 2})",
       "/cluster/nodes is 2, but 'dgx1-v100' has at most 1 node"},
  }));
  CAPTURE(key, value);
  CHECK_THAT(problem(kSmall, {{key, value}}), Contains(why));
  CHECK_THAT(problem(kSmall, {{"/cluster/nodes", "1"}, {"/jobs/0/gpus", "12"}}),
             Contains("/jobs/0/gpus is 12, but only 8 GPUs are free on 1 nodes with 8 GPUs each"));
}

TEST_CASE("keys of one kind of job are refused in another", "[experiment][errors]")
{
  const auto [key, value, why] = GENERATE(table<std::string, std::string, std::string>({
      {"/jobs/0/parallel", R"({"tensor": 2})",
       "/jobs/0/parallel divides the model, and the model is not a transformer"},
      {"/jobs/0/precision", "\"fp8\"", "/jobs/0/precision is 'fp8'"},
      {"/jobs/0", R"({"model": "resnet50", "framework": "pytorch-ddp", "gpus": 4,
                      "global_batch": 256})",
       "batch_per_gpu is samples per GPU: 256 on 4 GPUs are 64"},
      {"/jobs/0", R"({"model": "resnet50", "framework": "pytorch-ddp", "gpus": 4})",
       "/jobs/0/batch_per_gpu is missing"},
      {"/jobs/0", R"({"framework": "pytorch-ddp", "gpus": 4, "batch_per_gpu": 1})",
       "/jobs/0/model is missing"},
      {"/jobs/0/precision", "\"int8\"", "/jobs/0/precision is 'int8'"},
      {"/jobs/0/optimizer", "\"muon\"",
       "/jobs/0/optimizer is Muon, whose products are known of transformers alone"},
      {"/jobs/0/parameter_servers", "{}",
       "/jobs/0/parameter_servers are not known to 'PyTorch DistributedDataParallel', which "
       "reduces gradients"},
      {"/jobs/0/framework", "\"tensorrt\"",
       "/jobs/0/framework is TensorRT, which does not train\n  hint: set \"mode\": \"inference\""},
  }));
  CAPTURE(key, value);
  CHECK_THAT(problem(kSmall, {{key, value}}), Contains(why));
  CHECK_THAT(problem(kSmall, {{"/jobs/0/mode", "inference"},
                              {"/jobs/0/framework", "tensorrt"},
                              {"/jobs/0/epochs", "2"}}),
             Contains("/jobs/0/epochs is about training, and the job's \"mode\" is inference"));
  CHECK_THAT(problem(kSmall, {{"/jobs/0/epochs", "2"}, {"/jobs/0/training_steps", "2"}}),
             Contains("/jobs/0/training_steps stands beside \"epochs\""));
}

TEST_CASE("keys of large jobs that do not go together are refused", "[experiment][errors]")
{
  const auto [key, value, why] = GENERATE(table<std::string, std::string, std::string>({
      {"/jobs/0/mode", "\"inference\"",
       "/jobs/0/mode is 'inference', and the model is a transformer"},
      {"/jobs/0/parameter_servers", "{}",
       "/jobs/0/parameter_servers are for other models than transformers"},
      {"/jobs/0/batch_per_gpu", "1", "/jobs/0/batch_per_gpu beside global_batch"},
      {"/jobs/0/tokens", "0", "/jobs/0/tokens must be greater than zero, got 0"},
      {"/jobs/0/tokens", "\"2e18\"", "/jobs/0/tokens must be at most 1e18, got \"2e18\""},
      {"/jobs/0/tokens", "\"many\"", "/jobs/0/tokens must be a number or a text like \"300B\""},
      {"/jobs/0/tokens", "\"3X\"", "/jobs/0/tokens must be a number or a text like \"300B\""},
      {"/jobs/0/tokens", "[1]", "/jobs/0/tokens must be a number or a text like \"300B\""},
      {"/jobs/0/routing", R"({"imbalance": 1.5})",
       "/jobs/0/routing is how tokens go to experts, and the model has none"},
      {"/jobs/0/recompute_layers", "2",
       "/jobs/0/recompute_layers are those that full recomputation repeats"},
      {"/jobs/0/offload_activations", "33",
       "/jobs/0/offload_activations is 33, and no stage has more than 32 layers"},
      {"/jobs/0/bf16_layers", R"({"first": 1})",
       "/jobs/0/bf16_layers are for products of fewer bits, and they are 'bf16'"},
      {"/jobs/0/precision", "\"int8\"", "/jobs/0/precision is 'int8', in which no transformer"},
      {"/jobs/0/framework", "\"tensorrt\"", "/jobs/0/framework is TensorRT, which does not train"},
      {"/jobs/0/framework", "\"byteps\"", "which adds gradients by parameter servers"},
      {"/jobs/0/framework", "\"tensorflow-ps\"", "which adds gradients by parameter servers"},
      {"/jobs/0/lora", R"({"rank": 8, "targets": []})", "/jobs/0/lora/targets is an empty list"},
      {"/jobs/0/parallel", R"({"pipeline": 2, "stage_layers": []})",
       "/jobs/0/parallel/stage_layers is an empty list"},
      {"/jobs/0/parallel", R"({"schedule": "zero-bubble"})",
       "/jobs/0/parallel/schedule is 'zero-bubble', an order of micro-batches on several stages"},
      {"/jobs/0/parallel", R"({"schedule": "gpipe"})", "and pipeline is 1"},
      {"/jobs/0/recompute_modules", "[]", "/jobs/0/recompute_modules is an empty list"},
      {"/jobs/0/lora", R"({"rank": 8, "weights": "fp8"})",
       "/jobs/0/lora/weights are 'fp8', and products are 'bf16'"},
  }));
  CAPTURE(key, value);
  CHECK_THAT(problem(kLarge, {{key, value}}), Contains(why));
}

TEST_CASE("pairs of keys of large jobs that do not go together are refused", "[experiment][errors]")
{
  const auto both = [](const std::string& key, const std::string& value, const std::string& other,
                       const std::string& of_other) {
    return problem(kLarge, {{"/jobs/0/" + key, value}, {"/jobs/0/" + other, of_other}});
  };
  CHECK_THAT(both("precision", "fp8", "lora", R"({"rank": 8, "weights": "nf4"})"),
             Contains("/jobs/0/lora/weights are 'nf4', and products are 'fp8'"));
  CHECK_THAT(both("precision", "fp8", "bf16_layers", R"({"first": 30, "last": 3})"),
             Contains("/jobs/0/bf16_layers are 33 of 32 layers"));
  CHECK(both("precision", "fp8", "bf16_layers", R"({"first": 30, "last": 2})").empty());
  CHECK_THAT(both("recompute", "full", "recompute_layers", "33"),
             Contains("/jobs/0/recompute_layers is 33, and no stage has more than 32 layers"));
  CHECK(both("recompute", "full", "recompute_layers", "32").empty());
  CHECK_THAT(both("gpus", "32", "parallel", R"({"pipeline": 32, "schedule": "zb-v"})"),
             Contains("/jobs/0/parallel/schedule is 'zb-v', which has two pieces of layers on each "
                      "of 32 stages, but the model has 32 layers\n  hint: \"pipeline\": 16 or"));
  CHECK_THAT(both("optimizer", "muon", "lora", R"({"rank": 8})"),
             Contains("/jobs/0/lora trains adapters, and Muon is for whole matrices"));
  CHECK_THAT(both("optimizer", "muon", "offload", "0.5"),
             Contains("/jobs/0/offload brings the optimizer to the host, and products of Muon"));
  CHECK_THAT(both("optimizer", "muon", "parallel", R"({"tensor": 2, "zero": 2})"),
             Contains("/jobs/0/parallel/zero is 2, and Muon needs whole gradients of a matrix"));
  CHECK_THAT(
      both("parallel", R"({"tensor": 1, "pipeline": 2, "virtual_stages": 4, "zero": 1})",
           "offload_activations", "5"),
      Contains("/jobs/0/offload_activations is 5, and no piece of a stage has more than 4 layers"));
  CHECK_THAT(problem(kExperts, {{"/jobs/0/routing", R"({"padded": true})"}}),
             Contains("/jobs/0/routing/padded fills experts up to a capacity, and none is given"));
  CHECK(problem(kExperts, {{"/jobs/0/routing", R"({"padded": true, "capacity": 1.25})"}}).empty());
}

TEST_CASE("frameworks whose gradients go another way between nodes train no transformer there",
          "[experiment][errors]")
{
  const auto on = [](const std::string& framework, const char* gpus) {
    return problem(
        kLarge,
        {{"/jobs/0/framework", framework}, {"/jobs/0/gpus", gpus}, {"/jobs/0/global_batch", "16"}});
  };
  CHECK(on("\"mxnet\"", "8").empty()); // of one node: by its GPUs
  CHECK_THAT(on("\"mxnet\"", "16"), Contains("which adds gradients by parameter servers"));
  CHECK(on("\"caffe2\"", "8").empty());
  CHECK_THAT(on("\"caffe2\"", "16"), Contains("which adds gradients between nodes by Gloo"));
}

TEST_CASE("tokens of a training are numbers with or without a unit", "[experiment]")
{
  const auto tokens = [](const std::string& text) {
    auto document = parse_document(kLarge, "test");
    set_value(*document, "/jobs/0/tokens", text);
    return resolve(load_experiment(document, {}, {}).points.front())
        .jobs.front()
        .transformer->tokens;
  };
  CHECK(tokens("5000") == 5e3);
  CHECK(tokens("\"5K\"") == 5e3);
  CHECK(tokens("\"5 k\"") == 5e3);
  CHECK(tokens("\"2.5M\"") == 2.5e6);
  CHECK(tokens("\"3B\"") == 3e9);
  CHECK(tokens("\"3G\"") == 3e9);
  CHECK(tokens("\"1T\"") == 1e12);
}

} // namespace foretrain::experiment_errors_test
