// A prediction's trace, read as a recording is, tells what the prediction told.
#include "experiments/api/model_import.hpp"
#include "experiments/run/scenario.hpp"
#include "models/traces/trace_summary.hpp"
#include "sim/base/files.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <map>

#include <unistd.h>

namespace foretrain::trace_written_test {

using namespace foretrain::experiments;

namespace {

struct Told {
  JobResult job;
  Json events;
  models::TraceSummary summary;

  explicit Told(const std::string& job_text)
  {
    const auto path = std::filesystem::temp_directory_path() /
                      ("foretrain-trace-" + std::to_string(getpid()) + ".json");
    Point point;
    point.document = parse_document(
        R"({"cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 2}, "stack": {"network": "rdma"},
            "jobs": [)" +
            job_text + "]}",
        "test");
    RunOptions options;
    options.trace_path = path.string();
    job = run_point(point, options).jobs.at(0);
    events = Json::parse(read_file(path)).at("traceEvents");
    summary = models::summarise(read_trace(path, {}));
    std::filesystem::remove(path);
  }
};

} // namespace

TEST_CASE("a trace of data-parallel training is the step that was predicted", "[traces]")
{
  const Told told(R"({"name": "j", "model": "vgg16", "batch_per_gpu": 64, "gpus": 8,
    "framework": {"extends": "tensorflow-horovod", "step_variation": 0, "step_overhead": "1 ms"}})");
  CHECK(told.summary.steps == 1);
  CHECK_THAT(told.summary.step, Catch::Matchers::WithinAbs(told.job.step_time.median, 1e-8));
  CHECK(told.summary.idle > 1e-3); // what the framework does between steps
  // Every gradient in single precision, once: VGG-16 with 1001 classes.
  double bytes = 0;
  for (const auto& one : told.summary.collectives) {
    CHECK(one.kind == "all-reduce");
    CHECK(one.group == 8);
    bytes += one.count * one.bytes;
  }
  CHECK(bytes == 4.0 * (138357544 + 4097));
}

TEST_CASE("kernels of a written trace follow each other on each stream, each with its launch",
          "[traces][property]")
{
  for (const char* job :
       {R"({"name": "j", "model": "vgg16", "batch_per_gpu": 64, "gpus": 8,
            "framework": "tensorflow-horovod"})",
        R"({"name": "j", "model": "gpt3-1.7b", "framework": "megatron", "precision": "fp16",
            "global_batch": 8, "gpus": 8, "parallel": {"tensor": 2, "pipeline": 2}})"}) {
    const Told told(job);
    std::map<int, double> lengths; // of a process's step, us
    std::map<std::pair<int, int>, double> ends;
    std::map<int, int> calls; // by correlation
    std::vector<Json> spans;
    for (const Json& event : told.events) {
      if (event.at("ph") != "X")
        continue;
      if (event.at("name") == "ProfilerStep#0")
        lengths[event.at("pid")] = event.at("dur");
      else if (event.at("cat") == "cuda_runtime")
        ++calls[event.at("args").at("correlation")];
      else
        spans.push_back(event);
    }
    std::stable_sort(spans.begin(), spans.end(), [](const Json& a, const Json& b) {
      return a.at("ts").get<double>() < b.at("ts").get<double>();
    });
    CHECK(lengths.size() > 1);
    for (const Json& span : spans) {
      const int pid = span.at("pid");
      const double begin = span.at("ts");
      const double end = begin + span.at("dur").get<double>();
      CHECK(begin >= 0);
      CHECK(end <= lengths.at(pid) + 1e-6);
      if (span.at("cat") != "kernel")
        continue;
      CHECK(calls.at(span.at("args").at("correlation")) == 1);
      CHECK(span.at("args").at("stream") == span.at("tid"));
      double& last = ends[{pid, span.at("tid")}];
      if (span.at("tid") == 0) { // the GPU's own work
        CHECK(begin >= last - 1e-6);
        last = std::max(last, end);
      }
    }
  }
}

} // namespace foretrain::trace_written_test
