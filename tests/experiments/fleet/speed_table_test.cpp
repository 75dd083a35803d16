#include "experiments/fleet/speed_table.hpp"

#include "experiments/fleet/fleet.hpp"
#include "experiments/fleet/fleet_answer.hpp"
#include "experiments/fleet/fleet_setting.hpp"
#include "experiments/run/scenario.hpp"
#include "tests/experiments/fleet/speed_tables.hpp"
#include "tests/experiments/fleet/text_file.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::speed_table_test {

using namespace foretrain::experiments;
using test::job;
using test::kAlexnet;
using test::table_of;

namespace {

const char* const kResnet = R"({"model": "resnet50", "framework": "tensorflow-horovod",
                                "precision": "fp16", "batch_per_gpu": 128})";

// What predict says of the jobs of an experiment on C4140 nodes.
std::vector<double> predicted(const std::string& jobs, int nodes)
{
  Point point;
  point.document = parse_document(R"({"cluster": {"platform": "c4140-k-v100-sxm2", "nodes": )" +
                                      std::to_string(nodes) + R"(}, "jobs": [)" + jobs + "]}",
                                  "test");
  std::vector<double> throughputs;
  for (const JobResult& result : run_point(point, {}).jobs)
    throughputs.push_back(result.throughput.median);
  return throughputs;
}

SpeedTable table_of_c4140(int nodes)
{
  return table_of("c4140-k-v100-sxm2", {nodes, 4, 0});
}

std::string with(const char* text, const std::string& more)
{
  std::string whole = text;
  whole.insert(1, more + ", ");
  return whole;
}

} // namespace

TEST_CASE("a job alone in a fleet has exactly the rate that predict says", "[fleet]")
{
  SpeedTable table = table_of_c4140(3);
  const auto kind = table.kind({job(kAlexnet), 6});
  const auto expected = predicted(
      with(kAlexnet, R"("gpus": 6, "placement": [[0,0],[0,1],[0,2],[0,3],[1,0],[1,1]])"), 2);
  CHECK(table.reference(kind) == expected[0]);
  // It does not matter which nodes it has.
  CHECK(table.rates({{kind, {{1, 15}, {2, 3}}}}).throughputs[0] == expected[0]);
  CHECK(table.situations() == 1);
  CHECK(table.step_samples(kind) == 6 * 128);
  CHECK(table.epoch_samples(kind) == 1281167); // of ImageNet
}

TEST_CASE("a training of a fleet is as long as predict says, in steps and in tokens", "[fleet]")
{
  SpeedTable table = table_of("hgx-h100", {2, 8, 0});
  const char* const divided = R"({"model": "llama-3-8b", "framework": "megatron",
    "precision": "bf16", "batch_per_gpu": 2, "sequence": 4096,
    "parallel": {"tensor": 4, "zero": 1}})";
  const auto kind = table.kind({job(divided), 16});
  CHECK(table.step_samples(kind) == 2 * 4); // tensor-parallel GPUs share their samples
  CHECK_THAT(table.samples_of_tokens(kind, "1B").value(), test::is(1e9 / 4096));
  const auto network = table.kind({job(kResnet), 4});
  CHECK_FALSE(table.samples_of_tokens(network, 1e9).has_value());
  // A recorded network knows its batch itself.
  const auto recorded = table.kind({job(R"({"framework": "pytorch-ddp", "model": {
    "name": "recorded", "measured": {"gpu": "h100-sxm5-80gb", "precision": "tf32", "batch": 32,
      "step": "6 ms", "ranks": 1, "variation": 0, "forward": [{"product": "2 ms"}],
      "backward": [{"product": "4 ms", "gradients": [1000]}]}}})"),
                                    1});
  CHECK(table.step_samples(recorded) == 32);
}

TEST_CASE("two jobs that share a node have exactly the rates that predict says of both",
          "[fleet][long]")
{
  SpeedTable table = table_of_c4140(2);
  const auto a = table.kind({job(kAlexnet), 4}), b = table.kind({job(kResnet), 4});
  const auto expected = predicted(
      with(kAlexnet, R"("name": "a", "gpus": 4, "placement": [[0,0],[0,1],[1,0],[1,1]])") + ", " +
          with(kResnet, R"("name": "b", "gpus": 4, "placement": [[0,2],[0,3],[1,2],[1,3]])"),
      2);
  const auto found = table.rates({{a, {{0, 3}, {1, 3}}}, {b, {{0, 12}, {1, 12}}}}).throughputs;
  CHECK(found == expected);
  CHECK(found[0] < 0.999 * table.rates({{a, {{0, 3}, {1, 3}}}}).throughputs[0]);
  // Nor who came first.
  const auto turned = table.rates({{b, {{1, 12}, {0, 12}}}, {a, {{1, 3}, {0, 3}}}}).throughputs;
  CHECK(turned == std::vector<double>{expected[1], expected[0]});
  CHECK(table.situations() == 2);
}

TEST_CASE("jobs of a fleet slow each other down as simulated", "[fleet]")
{
  const test::TextFile file("simulated.json", R"({
    "cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 2},
    "policy": {"placement": "spread"},
    "arrivals": {"process": "even", "per_hour": 3600, "until": "2.5 s", "mix": [
      {"job": {"model": "alexnet", "framework": "tensorflow-horovod", "batch_per_gpu": 128,
               "gpus": 4}, "steps": 10000}]}})");
  const LoadedFleet fleet = load_fleet(file.path(), {}, "");
  const auto runs = run_fleet(fleet, {1, 1, false, {}});
  const FleetAnswer found = fleet_answer(fleet, runs);
  REQUIRE(found.jobs.completed == 2);
  CHECK(found.situations.value() == 4); // packed, each spread alone, both beside each other
  CHECK(found.gpu_hours.contended.median > 0.01 * found.gpu_hours.productive.median);
  SpeedTable table = table_of_c4140(2);
  const auto kind = table.kind({job(kAlexnet), 4});
  CHECK_THAT(found.gpu_hours.productive.median,
             test::is(2 * 4 * 10000 * 4 * 128 / table.reference(kind) / 3600));
}

namespace {

// C4140 nodes beside a storage system that gives less than one of the readers below could take.
std::string cluster(int nodes)
{
  return R"("cluster": {"platform": "c4140-k-v100-sxm2", "nodes": )" + std::to_string(nodes) +
         R"(, "storage": {"name": "slow", "servers": {"rate": "0.6 GB/s", "link": "40 Gb/s"},
                            "transports": ["ipoib"]}})";
}

LoadedFleet readers(const std::string& more, int nodes)
{
  const test::TextFile file("readers.json", "{" + cluster(nodes) + ", " + more + "}");
  return load_fleet(file.path(), {}, "");
}

std::string mix_of(const std::string& job, const std::string& length, const std::string& when)
{
  return R"("arrivals": {"process": "even", )" + when + R"(, "mix": [{)" + length + R"(, "job": )" +
         job + "}]}";
}

PointResult predicted_on(int nodes, const std::string& jobs)
{
  Point point;
  point.document = parse_document("{" + cluster(nodes) + R"(, "jobs": [)" + jobs + "]}", "test");
  return run_point(point, {});
}

const char* const kResnet4 = R"({"model": "resnet50", "framework": "tensorflow-horovod",
    "precision": "fp16", "batch_per_gpu": 128, "gpus": 4})";
const char* const kReader = R"({"model": "alexnet", "framework": "tensorflow-horovod",
    "batch_per_gpu": 128, "input": "tfrecord", "gpus": 4})";

} // namespace

TEST_CASE("a job of a fleet that reads its data takes as long as predict says", "[fleet]")
{
  const LoadedFleet fleet =
      readers(mix_of(kReader, R"("epochs": 5)", R"("per_hour": 1, "until": "1.5 h")"), 1);
  const auto runs = run_fleet(fleet, {1, 1, false, {}});
  const JobResult job = predicted_on(1, with(kReader, R"("epochs": 5)")).jobs.front();
  REQUIRE(job.later_epochs);
  CHECK(job.later_epochs->throughput.median > 1.3 * job.throughput.median);
  const double samples = 1281167;
  CHECK_THAT(runs[0].result.jobs[0].run.value(),
             test::is(samples / job.throughput.median +
                      4 * samples / job.later_epochs->throughput.median));
  CHECK_THAT(1 + runs[0].result.gpu_time.contended, test::is(1));
}

TEST_CASE("jobs on nodes of their own meet at the storage that they read from", "[fleet][long]")
{
  const LoadedFleet fleet =
      readers(mix_of(kReader, R"("steps": 1000)", R"("per_hour": 3600, "until": "2.5 s")"), 2);
  SpeedTable table(speed_cluster(fleet));
  const auto kind = table.kind({job(kReader), 4});
  const models::fleet::Allocation first{{0, 15}}, second{{1, 15}};
  const auto together = table.rates({{kind, first, true}, {kind, second, true}}).throughputs;
  const double alone = table.rates({{kind, first, true}}).throughputs[0];
  CHECK(together[0] < 0.6 * alone);
  const PointResult both =
      predicted_on(2, with(kReader, R"("name": "a")") + ", " + with(kReader, R"("name": "b")"));
  CHECK(both.jobs[0].throughput.median == together[0]);
  CHECK(both.jobs[1].throughput.median == together[1]);

  models::fleet::Workload workload;
  workload.jobs.resize(2);
  workload.jobs[0].kind = workload.jobs[1].kind = kind;
  const models::fleet::Speeds speeds = table.speeds(workload);
  const auto cold = speeds.shared({0, &first, true}), cached = speeds.shared({1, &second, false});
  CHECK(std::any_of(cold.begin(), cold.end(),
                    [](const models::fleet::SharedUse& use) { return use.share > 0.9; }));
  CHECK(cached.empty()); // the node's memory has it all
  CHECK(speeds.rates(std::vector<models::fleet::Placed>{{0, &first, true}})[0].work ==
        table.first_pass(kind).rate);

  const auto runs = run_fleet(fleet, {1, 1, false, {}});
  const double samples = 1000 * 4 * 128; // less than the data set
  CHECK_THAT(runs[0].result.jobs[0].run.value(), test::is(1 + (samples - alone) / together[0]));
  CHECK(runs[0].result.gpu_time.contended > 0.3 * runs[0].result.gpu_time.productive);
}

TEST_CASE("jobs meet on the uplinks of the switches that they cross", "[fleet]")
{
  // Switches of four ports: two nodes below each, four of them.
  SpeedCluster cluster;
  cluster.document = parse_document("{}", "fleet");
  cluster.cluster = {{"platform", Json::parse(R"({"extends": "c4140-k-v100-sxm2",
    "networks": [{"nics": ["ib0"], "fabric": {"extends": "sb7800-edr", "ports": 4,
                                              "oversubscription": 20}}]})")}};
  cluster.shape = {8, 4, 0};
  cluster.nodes_per_leaf = 2;
  SpeedTable table(cluster);
  const auto kind = table.kind({job(kResnet), 8});
  const auto on = [](int first, int second) {
    return models::fleet::Allocation{{first, 15}, {second, 15}};
  };
  models::fleet::Workload workload;
  workload.jobs.resize(1);
  workload.jobs[0].kind = kind;
  const models::fleet::Speeds speeds = table.speeds(workload);
  const auto used_by = [&](int first, int second) {
    const models::fleet::Allocation gpus = on(first, second);
    std::vector<std::uint32_t> resources;
    for (const models::fleet::SharedUse& use : speeds.shared({0, &gpus}))
      resources.push_back(use.resource);
    std::sort(resources.begin(), resources.end());
    return resources;
  };
  CHECK(used_by(0, 1).empty()); // below one switch
  const auto first = used_by(0, 2), second = used_by(4, 6), half = used_by(2, 4);
  CHECK(first.size() == 4); // two switches, two ways
  CHECK(used_by(1, 3) == first);
  const auto in_common = [](const auto& a, const auto& b) {
    std::vector<std::uint32_t> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both.size();
  };
  CHECK(in_common(first, second) == 0);
  CHECK(in_common(first, half) == 2);
  CHECK(in_common(half, second) == 2);
  // Two jobs that cross the same switches have rates of both, wherever these switches stand.
  const double alone = table.rates({{kind, on(0, 2)}}).throughputs[0];
  const auto both = table.rates({{kind, on(0, 2)}, {kind, on(1, 3)}}).throughputs;
  CHECK(both[0] < alone);
  CHECK(table.rates({{kind, on(4, 6)}, {kind, on(5, 7)}}).throughputs == both);
}

TEST_CASE("a recorded job's first pass over its data is in its run time", "[fleet]")
{
  const test::TextFile trace("readers.swf", "1 0 0 7200 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n"
                                            "2 10000 0 60 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n");
  std::string without_gpus = kReader;
  without_gpus.replace(without_gpus.find(R"(, "gpus": 4)"), 11, "");
  const LoadedFleet fleet =
      readers(R"("jobs": {"trace": ")" + trace.path().string() +
                  R"(", "kind": "swf", "speed": "simulated", "job": )" + without_gpus + "}",
              1);
  const auto runs = run_fleet(fleet, {1, 1, false, {}});
  CHECK_THAT(runs[0].result.jobs[0].run.value(), test::is(7200));
  CHECK_THAT(runs[0].result.jobs[1].run.value(), test::is(60));
  CHECK_THAT(1 + runs[0].result.gpu_time.contended, test::is(1));
}

TEST_CASE("each of the jobs that meet has its own rate", "[fleet][long]")
{
  SpeedTable table = table_of_c4140(2);
  models::fleet::Workload workload;
  workload.jobs.resize(3);
  workload.jobs[0].kind = table.kind({job(kAlexnet), 4});
  workload.jobs[1].kind = table.kind({job(kResnet), 2});
  workload.jobs[2].kind = table.kind({job(kAlexnet), 2});
  const models::fleet::Allocation halves{{0, 3}, {1, 3}}, first{{0, 12}}, second{{1, 12}};
  const auto together = predicted(
      with(kAlexnet, R"("name": "a", "gpus": 4, "placement": [[0,0],[0,1],[1,0],[1,1]])") + ", " +
          with(kResnet, R"("name": "b", "gpus": 2, "placement": [[0,2],[0,3]])") + ", " +
          with(kAlexnet, R"("name": "c", "gpus": 2, "placement": [[1,2],[1,3]])"),
      2);
  const models::fleet::Placed a{0, &halves}, b{1, &first}, c{2, &second};
  const models::fleet::Speeds speeds = table.speeds(workload);
  const auto rates = speeds.rates(std::vector{a, b, c});
  for (std::size_t i = 0; i < 3; ++i)
    CHECK_THAT(rates[i].work, test::is(together[i] / table.reference(workload.jobs[i].kind)));
  CHECK(std::abs(rates[0].work / rates[1].work - 1) > 0.02);
  const std::vector asked{a, b, c};
  std::vector<std::size_t> order{0, 1, 2};
  do {
    const auto turned =
        speeds.rates(std::vector{asked[order[0]], asked[order[1]], asked[order[2]]});
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(turned[i].work == rates[order[i]].work);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("checkpoints are written as fast as storage and neighbours let them", "[fleet]")
{
  using models::fleet::Transfer;
  const auto fleet_of = [](const std::string& checkpoint) {
    return readers(mix_of(kResnet4, R"("steps": 2000)", R"("per_hour": 3600, "until": "1.5 s")") +
                       R"(, "checkpoint": {"interval": "60 s", )" + checkpoint + "}",
                   2);
  };
  const LoadedFleet fleet = fleet_of(R"("asynchronous": false)");
  SpeedTable table(speed_cluster(fleet));
  const auto kind = table.kind({job(kResnet4), 4});
  const models::fleet::Allocation first{{0, 15}}, second{{1, 15}};
  // One GPU writes, as fast as the servers take it; of two jobs each gets half.
  const PointRates one = table.rates({{kind, first, false, Transfer::write_alone}});
  CHECK(one.throughputs == std::vector<double>{0});
  CHECK_THAT(one.transfers[0], Catch::WithinRel(0.6e9, 1e-3));
  const PointRates two = table.rates(
      {{kind, first, false, Transfer::write_alone}, {kind, second, false, Transfer::write_alone}});
  CHECK_THAT(two.transfers[0], Catch::WithinRel(0.3e9, 1e-2));
  CHECK_THAT(two.transfers[1], Catch::WithinRel(0.3e9, 1e-2));
  // Beside one that reads, which feels it.
  const auto reader = table.kind({job(kReader), 4});
  const PointRates read =
      table.rates({{reader, first, true}, {kind, second, false, Transfer::write_beside}});
  CHECK(read.throughputs[0] < 0.85 * table.rates({{reader, first, true}}).throughputs[0]);
  // Four read, each with ten requests under way, and one writes with eight; now and then a reader
  // has as much as it may have ahead, and pauses.
  CHECK_THAT(read.transfers[1], Catch::WithinRel(0.6e9 / (4 * 10 / 8.0 + 1), 0.05));
  CHECK(read.throughputs[1] > 0.98 * table.reference(kind));

  // A write after each 60 s of work.
  const double bytes = table.checkpoint_bytes(kind).value().value();
  const double work = 2000 * 4 * 128 / table.reference(kind);
  const auto runs = run_fleet(fleet, {1, 1, false, {}});
  CHECK_THAT(runs[0].result.jobs[0].run.value(),
             test::is(work + std::floor(work / 60) * bytes / one.transfers[0]));

  // It is read as fast as the servers' link carries it, and halved between two.
  const double read_alone = table.rates({{kind, first, false, Transfer::read}}).transfers[0];
  const PointRates both =
      table.rates({{kind, first, false, Transfer::read}, {kind, second, false, Transfer::read}});
  CHECK(both.throughputs == std::vector<double>{0, 0});
  CHECK(both.transfers[0] <= read_alone);
  CHECK_THAT(both.transfers[0] + both.transfers[1], Catch::WithinRel(0.6e9, 0.05));
  CHECK_THAT(table.transfer_time(kind, Bytes(bytes), Transfer::read).value(),
             test::is(bytes / read_alone));

  // A disk takes them faster; Adam's state of a transformer all GPUs write.
  const LoadedFleet to_disk = fleet_of(R"("to": "disk")");
  SpeedTable disks(speed_cluster(to_disk));
  const auto same = disks.kind({job(kResnet4), 4});
  const double copied = disks.rates({{same, first, false, Transfer::write_alone}}).transfers[0];
  CHECK(copied > 1e9);
  CHECK(copied <= 3.001e9);
  const auto gpt = disks.kind({job(R"({"model": "gpt2-small", "framework": "megatron",
    "precision": "fp16", "global_batch": 32})"),
                               8});
  CHECK_THAT(disks.rates({{gpt, {{0, 15}, {1, 15}}, false, Transfer::write_alone}}).transfers[0],
             Catch::WithinRel(2 * 3e9, 1e-2)); // a disk in each node
}

TEST_CASE("a checkpoint in memory goes as fast as links to the host and between nodes", "[fleet]")
{
  using models::fleet::Transfer;
  const char* const gpt = R"({"model": "gpt2-small", "framework": "megatron", "precision": "fp16",
                              "global_batch": 32, "gpus": 8})";
  const auto table_on = [&](const std::string& network) {
    return SpeedTable(speed_cluster(
        readers(mix_of(gpt, R"("steps": 2000)", R"("per_hour": 3600, "until": "1.5 s")") +
                    R"(, "checkpoint": {"interval": "60 s", "to": "neighbour"},
                         "stack": {"network": ")" +
                    network + R"("})",
                2)));
  };
  const auto rate = [&](const std::string& network, const models::fleet::Allocation& gpus) {
    SpeedTable table = table_on(network);
    const auto kind = table.kind({job(gpt), 4 * static_cast<int>(gpus.size())});
    return table.rates({{kind, gpus, false, Transfer::write_alone}}).transfers[0];
  };
  // Each node sends its half: over 1 GbE with TCP headers.
  CHECK_THAT(rate("tcp", {{0, 15}, {1, 15}}), Catch::WithinRel(2 * 125e6 * 1448 / 1538, 1e-2));
  const double to_host = rate("rdma", {{0, 15}}); // and no further
  const double over_edr = rate("rdma", {{0, 15}, {1, 15}});
  CHECK(to_host > 10e9);
  CHECK(to_host < 16e9);
  CHECK(over_edr > 1.5 * to_host);
  CHECK(over_edr < 2.001 * to_host);

  // A job that works meanwhile sends its gradients the same way.
  SpeedTable table = table_on("tcp");
  const auto kind = table.kind({job(gpt), 8});
  const auto time = [&](Transfer transfer) {
    return table.transfer_time(kind, Bytes(1e9), transfer);
  };
  CHECK_THAT(time(Transfer::write_beside) / time(Transfer::write_alone),
             Catch::WithinRel(5.0 / 4, 1e-2)); // one more than four
  CHECK_THAT(time(Transfer::read) / time(Transfer::write_alone), Catch::WithinRel(1.0, 1e-2));
}

TEST_CASE("a job that is larger than the cluster is rejected, whatever it would do", "[fleet]")
{
  const LoadedFleet fleet =
      readers(mix_of(kReader, R"("steps": 10)", R"("per_hour": 3600, "until": "1.5 s")") +
                  R"(, "checkpoint": {"interval": "60 s"})",
              1);
  CHECK(run_fleet(fleet, {1, 1, false, {}})[0].result.jobs[0].state ==
        models::fleet::JobState::completed);
  std::string large = kReader;
  large.replace(large.find(R"("gpus": 4)"), 9, R"("gpus": 400)");
  const LoadedFleet small =
      readers(mix_of(large, R"("steps": 10)", R"("per_hour": 3600, "until": "1.5 s")") +
                  R"(, "checkpoint": {"interval": "60 s"})",
              1);
  CHECK(run_fleet(small, {1, 1, false, {}})[0].result.jobs[0].state ==
        models::fleet::JobState::rejected);
}

TEST_CASE("checkpoints need a disk, or a storage system", "[fleet]")
{
  const auto load = [](const std::string& platform, const std::string& more) {
    const test::TextFile file(
        "disks.json", R"({"cluster": {"nodes": 2, "platform": ")" + platform + "\"" + more + "}, " +
                          mix_of(kReader, R"("steps": 10)", R"("per_hour": 1, "until": "2 h")") +
                          R"(, "checkpoint": {"interval": "60 s"}})");
    return load_fleet(file.path(), {}, "");
  };
  CHECK_THROWS_WITH(load("p100-pcie-8gpu", ""),
                    Catch::Contains("/checkpoint is written to the first disk of each node"));
  CHECK_NOTHROW(load("p100-pcie-8gpu", R"(, "storage": "nvme")"));
  CHECK_NOTHROW(load("c4140-k-v100-sxm2", ""));
  CHECK_NOTHROW(load("gb200-nvl72", ""));
}

TEST_CASE("what another process has learnt does not depend on who came first there", "[fleet]")
{
  SpeedTable here = table_of_c4140(2), there = table_of_c4140(2);
  const Value alexnet = job(kAlexnet), resnet = job(kResnet);
  const std::uint32_t here_alexnet = here.kind({alexnet, 2}), here_resnet = here.kind({resnet, 2});
  const std::uint32_t there_resnet = there.kind({resnet, 2}),
                      there_alexnet = there.kind({alexnet, 2});
  REQUIRE(here_alexnet == there_resnet); // as numbers go
  const models::fleet::Allocation low{{0, 0b0011}}, high{{0, 0b1100}};
  const std::vector<double> together =
      here.rates({{here_alexnet, low}, {here_resnet, high}}).throughputs;
  for (const auto& [situation, rates] : here.known())
    there.learn(situation, rates);
  CHECK(there.rates({{there_alexnet, low}, {there_resnet, high}}).throughputs == together);
  CHECK(there.rates({{there_resnet, high}, {there_alexnet, low}}).throughputs ==
        std::vector{together[1], together[0]});
  CHECK(there.situations() == 1);
  const double alone = here.reference(here_resnet);
  for (const auto& [situation, rates] : here.known())
    there.learn(situation, rates);
  CHECK(there.reference(there_resnet) == alone);
  CHECK(there.reference(there_alexnet) == here.reference(here_alexnet));
}

} // namespace foretrain::speed_table_test
