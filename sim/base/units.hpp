// Strong types for the quantities the simulator trades in, stored in SI.
// Only the operations that are true exist: Bytes / BytesPerSecond is Seconds; adding the two
// does not compile.
#pragma once

#include <compare>

namespace foretrain {

template <class Tag>
class Quantity {
public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double si_value) : value_(si_value) {}
  constexpr double value() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) { return *this = *this + other; }
  constexpr Quantity& operator-=(Quantity other) { return *this = *this - other; }
  constexpr Quantity& operator*=(double k) { return *this = k * *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b)
  {
    return Quantity(a.value_ + b.value_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b)
  {
    return Quantity(a.value_ - b.value_);
  }
  friend constexpr Quantity operator*(double k, Quantity q) { return Quantity(k * q.value_); }
  friend constexpr Quantity operator*(Quantity q, double k) { return Quantity(k * q.value_); }
  friend constexpr Quantity operator/(Quantity q, double k) { return Quantity(q.value_ / k); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }

private:
  double value_ = 0.0;
};

using Seconds = Quantity<struct SecondsTag>;
using Bytes = Quantity<struct BytesTag>;
using Flops = Quantity<struct FlopsTag>;
using Hertz = Quantity<struct HertzTag>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag>;
using PerSecond = Quantity<struct PerSecondTag>; // operations per second (IOPS, samples/s)

constexpr Seconds operator/(Bytes b, BytesPerSecond r)
{
  return Seconds(b.value() / r.value());
}
constexpr BytesPerSecond operator/(Bytes b, Seconds t)
{
  return BytesPerSecond(b.value() / t.value());
}
constexpr Bytes operator*(BytesPerSecond r, Seconds t)
{
  return Bytes(r.value() * t.value());
}
constexpr Seconds operator/(Flops f, FlopsPerSecond r)
{
  return Seconds(f.value() / r.value());
}
constexpr FlopsPerSecond operator/(Flops f, Seconds t)
{
  return FlopsPerSecond(f.value() / t.value());
}

inline namespace literals {
constexpr Seconds operator""_s(long double v)
{
  return Seconds(static_cast<double>(v));
}
constexpr Seconds operator""_ms(long double v)
{
  return Seconds(static_cast<double>(v) * 1e-3);
}
constexpr Seconds operator""_us(long double v)
{
  return Seconds(static_cast<double>(v) * 1e-6);
}
constexpr Bytes operator""_B(unsigned long long v)
{
  return Bytes(static_cast<double>(v));
}
constexpr Bytes operator""_KiB(unsigned long long v)
{
  return Bytes(static_cast<double>(v) * 1024.0);
}
constexpr Bytes operator""_MiB(unsigned long long v)
{
  return Bytes(static_cast<double>(v) * 1048576.0);
}
constexpr Bytes operator""_MB(unsigned long long v)
{
  return Bytes(static_cast<double>(v) * 1e6);
}
constexpr BytesPerSecond operator""_GB_per_s(long double v)
{
  return BytesPerSecond(static_cast<double>(v) * 1e9);
}
} // namespace literals

} // namespace foretrain
