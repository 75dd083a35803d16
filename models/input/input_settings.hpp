// How a framework feeds its GPUs.
#pragma once

#include "sim/base/schema.hpp"

#include <optional>

namespace foretrain::models {

/// What is copied to the GPU for each value of a sample.
enum class SampleElement { fp32, compute, uint8 };
constexpr auto choices(SampleElement)
{
  return std::to_array<Choice<SampleElement>>({{SampleElement::fp32, "fp32"},
                                               {SampleElement::compute, "compute"},
                                               {SampleElement::uint8, "uint8"}});
}

struct InputSettings {
  std::optional<double> threads_per_gpu;  // that decode
  std::optional<double> threads_per_node; // else: shared by the GPUs of a node
  double cores_kept_per_gpu = 0;          // else: the cores of the node less these
  bool process_per_gpu = false;           // and each process counts the node's cores as its own
  int prefetch_batches = 2;               // decoded batches waiting for each GPU
  bool pinned = true;                     // batches are copied to the GPU from pinned memory
  bool copy_ahead = true;                 // while the step before still computes
  double read_streams = 4;                // record files that each rank reads at the same time
  SampleElement element = SampleElement::fp32;
  Seconds file_time{}; // of the one thread per node that opens files and hands them out; 0: none
  Bytes process_memory{8e9}; // host memory per GPU that the page cache cannot have
};

template <class V>
void describe(V& v, InputSettings& s)
{
  v.optional("threads_per_gpu", s.threads_per_gpu, "threads that decode for each GPU", positive());
  v.optional("threads_per_node", s.threads_per_node,
             "threads that decode for all GPUs of a node together", positive());
  v.optional("cores_kept_per_gpu", s.cores_kept_per_gpu,
             "where no threads are given: decode on the cores of the node less these for each GPU",
             non_negative());
  v.optional("process_per_gpu", s.process_per_gpu,
             "every GPU has a process of its own, which counts the node's cores for itself alone");
  v.optional("prefetch_batches", s.prefetch_batches, "decoded batches kept ready for each GPU",
             between(1, 1000));
  v.optional("pinned", s.pinned, "batches are copied to the GPU from pinned memory");
  v.optional("copy_ahead", s.copy_ahead,
             "the next batch is copied while the step before still computes");
  v.optional("read_streams", s.read_streams, "record files that a rank reads at the same time",
             at_least(1));
  v.optional("element", s.element, "what is copied to the GPU for each value of a sample");
  v.optional("file_time", s.file_time,
             "with a file per sample: time of the one thread of a node that lists, opens and hands "
             "out files, for each of them",
             non_negative());
  v.optional("process_memory", s.process_memory,
             "host memory for each GPU that the page cache cannot have", non_negative());
}

} // namespace foretrain::models
