// Before any GPU test: says that there is no GPU and exits with 77 (ctest: skipped).
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

namespace {

[[maybe_unused]] const int kDevices = [] {
  int devices = 0;
  if (const cudaError_t result = cudaGetDeviceCount(&devices);
      result != cudaSuccess || devices == 0) {
    std::printf("SKIPPED: no CUDA device (%s)\n", cudaGetErrorString(result));
    std::exit(77);
  }
  return devices;
}();

} // namespace
