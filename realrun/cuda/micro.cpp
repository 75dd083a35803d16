// Micro-measurements on the GPU: GEMM, element-wise, copies, launches, all-reduce.
#include "realrun/cuda/train.hpp"

#include "realrun/common/clock.hpp"
#include "realrun/common/curves.hpp"
#include "realrun/cuda/blas.hpp"
#include "realrun/cuda/communicator.hpp"
#include "realrun/cuda/kernels.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <functional>

namespace foretrain::realrun {

namespace {

constexpr int kSamples = 9;           // per repetition and point
constexpr double kShortest_s = 0.001; // device time of one sample, by calling repeatedly
constexpr int kMostCalls = 2000;

/// Device seconds per call of work queued on `stream`, kSamples times.
void sample(Recorder& recorder, const Json& labels, const Stream& stream,
            const std::function<void()>& call)
{
  const Event begin;
  const Event end;
  const auto timed = [&](int calls) {
    begin.record(stream);
    for (int i = 0; i < calls; ++i)
      call();
    end.record(stream);
    REALRUN_CHECK(cudaEventSynchronize(end.get()));
    return seconds_between(begin, end) / calls;
  };
  timed(2);
  const double once = timed(2);
  const double wanted = kShortest_s / (once + 1e-9);
  const int calls = wanted > kMostCalls ? kMostCalls : 1 + static_cast<int>(wanted);
  for (int i = 0; i < kSamples; ++i)
    recorder.add("time", "s", timed(calls), labels);
}

template <class T>
void gemm_points(Recorder& recorder, const std::string& precision)
{
  struct Shape {
    std::size_t m, n, k;
  };
  constexpr Shape shapes[] = {{128, 128, 128},    {256, 256, 256},    {512, 512, 512},
                              {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096},
                              {8192, 8192, 8192}, {32, 1024, 1024},   {128, 4096, 1024},
                              {8192, 64, 576},    {8192, 256, 2304},  {100352, 64, 576}};
  const Stream stream;
  const Blas blas(stream, precision == "tf32");
  for (const auto& [m, n, k] : shapes) {
    const DeviceBuffer<T> a(m * k);
    const DeviceBuffer<T> b(k * n);
    const DeviceBuffer<T> c(m * n);
    std::vector<float> ones(std::max(m * k, k * n), 0.5F); // zeros would draw too little power
    const DeviceBuffer<float> staging(ones.size());
    REALRUN_CHECK(cudaMemcpy(staging.data(), ones.data(), ones.size() * sizeof(float),
                             cudaMemcpyHostToDevice));
    REALRUN_CHECK(cudaDeviceSynchronize()); // our streams do not wait for the default stream
    kernels::convert(staging.data(), m * k, a.data(), stream.get());
    kernels::convert(staging.data(), k * n, b.data(), stream.get());
    const double flop =
        2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    sample(recorder, {{"m", m}, {"n", n}, {"k", k}, {"flop", flop}, {"precision", precision}},
           stream, [&] {
             blas.multiply<T, T>({m, n, k}, {a.data(), k}, {b.data(), n}, {c.data(), n});
           });
  }
}

void gemm_curve(const Settings& settings, Recorder& recorder)
{
  gemm_points<float>(recorder, "fp32");
  gemm_points<__half>(recorder, "fp16");
  if (compute_capability(choose_device(settings)) >= 80) {
    gemm_points<float>(recorder, "tf32");
    gemm_points<__nv_bfloat16>(recorder, "bf16");
  }
}

void elementwise_curve(const Settings&, Recorder& recorder)
{
  const Stream stream;
  cudaStream_t queue = stream.get();
  for (std::size_t count = 1U << 12; count <= 1U << 26; count *= 4) {
    const DeviceBuffer<float> a(count);
    const DeviceBuffer<float> b(count);
    const DeviceBuffer<float> c(count);
    for (const auto* buffer : {&a, &b, &c})
      REALRUN_CHECK(cudaMemset(buffer->data(), 0, count * sizeof(float)));
    REALRUN_CHECK(cudaDeviceSynchronize());
    const auto point = [&](const char* op, double streams, const std::function<void()>& call) {
      sample(recorder, {{"op", op}, {"bytes", streams * 4.0 * static_cast<double>(count)}}, stream,
             call);
    };
    point("relu", 2, [&] { kernels::relu<float>(a.data(), count, b.data(), queue); });
    point("add", 3, [&] { kernels::add<float>(a.data(), b.data(), count, c.data(), queue); });
    point("gelu", 2, [&] { kernels::gelu<float>(a.data(), count, b.data(), queue); });
    point("sgd", 5, [&] {
      kernels::sgd<float>(a.data(), b.data(), c.data(), count, 0.1F, 0.9F, 1.0F, a.data(), queue);
    });
  }
}

void one_way(Recorder& recorder, const char* direction, const char* memory, void* to,
             const void* from, std::size_t bytes, cudaMemcpyKind kind, const Stream& stream)
{
  sample(recorder, {{"direction", direction}, {"memory", memory}, {"bytes", bytes}}, stream,
         [&] { REALRUN_CHECK(cudaMemcpyAsync(to, from, bytes, kind, stream.get())); });
}

/// Both directions at once: host seconds until both streams are done, per pair of copies.
void both_ways(Recorder& recorder, const char* memory, char* device, char* host, std::size_t bytes)
{
  const Stream up;
  const Stream down;
  const int calls = bytes >= (1U << 24) ? 4 : 16;
  for (int i = 0; i <= kSamples; ++i) {
    REALRUN_CHECK(cudaDeviceSynchronize());
    const double start = now_s();
    for (int c = 0; c < calls; ++c) {
      REALRUN_CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, up.get()));
      REALRUN_CHECK(
          cudaMemcpyAsync(host + bytes, device + bytes, bytes, cudaMemcpyDeviceToHost, down.get()));
    }
    REALRUN_CHECK(cudaStreamSynchronize(up.get()));
    REALRUN_CHECK(cudaStreamSynchronize(down.get()));
    if (i > 0) // the first warms up
      recorder.add("time", "s", (now_s() - start) / calls,
                   {{"direction", "both"}, {"memory", memory}, {"bytes", bytes}});
  }
}

void copy_curve(const Settings&, Recorder& recorder)
{
  constexpr std::size_t largest = 1U << 28;
  const DeviceBuffer<char> device(2 * largest);
  const PinnedBuffer<char> pinned(2 * largest);
  std::vector<char> pageable(2 * largest, 1);
  const Stream stream;
  for (std::size_t bytes = 1U << 12; bytes <= largest; bytes *= 4) {
    one_way(recorder, "device", "device", device.data() + largest, device.data(), bytes,
            cudaMemcpyDeviceToDevice, stream);
    for (const bool is_pinned : {true, false}) {
      char* host = is_pinned ? pinned.data() : pageable.data();
      const char* memory = is_pinned ? "pinned" : "pageable";
      one_way(recorder, "up", memory, device.data(), host, bytes, cudaMemcpyHostToDevice, stream);
      one_way(recorder, "down", memory, host, device.data(), bytes, cudaMemcpyDeviceToHost, stream);
      both_ways(recorder, memory, device.data(), host, bytes);
    }
  }
}

/// Host seconds to queue a small kernel, and until a queued one has finished.
void launch_curve(const Settings&, Recorder& recorder)
{
  const Stream stream;
  const DeviceBuffer<float> data(256);
  REALRUN_CHECK(cudaMemset(data.data(), 0, 256 * sizeof(float)));
  REALRUN_CHECK(cudaDeviceSynchronize());
  const auto kernel = [&] { kernels::relu<float>(data.data(), 256, data.data(), stream.get()); };
  constexpr int calls = 500;
  for (int i = 0; i <= kSamples; ++i) {
    REALRUN_CHECK(cudaStreamSynchronize(stream.get()));
    double start = now_s();
    for (int c = 0; c < calls; ++c)
      kernel();
    const double queued = (now_s() - start) / calls;
    REALRUN_CHECK(cudaStreamSynchronize(stream.get()));
    const double finished = (now_s() - start) / calls;
    start = now_s();
    for (int c = 0; c < calls / 10; ++c) {
      kernel();
      REALRUN_CHECK(cudaStreamSynchronize(stream.get()));
    }
    const double round_trip = (now_s() - start) / (calls / 10);
    if (i == 0)
      continue; // the first warms up
    recorder.add("time", "s", queued, {{"what", "queue"}});
    recorder.add("time", "s", finished, {{"what", "queue and run, in a row"}});
    recorder.add("time", "s", round_trip, {{"what", "launch and wait"}});
  }
}

void all_reduce_curve(const Settings& settings, Recorder& recorder)
{
  World world(meeting_of(settings));
  Communicator comm(world);
  if (world.size() == 1)
    throw UsageError("an all-reduce needs at least --world 2");
  const Stream stream;
  for (std::size_t bytes = 256; bytes <= 1U << 28; bytes *= 4) {
    const DeviceBuffer<float> data(bytes / sizeof(float));
    REALRUN_CHECK(cudaMemset(data.data(), 0, bytes));
    REALRUN_CHECK(cudaDeviceSynchronize());
    const int calls = bytes <= (1U << 20) ? 20 : 3; // the same on all ranks
    for (int i = 0; i <= kSamples; ++i) {
      world.barrier();
      const double start = now_s();
      for (int c = 0; c < calls; ++c)
        comm.all_reduce(data.data(), bytes / sizeof(float), stream);
      comm.wait(stream);
      if (i > 0) // the first warms up
        recorder.add("time", "s", (now_s() - start) / calls,
                     {{"bytes", bytes}, {"ranks", world.size()}});
    }
  }
}

constexpr Curve kCurves[] = {{"gemm", &gemm_curve},
                             {"elementwise", &elementwise_curve},
                             {"copy", &copy_curve},
                             {"launch", &launch_curve},
                             {"all-reduce", &all_reduce_curve}};

} // namespace

int micro_on_cuda(const CommandLine& line)
{
  measure_curve(kCurves, line, "realrun-cuda", [&](Record& record) {
    record.machine["gpus"].push_back(describe_device(choose_device(line.settings)));
  });
  return 0;
}

} // namespace foretrain::realrun
