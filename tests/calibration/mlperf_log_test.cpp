// Result logs of MLPerf Training whose rates are known.
#include "calibration/mlperf_log.hpp"
#include "sim/base/document.hpp"
#include "sim/base/error.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/fuzzing.hpp"
#include "tests/support/problem.hpp"

#include <fmt/format.h>

namespace foretrain::test::mlperf_log_test {
namespace {

using namespace calibration;

std::string event(const std::string& key, double ms, const Json& value,
                  const Json& metadata = {{"file", "train.py"}, {"lineno", 1}})
{
  return "0: :::MLLOG " +
         Json{{"namespace", ""}, {"time_ms", ms},  {"event_type", "POINT_IN_TIME"},
              {"key", key},      {"value", value}, {"metadata", metadata}}
             .dump() +
         "\n";
}

const std::string kHead = event("submission_benchmark", 0, "resnet") +
                          event("submission_org", 0, "us") +
                          event("submission_platform", 0, "8xV100") + "something else\n" +
                          event("global_batch_size", 0, 2048);

// Epochs of 100, 90 and 80 s, with evaluations of 10 s between them.
std::string epochs(double samples)
{
  std::string text = kHead + event("train_samples", 0, samples) + event("run_start", 1000, nullptr);
  double at = 1000;
  for (const double seconds : {100.0, 90.0, 80.0}) {
    text += event("epoch_start", at, nullptr);
    at += 1000 * seconds;
    text += event("epoch_stop", at, nullptr);
    at += 10000;
  }
  return text + event("run_stop", at, nullptr, {{"status", "success"}});
}

TEST_CASE("an epoch's samples by its median time, evaluation left out")
{
  const MlperfLog log = read_mlperf(epochs(1281167), "log");
  CHECK(log.benchmark == "resnet");
  CHECK(log.submitter == "us");
  CHECK(log.platform == "8xV100");
  CHECK(log.status == "success");
  CHECK(log.global_batch == 2048);
  CHECK(samples_per_second(log, "log") == Approx(1281167 / 90.0));
}

TEST_CASE("what the program printed as throughput goes before")
{
  const std::string text = epochs(1281167) + event("throughput", 0, 900.0) +
                           event("tracked_stats", 0, {{"throughput", 1000.0}, {"loss", 2.0}}) +
                           event("tracked_stats", 0, {{"throughput", 1300.0}}) +
                           event("tracked_stats", 0, {{"loss", 1.0}});
  CHECK(samples_per_second(read_mlperf(text, "log"), "log") == 1000);
}

// Blocks of 3, 4 and 4 epochs of 100 s, each with an evaluation of 7 s inside.
std::string blocks(bool counted)
{
  std::string text = kHead + event("train_samples", 0, 1281167) + event("run_start", 1000, nullptr);
  double at = 1000;
  for (const int count : {3, 4, 4}) {
    text += event("block_start", at, nullptr,
                  counted ? Json{{"first_epoch_num", 1}, {"epoch_count", count}} : Json{{"n", 1}});
    at += 100e3 * count;
    text += event("eval_start", at, nullptr) + event("eval_stop", at + 7000, nullptr);
    at += 7000;
    text += event("block_stop", at, nullptr);
  }
  return text + event("run_stop", at, nullptr, {{"status", "success"}});
}

TEST_CASE("a block's epochs share its time, evaluation left out")
{
  CHECK(samples_per_second(read_mlperf(blocks(true), "log"), "log") == Approx(1281167 / 100.0));
  CHECK(read_mlperf(blocks(true), "log").blocks.size() == 3);
  CHECK(read_mlperf(blocks(false), "log").blocks.empty());
  // Epochs, where they are told, go before; a block of no time is a mistake.
  const std::string both = epochs(1281167) +
                           event("block_start", 0, nullptr, {{"epoch_count", 1}}) +
                           event("block_stop", 5000, nullptr);
  CHECK(samples_per_second(read_mlperf(both, "log"), "log") == Approx(1281167 / 90.0));
  CHECK_THAT(problem_of([&] {
               read_mlperf(kHead + event("run_start", 0, nullptr) +
                               event("block_start", 5, nullptr, {{"epoch_count", 1}}) +
                               event("block_stop", 5, nullptr),
                           "log");
             }),
             Catch::Contains("a block stops no later than it starts"));
}

TEST_CASE("what a result log does not tell is one clear line")
{
  const auto problem = [](const std::string& text) {
    return problem_of([&] { samples_per_second(read_mlperf(text, "log"), "log"); });
  };
  CHECK_THAT(problem("epoch 1 loss 3\n"), Catch::Contains("holds no line"));
  CHECK_THAT(problem(kHead), Catch::Contains("holds no run_start"));
  CHECK_THAT(problem(event("run_start", 0, nullptr)), Catch::Contains("no submission_benchmark"));
  const std::string started = kHead + event("run_start", 0, nullptr);
  CHECK_THAT(problem(started), Catch::Contains("tells no rate"));
  CHECK_THAT(problem(started + event("epoch_start", 5, nullptr) + event("epoch_stop", 5, nullptr)),
             Catch::Contains("stops no later than it starts"));
  CHECK_THAT(problem(started + event("train_samples", 0, "many")),
             Catch::Contains("must be a number"));
  CHECK_THAT(
      problem(started + event("global_batch_size", 0, 2048) + event("global_batch_size", 9, 4096)),
      Catch::Contains("global_batch_size is 4096, and was 2048 before"));
  const std::string whole = epochs(1000);
  CHECK_THAT(problem(whole.substr(0, whole.size() - 10)), Catch::Contains("not valid JSON"));
}

TEST_CASE("damaged result logs of MLPerf are refused or read", "[fuzz]")
{
  const std::string whole = epochs(1281167);
  Damage damage;
  const int runs = fuzz_runs(3000);
  int read_anyway = 0;
  for (int i = 0; i < runs; ++i)
    try {
      samples_per_second(read_mlperf(damage.to(whole), "log"), "log");
      ++read_anyway;
    } catch (const ConfigError&) {
    }
  CHECK(read_anyway > 0);
  CHECK(read_anyway < runs);
}

} // namespace
} // namespace foretrain::test::mlperf_log_test
