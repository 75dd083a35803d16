// Records of realrun ("foretrain.measurement/1", docs/realrun.md): what a training run was told and
// what it reached.
#pragma once

#include "sim/base/document.hpp"
#include "sim/base/units.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace foretrain::calibration {

/// A record of kind "training".
struct TrainingRecord {
  std::string name;
  std::string program;   // "realrun-cpu" or "realrun-cuda"
  int cores = 1;         // of the machine
  int cores_allowed = 1; // of rank 0
  int ranks = 1;
  int batch = 1; // per rank
  Bytes bucket{};
  bool overlap = true;
  std::string input = "synthetic"; // or raw, jpeg
  int decode_threads = 1;
  std::string precision = "fp32";
  std::string path = "loopback"; // or host, route, vxlan
  BytesPerSecond link_rate{};    // of a shaped wire; zero: not shaped
  int tenants = 1;               // runs at the same time on the machine
  int tenant = 0;                // which of them this is
  std::string isolation;         // of tenants; empty without
  Json model;                    // foretrain.realrun-model/1
  double parameters = 0;
  std::vector<double> throughput; // samples per second of all ranks, of each repetition
  std::vector<double> step_s;     // samples of rank 0, all repetitions, seconds
  /// Seconds of rank 0's median step in all layers of a kind ("linear forward", "relu backward")
  /// and in the "optimizer"; empty where the record does not tell them.
  std::map<std::string, double> parts;
  /// Seconds of all its elementary functions (gelu), each layer's in its quickest step; 0 without
  /// any. Only the clock of the core changes them: they need no memory, and other threads on the
  /// core spare one step or another.
  double functions_s = 0;
};

/// A record of kind "network": iperf3 over one path between two hosts made of namespaces.
struct NetworkRecord {
  std::string name;
  std::string path;    // host, route, vxlan
  bool offload = true; // the wire takes segments, as an adapter with segmentation offload does
  bool shaped = false; // its rate is limited
  Bytes segment{};     // payload of a TCP segment (MSS)
  std::vector<double> cpu_s_per_byte; // kernel time of both ends together, of each repetition
};

bool is_realrun_record(const std::string& text);
/// The record's "kind": training, network, gemm, ... Throws ConfigError.
std::string record_kind(const Value& root);
NetworkRecord read_network_record(const Value& root);

/// Throws ConfigError where the record is of another kind, incomplete, or in other units.
TrainingRecord read_training_record(const Value& root);
TrainingRecord read_training_record(const std::filesystem::path& path);

} // namespace foretrain::calibration
