// Adapters of a cloud, one after the other as fast, under sockets.
#include "experiments/run/limits/socket_remark.hpp"

#include "experiments/run/scenario.hpp"
#include "tests/experiments/remark_of.hpp"
#include "tests/support/catch.hpp"

#include <fmt/format.h>

namespace foretrain::socket_remark_test {

using namespace foretrain::experiments;
using Catch::Contains;

namespace {

Point point_with(double gbit, const std::string& threads)
{
  std::string nics;
  for (int i = 0; i < 8; ++i)
    nics += fmt::format(R"({}{{"name": "gve{}", "on": "pex{}", "type": {{"extends": "gcp-200g",
                            "rate": "{} Gb/s"{}}}}})",
                        i > 0 ? ", " : "", i, i, gbit, threads);
  Point point;
  point.document = parse_document(R"({"cluster": {"nodes": 4, "platform": {"extends": "a3-mega",
    "node": {"nics": [)" + nics + R"(]}}}, "stack": {"network": "tcp"}, "jobs": [{"name": "mine",
    "model": "gpt3-5b", "framework": "maxtext", "precision": "bf16", "sequence": 2048,
    "global_batch": 256, "micro_batch": 1, "gpus": 32, "parallel": {"zero": 2}}]})",
                                  "test");
  return point;
}

std::string remark(double gbit, const std::string& threads)
{
  return test::remark_of(point_with(gbit, threads), remark_sockets);
}

} // namespace

TEST_CASE("faster adapters do not make a job over sockets slower", "[property][long]")
{
  double before = 0;
  for (const double gbit : {200, 350, 800}) {
    const double rate = point_throughputs(point_with(gbit, ""), {}).front();
    CAPTURE(gbit);
    CHECK(rate > (1 - 1e-9) * before);
    before = rate;
  }
}

TEST_CASE("a job that NCCL's threads hold up is told the variable that gives it more",
          "[explain][long]")
{
  const std::string none = R"(, "socket_threads": 0)";
  CHECK_THAT(remark(350, none), Contains("mine: ") && Contains("NCCL_SOCKET_NTHREADS=4"));
  CHECK(remark(350, "").empty()); // it has four
}

} // namespace foretrain::socket_remark_test
