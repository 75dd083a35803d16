// realrun-record: checks records, makes them from iperf3 results, compares tenants, prints tables.
#include "realrun/common/cli.hpp"
#include "realrun/common/machine.hpp"
#include "realrun/common/record.hpp"
#include "realrun/common/statistics.hpp"
#include "realrun/tools/iperf3.hpp"
#include "sim/base/error.hpp"

#include <cstdio>
#include <fstream>
#include <iostream>

namespace foretrain::realrun {

namespace {

/// All samples of the unlabelled series `name`.
std::vector<double> samples_of(const Record& record, const std::string& name)
{
  for (const Series& series : record.series)
    if (series.name == name && series.labels.empty()) {
      std::vector<double> all;
      for (const auto& samples : series.repetitions)
        all.insert(all.end(), samples.begin(), samples.end());
      return all;
    }
  throw UsageError("record '" + record.name + "' has no series '" + name + "'");
}

int check(const CommandLine& line)
{
  if (line.arguments.empty())
    throw UsageError("check needs record files");
  for (const auto& path : line.arguments)
    read_record(path);
  std::cout << line.arguments.size() << " records are valid\n";
  return 0;
}

int table(const CommandLine& line)
{
  std::printf("%-40s %6s %10s %10s %10s %10s %12s %7s\n", "name", "steps", "mean_ms", "median_ms",
              "p10_ms", "p90_ms", "sample/s", "spread");
  for (const auto& path : line.arguments) {
    const Record record = read_record(path);
    if (record.kind != "training")
      continue;
    const Summary step = summarise(samples_of(record, "step_time"));
    const Summary rate = summarise(samples_of(record, "throughput"));
    std::printf("%-40s %6zu %10.3f %10.3f %10.3f %10.3f %12.1f %6.1f%%\n", record.name.c_str(),
                step.count, step.mean * 1e3, step.median * 1e3, step.p10 * 1e3, step.p90 * 1e3,
                rate.median, 100.0 * (rate.maximum - rate.minimum) / rate.median);
  }
  return 0;
}

/// The i-th of the words after `prefix=` among the arguments.
std::vector<std::string> files_named(const CommandLine& line, const std::string& prefix)
{
  std::vector<std::string> files;
  for (const auto& argument : line.arguments)
    if (argument.starts_with(prefix + "="))
      files.push_back(argument.substr(prefix.size() + 1));
  return files;
}

struct WireCount {
  double packets = 0.0, bytes = 0.0;
};

WireCount read_wire(const std::string& path)
{
  WireCount count;
  if (!(std::ifstream(path) >> count.packets >> count.bytes))
    throw UsageError("'" + path + "' must hold a packet and a byte count");
  return count;
}

/// One repetition of an iperf3 run with the counters read before and after it.
void add_repetition(Recorder& recorder, const Iperf3Result& run, const MachineCpu& before,
                    const MachineCpu& after, const WireCount& wire_before,
                    const WireCount& wire_after)
{
  const double packets = wire_after.packets - wire_before.packets;
  recorder.next_repetition();
  recorder.add("throughput", "byte/s", run.bits_per_second / 8.0);
  recorder.add("cpu_per_byte", "s/byte", (after.busy() - before.busy()) / run.bytes);
  recorder.add("cpu_user_per_byte", "s/byte", (after.user - before.user) / run.bytes);
  recorder.add("cpu_system_per_byte", "s/byte", (after.system - before.system) / run.bytes);
  recorder.add("cpu_softirq_per_byte", "s/byte",
               (after.softirq + after.irq - before.softirq - before.irq) / run.bytes);
  // Other programs' work is mostly user time: this is the part that the network costs.
  recorder.add("cpu_kernel_per_byte", "s/byte",
               (after.busy() - after.user - before.busy() + before.user) / run.bytes);
  recorder.add("wire_packets", "packet", packets);
  recorder.add("wire_packet_size", "byte",
               (wire_after.bytes - wire_before.bytes) / std::max(packets, 1.0));
  recorder.add("wire_bytes_per_payload_byte", "1",
               (wire_after.bytes - wire_before.bytes) / run.bytes);
  recorder.add("retransmits", "packet", run.retransmits);
  recorder.add("mss", "byte", run.mss);
  recorder.add("client_cpu", "fraction", run.client_cpu_fraction);
  recorder.add("server_cpu", "fraction", run.server_cpu_fraction);
}

int from_iperf3(const CommandLine& line)
{
  const auto folders = files_named(line, "run");
  if (folders.empty())
    throw UsageError("iperf3 needs run=FOLDER once per repetition");
  Record record = begin_record("network", line.settings.name, "realrun-record", line.words);
  record.settings = line.labels;
  Recorder recorder;
  for (const auto& folder : folders) {
    const Iperf3Result run = read_iperf3(folder + "/iperf3.json");
    add_repetition(recorder, run, read_machine_cpu(folder + "/stat.before"),
                   read_machine_cpu(folder + "/stat.after"), read_wire(folder + "/wire.before"),
                   read_wire(folder + "/wire.after"));
    record.duration_s += run.seconds;
  }
  record.series = recorder.series();
  write_record(record, line.settings.out, std::cout);
  return 0;
}

/// Slowdown of each tenant against the same run alone, from their rates: a median step would hide
/// that a tenant stands still half of the time.
int slowdown(const CommandLine& line)
{
  const auto alone = files_named(line, "alone");
  const auto tenants = files_named(line, "tenant");
  if (alone.size() != 1 || tenants.empty())
    throw UsageError("slowdown needs alone=RECORD and tenant=RECORD once per tenant");
  Record record = begin_record("shared", line.settings.name, "realrun-record", line.words);
  const Record base = read_record(alone.front());
  const double base_rate = summarise(samples_of(base, "throughput")).median;
  record.settings = base.settings;
  record.settings.update(line.labels);
  record.settings["tenants"] = tenants.size();
  record.model = base.model;
  Recorder recorder;
  std::string text;
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    const Record tenant = read_record(tenants[i]);
    const std::vector<double> rates = samples_of(tenant, "throughput");
    for (const double rate : rates) {
      recorder.add("throughput", "sample/s", rate, {{"tenant", i}});
      recorder.add("slowdown", "1", base_rate / rate, {{"tenant", i}});
    }
    for (const double step : samples_of(tenant, "step_time"))
      recorder.add("step_time", "s", step, {{"tenant", i}});
    record.duration_s = std::max(record.duration_s, tenant.duration_s);
    char shown[64];
    std::snprintf(shown, sizeof shown, " %.2f", base_rate / summarise(rates).median);
    text += shown;
  }
  for (const double rate : samples_of(base, "throughput"))
    recorder.add("throughput_alone", "sample/s", rate);
  record.series = recorder.series();
  write_record(record, line.settings.out, std::cout);
  std::cerr << line.settings.name << ": slowdown of each tenant" << text << "\n";
  return 0;
}

} // namespace

} // namespace foretrain::realrun

int main(int argc, char** argv)
{
  using namespace foretrain::realrun;
  constexpr Verb verbs[] = {
      {"check", "RECORD...", "check record files", &check},
      {"table", "RECORD...", "median step time and spread of training records", &table},
      {"iperf3", "run=FOLDER...",
       "make a network record from iperf3.json, stat.before/after, wire.before/after",
       &from_iperf3},
      {"slowdown", "alone=RECORD tenant=RECORD...", "make a shared-machine record", &slowdown},
  };
  return run_program(argc, argv, "realrun-record", verbs);
}
