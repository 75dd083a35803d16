// Every CUDA, cuBLAS and NCCL call goes through check(): a failure becomes an exception that says
// which call, where, and what the library has to say.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <stdexcept>
#include <string>

namespace foretrain::realrun {

/// CUDA, cuBLAS or NCCL failed (exit 3).
class DeviceError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

void check(cudaError_t result, const char* call, const char* file, int line);
void check(cublasStatus_t result, const char* call, const char* file, int line);
void check(ncclResult_t result, const char* call, const char* file, int line);

#define REALRUN_CHECK(call) ::foretrain::realrun::check((call), #call, __FILE__, __LINE__)

} // namespace foretrain::realrun
