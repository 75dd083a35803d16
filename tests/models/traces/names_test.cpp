// What names of kernels and ranges tell, as PyTorch, NCCL and others write them.
#include "models/traces/exchange_names.hpp"
#include "models/traces/nvtx_names.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::names_test {

using namespace foretrain::models;

TEST_CASE("a range that people call a step is one, and one with another name is none", "[traces]")
{
  for (const char* step : {"step", "Step 12", "iter_3", "iteration#7", "ITERATION: 0", "train_step",
                           "training_step.5", "batch-9", "train step 1/20", "step="})
    CHECK(meaning_of_range(step) == std::string("ProfilerStep ") + step);
  CHECK(meaning_of_range("ProfilerStep#3") == "ProfilerStep ProfilerStep#3");
  for (const char* other :
       {"", "17", "stepwise", "my step", "step 3 of warm-up", "steps", "batch norm"})
    CHECK(meaning_of_range(other).empty());
}

TEST_CASE("phases have one name each; PyTorch's ranges keep theirs without their numbers",
          "[traces]")
{
  for (const char* word : {"forward", "FWD"})
    CHECK(meaning_of_range(word) == "## forward");
  for (const char* word : {"backward", "Bwd"})
    CHECK(meaning_of_range(word) == "## backward");
  for (const char* word : {"optimizer", "opt.step()", "Optimizer.step", "opt"})
    CHECK(meaning_of_range(word) == "## optimizer");
  CHECK(meaning_of_range("autograd::engine::evaluate_function: AddmmBackward0, seq = 7") ==
        "autograd::engine::evaluate_function: AddmmBackward0");
  for (const char* kept :
       {"AccumulateGrad", "Optimizer.zero_grad#SGD.zero_grad", "nccl:all_reduce", "MulBackward0",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "aten::conv2d",
        "aten::linear", "aten::embedding", "aten::convolution"})
    CHECK(meaning_of_range(kept) == kept);
  CHECK(meaning_of_range("aten::relu").empty());
}

TEST_CASE("sizes in a range are those of its first tensor", "[traces]")
{
  using Sizes = std::pair<double, double>; // elements, first dimension
  CHECK(sizes_in_range("aten::conv2d, seq = 3, sizes = [[32, 3, 224, 224], [64, 3, 7, 7], []]") ==
        Sizes{32.0 * 3 * 224 * 224, 32});
  CHECK(sizes_in_range("aten::linear, sizes = [[8,10], [20, 10]]") == Sizes{80, 8});
  CHECK(sizes_in_range("sizes = [[7]]") == Sizes{7, 7});
  CHECK(sizes_in_range("sizes = [[109]]") == Sizes{109, 109});
  CHECK(sizes_in_range("sizes = [[4, 0]]") == Sizes{0, 4});
  for (const char* none : {"sizes = [[], [3]]", "sizes = []", "aten::linear", "", "sizes = [["})
    CHECK(sizes_in_range(none) == Sizes{0, 0});
  // Of a damaged file: numbers that no tensor has are bounded, not infinite.
  CHECK(sizes_in_range("sizes = [[" + std::string(400, '9') + "]]") == Sizes{1e12, 1e12});
  CHECK(sizes_in_range("sizes = [[" + std::string(40, '9') + ", " + std::string(40, '9') + "]]") ==
        Sizes{1e15, 1e12});
}

TEST_CASE("kernels of exchanges are told by their names, and of which kind", "[traces]")
{
  struct Known {
    const char* name;
    const char* kind;
  };
  for (const auto& [name, kind] : std::initializer_list<Known>{
           {"ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevComm*)", "all-reduce"},
           {"ncclKernel_ReduceScatter_RING_LL_Sum_float", "reduce-scatter"},
           {"ncclDevKernel_AllGather_RING_LL", "all-gather"},
           {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "send"},
           {"ncclDevKernel_Broadcast_RING_LL", "broadcast"},
           {"ncclDevKernel_Reduce_Sum_f32_RING_LL", "reduce"},
           {"deep_ep::internode::dispatch", "all-to-all"},
           {"deep_ep::intranode::combine", "all-to-all"},
           {"moeA2ADispatchKernel", "all-to-all"},
           {"vllm::cross_device_reduce_1stage<half, 8>", "all-reduce"},
           {"two_shot_all_reduce_kernel_inplace", "all-reduce"},
           {"nvshmemi_rdxn_on_stream_kernel", "all-reduce"},
           {"nvshmemi_fcollect_on_stream_kernel", "all-gather"},
           {"barrier_on_stream_kernel", "other"},
           {"allToAllV", "all-to-all"}}) {
    CAPTURE(name);
    CHECK(names_exchange(name));
    CHECK(exchange_kind(name) == kind);
  }
  CHECK(exchange_kind("nccl:send 0->1") == "send");
  CHECK(exchange_kind("nccl:recv 0<-1") == "send");
  // Sums and copies inside one GPU, and what Inductor fuses beside an exchange.
  for (const char* other : {"at::native::reduce_kernel<512, 1>", "broadcast_kernel", "rdxn_local",
                            "triton_poi_fused_all_reduce_wait_tensor_3", "volta_sgemm_128x64_nn",
                            "triton_red_fused__to_copy_all_gather_0", "sendrecv_index"})
    CHECK_FALSE(names_exchange(other));
}

} // namespace foretrain::names_test
