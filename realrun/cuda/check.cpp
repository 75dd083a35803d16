#include "realrun/cuda/check.hpp"

namespace foretrain::realrun {

namespace {

[[noreturn]] void fail(const std::string& what, const char* call, const char* file, int line)
{
  std::string name = file;
  name = name.substr(name.rfind('/') + 1);
  throw DeviceError(what + " in " + call + " (" + name + ":" + std::to_string(line) + ")");
}

} // namespace

void check(cudaError_t result, const char* call, const char* file, int line)
{
  if (result == cudaSuccess)
    return;
  cudaGetLastError(); // an error that is reported must not be found again by the next check
  fail(std::string("CUDA: ") + cudaGetErrorString(result), call, file, line);
}

void check(cublasStatus_t result, const char* call, const char* file, int line)
{
  if (result != CUBLAS_STATUS_SUCCESS)
    fail("cuBLAS: status " + std::to_string(static_cast<int>(result)), call, file, line);
}

void check(ncclResult_t result, const char* call, const char* file, int line)
{
  if (result != ncclSuccess)
    fail(std::string("NCCL: ") + ncclGetErrorString(result), call, file, line);
}

} // namespace foretrain::realrun
