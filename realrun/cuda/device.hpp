// Owners of device things: buffers, pinned host memory, streams, events, profiler ranges.
#pragma once

#include "realrun/common/settings.hpp"
#include "realrun/cuda/check.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace foretrain::realrun {

/// Device memory for `count` values. Throws DeviceError that says how much was asked and free.
template <class T>
class DeviceBuffer {
public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t count);
  ~DeviceBuffer() { cudaFree(data_); }
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept
  {
    swap(other);
    return *this;
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  T* data() const { return data_; }
  std::size_t size() const { return count_; }

private:
  void swap(DeviceBuffer& other) noexcept
  {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
  }
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

/// cudaMalloc with a message that names sizes.
void* allocate_on_device(std::size_t bytes);

template <class T>
DeviceBuffer<T>::DeviceBuffer(std::size_t count)
    : data_(count == 0 ? nullptr : static_cast<T*>(allocate_on_device(count * sizeof(T)))),
      count_(count)
{
}

/// Page-locked host memory, from which copies run at full speed and asynchronously.
template <class T>
class PinnedBuffer {
public:
  explicit PinnedBuffer(std::size_t count) : count_(count)
  {
    void* memory = nullptr;
    REALRUN_CHECK(cudaMallocHost(&memory, count * sizeof(T)));
    data_ = static_cast<T*>(memory);
  }
  ~PinnedBuffer() { cudaFreeHost(data_); }
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(other.count_)
  {
  }
  PinnedBuffer& operator=(PinnedBuffer&&) = delete;
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  T* data() const { return data_; }
  std::size_t size() const { return count_; }

private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

class Stream {
public:
  Stream();
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

private:
  cudaStream_t stream_ = nullptr;
};

class Event {
public:
  Event();
  ~Event()
  {
    if (event_ != nullptr)
      cudaEventDestroy(event_);
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(const Stream& stream) const;
  /// Work given to `stream` from now on waits for this event.
  void hold(const Stream& stream) const;
  cudaEvent_t get() const { return event_; }

private:
  cudaEvent_t event_ = nullptr;
};

/// Seconds on the device between two recorded and finished events.
double seconds_between(const Event& from, const Event& to);

/// A named range in NVIDIA's profilers (NVTX) while the object lives.
class Range {
public:
  explicit Range(const char* name);
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

/// Makes the device of this rank current: settings.device, or rank modulo devices. Throws
/// DeviceError when there is none.
int choose_device(const Settings& settings);

/// Name, memory, clocks, compute capability, PCI address, driver and library versions.
Json describe_device(int device);

/// Compute capability, e.g. 90 for sm_90.
int compute_capability(int device);

} // namespace foretrain::realrun
