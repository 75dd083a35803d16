// A suite: measurements, and for each the experiment that should predict it (docs/validate.md).
#pragma once

#include "experiments/spec/experiment.hpp"
#include "experiments/validate/suite_kernels.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foretrain::experiments {

inline const PresetKind kSuiteKind{"suite", "experiments/validation"};

/// What a measurement mainly tests; errors are reported for each apart.
inline const std::vector<std::string> kRegimes{"compute", "intra-node", "network",    "overlay",
                                               "input",   "contention", "large-model"};

/// Units of measured values; a unit's value in SI.
struct MeasuredUnit {
  const char* name;
  double si;
};
const MeasuredUnit& measured_unit(const std::string& name);
std::vector<std::string> measured_unit_names();
/// Whether a quantity of a job's results, like "/step_time_s", is told in this unit.
bool fits(const std::string& quantity, const std::string& unit);

/// One measured number of a training job.
struct SuiteRow {
  std::string id;
  std::string experiment; // of the suite's own, or a preset or path
  Value settings;         // JSON pointer -> value
  std::string job;        // absent: the first
  std::string quantity = "/throughput_samples_per_s";
  std::optional<double> measured;
  std::vector<double> repetitions; // instead: their median counts
  std::string unit = "samples/s";
  double spread = 0; // standard deviation, in the same unit; from the repetitions if there are any
  std::string regime;
  std::string role = "validation";
  std::string part;     // what the report sums up besides regimes; absent: the experiment
  std::string group;    // rows that a person would compare: their ranking is checked
  std::string ratio_of; // the row that this one is divided by
  std::string anchor;   // the calibration row whose rate fixes this job's compute profile
  std::string source;
};

/// A table of nccl-tests. Compared by time, also where bus bandwidth was published.
struct SuiteTable {
  std::string id;
  std::string program = "all_reduce_perf";
  Value platform;
  Value host;      // absent: bare-metal
  Value transport; // absent: rdma where the platform has it, else tcp
  Value library;   // absent: nccl
  int nodes = 1;
  int gpus_per_node = 1;
  int gpus_per_thread = 1; // that a thread launches its calls on, one after the other
  std::string algorithm = "auto";
  std::string quantity = "time"; // or bus_bandwidth
  std::string unit = "us";
  std::vector<std::vector<double>> rows; // [bytes, value]
  std::string regime;
  std::vector<double> calibration_bytes; // sizes that a fit has used
  std::string group;                     // tables to be compared size by size
  std::string source;
};

/// A matrix of p2pBandwidthLatencyTest.
struct SuiteCopies {
  std::string id;
  Value platform;
  std::string quantity = "one_way"; // both_ways, latency
  bool peer_access = true;
  std::string unit = "GB/s";
  std::vector<std::vector<double>> matrix; // [from][to]
  std::string role = "validation";
  std::string source;
};

struct SuiteSpec {
  std::string name;
  std::string description;
  Value experiments; // object: name -> experiment
  std::vector<SuiteRow> rows;
  std::vector<SuiteTable> tables;
  std::vector<SuiteCopies> copies;
  std::vector<SuiteKernels> kernels;
  std::string source;
  Value origin;
};

/// Reads a suite by name or path; `profiles` are laid over the presets that it names. Throws
/// ConfigError and UsageError.
SuiteSpec load_suite(const std::string& name_or_path,
                     const std::vector<std::string>& profiles = {});

template <class V>
void describe(V& v, SuiteRow& s)
{
  v.required("id", s.id, "name of the measurement, unique in the suite");
  v.required("experiment", s.experiment,
             "one of the suite's \"experiments\", or a bundled one, or a path");
  v.optional("settings", s.settings, "JSON pointer -> value: what this row changes in it");
  v.optional("job", s.job, "the job that was measured; default: the first");
  v.optional("quantity", s.quantity, "pointer below the job's results, like /step_time_s");
  v.optional("measured", s.measured, "what was measured, in \"unit\"", positive());
  v.optional("repetitions", s.repetitions, "instead of \"measured\": one value per repetition");
  v.optional("unit", s.unit, "of the measured value", one_of(measured_unit_names()));
  v.optional("spread", s.spread, "standard deviation of the measured value", non_negative());
  v.required("regime", s.regime, "what the row mainly tests", one_of(kRegimes));
  v.optional("role", s.role, "calibration rows are shown, but never counted",
             one_of({"validation", "calibration"}));
  v.optional("part", s.part, "rows that the report sums up together");
  v.optional("group", s.group, "rows whose order should be predicted rightly");
  v.optional("ratio_of", s.ratio_of, "id of the row this one is divided by");
  v.optional("anchor", s.anchor,
             "id of the calibration row whose rate anchors the job: a one-GPU rate");
  v.optional("source", s.source, "where the number was published or measured");
}

template <class V>
void describe(V& v, SuiteTable& s)
{
  v.required("id", s.id, "name of the table; a row's id is ID-BYTES");
  v.optional("program", s.program, "the program of nccl-tests");
  v.required("platform", s.platform, "the machine", preset("platform"));
  v.optional("host", s.host, "host layer; default bare-metal", preset("host"));
  v.optional("network", s.transport, "transport; default rdma or tcp by adapter",
             preset("network"));
  v.optional("library", s.library, "collective library; default nccl", preset("library"));
  v.optional("nodes", s.nodes, "number of nodes", between(1, 65536));
  v.optional("gpus_per_node", s.gpus_per_node, "GPUs of each node", between(1, 1024));
  v.optional("gpus_per_thread", s.gpus_per_thread,
             "that a thread launches its calls on, one after the other", between(1, 1024));
  v.optional("algorithm", s.algorithm, "algorithm; auto: the library's choice");
  v.optional("quantity", s.quantity, "what the second column is",
             one_of({"time", "bus_bandwidth"}));
  v.optional("unit", s.unit, "of the second column", one_of({"us", "ms", "s", "GB/s"}));
  v.required("rows", s.rows, "[bytes, measured value]");
  v.required("regime", s.regime, "what the table mainly tests", one_of(kRegimes));
  v.optional("calibration_bytes", s.calibration_bytes, "sizes that a fit has used: not counted");
  v.optional("group", s.group, "tables whose order at each size should be predicted rightly");
  v.optional("source", s.source, "where the table was published or measured");
}

template <class V>
void describe(V& v, SuiteCopies& s)
{
  v.required("id", s.id, "name of the matrix; a cell's id is ID-FROM-TO");
  v.required("platform", s.platform, "the machine", preset("platform"));
  v.required("quantity", s.quantity, "which of the program's matrices",
             one_of({"one_way", "both_ways", "latency"}));
  v.required("peer_access", s.peer_access, "whether GPUs reach each other's memory");
  v.required("unit", s.unit, "of the values", one_of({"GB/s", "us"}));
  v.required("matrix", s.matrix, "[from][to], the diagonal is a copy inside the device");
  v.optional("role", s.role, "calibration rows are shown, but never counted",
             one_of({"validation", "calibration"}));
  v.optional("source", s.source, "where the matrix was published or measured");
}

template <class V>
void describe(V& v, SuiteSpec& s)
{
  v.format("foretrain.suite/1");
  v.optional("name", s.name, "name of the suite; default: that of the file");
  v.optional("description", s.description, "what it is about, for people");
  v.optional("experiments", s.experiments, "name -> experiment, for rows to build on");
  v.optional("rows", s.rows, "measurements of training jobs");
  v.optional("tables", s.tables, "tables of nccl-tests");
  v.optional("copies", s.copies, "matrices of p2pBandwidthLatencyTest");
  v.optional("kernels", s.kernels, "tables of single kernels on one GPU");
  v.optional("source", s.source, "where all of it comes from, if that is one place");
}

} // namespace foretrain::experiments
