// The one place that knows where Catch2 keeps its header.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

namespace foretrain::test {
/// Equal up to rounding.
inline auto is(double expected)
{
  return Catch::Matchers::WithinRel(expected, 1e-9);
}
} // namespace foretrain::test
