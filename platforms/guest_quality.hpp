// How well a guest is set up, where nobody says: pinned cores, huge pages, interrupts that do not
// leave the guest. Published guests are of two kinds, those of data centres and those that nobody
// tuned; which one a guest is decides more than any cause that is modelled. Rates are those of the
// guest in the middle, intervals hold nine in ten.
#pragma once

#include "sim/base/schema.hpp"

#include <string>
#include <vector>

namespace foretrain::platforms {

/// Guests of one kind: throughput over that of bare metal, beside what is modelled by cause.
struct GuestClass {
  std::string name;
  double share = 1;  // of all guests of which no more is known
  double low = 1;    // one in twenty is slower
  double median = 1; // half of them are slower
  double high = 1;   // one in twenty is faster
};

template <class V>
void describe(V& v, GuestClass& s)
{
  v.required("name", s.name, "what guests of this kind are called");
  v.optional("share", s.share, "of all guests of which no more is known", between(0, 1));
  v.required("low", s.low, "throughput over bare metal of which one in twenty stays below",
             between(0.01, 1));
  v.required("median", s.median, "throughput over bare metal of which half stay below",
             between(0.01, 1));
  v.required("high", s.high, "throughput over bare metal of which one in twenty stays above",
             between(0.01, 1));
}
void check_fields(const Value& at, const GuestClass& guests);

/// The logarithm of bare metal's throughput over that of a guest of which `share` of all guests are
/// slower: 0 without classes, and never below. The logarithm of each class is normal with one
/// deviation below its median and another above; shares of classes are taken in proportion.
double guest_loss(const std::vector<GuestClass>& classes, double share);

/// How many times as long as on bare metal kernels and their launches take in the guest in the
/// middle.
double typical_guest(const std::vector<GuestClass>& classes);

} // namespace foretrain::platforms
