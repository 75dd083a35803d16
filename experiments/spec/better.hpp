// What an experiment may ask to be better than it is.
#pragma once

#include "sim/base/schema.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace foretrain::experiments {

/// A group of parts or of software that people buy or tune (levers.hpp).
struct LeverText {
  const char* key;    // "storage-network"
  const char* name;   // "network of the file servers"
  const char* better; // "file servers with twice the network": what doubled means
};

inline constexpr auto kLeverTexts = std::to_array<LeverText>({
    {"gpu", "GPUs", "GPUs twice as fast"},
    {"nvlink", "NVLink", "NVLink twice as fast"},
    {"pcie", "PCIe", "PCIe twice as fast"},
    {"disk", "disks", "disks twice as fast"},
    {"storage-network", "network of the file servers", "file servers with twice the network"},
    {"storage-cpu", "processors of the file servers", "file servers with twice the processors"},
    {"mount", "connections and latency of the storage",
     "twice the connections to the storage, at half the latency"},
    {"memory", "memory bandwidth of the nodes", "memory of the nodes twice as fast"},
    {"cores", "CPU cores", "twice as many CPU cores"},
    {"core-speed", "speed of the CPU cores", "CPU cores twice as fast"},
    {"threads", "threads that decode", "twice as many threads that decode"},
    {"files", "thread that opens files", "files opened twice as fast"},
    {"page-cache", "main memory of the nodes", "twice the main memory"},
    {"fabric", "switches between the nodes", "ports and uplinks of the switches twice as fast"},
    {"nic", "network adapters", "network adapters twice as fast"},
    {"connections", "connections of the transport", "twice the connections of the transport"},
    {"latency", "latency of network, links and collective library",
     "half the latency of network, links and collective library"},
    {"framework", "overheads of the framework", "half the overheads of the framework"},
    {"variation", "variation of step times", "half the variation of step times"},
});

/// "storage_network": as a key of JSON.
inline std::string json_key(const LeverText& lever)
{
  std::string key = lever.key;
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

/// How many times as good each is: rates times, times through it.
struct BetterSpec {
  std::array<std::optional<double>, kLeverTexts.size()> factors;
};

template <class V>
void describe(V& v, BetterSpec& s)
{
  for (std::size_t i = 0; i < kLeverTexts.size(); ++i)
    v.optional(json_key(kLeverTexts[i]), s.factors[i], kLeverTexts[i].name, between(0.01, 100));
}

} // namespace foretrain::experiments
