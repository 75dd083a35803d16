// cuBLAS and NCCL for the emulated device: plain loops, and the CPU twin's ring.
#include "realrun/cpu/ring.hpp"

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <nccl.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

using foretrain::realrun::Meeting;
using foretrain::realrun::Ring;
using foretrain::realrun::World;

namespace {

float load(const void* data, cudaDataType type, long long i)
{
  if (type == CUDA_R_16F)
    return __half2float(static_cast<const __half*>(data)[i]);
  if (type == CUDA_R_16BF)
    return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
  return static_cast<const float*>(data)[i];
}

void store(void* data, cudaDataType type, long long i, float value)
{
  if (type == CUDA_R_16F)
    static_cast<__half*>(data)[i] = __float2half(value);
  else if (type == CUDA_R_16BF)
    static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16(value);
  else
    static_cast<float*>(data)[i] = value;
}

struct Meet {
  std::unique_ptr<World> world;
  std::unique_ptr<Ring> ring;
};

} // namespace

struct ncclComm : Meet {};

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t*)
{
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t)
{
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t)
{
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t, cublasOperation_t ta,
                                          cublasOperation_t tb, int m, int n, int k,
                                          const void* alpha, const void* a, cudaDataType at,
                                          int lda, long long sa, const void* b, cudaDataType bt,
                                          int ldb, long long sb, const void* beta, void* c,
                                          cudaDataType ct, int ldc, long long sc, int batch,
                                          cublasComputeType_t, cublasGemmAlgo_t)
{
  if (ldc < m || lda < (ta == CUBLAS_OP_N ? m : k) || ldb < (tb == CUBLAS_OP_N ? k : n))
    return CUBLAS_STATUS_INVALID_VALUE;
  const float scale = *static_cast<const float*>(alpha);
  const float keep = *static_cast<const float*>(beta);
  for (long long p = 0; p < batch; ++p)
    for (long long j = 0; j < n; ++j)
      for (long long i = 0; i < m; ++i) {
        float sum = 0.0F;
        for (long long l = 0; l < k; ++l)
          sum += load(a, at, p * sa + (ta == CUBLAS_OP_N ? i + l * lda : l + i * lda)) *
                 load(b, bt, p * sb + (tb == CUBLAS_OP_N ? l + j * ldb : j + l * ldb));
        const long long at_c = p * sc + i + j * ldc;
        store(c, ct, at_c, scale * sum + (keep == 0.0F ? 0.0F : keep * load(c, ct, at_c)));
      }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb,
                            int m, int n, int k, const void* alpha, const void* a, cudaDataType at,
                            int lda, const void* b, cudaDataType bt, int ldb, const void* beta,
                            void* c, cudaDataType ct, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algorithm)
{
  return cublasGemmStridedBatchedEx(handle, ta, tb, m, n, k, alpha, a, at, lda, 0, b, bt, ldb, 0,
                                    beta, c, ct, ldc, 0, 1, compute, algorithm);
}

ncclResult_t ncclGetVersion(int* version)
{
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result)
{
  return result == ncclRemoteError ? "remote process exited" : "fake error";
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id)
{
  const char* folder = std::getenv("TMPDIR");
  std::snprintf(id->internal, sizeof id->internal, "%s/fake_nccl.%d",
                folder == nullptr ? "/tmp" : folder, static_cast<int>(::getpid()));
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t*)
{
  Meeting meeting;
  meeting.rank = rank;
  meeting.world = ranks;
  meeting.file = id.internal;
  auto made = std::make_unique<ncclComm>();
  made->world = std::make_unique<World>(meeting);
  made->ring = std::make_unique<Ring>(*made->world);
  *comm = made.release();
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* state)
{
  *state = ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t)
{
  if (from != to || type != ncclFloat || operation != ncclSum)
    return ncclInvalidArgument;
  try {
    comm->ring->all_reduce({static_cast<float*>(to), count});
  } catch (const foretrain::realrun::PeerError&) {
    return ncclRemoteError;
  }
  return ncclSuccess;
}

} // extern "C"
