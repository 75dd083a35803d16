// A CUDA runtime whose device is the host: memory is malloc, streams finish at once. Counts and
// fails as the tests ask: FAKE_DEVICES (1), FAKE_MEMORY_MIB (4096), FAKE_CAPABILITY (90).
#include "realrun/common/clock.hpp"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace {

int from_environment(const char* name, int otherwise)
{
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

std::mutex mutex;
std::map<void*, std::size_t> allocations;
std::size_t used = 0;

std::size_t total_memory()
{
  return static_cast<std::size_t>(from_environment("FAKE_MEMORY_MIB", 4096)) << 20;
}

} // namespace

struct CUevent_st {
  double recorded = 0.0;
};
struct CUstream_st {};

extern "C" {

cudaError_t cudaGetDeviceCount(int* count)
{
  *count = from_environment("FAKE_DEVICES", 1);
  return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
}
cudaError_t cudaSetDevice(int)
{
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize()
{
  return cudaSuccess;
}
cudaError_t cudaGetLastError()
{
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t error)
{
  return error == cudaErrorNoDevice ? "no CUDA-capable device is detected" : "fake error";
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int)
{
  const int capability = from_environment("FAKE_CAPABILITY", 90);
  *value = which == cudaDevAttrComputeCapabilityMajor   ? capability / 10
           : which == cudaDevAttrComputeCapabilityMinor ? capability % 10
                                                        : 1;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int)
{
  std::strcpy(properties->name, "emulated on the host");
  properties->totalGlobalMem = total_memory();
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int)
{
  std::strncpy(text, "none", static_cast<std::size_t>(length));
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version)
{
  *version = 0;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version)
{
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total)
{
  *total = total_memory();
  *free = *total - used;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, size_t bytes)
{
  const std::lock_guard lock(mutex);
  if (used + bytes > total_memory())
    return cudaErrorMemoryAllocation;
  *memory = std::malloc(bytes);
  std::memset(*memory, 0xff, bytes); // fresh memory is NaN: what is read before it is written shows
  allocations[*memory] = bytes;
  used += bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory)
{
  const std::lock_guard lock(mutex);
  if (const auto found = allocations.find(memory); found != allocations.end()) {
    used -= found->second;
    allocations.erase(found);
    std::free(memory);
  }
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** memory, size_t bytes)
{
  *memory = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory)
{
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind)
{
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t)
{
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemset(void* memory, int value, size_t bytes)
{
  std::memset(memory, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t)
{
  std::memset(memory, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned)
{
  *stream = new CUstream_st;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t)
{
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t)
{
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned)
{
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event)
{
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event)
{
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t)
{
  event->recorded = foretrain::realrun::now_s();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t)
{
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to)
{
  if (from->recorded == 0.0 || to->recorded == 0.0) // never recorded: an error on a real device too
    return cudaErrorInvalidResourceHandle;
  *milliseconds = static_cast<float>((to->recorded - from->recorded) * 1e3);
  return cudaSuccess;
}

} // extern "C"
