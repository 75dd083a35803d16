// Random jobs for experiments of properties, the same for a seed.
#pragma once

#include "sim/base/document.hpp"
#include "tests/experiments/draw.hpp"

#include <string>
#include <vector>

namespace foretrain::test {

inline Json network_job(Draw& draw)
{
  return {{"model", draw.of<std::string>({"resnet50", "vgg16", "alexnet"})},
          {"framework",
           draw.of<std::string>({"pytorch-ddp", "pytorch-horovod", "mxnet", "mxnet-horovod"})},
          {"batch_per_gpu", draw.whole(1, 64)},
          {"steps", 4}};
}

inline Json transformer_job(Draw& draw, int gpus)
{
  const std::vector<Json> plans = {
      {{"zero", 1}},
      {{"zero", 3}},
      {{"tensor", 2}},
      {{"pipeline", 2}},
      {{"pipeline", 2}, {"schedule", "interleaved"}, {"virtual_stages", 2}},
      {{"tensor", 2}, {"sequence_parallel", true}, {"pipeline", 2}},
      {{"context", 2}, {"context_exchange", "all-gather"}},
      {{"context", 4}, {"context_heads", 2}},
      {{"pipeline", 2}, {"schedule", "zb-v"}}};
  const Json plan =
      gpus % 4 == 0 ? draw.of(plans) : plans[static_cast<std::size_t>(draw.whole(0, 1))];
  Json job = {{"model", draw.of<std::string>({"gpt2-small", "gpt3-1.7b", "llama-3.2-1b"})},
              {"framework", "megatron"},
              {"precision", "fp16"},
              {"global_batch", gpus * draw.whole(2, 3)},
              {"sequence", draw.of(std::vector<int>{512, 1024})},
              {"parallel", plan},
              {"steps", 3}};
  const std::vector<Json> more = {{{"offload_activations", 2}},
                                  {{"recompute", "full"}, {"recompute_layers", 3}},
                                  Json::object()};
  job.update(draw.of(more));
  return job;
}

inline Json inference_job(Draw& draw)
{
  return {{"model", draw.of<std::string>({"resnet50", "vgg16"})},
          {"framework", draw.of<std::string>({"pytorch-ddp", "tensorrt"})},
          {"mode", "inference"},
          {"batch_per_gpu", draw.whole(1, 64)},
          {"steps", 4}};
}

// Steps of a recording on two GPUs: kernels, times without any, and exchanges among all.
inline Json recorded_job(Draw& draw)
{
  const auto ms = [&draw](double low, double high) {
    return std::to_string(draw.log(low, high)) + " ms";
  };
  const std::string forward = ms(1, 10), waits = ms(0.1, 5), backward = ms(1, 20);
  const Json measured = {
      {"device", "NVIDIA A100-SXM4-80GB"},
      {"gpu", "a100-sxm4-80gb"},
      {"precision", "tf32"},
      {"batch", 32},
      {"step", "40 ms"},
      {"ranks", 2},
      {"variation", draw.of(std::vector<double>{0, 0.02})},
      {"forward", {{{"product", forward}, {"idle", waits}, {"kernels", 10}}}},
      {"backward", {{{"product", backward}, {"kernels", 20}, {"gradients", {1000}}}}},
      {"exchanges",
       {{{"kind", draw.of<std::string>({"all-to-all", "all-reduce"})}, {"size", "100 MB"}}}},
      {"lines",
       {{{"pieces",
          {{{"phase", "forward"},
            {"product", forward},
            {"idle", waits},
            {"kernels", 10},
            {"starts", {0}}},
           {{"phase", "backward"}, {"product", backward}, {"kernels", 20}, {"after", {0}}}}}}}}};
  return {{"model", {{"name", "recorded"}, {"measured", measured}}},
          {"framework", "pytorch-ddp"},
          {"batch_per_gpu", draw.whole(1, 64)},
          {"steps", 4}};
}

} // namespace foretrain::test
