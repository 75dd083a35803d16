// Quantities as text: every unit of every kind, there and back.
#include "sim/base/quantity_text.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

namespace foretrain::quantity_test {

namespace {

// What the International System and IEC 80000-13 say of a unit's name.
double factor_of(const std::string& name)
{
  for (const auto& [period, seconds] : {std::pair("min", 60), std::pair("h", 3600),
                                        std::pair("d", 86400), std::pair("week", 604800)})
    if (name.starts_with(period))
      return seconds;
  const auto begin = name.find_first_of("/sBbFHI");
  REQUIRE(begin != std::string::npos);
  const double one = name[begin] == 'b' ? 0.125 : 1; // a bit is an eighth of a byte
  const std::string prefix = name.substr(0, begin);
  if (prefix.empty())
    return one;
  const auto at = std::string("num kMGTP").find(prefix[0] == 'K' ? 'k' : prefix[0]);
  const int power = static_cast<int>(at) - 3;
  return one * std::pow(prefix.ends_with("i") ? 1024 : 1000, power);
}

template <class Q>
void check_units()
{
  for (const Unit& unit : UnitsOf<Q>::units()) {
    const std::string name(unit.name);
    CAPTURE(name);
    CHECK(unit.si == Approx(factor_of(name)).epsilon(1e-12));
    for (const char* number : {"1", "12.5", "0.001", "3e2"})
      for (const char* blank : {"", " ", "  "}) {
        const std::string text = std::string(number) + blank + name;
        const auto parsed =
            parse_quantity(text, UnitsOf<Q>::units(), UnitsOf<Q>::kind(), UnitsOf<Q>::example());
        CAPTURE(text);
        CHECK(parsed.ok);
        CHECK(parsed.si == Approx(std::atof(number) * unit.si).epsilon(1e-12));
      }
    CHECK_FALSE(parse_quantity("5 " + name + "x", UnitsOf<Q>::units(), UnitsOf<Q>::kind(), "").ok);
  }
  const auto example = std::string(UnitsOf<Q>::example());
  CHECK(parse_quantity(example, UnitsOf<Q>::units(), UnitsOf<Q>::kind(), "").ok);
}

// Between the smallest and the largest unit a number has up to three digits before the point.
template <class Q>
void check_round_trip(double low, double high)
{
  for (double value = low; value <= high; value *= 3.7) {
    const std::string text = to_text(Q(value));
    const auto parsed = parse_quantity(text, UnitsOf<Q>::units(), UnitsOf<Q>::kind(), "");
    CAPTURE(value, text);
    REQUIRE(parsed.ok);
    CHECK(parsed.si == Approx(value).epsilon(0.01));
    CHECK(std::atof(text.c_str()) >= 0.999);
    CHECK(std::atof(text.c_str()) < 1024);
    const auto measure = parse_measure(text);
    REQUIRE(measure);
    CHECK(measure->si() == Approx(parsed.si).epsilon(1e-12));
    CHECK(parse_measure(to_text(*measure))->si() == Approx(measure->si()).epsilon(1e-8));
  }
}

} // namespace

TEST_CASE("every unit is what its prefix says, with blanks or without", "[quantity][property]")
{
  check_units<Seconds>();
  check_units<Bytes>();
  check_units<Flops>();
  check_units<Hertz>();
  check_units<BytesPerSecond>();
  check_units<FlopsPerSecond>();
  check_units<PerSecond>();
}

TEST_CASE("what is printed of a quantity is read as the same", "[quantity][property]")
{
  check_round_trip<Seconds>(1e-9, 900);
  check_round_trip<Bytes>(1, 9e14);
  check_round_trip<BytesPerSecond>(1, 9e14);
  check_round_trip<PerSecond>(1, 9e8);
  CHECK(to_text(Bytes(3 * 1024.0)) == "3 KiB");
  CHECK(to_text(Bytes(3 * 1024.0 * 1024)) == "3 MiB");
  CHECK(to_text(Bytes(3 * 1024.0 * 1024 * 1024)) == "3 GiB");
  CHECK(to_text(Bytes(108484530176.0)) == "108.5 GB"); // whole KiB, no whole GiB
  CHECK(gigabytes_text(Bytes(80 * 1024.0 * 1024 * 1024)) == "85.9 GB");
  CHECK(to_text(Bytes(1000)) == "1 kB");
}

TEST_CASE("what is no quantity is refused with what is allowed", "[quantity][errors]")
{
  const auto problem = [](const std::string& text) {
    const auto parsed = parse_quantity(text, UnitsOf<Seconds>::units(), "time", "1.5 us");
    CHECK_FALSE(parsed.ok);
    return parsed.problem + "; " + parsed.hint;
  };
  for (const std::string text : {"", "s", "1.5", "nan s", "inf s", "1e999 s", "1 2 s", "- s"}) {
    CAPTURE(text);
    CHECK(problem(text).size() > 10);
  }
  CHECK_THAT(problem("5 GB"), Catch::Matchers::Contains("'GB'"));
  CHECK_THAT(problem("5 GB"), Catch::Matchers::Contains("us"));
}

TEST_CASE("a quantity may have a sign and spaces, and nothing else besides number and unit",
          "[base]")
{
  for (const char* text : {"5 us", "+5 us", " 5 us", "+5us", "5   us ", "0.005 ms", "5e0 us"}) {
    CAPTURE(text);
    const auto read = parse_measure(text);
    REQUIRE(read);
    CHECK(read->si() == Approx(5e-6).epsilon(1e-12));
  }
  CHECK(parse_measure("-5 us")->si() == Approx(-5e-6).epsilon(1e-12));
  for (const char* text : {"++5 us", "+-5 us", "us", "+ 5 us", "5 us 6", "nan us", "inf us", ""}) {
    CAPTURE(text);
    CHECK_FALSE(parse_measure(text));
  }
}

} // namespace foretrain::quantity_test
