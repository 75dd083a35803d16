#include "realrun/cuda/feeder.hpp"

#include <algorithm>

namespace foretrain::realrun {

Feeder::Slot::Slot(const InputShape& shape)
    : pixels(shape.batch_size()), labels(static_cast<std::size_t>(shape.batch)),
      host_labels(static_cast<std::size_t>(shape.batch))
{
}

Feeder::Feeder(const Settings& settings, const InputShape& shape)
    : shape_(shape), slots_{Slot(shape), Slot(shape)}
{
  Slots host;
  for (std::size_t i = 0; i < slots_needed(settings); ++i)
    host.push_back(memory_.emplace_back(shape.batch_size()).data());
  input_ = make_input(settings, shape, host);
  for (const Slot& slot : slots_)
    slot.free.record(stream_);
}

void Feeder::send(std::size_t step)
{
  const Range range("input");
  Slot& to = slot(step);
  to.batch = input_->next();
  std::copy_n(to.batch.labels, to.host_labels.size(), to.host_labels.data());
  to.free.hold(stream_);
  to.begin.record(stream_);
  REALRUN_CHECK(cudaMemcpyAsync(to.pixels.data(), to.batch.pixels,
                                shape_.batch_size() * sizeof(float), cudaMemcpyHostToDevice,
                                stream_.get()));
  REALRUN_CHECK(cudaMemcpyAsync(to.labels.data(), to.host_labels.data(),
                                to.labels.size() * sizeof(int), cudaMemcpyHostToDevice,
                                stream_.get()));
  to.arrived.record(stream_);
}

void Feeder::hold(std::size_t step, const Stream& stream) const
{
  slot(step).arrived.hold(stream);
}

void Feeder::consumed(std::size_t step, const Stream& stream) const
{
  slot(step).free.record(stream);
}

void Feeder::release(std::size_t step)
{
  REALRUN_CHECK(cudaEventSynchronize(slot(step).arrived.get()));
  input_->release();
}

double Feeder::copy_s(std::size_t step) const
{
  return seconds_between(slot(step).begin, slot(step).arrived);
}

double Feeder::copy_bytes() const
{
  return static_cast<double>(shape_.batch_size() * sizeof(float) +
                             static_cast<std::size_t>(shape_.batch) * sizeof(int));
}

} // namespace foretrain::realrun
