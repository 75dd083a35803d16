// Runs the GPU tests, or says that there is no GPU and exits with 77 (ctest: skipped).
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <cuda_runtime_api.h>

#include <cstdio>

int main(int argc, char** argv)
{
  int devices = 0;
  if (const cudaError_t result = cudaGetDeviceCount(&devices);
      result != cudaSuccess || devices == 0) {
    std::printf("SKIPPED: no CUDA device (%s)\n", cudaGetErrorString(result));
    return 77;
  }
  return Catch::Session().run(argc, argv);
}
