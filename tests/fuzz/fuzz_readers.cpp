// Readers of foreign files under libFuzzer: whatever the bytes, an answer or a ConfigError.
//
//   FORETRAIN_READER=kineto build/fuzz/fuzz_readers CORPUS -runs=1000000      (tests/fuzz/run.py
//   does all)
#include "calibration/fio_log.hpp"
#include "calibration/iperf3_log.hpp"
#include "calibration/mlperf_log.hpp"
#include "calibration/nccl_tests_log.hpp"
#include "calibration/nvbandwidth_log.hpp"
#include "calibration/p2p_log.hpp"
#include "calibration/perftest_log.hpp"
#include "experiments/fleet/fault_trace.hpp"
#include "experiments/fleet/job_trace.hpp"
#include "experiments/fleet/read_leases.hpp"
#include "models/graphs/execution_trace.hpp"
#include "models/graphs/imported_graph.hpp"
#include "models/graphs/onnx.hpp"
#include "models/networks/network.hpp"
#include "models/traces/chakra.hpp"
#include "models/traces/kineto.hpp"
#include "models/traces/nsys.hpp"
#include "models/traces/operator_table.hpp"
#include "models/traces/recorded_model.hpp"
#include "models/traces/steps.hpp"
#include "models/traces/trace_summary.hpp"
#include "models/transformer/hf_config.hpp"
#include "platforms/import.hpp"
#include "platforms/platform.hpp"
#include "sim/base/error.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <unistd.h>

namespace foretrain::test {
namespace {

/// A file in TMPDIR that goes with the program (with run.py, which gives it a folder in memory,
/// also after a finding).
class InputFile {
public:
  explicit InputFile(const char* suffix)
      : path_(std::filesystem::temp_directory_path() /
              ("foretrain-fuzz-" + std::to_string(getpid()) + suffix))
  {
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile()
  {
    std::error_code none;
    std::filesystem::remove(path_, none);
  }
  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

/// The bytes as a file, for readers that want one.
std::filesystem::path as_file(const std::string& bytes, const char* suffix)
{
  static const InputFile file(suffix); // one reader, and thus one suffix, for each process
  std::ofstream(file.path(), std::ios::binary | std::ios::trunc) << bytes;
  return file.path();
}

/// What another rank would have recorded, had it received what this one sent.
models::Trace seen_from_the_other_end(const models::Trace& trace)
{
  models::Trace other = trace;
  other.rank = trace.rank == 0 ? 1 : 0;
  const auto swapped = [&](int peer) { return peer == other.rank ? trace.rank : peer; };
  for (std::string& name : other.names)
    name = name == "send" ? "recv" : name == "recv" ? "send" : name;
  for (models::DeviceWork& work : other.work)
    work.peer = swapped(work.peer);
  for (models::Message& message : other.messages) {
    message.sends = !message.sends;
    message.peer = swapped(message.peer);
  }
  return other;
}

void use(const models::Trace& trace)
{
  const models::Steps steps = models::find_steps(trace);
  const auto model = models::recorded_model(trace, steps, {.name = "fuzzed"});
  models::summarise(trace);
  const auto first = models::recorded_rank(trace, steps);
  const models::Trace other = seen_from_the_other_end(trace);
  const auto second = models::recorded_rank(other, models::find_steps(other));
  const auto both = models::with_ranks(model, {first, second});
  models::load_network(Value(parse_document(both.json.dump(), "fuzzed.json")));
}

void use(const models::ImportedGraph& graph)
{
  models::load_network(
      Value(parse_document(models::graph_json(graph, "fuzzed", "fuzz").dump(), "fuzzed.json")));
}

void read_config(const std::string& bytes)
{
  const DocumentPtr document = parse_document(bytes, "config.json");
  if (models::is_hf_config(document->root))
    models::import_hf_config(Value(document));
}

void read_topology(const std::string& bytes)
{
  const auto imported = platforms::import_platform(bytes, "topology", {});
  platforms::load_platform(Value(DocumentPtr(parse_document(imported.json.dump(), "imported"))));
}

template <experiments::TraceKind kind>
void read_ended(const std::string& bytes)
{
  experiments::read_job_trace(as_file(bytes, ".trace"), kind);
}

// Jobs that run and wait; their run times are drawn.
void read_unfinished(const std::string& bytes)
{
  const auto trace = experiments::read_job_trace(
      as_file(bytes, ".trace"), experiments::TraceKind::sacct, experiments::TakeJobs::unfinished);
  models::fleet::Workload workload = trace.workload;
  experiments::draw_run_times(workload, trace, 1);
}

// Of three jobs of one, two and eight GPUs on nodes of four.
void read_leases_of_three(const std::string& bytes)
{
  experiments::JobTrace trace;
  for (const int gpus : {1, 2, 8}) {
    models::fleet::Job job;
    job.id = std::to_string(trace.workload.jobs.size());
    job.gpus = gpus;
    trace.workload.jobs.push_back(job);
  }
  experiments::read_leases(as_file(bytes, ".csv"), trace, {4, 4, 0});
}

struct ReaderOfBytes {
  const char* name;
  void (*read)(const std::string& bytes);
};

constexpr ReaderOfBytes kReaders[] = {
    {"kineto", [](const std::string& b) { use(models::read_kineto(as_file(b, ".json"))); }},
    {"gzip", [](const std::string& b) { use(models::read_kineto(as_file(b, ".json.gz"))); }},
    {"chakra", [](const std::string& b) { use(models::read_chakra(as_file(b, ".et"))); }},
    {"nsys", [](const std::string& b) { use(models::read_nsys(as_file(b, ".sqlite"))); }},
    {"execution-trace",
     [](const std::string& b) { use(models::import_execution_trace(as_file(b, ".json"), {})); }},
    {"onnx", [](const std::string& b) { use(models::import_onnx(as_file(b, ".onnx"))); }},
    {"operator-table",
     [](const std::string& b) { models::import_operator_table(as_file(b, ".csv")); }},
    {"hf-config", &read_config},
    {"topology", &read_topology},
    {"nccl-tests", [](const std::string& b) { calibration::read_nccl_tests_all(b, "log"); }},
    {"nvbandwidth", [](const std::string& b) { calibration::read_nvbandwidth(b, "log"); }},
    {"p2p", [](const std::string& b) { calibration::read_p2p_test(b, "log"); }},
    {"perftest", [](const std::string& b) { calibration::read_perftest(b, "log"); }},
    {"fio", [](const std::string& b) { calibration::read_fio(b, "log"); }},
    {"iperf3", [](const std::string& b) { calibration::read_iperf3_log(b, "log"); }},
    {"mlperf",
     [](const std::string& b) {
       calibration::samples_per_second(calibration::read_mlperf(b, "log"), "log");
     }},
    {"sacct", &read_ended<experiments::TraceKind::sacct>},
    {"sacct-unfinished", &read_unfinished},
    {"swf", &read_ended<experiments::TraceKind::swf>},
    {"batsim", &read_ended<experiments::TraceKind::batsim>},
    {"philly", &read_ended<experiments::TraceKind::philly>},
    {"helios", &read_ended<experiments::TraceKind::helios>},
    {"acme", &read_ended<experiments::TraceKind::acme>},
    {"openb", &read_ended<experiments::TraceKind::openb>},
    {"kueue", &read_ended<experiments::TraceKind::kueue>},
    {"faults", [](const std::string& b) { experiments::read_fault_trace(as_file(b, ".csv"), 8); }},
    {"leases", &read_leases_of_three},
};

const ReaderOfBytes& chosen()
{
  const char* const wanted = std::getenv("FORETRAIN_READER");
  for (const ReaderOfBytes& reader : kReaders)
    if (wanted != nullptr && std::string(wanted) == reader.name)
      return reader;
  std::cerr << "FORETRAIN_READER is one of";
  for (const ReaderOfBytes& reader : kReaders)
    std::cerr << " " << reader.name;
  std::cerr << "\n";
  std::exit(2);
}

} // namespace
} // namespace foretrain::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
  using namespace foretrain;
  static const test::ReaderOfBytes& reader = test::chosen();
  try {
    reader.read(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const ConfigError&) {
  } catch (const UsageError&) {
  }
  return 0;
}
