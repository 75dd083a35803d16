// What a record says about the machine and the software that made it.
#pragma once

#include "sim/base/document.hpp"

#include <string>

namespace foretrain::realrun {

/// Host, CPU model, cores, memory, kernel, load, allowed CPUs, and the network interfaces of the
/// network namespace with their MTU, speed (Mb/s, -1 unknown) and driver kind.
Json describe_machine();

/// The variables that steer such programs (OMP_, NCCL_, CUDA_, RANK ...); nothing else is kept.
Json describe_environment();

/// Compiler, flags and git revision this program was built from.
Json describe_build();

/// "2025-01-31T12:00:00Z"
std::string utc_now();

/// Seconds of CPU this process has used (user and system).
double process_cpu_s();

/// Monotonic counters of the machine from /proc/stat, in seconds summed over CPUs.
struct MachineCpu {
  double user = 0, system = 0, irq = 0, softirq = 0, steal = 0, idle = 0;
  double busy() const { return user + system + irq + softirq; }
};
MachineCpu read_machine_cpu(const std::string& path = "/proc/stat");

} // namespace foretrain::realrun
