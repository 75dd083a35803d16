// Results, written and read again, and the columns of their tables.
#include "experiments/run/keep/result_columns.hpp"
#include "experiments/run/keep/result_json.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

#include <random>

namespace foretrain::result_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

class Draw {
public:
  explicit Draw(unsigned seed) : random_(seed) {}
  double number() { return std::ldexp(std::uniform_real_distribution<>(0.5, 1)(random_), whole()); }
  int whole() { return std::uniform_int_distribution<>(1, 40)(random_); }
  bool coin() { return whole() > 20; }
  std::string text() { return "text \"" + std::to_string(whole()) + "\"/~\n"; }
  Seconds seconds() { return Seconds(number()); }
  Range range()
  {
    const double median = number();
    return {median, median * 0.9, median * 1.25, 0.9};
  }

  JobResult job()
  {
    JobResult job;
    job.name = text();
    job.gpus = whole();
    job.nodes = whole();
    job.throughput = range();
    job.step_time = range();
    job.speedup = number();
    job.efficiency = number();
    job.time = {seconds(), seconds(), seconds(), seconds(), seconds(), seconds(), {}, {}};
    job.bottleneck = {text(), "", nullptr, number(), text(), {}, "", {}};
    job.elapsed = {seconds(), seconds()};
    job.memory = {Bytes(number()), Bytes(number()), {}};
    job.uncertainty = Uncertainty{"linear", number(), number(), {{text(), number(), -number()}}};
    if (coin()) {
      job.uncertainty->slower = number();
      job.uncertainty->faster = number();
      job.uncertainty->parts[0].if_larger = number();
      job.uncertainty->parts[0].if_smaller = -number();
    }
    job.busiest = {{text(), "", sim::ResourceKind::other, number()}};
    if (coin())
      add_optional(job);
    if (coin())
      add_planned(job);
    return job;
  }

  PointResult point()
  {
    PointResult point;
    point.settings = {{"/jobs/0/gpus", whole()}, {"/a~1b/" + text(), text()}};
    if (coin()) {
      point.error = text();
      return point;
    }
    for (int i = 0; i < 3; ++i)
      point.jobs.push_back(job());
    point.joint =
        JointScore{number(), coin() ? std::optional(range()) : std::nullopt, number(), whole()};
    point.node = NodeUse{whole(),
                         number(),
                         {{text(), "gpu", number()}, {text(), "adapter", {}}},
                         {{"pcie", text(), text(), BytesPerSecond(number()), number(), number()}}};
    point.parameters = {{text(), text(), text()}};
    point.warnings = {text(), text()};
    point.unused = {text()};
    return point;
  }

private:
  void add_optional(JobResult& job)
  {
    job.bottleneck.gain_if_doubled = number();
    job.bottleneck.doubled = text();
    job.bottleneck.ties = {text(), text()};
    job.alone = Alone{range(), range(), seconds()};
    job.slowdown = number();
    job.bounds = Bounds{number(), number()};
    job.meeting = Meeting{text(), seconds()};
    job.later_epochs = LaterEpochs{range()};
    job.training = Training{seconds(), number(), seconds(), seconds(), text(), number()};
    job.days = range();
    job.cost = range();
    job.currency = text();
    job.latency = range();
    job.all_reduce = text();
  }
  void add_planned(JobResult& job)
  {
    job.exposed_by_group = {{"tensor", seconds()}, {"data", seconds()}};
    job.planned = true;
    job.time.bubble = seconds();
    job.time.recompute = seconds();
    job.memory.parts = {{"weights", Bytes(number())}, {"other", Bytes(number())}};
    job.tokens_per_s = range();
    job.tokens_per_s_per_gpu = number();
    job.model_tflops_per_gpu = AttentionCounts{number(), number()};
    job.mfu = ModelUse{{number(), number()}, range()};
    job.training_tokens = number();
    job.pipeline = models::PipelineSetting{
        4,   1, models::PipelineSchedule::gpipe, 8, {{seconds(), seconds(), seconds(), seconds()}},
        true};
  }

  std::mt19937 random_;
};

Value document(const std::string& text)
{
  return Value(DocumentPtr(parse_document(text, "result.json")));
}

Json whole()
{
  ExperimentResult result;
  result.experiment = "e";
  result.version = "1";
  Draw draw(7);
  PointResult point;
  while (point.jobs.empty())
    point = draw.point();
  result.points = {point};
  return written(result);
}

std::string refusal(const std::string& pointer, const Json& value)
{
  Json json = whole();
  json[Json::json_pointer(pointer)] = value;
  try {
    read_as<ExperimentResult>(document(json.dump(1)));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST_CASE("A result that was written is read again as it was", "[result]")
{
  for (unsigned seed = 1; seed <= 200; ++seed) {
    const Json point = to_json(Draw(seed).point());
    const auto read = read_as<PointResult>(document(point.dump()));
    CHECK(to_json(read).dump() == point.dump());
  }
}

TEST_CASE("A damaged result is refused with file, place, what was found and what is allowed",
          "[result]")
{
  const std::string job = "/points/0/jobs/0";
  CHECK(refusal(job + "/gpus", 8).empty());
  struct Damage {
    std::string pointer;
    Json value;
    std::string told;
  };
  const std::vector<Damage> damages{
      {job + "/throughput_samples_per_s/median", -5.0, "must not be negative, got -5"},
      {job + "/throughput_samples_per_s/low", 1e15, "low must be at most the median, got {"},
      {job + "/step_time_s/high", 0.0, "high must be at least the median, got {"},
      {job + "/step_time_s/interval", 1.5, "must be at most 1, got 1.5"},
      {job + "/step_time_s", {{"median", 1}}, "/low is missing"},
      {job + "/time_s/compute", "1 s", "must be a number, got \"1 s\""},
      {job + "/time_s/compute", -1.0, "must not be negative, got -1"},
      {job + "/time_s/straggler_wait", -1e-3, "must not be negative, got -0.001"},
      {job + "/elapsed_s/steps", -1.0, "must not be negative, got -1"},
      {job + "/bottleneck/gain_if_doubled", -0.5, "must not be negative, got -0.5"},
      {job + "/time_s/idle", 1, "idle is not a known key"},
      {job + "/gpus", 0, "must be at least 1, got 0"},
      {job + "/gpus", 1.5, "must be a whole number, got 1.5"},
      {job + "/elapsed_s/total", 1, "by the keys beside it, got 1"},
      {job + "/uncertainty/method", "luck", "must be one of linear, monte-carlo, steps"},
      {job + "/device_memory_byte", 1, "must be an object, got 1"},
      {job + "/device_memory_byte/needed", -3.0, "must not be negative, got -3"},
      {job + "/name", nullptr, "must be a text, got null"},
      {"/points/0/settings", 1, "must be an object, got 1"},
      {"/points/0/jobs", Json::array(), "/points/0/jobs is missing"},
      {"/points", {{"jobs", 1}}, "must be a list, got"},
      {"/version", 3, "must be a text, got 3"},
      {"/seed", -1, "must be a whole number that is not negative, got -1"}};
  for (const Damage& damage : damages)
    CHECK_THAT(refusal(damage.pointer, damage.value),
               Contains(damage.told) && Contains("result.json:"));
}

TEST_CASE("Columns of flat tables are exactly these", "[result]")
{
  std::string names;
  for (const Column& column : result_columns())
    names += column.name + " " + column.pointer + "\n";
  CHECK(names == R"(gpus /gpus
nodes /nodes
throughput_samples_per_s /throughput_samples_per_s/median
throughput_low_samples_per_s /throughput_samples_per_s/low
throughput_high_samples_per_s /throughput_samples_per_s/high
step_time_s /step_time_s/median
step_time_low_s /step_time_s/low
step_time_high_s /step_time_s/high
interval_fraction /step_time_s/interval
speedup /speedup
speedup_low /speedup_range/low
speedup_high /speedup_range/high
efficiency /efficiency
alone_throughput_samples_per_s /alone/throughput_samples_per_s/median
alone_step_time_s /alone/step_time_s/median
slowdown /slowdown
slowdown_low /slowdown_range/low
slowdown_high /slowdown_range/high
device_memory_byte /device_memory_byte/needed
device_memory_available_byte /device_memory_byte/available
fits /fits
tokens_per_s /tokens_per_s/median
tokens_low_per_s /tokens_per_s/low
tokens_high_per_s /tokens_per_s/high
mfu_fraction /mfu/full
mfu_causal_fraction /mfu/causal
mfu_low_fraction /mfu/low
mfu_high_fraction /mfu/high
training_total_s /training_s/total
days /days/median
days_low /days/low
days_high /days/high
cost /cost/median
cost_low /cost/low
cost_high /cost/high
currency /currency
latency_s /latency_s/median
latency_low_s /latency_s/low
latency_high_s /latency_s/high
time_compute_s /time_s/compute
time_exposed_communication_s /time_s/exposed_communication
time_input_stall_s /time_s/input_stall
time_host_to_device_s /time_s/host_to_device
time_straggler_wait_s /time_s/straggler_wait
time_framework_s /time_s/framework
time_bubble_s /time_s/bubble
time_recompute_s /time_s/recompute
bottleneck_resource /bottleneck/resource
bottleneck_utilisation /bottleneck/utilisation
bottleneck_why /bottleneck/why
all_reduce /all_reduce
)");
}

} // namespace foretrain::result_test
