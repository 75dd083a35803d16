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
    CHECK(guest_loss({guests}, 0.05) == Approx(-std::log(guests.low)).epsilon(1e-6));
    CHECK(guest_loss({guests}, 0.5) == Approx(-std::log(guests.median)).epsilon(1e-6));
    CHECK(std::abs(guest_loss({guests}, 0.95) + std::log(guests.high)) < 1e-6);
    CHECK(typical_guest({guests}) == Approx(1 / guests.median).epsilon(1e-6));
  }
  // 1 % are slower: 2.3263 instead of 1.6449 deviations below the median.
  const double deviation = std::log(0.9 / 0.6) / 1.644854;
  CHECK(guest_loss({kUntuned}, 0.01) ==
        Approx(-std::log(0.9) + 2.326348 * deviation).epsilon(1e-5));
  CHECK(guest_loss({}, 0.05) == 0);
  CHECK(typical_guest({}) == 1);
  CHECK(guest_loss({kTuned}, 0.99) == 0); // no guest is faster than bare metal
}

TEST_CASE("guests of two classes are each as likely as their shares", "[guest][closed-form]")
{
  // Hardly any tuned guest is slower than nine tenths: a twentieth of all is a tenth of the
  // untuned.
  GuestClass rare = kTuned;
  rare.low = 0.98;
  const double tenth = -std::log(0.9) + 1.281552 * std::log(0.9 / 0.6) / 1.644854;
  CHECK(guest_loss({rare, kUntuned}, 0.05) == Approx(tenth).epsilon(1e-4));
  // Shares count in proportion.
  GuestClass three = rare;
  three.share = 3;
  const double fifth = -std::log(0.9) + 0.841621 * std::log(0.9 / 0.6) / 1.644854;
  CHECK(guest_loss({three, kUntuned}, 0.05) == Approx(fifth).epsilon(1e-4));
  CHECK(guest_loss({kTuned, kUntuned}, 0.05) > guest_loss({kTuned}, 0.05));
}

TEST_CASE("hosts say what guests they may be", "[guest]")
{
  CHECK(load_host(resolve_preset(std::string("bare-metal"), kHostKind)).quality.empty());
  CHECK(load_host(resolve_preset(std::string("container"), kHostKind)).quality.empty());
  const auto slower = [](const char* host) {
    return guest_loss(load_host(resolve_preset(std::string(host), kHostKind)).quality, 0.05);
  };
  CHECK(slower("vm-tuned") == Approx(-std::log(0.94)).epsilon(1e-6));
  CHECK(slower("vm-untuned") == Approx(-std::log(0.60)).epsilon(1e-6));
  CHECK(slower("vm") > slower("vm-tuned"));
  CHECK(slower("vm") < slower("vm-untuned"));
  CHECK(slower("container-on-vm") == slower("vm"));
}

} // namespace foretrain::guest_quality_test
