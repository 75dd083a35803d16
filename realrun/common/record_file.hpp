// The record file as the strict reader sees it: one description that checks and documents.
#pragma once

#include "realrun/common/statistics.hpp"
#include "sim/base/schema.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foretrain::realrun {

inline constexpr const char* kRecordFormat = "foretrain.measurement/1";

const std::vector<std::string>& record_kinds();
const std::vector<std::string>& record_units();

/// Summary of a series, the repetitions' medians included.
Json summary_json(const std::vector<std::vector<double>>& repetitions);

struct SummaryFile {
  int count = 0;
  double min = 0, p10 = 0, median = 0, p90 = 0, max = 0, mean = 0, deviation = 0;
  std::vector<double> medians;
};

template <class V>
void describe(V& v, SummaryFile& s)
{
  v.required("count", s.count, "number of samples", at_least(1));
  v.required("min", s.min, "smallest");
  v.required("p10", s.p10, "10 % quantile");
  v.required("median", s.median, "median of all samples");
  v.required("p90", s.p90, "90 % quantile");
  v.required("max", s.max, "largest");
  v.required("mean", s.mean, "mean of all samples");
  v.required("deviation", s.deviation, "sample standard deviation", non_negative());
  v.required("medians", s.medians, "median of each repetition");
}

struct SeriesFile {
  std::string name, unit;
  Value labels;
  std::vector<std::vector<double>> repetitions;
  SummaryFile summary;
  Value at;
};

template <class V>
void describe(V& v, SeriesFile& s)
{
  if constexpr (requires { v.value(); })
    s.at = v.value();
  v.required("name", s.name, "what was measured");
  v.required("unit", s.unit, "SI unit of the samples", one_of(record_units()));
  v.required("labels", s.labels, "which one: {\"layer\": ...}, {\"bytes\": ...}; flat object");
  v.required("repetitions", s.repetitions, "raw samples, one list per repetition");
  v.required("summary", s.summary, "what follows from the samples");
}

struct BuildFile {
  std::string compiler, flags, git_revision;
};

template <class V>
void describe(V& v, BuildFile& b)
{
  v.required("compiler", b.compiler, "compiler and version");
  v.required("flags", b.flags, "compiler flags");
  v.required("git_revision", b.git_revision, "commit, with '+' when the tree had changes");
}

struct MadeByFile {
  std::string program, started;
  BuildFile build;
  std::vector<std::string> command;
  Value environment;
  double duration_s = 0;
};

template <class V>
void describe(V& v, MadeByFile& m)
{
  v.required("program", m.program, "name of the measuring program");
  v.required("build", m.build, "how it was built");
  v.required("command", m.command, "the exact command line, word by word");
  v.required("environment", m.environment, "environment variables that steer it");
  v.required("started", m.started, "UTC time, 2025-01-31T12:00:00Z");
  v.required("duration_s", m.duration_s, "seconds from start to end", non_negative());
}

struct InterfaceFile {
  std::string name, driver;
  int mtu = 0, speed = 0;
};

template <class V>
void describe(V& v, InterfaceFile& i)
{
  v.required("name", i.name, "interface");
  v.required("mtu", i.mtu, "bytes", non_negative());
  v.required("speed_Mb_per_s", i.speed, "link rate the driver reports, -1 when it knows none");
  v.required("driver", i.driver, "driver, 'virtual' for software interfaces");
}

struct MachineFile {
  std::string host, cpu, os, kernel, congestion;
  int cores = 0;
  std::vector<int> cpus_allowed;
  double memory_bytes = 0, load = 0;
  bool virtual_machine = false;
  std::vector<InterfaceFile> network;
  std::vector<Value> gpus;
};

template <class V>
void describe(V& v, MachineFile& m)
{
  v.required("host", m.host, "host name");
  v.required("cpu", m.cpu, "CPU model");
  v.required("cores", m.cores, "CPUs online", at_least(1));
  v.required("cpus_allowed", m.cpus_allowed, "CPUs the process might run on");
  v.required("memory_bytes", m.memory_bytes, "bytes of memory", positive());
  v.required("virtual_machine", m.virtual_machine, "the CPU says there is a hypervisor");
  v.required("os", m.os, "distribution");
  v.required("kernel", m.kernel, "kernel version");
  v.required("load_average_1min", m.load, "load when the run began");
  v.required("tcp_congestion_control", m.congestion, "TCP's congestion control");
  v.required("network", m.network, "network interfaces of the process");
  v.required("gpus", m.gpus, "devices used: name, memory, clock and driver");
}

struct RecordFile {
  std::string kind, name;
  MadeByFile made_by;
  MachineFile machine;
  Value settings;
  std::optional<Value> model;
  std::vector<SeriesFile> series;
};

template <class V>
void describe(V& v, RecordFile& r)
{
  v.format(kRecordFormat);
  v.required("kind", r.kind, "what this record measures", one_of(record_kinds()));
  v.required("name", r.name, "name of the setting");
  v.required("made_by", r.made_by, "program, command, time");
  v.required("machine", r.machine, "where it ran");
  v.required("settings", r.settings, "how it ran; flat object");
  v.optional("model", r.model, "the model that ran");
  v.required("series", r.series, "what was measured");
}

} // namespace foretrain::realrun
