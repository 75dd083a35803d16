// Micro-measurements of the CPU twin: the curves that a cost model is fitted to.
#include "realrun/cpu/train.hpp"

#include "realrun/common/clock.hpp"
#include "realrun/common/curves.hpp"
#include "realrun/common/input.hpp"
#include "realrun/common/reference_ops.hpp"
#include "realrun/cpu/ring.hpp"

#include <Eigen/Core>

#include <cstring>
#include <functional>

namespace foretrain::realrun {

namespace {

constexpr int kSamples = 9;           // per repetition and point
constexpr double kShortest_s = 0.002; // one sample lasts at least this long, by calling repeatedly

/// Seconds per call, `kSamples` times.
void sample(Recorder& recorder, const Json& labels, const std::function<void()>& call)
{
  call();
  double once = now_s();
  call();
  once = now_s() - once;
  const int calls = once >= kShortest_s ? 1 : 1 + static_cast<int>(kShortest_s / (once + 1e-9));
  for (int i = 0; i < kSamples; ++i) {
    const double start = now_s();
    for (int c = 0; c < calls; ++c)
      call();
    recorder.add("time", "s", (now_s() - start) / calls, labels);
  }
}

void gemm_curve(const Settings&, Recorder& recorder)
{
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  struct Shape {
    int m, n, k;
  };
  constexpr Shape shapes[] = {
      {32, 32, 32},    {64, 64, 64},       {128, 128, 128},  {256, 256, 256}, {512, 512, 512},
      {768, 768, 768}, {1024, 1024, 1024}, {16, 512, 512},   {64, 512, 512},  {256, 512, 512},
      {8192, 32, 288}, {2048, 64, 576},    {512, 128, 1152}, {1024, 768, 256}};
  for (const auto& [m, n, k] : shapes) {
    const Matrix a = Matrix::Random(m, k);
    const Matrix b = Matrix::Random(k, n);
    Matrix c(m, n);
    sample(recorder, {{"m", m}, {"n", n}, {"k", k}, {"flop", 2.0 * m * n * k}},
           [&] { c.noalias() = a * b; });
  }
}

void elementwise_curve(const Settings&, Recorder& recorder)
{
  for (std::size_t count = 1024; count <= 16U << 20; count *= 4) {
    std::vector<float> a(count, 1.0F);
    std::vector<float> b(count, 2.0F);
    std::vector<float> c(count, 3.0F);
    const auto point = [&](const char* op, double streams, const std::function<void()>& call) {
      sample(recorder, {{"op", op}, {"bytes", streams * static_cast<double>(count) * 4.0}}, call);
    };
    point("relu", 2, [&] { reference::relu(a.data(), count, b.data()); });
    point("add", 3, [&] { reference::add(a.data(), b.data(), count, c.data()); });
    point("gelu", 2, [&] { reference::gelu(a.data(), count, b.data()); });
    point("sgd", 5, [&] { reference::sgd(a.data(), b.data(), c.data(), count, 1e-9F, 0.5F); });
  }
}

void copy_curve(const Settings&, Recorder& recorder)
{
  for (std::size_t bytes = 4096; bytes <= 64U << 20; bytes *= 4) {
    std::vector<char> from(bytes, 1);
    std::vector<char> to(bytes, 2);
    sample(recorder, {{"bytes", bytes}, {"direction", "host"}},
           [&] { std::memcpy(to.data(), from.data(), bytes); });
  }
}

void all_reduce_curve(const Settings& settings, Recorder& recorder)
{
  World world(meeting_of(settings));
  Ring ring(world);
  for (std::size_t bytes = 64; bytes <= 16U << 20; bytes *= 4) {
    std::vector<float> data(bytes / sizeof(float), 1.0F);
    ring.all_reduce(data);
    const int calls = bytes <= 65536 ? 20 : 2; // the same on all ranks
    for (int repetition = 0; repetition < kSamples; ++repetition) {
      world.barrier();
      const double start = now_s();
      for (int c = 0; c < calls; ++c)
        ring.all_reduce(data);
      recorder.add("time", "s", (now_s() - start) / calls,
                   {{"bytes", bytes}, {"ranks", world.size()}});
    }
  }
}

void input_curve(const Settings& settings, Recorder& recorder)
{
  const Dataset dataset(settings.data);
  const Json labels = {{"encoding", dataset.index().encoding}, {"side", dataset.index().side}};
  const bool forget = settings.cold == "on";
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::min(dataset.index().count, 256)); ++i) {
    const double start = now_s();
    auto bytes = dataset.read(i, forget);
    const double read = now_s();
    const auto size = static_cast<double>(bytes.size());
    const Picture picture = dataset.decode(i, std::move(bytes));
    const double decoded = now_s();
    recorder.add("read", "s", read - start, labels);
    recorder.add("decode", "s", decoded - read, labels);
    recorder.add("stored", "byte", size, labels);
  }
}

constexpr Curve kCurves[] = {{"gemm", &gemm_curve},
                             {"elementwise", &elementwise_curve},
                             {"copy", &copy_curve},
                             {"all-reduce", &all_reduce_curve},
                             {"input", &input_curve}};

} // namespace

int micro_on_cpu(const CommandLine& line)
{
  measure_curve(kCurves, line, "realrun-cpu",
                [&](Record&) { Eigen::setNbThreads(line.settings.threads); });
  return 0;
}

} // namespace foretrain::realrun
