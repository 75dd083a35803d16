#include "platforms/guest_quality.hpp"

#include <boost/math/distributions/normal.hpp>

#include <algorithm>
#include <cmath>

namespace foretrain::platforms {

namespace {

// Part of the class that is slower than bare metal by more than so much.
double part_beyond(const GuestClass& guests, double distance)
{
  const boost::math::normal normal;
  const double from_median = -distance - std::log(guests.median);
  const double end = from_median < 0 ? guests.low : guests.high;
  const double deviation = std::abs(std::log(end / guests.median)) / quantile(normal, 0.95);
  if (deviation <= 0)
    return from_median < 0 ? 0 : 1;
  return cdf(normal, from_median / deviation);
}

} // namespace

void check_fields(const Value& at, const GuestClass& guests)
{
  if (guests.low > guests.median)
    at.fail_at("low", "must be at most the median, got " + at.shown());
  if (guests.high < guests.median)
    at.fail_at("high", "must be at least the median, got " + at.shown());
}

double guest_loss(const std::vector<GuestClass>& classes, double share)
{
  double shares = 0;
  for (const GuestClass& guests : classes)
    shares += guests.share;
  if (shares <= 0)
    return 0;
  double near = 0;
  double far = 10; // a factor of 22,000
  for (int i = 0; i < 60; ++i) {
    const double distance = 0.5 * (near + far);
    double beyond = 0;
    for (const GuestClass& guests : classes)
      beyond += guests.share / shares * part_beyond(guests, distance);
    (beyond > share ? near : far) = distance;
  }
  return near;
}

double typical_guest(const std::vector<GuestClass>& classes)
{
  return std::exp(guest_loss(classes, 0.5));
}

} // namespace foretrain::platforms
