// Sources: NVSHMEM, src/device/comm (rdxn_, fcollect_, alltoall_, barrier_on_stream_kernel);
// DeepEP, csrc/kernels (deep_ep::internode, internode_ll, intranode); vLLM,
// csrc/custom_all_reduce.cuh (cross_device_reduce_1stage); TensorRT-LLM,
// kernels/customAllReduceKernels.cu (oneShotAllReduceKernel),
// communicationKernels/allReduceFusionKernels.cu and moeAlltoAllKernels.cu (moeA2ADispatchKernel),
// of which FlashInfer has copies; PyTorch, symm_mem/CUDASymmetricMemoryOps.cu
// (two_shot_all_reduce_kernel_inplace, multimem_all_reduce_kernel), intra_node_comm.cu
// (hybridCubeMeshAllReduceKernel), nvshmem_extension.cu (allToAllV).
#include "models/traces/exchange_names.hpp"

#include "sim/base/text.hpp"

#include <algorithm>
#include <iterator>

namespace foretrain::models {

namespace {

struct Name {
  const char* part; // of a name in small letters
  const char* kind;
  bool by_itself = true; // no kernel but of an exchange has it in its name
};

// The first that is found counts.
const Name kNames[] = {{"allreduce", "all-reduce"},
                       {"all_reduce", "all-reduce"},
                       {"reducescatter", "reduce-scatter"},
                       {"reduce_scatter", "reduce-scatter"},
                       {"allgather", "all-gather"},
                       {"all_gather", "all-gather"},
                       {"alltoall", "all-to-all"},
                       {"all_to_all", "all-to-all"},
                       {"all2all", "all-to-all"},
                       {"broadcast", "broadcast", false},
                       {"gather", "gather", false},
                       {"scatter", "scatter", false},
                       {"ep::internode", "all-to-all"},
                       {"ep::intranode", "all-to-all"},
                       {"moea2a", "all-to-all"},
                       {"cross_device_reduce", "all-reduce"},
                       {"rdxn_", "all-reduce", false},
                       {"fcollect_", "all-gather", false},
                       {"sendrecv", "send", false},
                       {"nccl:send", "send"},
                       {"nccl:recv", "send"},
                       {"reduce", "reduce", false}};

// Libraries whose kernels all belong to exchanges.
constexpr const char* kLibraries[] = {"nccl", "rccl", "msccl", "nvshmem", "_on_stream_kernel"};

// Inductor names what it fuses after all that it stands beside, exchanges too.
constexpr const char* kFused[] = {"triton_poi_", "triton_per_", "triton_red_", "triton_tem_"};

} // namespace

bool names_exchange(const std::string& kernel)
{
  const std::string lower = lower_case(kernel);
  const auto has = [&lower](const char* part) { return lower.find(part) != std::string::npos; };
  return std::none_of(std::begin(kFused), std::end(kFused), has) &&
         (std::any_of(std::begin(kLibraries), std::end(kLibraries), has) ||
          std::any_of(std::begin(kNames), std::end(kNames),
                      [&has](const Name& it) { return it.by_itself && has(it.part); }));
}

std::string exchange_kind(const std::string& name)
{
  const std::string lower = lower_case(name);
  const auto* found = std::find_if(std::begin(kNames), std::end(kNames), [&lower](const Name& it) {
    return lower.find(it.part) != std::string::npos;
  });
  return found != std::end(kNames) ? found->kind : "other";
}

} // namespace foretrain::models
