#include "models/traces/trace.hpp"

#include "models/traces/exchange_names.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace foretrain::models {

const char* name_of(KernelClass kind)
{
  switch (kind) {
  case KernelClass::product:
    return "product";
  case KernelClass::memory:
    return "memory";
  case KernelClass::collective:
    return "collective";
  case KernelClass::copy:
    return "copy";
  }
  return "";
}

KernelClass class_of(const std::string& kernel)
{
  const std::string lower = lower_case(kernel);
  const auto has = [&lower](const char* part) { return lower.find(part) != std::string::npos; };
  if (names_exchange(kernel))
    return KernelClass::collective;
  if (lower.starts_with("memcpy"))
    return KernelClass::copy;
  // Preparations and reductions beside a product move data only.
  for (const char* part : {"elementwise", "im2col", "nchwtonhwc", "nhwctonchw", "splitkreduce",
                           "reduce_kernel", "generateoffsets", "computeoffset", "batch_norm",
                           "bn_fw", "bn_bw", "batchnorm", "pool", "softmax", "multi_tensor"})
    if (has(part))
      return KernelClass::memory;
  for (const char* part :
       {"gemm",      "conv",  "cudnn",    "winograd", "cutlass",    "xmma",     "wgrad", "dgrad",
        "scudnn",    "hmma",  "s884",     "s1688",    "s16816",     "884",      "flash", "fmha",
        "attention", "cgemm", "gemv",     "matmul",   "dot_kernel", "_mm_",     "nvjet", "cublas",
        "tensorop",  "cijk_", "attn_fwd", "attn_bwd", "triton_tem", "triton_mm"})
    if (has(part))
      return KernelClass::product;
  return KernelClass::memory;
}

const Call* call_of(const Trace& trace, const DeviceWork& work)
{
  if (work.correlation < 0)
    return nullptr;
  const auto found = std::lower_bound(
      trace.calls.begin(), trace.calls.end(), work.correlation,
      [](const Call& call, std::int64_t wanted) { return call.correlation < wanted; });
  return found != trace.calls.end() && found->correlation == work.correlation ? &*found : nullptr;
}

int busiest_device(const Trace& trace)
{
  std::map<int, double> times;
  for (const DeviceWork& work : trace.work)
    times[work.device] += work.seconds();
  const auto most = std::max_element(
      times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == times.end() ? 0 : most->first;
}

namespace {

// A message goes with the next kernel of class collective that its thread launches.
void tell_carriers(Trace& trace)
{
  struct Carrier {
    std::int64_t thread;
    double at;
    std::int64_t correlation;
  };
  if (trace.messages.empty())
    return;
  std::vector<Carrier> carriers;
  for (const DeviceWork& work : trace.work)
    if (work.kind == KernelClass::collective)
      if (const Call* call = call_of(trace, work))
        carriers.push_back({call->thread, call->start, call->correlation});
  const auto place = [](const auto& it, double at) { return std::pair(it.thread, at); };
  std::sort(carriers.begin(), carriers.end(),
            [&](const Carrier& a, const Carrier& b) { return place(a, a.at) < place(b, b.at); });
  for (Message& message : trace.messages) {
    const auto next = std::lower_bound(
        carriers.begin(), carriers.end(), message,
        [&](const Carrier& c, const Message& m) { return place(c, c.at) < place(m, m.start); });
    if (next != carriers.end() && next->thread == message.thread)
      message.correlation = next->correlation;
  }
  std::stable_sort(trace.messages.begin(), trace.messages.end(),
                   [](const Message& a, const Message& b) {
                     return std::pair(a.correlation, a.start) < std::pair(b.correlation, b.start);
                   });
}

auto place_of(const DeviceWork& it)
{
  return std::tuple(it.start, it.finish, it.device, it.stream, it.correlation, it.name);
}

// A stream does one thing at a time. Returns how many there were.
std::size_t drop_repeated(Trace& trace)
{
  const auto rest = std::unique(trace.work.begin(), trace.work.end(),
                                [](const DeviceWork& a, const DeviceWork& b) {
                                  return a.seconds() > 0 && place_of(a) == place_of(b);
                                });
  const auto count = static_cast<std::size_t>(trace.work.end() - rest);
  trace.work.erase(rest, trace.work.end());
  return count;
}

void tell_shared_correlations(Trace& trace)
{
  std::size_t shared = 0;
  for (std::size_t i = 1; i < trace.calls.size(); ++i) {
    const Call& before = trace.calls[i - 1];
    if (trace.calls[i].correlation == before.correlation && trace.calls[i].start > before.finish)
      ++shared;
  }
  if (shared > 0)
    trace.notes.push_back(fmt::format("{} calls have the correlation of an earlier one: what they "
                                      "launched counts as that one's",
                                      shared));
}

void tell_devices(Trace& trace)
{
  std::set<int> devices;
  for (const DeviceWork& work : trace.work)
    devices.insert(work.device);
  if (devices.size() > 1)
    trace.notes.push_back(fmt::format("the recording holds work of {} devices: that of device {}, "
                                      "which did most, is taken, the others' is left out",
                                      devices.size(), busiest_device(trace)));
}

} // namespace

void finish_trace(Trace& trace)
{
  std::stable_sort(trace.work.begin(), trace.work.end(),
                   [](const auto& a, const auto& b) { return place_of(a) < place_of(b); });
  const std::size_t twice = drop_repeated(trace);
  if (twice > 0)
    trace.notes.push_back(
        fmt::format("{} kernels and copies stand there twice and count once", twice));
  std::stable_sort(trace.calls.begin(), trace.calls.end(), [](const auto& a, const auto& b) {
    return std::pair(a.correlation, a.start) < std::pair(b.correlation, b.start);
  });
  tell_shared_correlations(trace);
  std::stable_sort(trace.stretches.begin(), trace.stretches.end(),
                   [](const auto& a, const auto& b) { return a.start < b.start; });
  tell_carriers(trace);
  tell_devices(trace);
  std::size_t launched = 0;
  std::size_t early = 0;
  std::vector<double> ahead;
  for (const DeviceWork& work : trace.work)
    if (const Call* call = call_of(trace, work)) {
      ++launched;
      if (work.start < call->start) {
        ++early;
        ahead.push_back(call->start - work.start);
      }
    }
  if (early > launched / 100 && early > 0) {
    std::nth_element(ahead.begin(), ahead.begin() + static_cast<std::ptrdiff_t>(early / 2),
                     ahead.end());
    trace.notes.push_back(fmt::format(
        "the clocks of host and device differ: {} of {} kernels begin before their launch, by "
        "{:.3g} us typically; launch delays are not to be trusted, device times are",
        early, launched, ahead[early / 2] * 1e6));
  }
}

} // namespace foretrain::models
