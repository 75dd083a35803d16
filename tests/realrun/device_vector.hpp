// Test data on the device with its value on the host, rounded to the device's type.
#pragma once

#include "realrun/cuda/device.hpp"
#include "realrun/cuda/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

namespace foretrain::realrun::test {

template <class T>
float rounded(float x)
{
  if constexpr (std::is_same_v<T, __half>)
    return __half2float(__float2half(x));
  else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return __bfloat162float(__float2bfloat16(x));
  else
    return x;
}

template <class T>
T converted(float x)
{
  if constexpr (std::is_same_v<T, __half>)
    return __float2half(x);
  else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return __float2bfloat16(x);
  else
    return x;
}

/// Relative error that one rounding to T explains (outputs are rounded once).
template <class T>
double tolerance()
{
  return std::is_same_v<T, float> ? 1e-5 : std::is_same_v<T, __half> ? 2e-3 : 2e-2;
}

/// Values between -2 and 2 that T can hold exactly.
template <class T>
std::vector<float> noise(std::size_t count, unsigned seed)
{
  std::vector<float> values(count);
  unsigned long long state = 12345ULL + seed;
  for (float& value : values) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    value = rounded<T>(static_cast<float>(state >> 40) / 4194304.0F - 2.0F);
  }
  return values;
}

template <class T>
struct Device {
  explicit Device(std::size_t count) : host(count, 0.0F), buffer(count) { upload(); }
  explicit Device(std::vector<float> values) : host(std::move(values)), buffer(host.size())
  {
    upload();
  }
  const T* in() const { return buffer.data(); }
  T* out() const { return buffer.data(); }

  std::vector<float> download() const
  {
    REALRUN_CHECK(cudaDeviceSynchronize());
    std::vector<T> values(host.size());
    REALRUN_CHECK(cudaMemcpy(values.data(), buffer.data(), values.size() * sizeof(T),
                             cudaMemcpyDeviceToHost));
    std::vector<float> floats;
    for (const T& value : values)
      if constexpr (std::is_same_v<T, __half>)
        floats.push_back(__half2float(value));
      else if constexpr (std::is_same_v<T, __nv_bfloat16>)
        floats.push_back(__bfloat162float(value));
      else
        floats.push_back(value);
    return floats;
  }

  std::vector<float> host;
  DeviceBuffer<T> buffer;

private:
  void upload()
  {
    std::vector<T> values;
    for (const float value : host)
      values.push_back(converted<T>(value));
    REALRUN_CHECK(cudaMemcpy(buffer.data(), values.data(), values.size() * sizeof(T),
                             cudaMemcpyHostToDevice));
  }
};

/// Largest difference, relative to the largest expected value; infinite when a value is no number.
template <class T>
double differ(const Device<T>& device, const std::vector<float>& expected)
{
  const std::vector<float> found = device.download();
  double worst = 0.0;
  double largest = 1e-30;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference =
        std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
    worst = std::isfinite(difference) ? std::max(worst, difference) : HUGE_VAL;
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
  }
  return worst / largest;
}

} // namespace foretrain::realrun::test
