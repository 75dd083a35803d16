// What a profiler recorded of one process: device work, the calls that launched it, and named
// stretches of host time. Whatever the file was, times are seconds since its first event.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace foretrain::models {

/// What limits a kernel, as far as its name tells.
enum class KernelClass { product, memory, collective, copy };

/// "product", "memory", ...
const char* name_of(KernelClass kind);

/// By the names that cuBLAS, cuDNN, CUTLASS, Tensile, PyTorch, Triton, NCCL and RCCL give their
/// kernels.
KernelClass class_of(const std::string& kernel);

struct DeviceWork {
  std::uint32_t name = 0; // into Trace::names
  KernelClass kind = KernelClass::memory;
  int device = 0;
  int stream = 0;
  double start = 0;
  double finish = 0;
  std::int64_t correlation = -1; // of the call that launched it; -1: unknown
  double bytes = 0;              // of a copy, or of a collective's input; 0: unknown
  int group = 0;                 // ranks of a collective; 0: unknown
  std::uint32_t collective = 0;  // what its arguments call it, into Trace::names; 0: nothing
  std::uint32_t members = 0;     // "[0, 2]": ranks of its group, into Trace::names; 0: not told
  int peer = -1;                 // of a send or a receive: the other rank; -1: not told
  double threads = 0;            // of the launch; 0: unknown
  double elements = 0;           // upper bound by threads of an element-wise kernel
  std::uint64_t shape = 0;       // tells grids and blocks apart; 0: not told
  double seconds() const { return finish - start; }
};

struct Call {
  std::int64_t correlation = -1;
  std::int64_t thread = 0;
  double start = 0;
  double finish = 0;
  std::uint32_t name = 0;
};

/// A named stretch on a host thread: an annotation or an operator that tells something.
struct Stretch {
  std::uint32_t name = 0;
  std::int64_t thread = 0;
  double start = 0;
  double finish = 0;
  double elements = 0; // of the first tensor, where shapes were recorded; 0: unknown
  int element_bytes = 0;
  double leading = 0; // first dimension of that tensor
};

/// A send or a receive as the host asked for it; one kernel may carry several.
struct Message {
  std::int64_t thread = 0;
  double start = 0;
  bool sends = false; // else it receives
  int peer = -1;      // the other rank; -1: not told
  double bytes = 0;
  std::int64_t correlation = -1; // of the call that launched its kernel; -1: unknown
};

struct Trace {
  std::string file;
  std::string format;                                // "Kineto trace", "Nsight Systems export", ...
  std::vector<std::string> names{""};                // the first one is no name
  std::vector<DeviceWork> work;                      // by start
  std::vector<Call> calls;                           // by correlation
  std::vector<Stretch> stretches;                    // by start
  std::vector<Message> messages;                     // by correlation, then by start
  std::vector<std::string> device_names;             // by device number
  std::string steps_by = "ProfilerStep annotations"; // what stretches "ProfilerStep..." were
  int rank = -1;
  int world = 0;                  // 0: unknown
  std::vector<std::string> notes; // what the file does not tell, or tells wrongly

  const std::string& name_of(std::uint32_t index) const { return names[index]; }
};

/// The call that launched it; null when the file does not hold it.
const Call* call_of(const Trace& trace, const DeviceWork& work);

/// Device that did most of the work, as an index into Trace::device_names; 0 when unknown.
int busiest_device(const Trace& trace);

/// Sorts what must be sorted; notes clocks of host and device that do not agree. Every reader ends
/// with it.
void finish_trace(Trace& trace);

} // namespace foretrain::models
