// What NVIDIA's nvbandwidth prints, as text or as JSON (-j): copies between GPUs by copy engine
// (the _ce tests). Those by multiprocessors (_sm) say what a kernel reaches and are passed over, as
// are copies to the host and those of several pairs at once.
#pragma once

#include "calibration/p2p_log.hpp"

namespace foretrain::calibration {

bool is_nvbandwidth(const std::string& text);

/// Bandwidths one way with peer access, [from][to]; what a GPU reads and what it writes stand
/// apart. Throws ConfigError with file and line, also for a log without such a matrix.
P2pLog read_nvbandwidth(const std::string& text, const std::string& name);
/// The same of JSON alone.
P2pLog read_nvbandwidth_json(const std::string& text, const std::string& name);

/// "Reads" or "Writes", as p2pBandwidthLatencyTest calls what the test does; null for a test that
/// is passed over.
const char* nvbandwidth_transfer(const std::string& test);

} // namespace foretrain::calibration
