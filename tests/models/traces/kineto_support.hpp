// Traces of a made-up profiler whose times are known, and files to put them into.
#pragma once

#include "models/networks/network.hpp"
#include "models/traces/kineto.hpp"
#include "sim/base/document.hpp"
#include "sim/base/error.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

namespace foretrain::test {

/// A file that goes away again.
class TemporaryFile {
public:
  explicit TemporaryFile(const std::string& text, const std::string& suffix = ".json")
  {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("foretrain-" + std::to_string(getpid()) + "-" + std::to_string(count++) + suffix);
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile()
  {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

/// Writes events as Kineto does; times in us.
class MadeTrace {
public:
  Json events = Json::array();
  int rank = 0;
  int world = 2;

  void host(const std::string& category, const std::string& name, int thread, double at,
            double lasts, Json args = Json::object())
  {
    events.push_back({{"ph", "X"},
                      {"cat", category},
                      {"name", name},
                      {"pid", 1},
                      {"tid", thread},
                      {"ts", kOrigin + at},
                      {"dur", lasts},
                      {"args", std::move(args)}});
  }
  /// A kernel and the call that launches it.
  void kernel(const std::string& name, int thread, double launched, double at, double lasts,
              Json args = Json::object(), const std::string& category = "kernel")
  {
    ++correlation_;
    host("cuda_runtime", "cudaLaunchKernel", thread, launched, 2, {{"correlation", correlation_}});
    args["correlation"] = correlation_;
    args["device"] = 0;
    args["stream"] = args.value("stream", 7);
    host(category, name, 7, at, lasts, std::move(args));
    events.back()["pid"] = 0;
  }
  std::string text() const
  {
    const Json trace = {
        {"schemaVersion", 1},
        {"deviceProperties", {{{"id", 0}, {"name", "Tesla V100-SXM2-16GB"}, {"numSms", 80}}}},
        {"distributedInfo", {{"backend", "nccl"}, {"rank", rank}, {"world_size", world}}},
        {"traceEvents", events}};
    return trace.dump();
  }

private:
  static constexpr double kOrigin = 1.6e15;
  int correlation_ = 100;
};

/// Steps of 1000 us each: forward 200 (a product), two backward stretches of 300 and 200 with a
/// gradient of 1000 and one of 2000 elements, 100 idle between them, optimizer 50, then nothing.
inline MadeTrace made_steps(int steps)
{
  MadeTrace trace;
  for (int s = 0; s < steps; ++s) {
    const double t = 1000.0 * s;
    trace.host("user_annotation", "ProfilerStep#" + std::to_string(s), 1, t, 999);
    trace.host(
        "cpu_op", "aten::conv2d", 1, t + 5, 10,
        {{"Input Dims", {{32, 3, 224, 224}, {64, 3, 7, 7}}}, {"Input type", {"float", "float"}}});
    trace.kernel("volta_sgemm_128x64_nn", 1, t + 10, t + 20, 200);
    const auto backward = [&](double at, double starts, double lasts, int elements) {
      trace.host("cpu_op", "autograd::engine::evaluate_function: ConvolutionBackward0", 2, at, 20);
      trace.kernel("volta_scudnn_128x64_relu_interior_nn_v1", 2, at + 5, starts, lasts);
      trace.host("cpu_op", "torch::autograd::AccumulateGrad", 2, at + 21, 2,
                 {{"Input Dims", {{elements / 10, 10}, {7, 3}}}, {"Input type", {"float", "int"}}});
    };
    backward(t + 40, t + 220, 300, 1000);
    backward(t + 80, t + 620, 200, 2000);
    trace.host("user_annotation", "Optimizer.step#SGD.step", 1, t + 120, 20);
    trace.kernel("void multi_tensor_apply_kernel<4>", 1, t + 125, t + 820, 50);
  }
  return trace;
}

/// What a model file is refused with once the value at that pointer is another one.
inline std::string refusal_of(Json model, const std::string& pointer, const Json& value)
{
  model[Json::json_pointer(pointer)] = value;
  try {
    models::load_network(Value(parse_document(model.dump(), "made.json")));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

/// A made trace as it is read.
inline models::Trace read_made(const MadeTrace& trace)
{
  const TemporaryFile file(trace.text());
  return models::read_kineto(file.path());
}

} // namespace foretrain::test
