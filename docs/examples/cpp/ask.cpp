// How fast would ResNet-50 train on 1, 2 and 4 GPUs of this machine?
#include <foretrain/foretrain.hpp>

#include <iostream>

int main()
{
  try {
    auto experiment = foretrain::api::Experiment::from_text(R"({
      "cluster": { "platform": "c4140-v100-sxm2", "nodes": 1 },
      "jobs": [ { "model": "resnet50", "framework": "pytorch-horovod", "batch_per_gpu": 64 } ],
      "sweep": { "/jobs/0/gpus": [1, 2, 4] } })");
    experiment.set("/jobs/0/precision", "fp16");
    const auto answer = experiment.predict();
    for (const auto& point : answer.points) {
      if (!point.error.empty()) { // such a point has no jobs
        std::cerr << point.error << "\n";
        continue;
      }
      const auto& job = point.jobs.front();
      std::cout << job.gpus << " GPUs: " << job.throughput.median << " samples/s ("
                << job.throughput.low << " to " << job.throughput.high << "), limited by "
                << job.limited_by << "\n";
    }
    return answer.status;
  } catch (const foretrain::api::Error& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
