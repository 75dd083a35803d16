// How far below bare metal guests may be, against closed forms of single classes and their mixture.
#include "platforms/guest_quality.hpp"

#include "platforms/stack.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

namespace foretrain::guest_quality_test {

using namespace foretrain::platforms;

namespace {

const GuestClass kTuned{"tuned", 1, 0.94, 0.985, 1.0};
const GuestClass kUntuned{"untuned", 1, 0.60, 0.90, 0.99};

} // namespace

TEST_CASE("one class of guests ends where its file says", "[guest][closed-form]")
{
  for (const GuestClass& guests : {kTuned, kUntuned}) {
    CHECK(slower_guest({guests}, 0.9) == Approx(-std::log(guests.low)).epsilon(1e-6));
    CHECK(slower_guest({guests}, 0.0) == Approx(-std::log(guests.median)).epsilon(1e-6));
  }
  // 1 % are slower: 2.3263 instead of 1.6449 deviations below the median.
  const double deviation = std::log(0.9 / 0.6) / 1.644854;
  CHECK(slower_guest({kUntuned}, 0.98) ==
        Approx(-std::log(0.9) + 2.326348 * deviation).epsilon(1e-5));
  CHECK(slower_guest({}, 0.9) == 0);
}

TEST_CASE("guests of two classes are each as likely as their shares", "[guest][closed-form]")
{
  // Hardly any tuned guest is slower than nine tenths: a twentieth of all is a tenth of the
  // untuned.
  GuestClass rare = kTuned;
  rare.low = 0.98;
  const double tenth = -std::log(0.9) + 1.281552 * std::log(0.9 / 0.6) / 1.644854;
  CHECK(slower_guest({rare, kUntuned}, 0.9) == Approx(tenth).epsilon(1e-4));
  // Shares count in proportion.
  GuestClass three = rare;
  three.share = 3;
  const double fifth = -std::log(0.9) + 0.841621 * std::log(0.9 / 0.6) / 1.644854;
  CHECK(slower_guest({three, kUntuned}, 0.9) == Approx(fifth).epsilon(1e-4));
  CHECK(slower_guest({kTuned, kUntuned}, 0.9) > slower_guest({kTuned}, 0.9));
}

TEST_CASE("hosts say what guests they may be", "[guest]")
{
  CHECK(load_host(resolve_preset(std::string("bare-metal"), kHostKind)).quality.empty());
  CHECK(load_host(resolve_preset(std::string("container"), kHostKind)).quality.empty());
  const auto slower = [](const char* host) {
    return slower_guest(load_host(resolve_preset(std::string(host), kHostKind)).quality, 0.9);
  };
  CHECK(slower("vm-tuned") == Approx(-std::log(0.94)).epsilon(1e-6));
  CHECK(slower("vm-untuned") == Approx(-std::log(0.60)).epsilon(1e-6));
  CHECK(slower("vm") > slower("vm-tuned"));
  CHECK(slower("vm") < slower("vm-untuned"));
  CHECK(slower("container-on-vm") == slower("vm"));
}

} // namespace foretrain::guest_quality_test
