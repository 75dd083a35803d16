#include "models/traces/kineto.hpp"

#include "models/traces/recorded_model.hpp"
#include "models/traces/recorded_step.hpp"
#include "models/traces/seen_collective.hpp"
#include "models/traces/trace_summary.hpp"
#include "models/training/measured.hpp"
#include "sim/base/error.hpp"

#include "tests/models/traces/kineto_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fuzzing.hpp"
#include "tests/support/packed.hpp"

#include <limits>
#include <map>
#include <set>
#include <sstream>

namespace foretrain::test::kineto_test {
namespace {

using namespace models;

Trace read(const std::string& text)
{
  const TemporaryFile file(text);
  return read_kineto(file.path());
}

std::string problem_of(const std::string& text)
{
  try {
    read(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("a recorded step is taken apart into what was put in")
{
  const Trace trace = read(made_steps(5).text());
  const Steps steps = find_steps(trace);
  REQUIRE(steps.list.size() == 5);
  const TraceStep& step = steps.list[steps.typical];
  CHECK(step.followed);
  CHECK(step.period() == Approx(1000e-6).epsilon(1e-3));
  const RecordedStep recorded = take_apart(trace, step, [](const DeviceWork&) { return true; });
  REQUIRE(recorded.forward.size() == 1);
  CHECK(recorded.forward[0].product.value() == Approx(200e-6).epsilon(1e-3));
  REQUIRE(recorded.backward.size() == 2);
  CHECK(recorded.backward[0].product.value() == Approx(300e-6).epsilon(1e-3));
  CHECK(recorded.backward[1].product.value() == Approx(200e-6).epsilon(1e-3));
  CHECK(recorded.backward[1].idle.value() == Approx(100e-6).epsilon(1e-3));
  CHECK(recorded.gradients[0] == std::vector<std::size_t>{0});
  CHECK(recorded.gradients[1] == std::vector<std::size_t>{1});
  CHECK(recorded.optimizer.memory.value() == Approx(50e-6).epsilon(1e-2));
  CHECK(recorded.host == Approx(150e-6).epsilon(1e-2));
  CHECK(recorded.exposed == 0);
}

TEST_CASE("the typical step is the one of median length, the first one aside")
{
  MadeTrace trace;
  double t = 0;
  int number = 0;
  for (const double period : {9000.0, 1000.0, 5000.0, 1200.0, 1100.0, 1000.0}) {
    trace.host("user_annotation", "ProfilerStep#" + std::to_string(number++), 1, t, period - 1);
    trace.kernel("volta_sgemm_128x64_nn", 1, t + 10, t + 20, 200);
    t += period;
  }
  const Steps steps = find_steps(read(trace.text()));
  CHECK(steps.list[steps.typical].period() == Approx(1100e-6).epsilon(1e-3));
}

TEST_CASE("the model of a recording holds its times, gradients and batch")
{
  const Trace trace = read(made_steps(4).text());
  const auto model = recorded_model(trace, find_steps(trace), {.name = "made", .gpu = "v100-sxm2"});
  const Network network = load_network(Value(parse_document(model.json.dump(), "made.json")));
  REQUIRE(network.measured);
  CHECK(network.measured->batch == 32);
  CHECK(network.measured->precision == sim::Precision::fp32);
  CHECK(network.measured->ranks == 2);
  CHECK(totals(network).parameters == 3000);
  REQUIRE(network.layers.size() == 2);
  CHECK(network.layers[1].gradient_tensors == std::vector<std::int64_t>{1000}); // ready first
  const ComputeProfile same = measured_profile(*network.measured, 32, {});
  CHECK((same.total() + network.measured->host).value() == Approx(1000e-6).epsilon(1e-3));
  // Idle time does not grow with the batch, nor does the optimizer's.
  const ComputeProfile twice = measured_profile(*network.measured, 64, {});
  CHECK((twice.total() - same.total()).value() == Approx(700e-6).epsilon(1e-3));
}

TEST_CASE("a kernel that names no stream is of the line that it stands in")
{
  MadeTrace trace = made_steps(1);
  trace.host("kernel", "of_line_9", 9, 300, 10, {{"device", 0}});
  trace.events.back()["pid"] = 0;
  const Trace made = read_made(trace);
  std::map<std::string, std::set<int>> streams;
  for (const DeviceWork& work : made.work)
    streams[made.names[work.name]].insert(work.stream);
  CHECK(streams.at("of_line_9") == std::set<int>{9});
  CHECK(streams.at("volta_sgemm_128x64_nn") == std::set<int>{7});
}

TEST_CASE("the precision of products is what their names tell")
{
  const auto precision = [](const std::vector<std::string>& names) {
    MadeTrace trace;
    double at = 20;
    trace.host("user_annotation", "ProfilerStep#0", 1, 0, 5000);
    for (const std::string& name : names) {
      trace.kernel(name, 1, at - 10, at, 90);
      at += 100;
    }
    const Trace read_one = read(trace.text());
    return precision_of(read_one, find_steps(read_one).list[0]);
  };
  CHECK(precision({"volta_sgemm_128x64_nn"}) == sim::Precision::fp32);
  CHECK(precision({"nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT"}) == sim::Precision::bf16);
  CHECK(precision({"nvjet_hsh_128x256_64x4"}) == sim::Precision::fp16);
  CHECK(precision({"ampere_bf16_s16816gemm_bf16_128x256_ldg8"}) == sim::Precision::bf16);
  CHECK(precision({"cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4"}) ==
        sim::Precision::tf32);
  CHECK(precision({"turing_fp16_s1688gemm_fp16_256x128"}) == sim::Precision::fp16);
  CHECK(precision(
            {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, cutlass::bfloat16_t>>"}) ==
        sim::Precision::bf16);
  CHECK(!precision({"some_gemm"})); // not taken for single precision
  CHECK(!precision({"some_gemm", "some_gemm", "some_gemm", "some_gemm", "volta_sgemm"}));
  CHECK(!precision({"nvjet_qqtst_128x128"})); // 8 bits
  CHECK(precision({"Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI32x32x8"}) == sim::Precision::fp16);
  CHECK(precision({"Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV"}) == sim::Precision::bf16);
  CHECK(precision({"Cijk_Ailk_Bjlk_SB_MT64x64x16"}) == sim::Precision::fp32);
  CHECK(!precision({"Cijk_Alik_Bljk_F8BS_BH_MT256x256x64"}));
}

TEST_CASE("a stretch that launches limit does not shrink with the device")
{
  MeasuredSpec measured;
  measured.backward.resize(1);
  measured.backward[0].product = Seconds(1e-3);
  measured.backward[0].idle = Seconds(1e-3);
  measured.backward[0].host_bound = true;
  CHECK(measured_profile(measured, 1, {0.5, 0.5}).total() == Seconds(2e-3));
  CHECK(measured_profile(measured, 1, {4, 4}).total() == Seconds(4e-3));
  measured.backward[0].host_bound = false;
  CHECK(measured_profile(measured, 1, {0.5, 0.5}).total() == Seconds(1.5e-3));
}

TEST_CASE("packed traces, also twice, read like plain ones")
{
  const std::string text = made_steps(3).text();
  const std::size_t plain = read(text).work.size();
  CHECK(plain == 12);
  CHECK(read(packed(text)).work.size() == plain);
  CHECK(read(packed(packed(text))).work.size() == plain);
}

TEST_CASE("the order of events in the file tells nothing")
{
  MadeTrace made = made_steps(4);
  const Trace trace = read(made.text());
  std::reverse(made.events.begin(), made.events.end());
  const Trace reversed = read(made.text());
  REQUIRE(reversed.work.size() == trace.work.size());
  CHECK(trace.stretches[0].start == 0); // the first step's
  for (std::size_t i = 0; i < trace.work.size(); ++i) {
    CHECK(reversed.work[i].start == trace.work[i].start);
    CHECK(reversed.work[i].finish == trace.work[i].finish);
  }
  CHECK(find_steps(reversed).typical == find_steps(trace).typical);
  const double delay = summarise(trace).launch_delay;
  CHECK(delay == Approx(10e-6));
  CHECK(summarise(reversed).launch_delay == delay);
}

TEST_CASE("what stands in a trace twice counts once, and is told")
{
  MadeTrace made = made_steps(4);
  const TraceSummary once = summarise(read(made.text()));
  const Json events = made.events;
  made.events.insert(made.events.end(), events.begin(), events.end());
  const TraceSummary twice = summarise(read(made.text()));
  CHECK(once.notes.empty());
  REQUIRE(twice.notes.size() == 1);
  CHECK_THAT(twice.notes[0], Catch::Contains("16 kernels and copies stand there twice"));
  CHECK(twice.kernels == once.kernels);
  CHECK(twice.launch_delay == once.launch_delay);

  MadeTrace shared = made_steps(4);
  for (Json& event : shared.events)
    if (event["args"].contains("correlation"))
      event["args"]["correlation"] = 5;
  CHECK_THAT(read(shared.text()).notes.at(0),
             Catch::Contains("15 calls have the correlation of an earlier one"));
}

TEST_CASE("cut off traces are read as far as they go, and say so")
{
  const std::string text = made_steps(6).text();
  for (const std::string& cut :
       {text.substr(0, text.size() / 2), packed(text).substr(0, packed(text).size() / 2)}) {
    const Trace trace = read(cut);
    CHECK(!trace.work.empty());
    REQUIRE(!trace.notes.empty());
    CHECK_THAT(trace.notes[0], Catch::Contains("cut off"));
  }
}

TEST_CASE("what is no trace ends in one clear line")
{
  CHECK_THAT(problem_of("{\"a\": 1}"), Catch::Contains("is no Chrome trace"));
  CHECK_THAT(problem_of("{\"traceEvents\": []}"), Catch::Contains("holds no events"));
  CHECK_THAT(problem_of("hello"), Catch::Contains("malformed JSON"));
  CHECK_THROWS_AS(read_kineto("/nonexistent"), ConfigError);
  CHECK_THAT(problem_of("[{\"ph\": \"X\", \"name\": \"a\", \"args\": {\"b\": inf}}]"),
             Catch::Contains("is damaged near byte 41") && Catch::Contains("are no JSON"));
  CHECK_THROWS_AS(find_steps(read("[{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"dur\": 1}]")),
                  ConfigError);
  try {
    find_steps(read("[{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"dur\": -1}]"));
    FAIL("no error");
  } catch (const ConfigError& error) {
    CHECK_THAT(error.what(), Catch::Contains("of a device: 1 events have no usable time"));
  }
}

TEST_CASE("names in any encoding and clocks that differ harm nothing")
{
  MadeTrace trace = made_steps(3);
  trace.host("cpu_op", "\xe5\xb1\x82", 1, 10, 1);
  for (auto& event : trace.events)
    if (event.at("cat") == "kernel")
      event["ts"] = event.at("ts").get<double>() - 5000;
  const Trace skewed = read(trace.text());
  REQUIRE(!skewed.notes.empty());
  CHECK_THAT(skewed.notes[0], Catch::Contains("clocks of host and device"));
  const Steps steps = find_steps(skewed);
  CHECK(steps.list[steps.typical].period() == Approx(1000e-6).epsilon(1e-3));
}

TEST_CASE("a summary adds up to the step and knows what a collective hid")
{
  MadeTrace trace = made_steps(4);
  for (int s = 0; s < 4; ++s) { // 200 us beside backward, 100 us alone
    const double t = 1000.0 * s;
    // The first one waits 5 us for another rank.
    trace.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)", 2, t + 70,
                 t + (s == 0 ? 315 : 320), s == 0 ? 305 : 300,
                 {{"stream", 20},
                  {"In msg nelems", 250000},
                  {"Out msg nelems", 250000},
                  {"Group size", 2},
                  {"dtype", "Float"}});
  }
  const TraceSummary sum = summarise(read(trace.text()));
  CHECK(sum.steps == 2); // without the first one, and the last, of which nobody knows its end
  CHECK(sum.step == Approx(1000e-6).epsilon(1e-3));
  CHECK(sum.compute + sum.exposed + sum.copies + sum.input + sum.idle == Approx(sum.step));
  CHECK(sum.compute == Approx(750e-6).epsilon(1e-2));
  CHECK(sum.hidden == Approx(200e-6).epsilon(1e-2));
  CHECK(sum.exposed == Approx(100e-6).epsilon(1e-2));
  REQUIRE(sum.collectives.size() == 1);
  CHECK(sum.collectives[0].kind == "all-reduce");
  CHECK(sum.collectives[0].bytes == 1e6);
  CHECK(sum.collectives[0].seconds == Approx(300e-6).epsilon(1e-3)); // of the one that did not wait
  CHECK(sum.collectives[0].bus_rate == Approx(1e6 / 300e-6).epsilon(1e-3));
}

TEST_CASE("copies over the bus are no computing, and no other GPU makes them quicker")
{
  const auto copying = [](const char* name) {
    MadeTrace trace;
    for (int s = 0; s < 3; ++s) {
      const double t = 1000.0 * s;
      trace.host("user_annotation", "ProfilerStep#" + std::to_string(s), 1, t, 999);
      trace.kernel("volta_sgemm_128x64_nn", 1, t + 10, t + 20, 200);
      trace.kernel(name, 1, t + 15, t + 220, 300, {{"bytes", 3e6}}, "gpu_memcpy");
      trace.kernel("volta_sgemm_128x64_nn", 1, t + 18, t + 420, 200); // 100 us beside the copy
    }
    return read(trace.text());
  };
  for (const char* name : {"Memcpy DtoH (Device -> Pinned)", "Memcpy PtoP (Device -> Device)"}) {
    CAPTURE(name);
    const Trace trace = copying(name);
    const TraceSummary sum = summarise(trace);
    CHECK(sum.compute == Approx(400e-6).epsilon(1e-6));
    CHECK(sum.copies == Approx(200e-6).epsilon(1e-6));
    const RecordedModel model = recorded_model(trace, find_steps(trace), {});
    const Json& forward = model.json["measured"]["forward"][0];
    CHECK(forward["memory"] == "0 us");
    CHECK(forward["product"] == "300 us"); // the second one's last 100 us come after the copy
    CHECK(forward["idle"] == "300 us");
    CHECK_FALSE(forward.contains("host_bound"));
  }
  CHECK(summarise(copying("Memcpy DtoD (Device -> Device)")).copies == 0);
}

TEST_CASE("a launch delay is of kernels that found the device idle")
{
  MadeTrace trace;
  trace.host("user_annotation", "ProfilerStep#0", 1, 0, 999);
  trace.kernel("volta_sgemm_128x64_nn", 1, 10, 20, 200);
  trace.kernel("ncclDevKernel_AllReduce_Sum_f32", 1, 12, 215, 10, {{"stream", 20}});
  trace.kernel("ncclDevKernel_AllReduce_Sum_f32", 1, 112, 315, 10, {{"stream", 20}}); // beside it
  trace.kernel("volta_sgemm_128x64_nn", 1, 400, 430, 200);
  CHECK(summarise(read(trace.text())).launch_delay == Approx(30e-6).epsilon(1e-3));
}

TEST_CASE("a recording of two devices says whose work it takes")
{
  MadeTrace trace = made_steps(2);
  trace.kernel("volta_sgemm_128x64_nn", 1, 500, 600, 10);
  trace.events.back()["args"]["device"] = 1;
  const auto notes = summarise(read(trace.text())).notes;
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], Catch::Contains("of 2 devices: that of device 0"));
  CHECK(summarise(read(made_steps(2).text())).notes.empty());
}

TEST_CASE("a step of a summary lasts until the next one begins, as an imported one does")
{
  MadeTrace trace;
  for (int s = 0; s < 2; ++s) {
    trace.host("user_annotation", "ProfilerStep#" + std::to_string(s), 1, 200e3 * s, 200e3 - 1);
    trace.kernel("void elementwise_kernel", 1, 200e3 * s + 10, 200e3 * s + 20, 90e3);
  }
  const Trace recorded = read(trace.text());
  const Steps steps = find_steps(recorded);
  const TraceSummary sum = summarise(recorded);
  CHECK(sum.step == Approx(0.2).epsilon(1e-3));
  CHECK(sum.step == Approx(steps.list[steps.typical].period()));
  CHECK(sum.compute == Approx(0.09).epsilon(1e-3));
  CHECK(sum.idle == Approx(0.11).epsilon(1e-3));
}

TEST_CASE("kernels are compared with the same kernel at the same place, by grid and by time")
{
  MadeTrace trace;
  const auto kernel = [&](double launched, double at, double lasts, int grid, int stream = 7) {
    trace.kernel("void elementwise_kernel", 1, launched, at, lasts,
                 {{"grid", {grid, 1, 1}}, {"block", {128, 1, 1}}, {"stream", stream}});
  };
  for (int s = 0; s < 4; ++s) { // beside an all-reduce in every other step
    const double t = 1000.0 * s;
    const double factor = s % 2 == 0 ? 1.0 : 1.5;
    trace.host("user_annotation", "ProfilerStep#" + std::to_string(s), 1, t, 999);
    kernel(t + 10, t + 100, 100 * factor, 80);
    kernel(t + 12, t + 300, 20 * factor, 1); // another grid: not the same kernel
    kernel(t + 14, t + 400, 50 * factor, 80);
    kernel(t + 16, t + 420, 10, 80, 9); // of another stream, beside the third one
    if (s % 2 == 1)
      trace.kernel("ncclDevKernel_AllReduce_Sum_f32", 2, t + 5, t + 50, 600, {{"stream", 20}});
  }
  const TraceSummary sum = summarise(read(trace.text()));
  REQUIRE(!sum.slowdowns.empty());
  CHECK(sum.slowdowns[0].kernels == 2);
  CHECK(sum.slowdowns[0].factor == Approx(1.5).epsilon(1e-3));
  CHECK(sum.slowdowns[0].added == Approx(30e-6).epsilon(1e-3));
}

TEST_CASE("kernels that were launched before the recording belong to no step")
{
  MadeTrace trace = made_steps(3);
  Json early = trace.events.back();               // a kernel of the last step
  early["args"]["correlation"] = 7;               // whose call was not recorded
  early["ts"] = early["ts"].get<double>() - 2815; // before the first kernel
  early["dur"] = 10;
  trace.events.push_back(early);
  const Trace with = read(trace.text());
  CHECK(find_steps(with).list[0].work.size() == 4);
  CHECK(with.work.size() == 13);
}

TEST_CASE("numbers that no whole number holds become the nearest that does")
{
  MadeTrace trace = made_steps(2);
  trace.events.back()["args"]["stream"] = 1e300;
  trace.events.back()["args"]["correlation"] = -1e300;
  std::string text = trace.text();
  text.replace(text.find("\"world_size\":2"), 14, "\"world_size\":2e27");
  const Trace read_back = read(text);
  CHECK(read_back.world == std::numeric_limits<int>::max());
  CHECK(read_back.work.back().stream == std::numeric_limits<int>::max());
  CHECK(read_back.work.back().correlation == -(std::int64_t{1} << 53));
}

TEST_CASE("an event without a duration is left out, and told")
{
  for (const Json& lasts : {Json(), Json("long"), Json("")}) {
    MadeTrace trace = made_steps(2);
    trace.events.back()["dur"] = lasts;
    const auto notes = read(trace.text()).notes;
    REQUIRE(notes.size() == 1);
    CHECK_THAT(notes[0], Catch::Contains("1 events have no usable time"));
  }
}

TEST_CASE("products of AMD's libraries and of Triton are products")
{
  for (const char* name : {"Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI32x32x8", "attn_fwd",
                           "_attn_bwd_dkdv", "triton_tem_fused_addmm_3", "triton_mm"})
    CHECK(class_of(name) == KernelClass::product);
  CHECK(class_of("triton_poi_fused_add_3") == KernelClass::memory);
}

TEST_CASE("what unpacks to far more than a trace does is refused, also by its members together")
{
  const std::string spaces(48 << 20, ' ');
  CHECK_NOTHROW(read(packed(made_steps(2).text() + spaces))); // of so little nobody asks
  const std::string member = packed(spaces);
  CHECK_THROWS_WITH(read(packed(made_steps(2).text()) + member + member),
                    Catch::Contains("unpacks to more than 200 times its size"));
}

TEST_CASE("damaged traces never end in anything but a ConfigError")
{
  const std::string text = made_steps(2).text();
  Damage damage;
  const int runs = fuzz_runs(300);
  int read_anyway = 0;
  for (int i = 0; i < runs; ++i) {
    const std::string damaged = damage.to(text);
    try {
      const Trace trace = read(i % 3 == 0 ? packed(damaged) : damaged);
      recorded_model(trace, find_steps(trace), {.name = "damaged"});
      summarise(trace);
      ++read_anyway;
    } catch (const ConfigError&) {
    }
  }
  CHECK(read_anyway > 10);
}

} // namespace
} // namespace foretrain::test::kineto_test

TEST_CASE("exchanges are told from computing by their kernels' names, of every library")
{
  using namespace foretrain::models;
  for (const char* name :
       {// DeepEP, csrc/kernels/internode.cu, internode_ll.cu, intranode.cu
        "void deep_ep::internode::dispatch<false, 8>(int)", "deep_ep::intranode::combine",
        "void deep_ep::internode_ll::combine<false, true, 7168, 9, 4>(void*)",
        "void dpsk::ep::internode::cached_notify<false>(int)",
        // MSCCL++, NVSHMEM: src/device/comm/*_on_stream_kernel, src/device/launch
        "mscclpp_allreduce_kernel", "void mscclpp::collective::allreduce7<float>(float*)",
        "nvshmemi_transfer_rma",
        "void rdxn_on_stream_kernel<float, (rdxn_ops)2>(int, float*, float const*, unsigned long)",
        "barrier_on_stream_kernel_threadgroup(int, int)",
        "void alltoall_on_stream_kernel<char>(int, char*, char const*, unsigned long)",
        // RCCL and NCCL
        "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        // vLLM, csrc/custom_all_reduce.cuh
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)",
        "void vllm::cross_device_reduce_2stage<half, 4>(vllm::RankData*)",
        // TensorRT-LLM, kernels/customAllReduceKernels.cu, communicationKernels/*.cu
        "void tensorrt_llm::kernels::oneShotAllReduceKernel<__nv_bfloat16, 8>(int)",
        "void tensorrt_llm::kernels::twoShotAllReduceKernel<half, 8, true>(int)",
        "void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_oneshot_lamport<8>(int)",
        "void moeA2ADispatchKernel<8, false>(int const*)", "moeA2ACombineKernel",
        // FlashInfer, include/flashinfer/comm/trtllm_allreduce_fusion.cuh
        "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_twoshot_sync<8>(int)",
        // PyTorch, symm_mem/CUDASymmetricMemoryOps.cu, intra_node_comm.cu, nvshmem_extension.cu
        "void (anonymous namespace)::two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 2>(int)",
        "void one_shot_all_reduce_kernel<float, 16, 8>(float**)", "multimem_all_reduce_kernel",
        "multimem_all_gather_kernel", "hybridCubeMeshAllReduceKernel",
        "c10d::symmetric_memory::allToAllV(void*, void*)"}) {
    INFO(name);
    CHECK(class_of(name) == KernelClass::collective);
  }
  // Layouts of experts; what Inductor names after the exchange beside it; scattering reductions.
  for (const char* name :
       {"deep_ep::layout::get_dispatch_layout", "triton_poi_fused_add_all_reduce_3",
        "triton_red_fused__to_copy_all_gather_into_tensor_wait_tensor_1",
        "void at::native::_scatter_gather_elementwise_kernel<128, 8>(int)"})
    CHECK(class_of(name) == KernelClass::memory);
}

TEST_CASE("exchanges without arguments are of the kind that their kernels' names tell")
{
  using namespace foretrain::models;
  const auto kind = [](const std::string& name) {
    Trace trace;
    trace.names.push_back(name);
    DeviceWork work;
    work.name = 1;
    return seen_collective(trace, work).kind;
  };
  CHECK(kind("void vllm::cross_device_reduce_2stage<half, 4>(vllm::RankData*)") == "all-reduce");
  CHECK(kind("void rdxn_on_stream_kernel<float, 2>(int)") == "all-reduce");
  CHECK(kind("void fcollect_on_stream_kernel<float>(int)") == "all-gather");
  CHECK(kind("void moeA2ADispatchKernel<8, false>(int const*)") == "all-to-all");
  CHECK(kind("void deep_ep::internode_ll::dispatch<true, 7168>(void*)") == "all-to-all");
  CHECK(kind("ncclDevKernel_Reduce_Sum_f32_RING_LL()") == "reduce");
}
