#include "realrun/cuda/device.hpp"

#include "sim/base/error.hpp"

#include <nvtx3/nvToolsExt.h>

#include <array>

namespace foretrain::realrun {

namespace {

int attribute(cudaDeviceAttr which, int device)
{
  int value = 0;
  REALRUN_CHECK(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

} // namespace

void* allocate_on_device(std::size_t bytes)
{
  void* memory = nullptr;
  if (cudaMalloc(&memory, bytes) == cudaSuccess)
    return memory;
  cudaGetLastError();
  std::size_t free = 0;
  std::size_t total = 0;
  cudaMemGetInfo(&free, &total);
  constexpr std::size_t mib = 1U << 20;
  throw DeviceError("out of device memory: asked for " + std::to_string(bytes / mib) + " MiB, " +
                    std::to_string(free / mib) + " of " + std::to_string(total / mib) +
                    " MiB are free (try a smaller --batch)");
}

Stream::Stream()
{
  REALRUN_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
}

Event::Event()
{
  REALRUN_CHECK(cudaEventCreate(&event_));
}

void Event::record(const Stream& stream) const
{
  REALRUN_CHECK(cudaEventRecord(event_, stream.get()));
}

void Event::hold(const Stream& stream) const
{
  REALRUN_CHECK(cudaStreamWaitEvent(stream.get(), event_, 0));
}

double seconds_between(const Event& from, const Event& to)
{
  float milliseconds = 0.0F;
  REALRUN_CHECK(cudaEventElapsedTime(&milliseconds, from.get(), to.get()));
  return static_cast<double>(milliseconds) * 1e-3;
}

Range::Range(const char* name)
{
  nvtxRangePushA(name);
}
Range::~Range()
{
  nvtxRangePop();
}

int choose_device(const Settings& settings)
{
  int devices = 0;
  const cudaError_t result = cudaGetDeviceCount(&devices);
  if (result != cudaSuccess || devices == 0) {
    cudaGetLastError();
    throw DeviceError(std::string("no CUDA device: ") +
                      (result == cudaSuccess ? "none is visible (see CUDA_VISIBLE_DEVICES)"
                                             : cudaGetErrorString(result)));
  }
  if (settings.device >= devices)
    throw UsageError("--device " + std::to_string(settings.device) + ": there are only " +
                     std::to_string(devices) + " devices");
  const int device = settings.device >= 0 ? settings.device : settings.rank % devices;
  REALRUN_CHECK(cudaSetDevice(device));
  return device;
}

int compute_capability(int device)
{
  return attribute(cudaDevAttrComputeCapabilityMajor, device) * 10 +
         attribute(cudaDevAttrComputeCapabilityMinor, device);
}

Json describe_device(int device)
{
  cudaDeviceProp properties{};
  REALRUN_CHECK(cudaGetDeviceProperties(&properties, device));
  std::array<char, 32> pci{};
  REALRUN_CHECK(cudaDeviceGetPCIBusId(pci.data(), static_cast<int>(pci.size()), device));
  int driver = 0;
  int runtime = 0;
  int nccl = 0;
  REALRUN_CHECK(cudaDriverGetVersion(&driver));
  REALRUN_CHECK(cudaRuntimeGetVersion(&runtime));
  REALRUN_CHECK(ncclGetVersion(&nccl));
  const double memory_clock = 1e3 * attribute(cudaDevAttrMemoryClockRate, device);
  const double bus_bytes = attribute(cudaDevAttrGlobalMemoryBusWidth, device) / 8.0;
  return {{"name", properties.name},
          {"memory_bytes", static_cast<double>(properties.totalGlobalMem)},
          {"compute_capability", compute_capability(device)},
          {"multiprocessors", properties.multiProcessorCount},
          {"clock_Hz", 1e3 * attribute(cudaDevAttrClockRate, device)},
          {"memory_peak_B_per_s", 2.0 * memory_clock * bus_bytes},
          {"l2_bytes", properties.l2CacheSize},
          {"ecc", properties.ECCEnabled != 0},
          {"copy_engines", properties.asyncEngineCount},
          {"pci", pci.data()},
          {"driver_supports_cuda", driver},
          {"cuda_runtime", runtime},
          {"cublas", CUBLAS_VERSION},
          {"nccl", nccl}};
}

} // namespace foretrain::realrun
