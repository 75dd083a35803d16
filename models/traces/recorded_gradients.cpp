#include "models/traces/recorded_gradients.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::models {

namespace {

constexpr double kBytesPerGradient = 4; // master gradients and DDP's buckets are single precision
constexpr double kMostElements = 2e9;

// The largest piece of work that a host stretch launched, in elements.
double elements_launched(const Trace& trace, const TraceStep& step, double from, double to)
{
  double most = 0;
  for (const StepWork& item : step.work)
    if (item.launched >= from && item.launched <= to) {
      const DeviceWork& work = trace.work[item.index];
      most = std::max(most, work.kind == KernelClass::copy     ? work.bytes / kBytesPerGradient
                            : work.kind == KernelClass::memory ? work.elements
                                                               : 0.0);
    }
  return most;
}

std::vector<double> from_kernels(const Trace& trace, const TraceStep& step)
{
  std::vector<double> sizes;
  for (const RecordedGradient& gradient : step.gradients)
    sizes.push_back(elements_launched(trace, step, gradient.begun, gradient.launched));
  return sizes;
}

// PyTorch's DDP copies reduced gradients back one by one, in the order in which they became ready.
std::vector<double> from_buckets(const Trace& trace, const TraceStep& step)
{
  std::vector<double> sizes;
  for (const Stretch& stretch : trace.stretches)
    if (stretch.start >= step.host_start && stretch.start <= step.host_finish &&
        trace.name_of(stretch.name).find("copy_bucket_to_grad") != std::string::npos)
      sizes.push_back(elements_launched(trace, step, stretch.start, stretch.finish));
  return sizes;
}

std::vector<double> from_network(const Network& network)
{
  std::vector<double> sizes;
  for (std::size_t i = network.layers.size(); i-- > 0;) {
    const auto& tensors = network.layers[i].gradient_tensors;
    for (std::size_t t = tensors.size(); t-- > 0;)
      sizes.push_back(static_cast<double>(tensors[t]));
  }
  return sizes;
}

// Most of them are known: one that launched nothing (a shared or empty tensor) does no harm.
bool tells(const std::vector<double>& sizes, std::size_t wanted)
{
  const auto known = std::count_if(sizes.begin(), sizes.end(), [](double s) { return s > 0; });
  return wanted > 0 && sizes.size() == wanted && 10 * known >= 9 * static_cast<long>(wanted);
}

void put(MeasuredStretch& stretch, double elements)
{
  if (elements >= 1)
    stretch.gradients.push_back(static_cast<int>(std::min(kMostElements, std::round(elements))));
}

} // namespace

std::string size_gradients(const Trace& trace, const TraceStep& step, RecordedStep& recorded,
                           const std::optional<Network>& like)
{
  const std::size_t count = step.gradients.size();
  const auto assign = [&recorded](const std::vector<double>& sizes) {
    for (std::size_t b = 0; b < recorded.backward.size(); ++b)
      for (const std::size_t g : recorded.gradients[b])
        put(recorded.backward[b], sizes[g]);
  };
  if (like) {
    const auto sizes = from_network(*like);
    if (sizes.size() == count) {
      assign(sizes);
    } else {
      for (std::size_t i = 0; i < sizes.size() && !recorded.backward.empty(); ++i)
        put(recorded.backward[i * recorded.backward.size() / sizes.size()], sizes[i]);
    }
    return like->name;
  }
  std::vector<double> shapes;
  for (const RecordedGradient& gradient : step.gradients)
    shapes.push_back(gradient.elements);
  if (tells(shapes, count)) {
    assign(shapes);
    return "recorded shapes";
  }
  if (const auto sizes = from_kernels(trace, step); tells(sizes, count)) {
    assign(sizes);
    return "the kernels that add them";
  }
  if (const auto sizes = from_buckets(trace, step); tells(sizes, count)) {
    assign(sizes);
    return "copies out of buckets";
  }
  return "";
}

} // namespace foretrain::models
