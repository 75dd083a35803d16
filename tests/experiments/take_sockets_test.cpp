// Frameworks between nodes: who has servers, which library, and which transport they take.
#include "experiments/spec/resolve.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::take_sockets_test {

using namespace foretrain::experiments;

namespace {

ResolvedExperiment resolved(const std::vector<std::pair<std::string, std::string>>& settings)
{
  auto document = parse_document(R"({"cluster": {"platform": "c4140-k-v100-sxm2"},
    "jobs": [{"model": "resnet50", "framework": "mxnet", "batch_per_gpu": 64, "gpus": 8,
              "precision": "fp16"}]})",
                                 "test");
  for (const auto& [pointer, value] : settings)
    set_value(*document, pointer, value);
  Point point;
  point.document = document;
  return resolve(point);
}

bool warns(const ResolvedJob& job, const std::string& text)
{
  return std::any_of(job.warnings.begin(), job.warnings.end(),
                     [&](const auto& w) { return w.find(text) != std::string::npos; });
}

} // namespace

TEST_CASE("MXNet has a server on each of several nodes, over TCP and in single precision",
          "[sockets]")
{
  const auto two = resolved({});
  const ResolvedJob& job = two.jobs.front();
  CHECK(job.parameter_servers);
  CHECK(job.server_nodes == std::vector<int>{0, 1});
  CHECK(job.stack.transport.name == "TCP on IP over InfiniBand");
  CHECK(warns(job, "through sockets"));
  CHECK(gradient_bytes(job) == 4);

  const auto one = resolved({{"/jobs/0/gpus", "4"}});
  CHECK_FALSE(one.jobs.front().parameter_servers);
  CHECK(one.jobs.front().stack.transport.name == "RDMA, GPUDirect");
  CHECK_FALSE(warns(one.jobs.front(), "through sockets"));
  CHECK(gradient_bytes(one.jobs.front()) == 2);

  const auto without = resolved(
      {{"/jobs/0/framework", R"({"extends": "mxnet", "servers": {"between_nodes": false}})"}});
  CHECK_FALSE(without.jobs.front().parameter_servers);
  CHECK(without.jobs.front().stack.transport.name == "RDMA, GPUDirect");
}

TEST_CASE("Caffe2 takes Gloo between nodes, and NCCL inside one", "[sockets]")
{
  const std::pair<std::string, std::string> caffe2{"/jobs/0/framework", "\"caffe2\""};
  const auto two = resolved({caffe2});
  CHECK(two.jobs.front().library.name == "Gloo, one process per node");
  CHECK(two.jobs.front().stack.transport.name == "TCP on IP over InfiniBand");
  CHECK(gradient_bytes(two.jobs.front()) == 2);
  CHECK_FALSE(resolved({caffe2, {"/jobs/0/gpus", "4"}}).jobs.front().library.host);
  // A job's own library holds everywhere.
  CHECK_FALSE(resolved({caffe2, {"/jobs/0/library", "\"nccl\""}}).jobs.front().library.host);
}

TEST_CASE("software of sockets takes what the transport names for its adapters", "[sockets]")
{
  const auto transport = [](const char* platform, const char* network) {
    return resolved({{"/cluster/platform", std::string("\"") + platform + "\""},
                     {"/stack", std::string(R"({"network": )") + network + "}"}})
        .jobs.front();
  };
  CHECK(transport("c4140-k-v100-sxm2", "\"tcp\"").stack.transport.name == "TCP on Ethernet");
  CHECK_FALSE(warns(transport("c4140-k-v100-sxm2", "\"tcp\""), "through sockets"));
  const auto unnamed =
      transport("c4140-k-v100-sxm2", R"({"extends": "rdma", "sockets": {"infiniband": null}})");
  CHECK(unnamed.stack.transport.protocol == platforms::NetworkProtocol::rdma);
  CHECK(warns(unnamed, "names none"));
}

TEST_CASE("a library through host memory serves networks only", "[sockets]")
{
  CHECK_THROWS_WITH(resolved({{"/jobs/0/model", "\"llama-2-7b\""},
                              {"/jobs/0/library", "\"gloo\""},
                              {"/jobs/0/framework", "\"pytorch-ddp\""}}),
                    Catch::Matchers::Contains("host memory"));
}

} // namespace foretrain::take_sockets_test
