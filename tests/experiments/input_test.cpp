// Input, storage and shared nodes, through whole experiments, against closed forms.
#include "experiments/run/scenario.hpp"
#include "tests/experiments/point.hpp"

#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::input_test {

using namespace foretrain::test;
using Catch::Matchers::Contains;

namespace {

// Everything that matters is written here, in round numbers: one node, 2 GPUs behind one switch.
const char* const kOne = R"({
  "cluster": {
    "platform": {
      "name": "test", "max_nodes": 8,
      "node": {
        "name": "node", "sockets": 1, "memory": "100 GB",
        "cpu": { "name": "cpu", "cores": 10, "clock": "2 GHz", "memory_bandwidth": "1000 GB/s",
                 "root_port_duplex": "1000 GB/s", "copy_rate": "1000 GB/s" },
        "pcie_switches": [ { "name": "plx0", "on": "socket0" } ],
        "gpus": { "type": "v100-pcie-16gb", "on": [ "plx0", "plx0" ] },
        "nics": [ { "name": "eth0", "on": "socket0",
                    "type": { "name": "nic", "rate": "10 Gb/s" } } ],
        "disks": [ { "name": "disk0", "type": { "name": "disk", "read": "100 MB/s",
                     "write": "100 MB/s", "latency": "1 us" } } ]
      },
      "networks": [ { "nics": [ "eth0" ], "fabric": "ethernet-10g" } ]
    },
    "storage": { "name": "disk", "request": "10 MB" }
  },
  "jobs": [ {
    "name": "train", "model": "resnet50", "batch_per_gpu": 50, "gpus": 1, "warmup_steps": 8,
    "framework": { "name": "plain", "step_variation": 0, "step_overhead": "0 s",
                   "input": { "threads_per_gpu": 4, "read_streams": 1, "process_memory": "0 B" } },
    "input": { "format": "tfrecord", "dataset": {
      "name": "set", "samples": 1000, "size": "100 MB", "decode_cycles": 2e6 } }
  } ]
})";

double rate(const experiments::PointResult& result, std::size_t job = 0)
{
  return result.jobs.at(job).throughput.median;
}

} // namespace

TEST_CASE("keys of input that synthetic input does not read are told", "[input]")
{
  const auto told = [](const char* input, const std::map<std::string, std::string>& more = {}) {
    std::map<std::string, std::string> set{{"/jobs/0/input", input}};
    set.insert(more.begin(), more.end());
    std::string all;
    for (const std::string& warning : run_text(kOne, {set.begin(), set.end()}).warnings)
      all += warning + "\n";
    return all;
  };
  CHECK_THAT(told(R"({"format": "synthetic", "threads": 4, "cache": "warm",
                      "dataset": "imagenet-10x"})"),
             Contains(R"("threads", "cache", "dataset" have no influence on input that is)"));
  CHECK_THAT(
      told(R"({"format": "synthetic", "dataset": "imagenet-10x"})", {{"/jobs/0/epochs", "1"}}),
      !Contains("no influence on input that is")); // which it counts
  CHECK_THAT(told(R"({"format": "synthetic"})"), !Contains("no influence on input that is"));
  CHECK_THAT(told(R"("synthetic")"), !Contains("no influence on input that is"));
}

TEST_CASE("Input-bound throughput is the least of storage, decoding and GPU", "[input][long]")
{
  const double gpu = rate(run_text(kOne, {{"/jobs/0/input", "synthetic"}}));
  const double disk = 100e6 / 100e3;   // bytes per second over bytes per sample
  const double decode = 4 * 2e9 / 2e6; // threads x clock over cycles
  CHECK(gpu > 200);
  CHECK(rate(run_text(kOne)) == Approx(std::min({gpu, disk, decode})).epsilon(1e-6));
  const std::string read = "/cluster/platform/node/disks/0/type/read";
  CHECK(rate(run_text(kOne, {{read, "\"10 MB/s\""}})) == Approx(disk / 10).epsilon(1e-3));
  const std::string cycles = "/jobs/0/input/dataset/decode_cycles";
  CHECK(rate(run_text(kOne, {{cycles, "1e8"}})) == Approx(decode / 50).epsilon(1e-3));
  // Copies: 224 x 224 x 3 values of 4 bytes over a link of one lane.
  const auto slow = run_text(kOne, {{"/cluster/platform/node/pcie_switches/0/lanes", "1"},
                                    {"/cluster/platform/node/pcie_switches/0/generation", "1"},
                                    {"/jobs/0/model", "alexnet"}});
  CHECK_THAT(slow.jobs[0].bottleneck.resource, Contains("plx0"));
}

TEST_CASE("Later epochs read from the page cache when it is large enough", "[input][long]")
{
  const std::string read = "/cluster/platform/node/disks/0/type/read";
  const auto fits = run_text(kOne, {{read, "\"10 MB/s\""}});
  REQUIRE(fits.jobs[0].later_epochs.has_value());
  CHECK(fits.jobs[0].later_epochs->throughput.median ==
        Approx(rate(run_text(kOne, {{"/jobs/0/input", "synthetic"}}))).epsilon(1e-3));
  // Half of the data set fits: c + (1 - c) ln(1 - c) of the reads are hits.
  const auto half = run_text(kOne, {{read, "\"10 MB/s\""}, {"/jobs/0/memory", "\"50 MB\""}});
  const double misses = 1 - (0.5 + 0.5 * std::log(0.5));
  REQUIRE(half.jobs[0].later_epochs.has_value());
  CHECK(half.jobs[0].later_epochs->throughput.median ==
        Approx(std::min(100 / misses, fits.jobs[0].later_epochs->throughput.median)).epsilon(1e-3));
  // The same when processes leave no more of the node's 100 GB.
  const auto left = run_text(
      kOne, {{read, "\"10 MB/s\""}, {"/jobs/0/framework/input/process_memory", "\"99.95 GB\""}});
  REQUIRE(left.jobs[0].later_epochs.has_value());
  CHECK(left.jobs[0].later_epochs->throughput.median ==
        Approx(half.jobs[0].later_epochs->throughput.median).epsilon(1e-3));
  const auto warm = run_text(kOne, {{read, "\"10 MB/s\""}, {"/jobs/0/input/cache", "warm"}});
  CHECK(rate(warm) == Approx(fits.jobs[0].later_epochs->throughput.median));
}

TEST_CASE("Two jobs whose batches cross one uplink get half of it each")
{
  std::vector<std::pair<std::string, std::string>> slow = {
      {"/cluster/platform/node/pcie_switches/0/lanes", "1"},
      {"/cluster/platform/node/disks/0/type/read", "\"100 GB/s\""},
      {"/jobs/0/model", "alexnet"}};
  auto document = parse_document(kOne, "test");
  for (const auto& [pointer, value] : slow)
    set_value(*document, pointer, value);
  Json two = document->root["jobs"][0];
  two["name"] = "other";
  document->root["jobs"].push_back(two);
  const auto both = run_text(document->root.dump());
  for (const auto& job : both.jobs) {
    REQUIRE(job.slowdown.has_value());
    CHECK(*job.slowdown == Approx(2).epsilon(0.01));
    REQUIRE(job.meeting.has_value());
    CHECK_THAT(job.meeting->resource, Contains("plx0"));
    CHECK(job.throughput.median == Approx(job.alone->throughput.median / 2).epsilon(0.01));
  }
}

TEST_CASE("Frameworks start a thread for each thread of a core, which do the work of cores")
{
  auto document = parse_document(kOne, "test");
  Json& job = document->root["jobs"][0];
  job["input"]["dataset"]["decode_cycles"] = 1e9; // far more than the cores can do
  job["framework"]["host_threads"] = 0;
  job["framework"]["input"].erase("threads_per_gpu");
  job["framework"]["input"]["cores_kept_per_gpu"] = 6;
  const double core = 2e9 / 1e9; // samples per second
  CHECK(rate(run_text(document->root.dump())) == Approx(4 * core).epsilon(1e-3));
  document->root["cluster"]["platform"]["node"]["cpu"]["threads_per_core"] = 2;
  CHECK(rate(run_text(document->root.dump())) == Approx(10 * core).epsilon(1e-3));
}

TEST_CASE("Two jobs that decode share the cores by threads, or have their own", "[long]")
{
  auto document = parse_document(kOne, "test");
  Json& jobs = document->root["jobs"];
  jobs[0]["input"]["dataset"]["decode_cycles"] = 1e9; // far more than the cores can do
  jobs[0]["framework"]["host_threads"] = 0;
  jobs[0]["framework"]["input"]["threads_per_gpu"] = 10;
  Json other = jobs[0];
  other["name"] = "other";
  other["framework"]["input"]["threads_per_gpu"] = 40;
  jobs.push_back(other);
  const double all = 10 * 2e9 / 1e9; // samples per second of all cores
  const auto shared = run_text(document->root.dump());
  CHECK(rate(shared, 0) == Approx(all * 10 / 50).epsilon(1e-3));
  CHECK(rate(shared, 1) == Approx(all * 40 / 50).epsilon(1e-3));
  CHECK(shared.jobs[0].bottleneck.resource == "node0/cores");
  CHECK(*shared.jobs[0].slowdown == Approx(5).epsilon(1e-3)); // ten threads, of ten cores alone
  document->root["stack"] = {{"host", {{"name", "pinned"}, {"isolation", "cgroup"}}}};
  const auto pinned = run_text(document->root.dump());
  CHECK(rate(pinned, 0) == Approx(all / 2).epsilon(1e-3));
  CHECK(rate(pinned, 1) == Approx(all / 2).epsilon(1e-3));
  // A container keeps its cores when its neighbour leaves, and its time from launch to end.
  for (const auto& job : pinned.jobs) {
    CHECK(*job.slowdown == Approx(1).epsilon(1e-3));
    CHECK((job.alone->elapsed - job.elapsed.start_up).value() ==
          Approx(job.elapsed.steps.value()).epsilon(1e-2));
  }
  // A lone job has the whole node, also in a container.
  document->root["jobs"].erase(1);
  CHECK(rate(run_text(document->root.dump())) == Approx(all).epsilon(1e-3));
  // Both sets fill the node: it and they are full at once.
  CHECK_THAT(pinned.jobs[0].bottleneck.resource, Contains("cores"));
}

TEST_CASE("A file server is shared by its clients until its link is full")
{
  auto document = parse_document(kOne, "test");
  document->root["cluster"]["storage"] = {{"name", "server"},
                                          {"request", "1 MB"},
                                          {"servers", {{"rate", "100 GB/s"}, {"link", "1 GB/s"}}},
                                          {"transports",
                                           {{{"name", "plain"},
                                             {"protocol", "rdma"},
                                             {"ethernet", {{"mtu", "1500 B"}}},
                                             {"gpudirect", false}}}}};
  document->root["cluster"]["platform"]["node"]["nics"][0]["type"]["rdma"] = true;
  Json& job = document->root["jobs"][0];
  job["input"]["dataset"]["size"] = "1 GB"; // 1 MB per sample
  job["framework"]["input"]["read_streams"] = 100;
  job["model"] = "googlenet";
  const Json one = job;
  double alone = 0;
  for (const int clients : {1, 2, 4, 8}) {
    document->root["cluster"]["nodes"] = clients;
    Json& jobs = document->root["jobs"] = Json::array();
    for (int i = 0; i < clients; ++i) {
      jobs.push_back(one);
      jobs[static_cast<std::size_t>(i)]["name"] = std::to_string(i);
      jobs[static_cast<std::size_t>(i)]["placement"] = Json::array({Json::array({i, 0})});
    }
    experiments::RunOptions options;
    options.uncertainty.method = experiments::UncertaintyMethod::steps;
    const auto result = experiments::run_point(
        {{}, parse_document(document->root.dump(), "test"), nullptr}, options);
    double sum = 0;
    for (int i = 0; i < clients; ++i)
      sum += rate(result, static_cast<std::size_t>(i));
    alone = clients == 1 ? sum : alone;
    CHECK(sum == Approx(std::min(clients * alone, 1000.0)).epsilon(0.01));
    if (clients == 8)
      CHECK(result.jobs[0].bottleneck.resource == "storage/server-link");
  }
  CHECK(alone < 1000);
}

TEST_CASE("Where jobs go and when they start is up to the file", "[input][long]")
{
  auto document = parse_document(kOne, "test");
  Json& jobs = document->root["jobs"];
  jobs[0]["input"] = "synthetic";
  document->root["cluster"].erase("storage");
  document->root["cluster"]["nodes"] = 2;
  jobs[0]["placement"] = Json::array({Json::array({1, 1})});
  Json other = jobs[0];
  other["name"] = "other";
  jobs.push_back(other);
  SECTION("two jobs on one GPU get half of it each")
  {
    const auto both = run_text(document->root.dump());
    CHECK(*both.jobs[0].slowdown == Approx(2).epsilon(1e-6));
    CHECK(both.jobs[0].meeting->resource == "node1/gpu1/compute");
  }
  SECTION("a job that ends leaves the GPU to the other")
  {
    jobs[0]["ends"] = jobs[1]["ends"] = true;
    jobs[1]["start"] = "10 s";
    jobs[0]["steps"] = jobs[1]["steps"] = 3;
    const auto apart = run_text(document->root.dump());
    CHECK(*apart.jobs[0].slowdown == Approx(1).epsilon(1e-9));
    CHECK(*apart.jobs[1].slowdown == Approx(1).epsilon(1e-9));
  }
  SECTION("GPUs that are not there are refused")
  {
    jobs[0]["placement"][0][1] = 2;
    CHECK_THROWS_WITH(run_text(document->root.dump()),
                      Contains("/jobs/0/placement/0") && Contains("2 nodes with 2 GPUs"));
  }
}

TEST_CASE("Time to train is start-up, a first epoch and later ones")
{
  const auto result = run_text(kOne, {{"/jobs/0/epochs", "3"},
                                      {"/jobs/0/framework/start", "\"7 s\""},
                                      {"/cluster/platform/node/disks/0/type/read", "\"10 MB/s\""}});
  const auto& job = result.jobs[0];
  REQUIRE(job.training.has_value());
  CHECK(job.training->first_epoch->value() == Approx(1000 / job.throughput.median));
  CHECK(job.training->total.value() ==
        Approx(7 + 1000 / job.throughput.median + 2 * 1000 / job.later_epochs->throughput.median));
}

TEST_CASE("Kernels of two processes share a GPU alike, whether their threads hold cores or not",
          "[input][long]")
{
  auto document = parse_document(kOne, "test");
  Json& jobs = document->root["jobs"];
  jobs[0]["gpus"] = 1;
  jobs[0]["placement"] = {{0, 0}};
  jobs[0]["framework"]["host_threads"] = 0.5;
  Json other = jobs[0];
  other["name"] = "other";
  other["input"] = "synthetic";
  jobs.push_back(other);
  const auto shared = run_text(document->root.dump());
  for (const auto& job : shared.jobs)
    CHECK(*job.slowdown == Approx(2).epsilon(0.05));
}

TEST_CASE("Threads that wait for the one that hands out files hold no core")
{
  auto document = parse_document(kOne, "test");
  Json& job = document->root["jobs"][0];
  job["input"]["format"] = "jpeg";
  job["framework"]["input"]["file_time"] = "5 ms"; // 200 files a second
  job["framework"]["host_threads"] = 0;
  const auto run = [&](int threads) {
    job["framework"]["input"]["threads_per_gpu"] = threads;
    return run_text(document->root.dump());
  };
  const auto few = run(2);
  const auto many = run(40);
  CHECK(rate(few) == Approx(200).epsilon(0.02));
  CHECK(rate(many) == Approx(rate(few)).epsilon(1e-3));
  // 1 ms of decoding a file, by ten cores.
  for (const auto* it : {&few, &many})
    CHECK(it->node.value().cores == Approx(200 * 1e-3 / 10).epsilon(0.03));
}

TEST_CASE("A job is measured over whole steps of another one that reads in bursts", "[input][long]")
{
  auto document = parse_document(kOne, "test");
  Json& jobs = document->root["jobs"];
  jobs[0]["model"] = "alexnet"; // as fast as it reads, in steps of 15 ms
  jobs[0]["batch_per_gpu"] = 10;
  Json slow = jobs[0];
  slow["name"] = "slow";
  slow["model"] = "resnet50"; // a batch in each 0.7 s, which it reads at once
  slow["batch_per_gpu"] = 256;
  jobs.push_back(slow);
  const auto both = run_text(document->root.dump());
  // The disk's 100 MB/s, in samples of 100 kB, but what the slow one takes of them.
  CHECK(rate(both, 0) == Approx(1000 - rate(both, 1)).epsilon(0.05));
  CHECK(rate(both, 1) == Approx(both.jobs[1].alone->throughput.median).epsilon(0.02));
}

} // namespace foretrain::input_test
