// Scales, ticks, numbers and drawings.
#include "experiments/report/svg.hpp"
#include "experiments/report/svg_bars.hpp"
#include "experiments/report/svg_chart.hpp"
#include "experiments/report/svg_scale.hpp"
#include "experiments/report/svg_text.hpp"
#include "tests/support/catch.hpp"

#include <limits>

namespace foretrain::report_svg_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

TEST_CASE("a scale maps its ends to its ends, evenly or by ratio", "[experiments][report]")
{
  const bool logarithmic = GENERATE(false, true);
  const Scale scale{10, 1000, 50, 250, logarithmic};
  CHECK_THAT(scale(10), test::is(50));
  CHECK_THAT(scale(1000), test::is(250));
  CHECK_THAT(scale(logarithmic ? 100 : 505), test::is(150));
  CHECK(Scale{3, 3, 0, 100, false}(3) == 50); // one value stands in the middle
}

TEST_CASE("round ticks are multiples of 1, 2 or 5 that cover the values", "[experiments][report]")
{
  CHECK(round_ticks(0, 9, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(round_ticks(0, 100, 4) == std::vector<double>{0, 20, 40, 60, 80, 100});
  CHECK(round_ticks(0, 0, 5).back() >= 0);
  for (const double high : {0.0003, 0.7, 1.0, 47.0, 12345.0, 9e9}) {
    const auto ticks = round_ticks(0, high, 5);
    CAPTURE(high, ticks);
    CHECK(ticks.front() == 0);
    CHECK(ticks.back() >= high * (1 - 1e-9));
    CHECK(ticks.size() <= 9);
  }
}

TEST_CASE("ticks by ratio enclose the values", "[experiments][report]")
{
  CHECK(ratio_ticks(30, 900) == std::vector<double>{20, 50, 100, 200, 500, 1000});
  CHECK(ratio_ticks(3, 90000) == std::vector<double>{1, 10, 100, 1000, 10000, 100000});
  CHECK(ratio_ticks(1, 100).front() == 1);
}

TEST_CASE("numbers have three digits or more and no exponent", "[experiments][report]")
{
  CHECK(number_text(0) == "0");
  CHECK(number_text(-1e-12) == "0"); // a difference of rounding
  CHECK(number_text(2e-9) == "0.000000002");
  CHECK(number_text(0.0123) == "0.0123");
  CHECK(number_text(0.9999) == "1.00");
  CHECK(number_text(9.9999) == "10.0");
  CHECK(number_text(99.99) == "100");
  CHECK(number_text(12.34) == "12.3");
  CHECK(number_text(12345.6) == "12346");
  CHECK(number_text(1234567, true) == "1,234,567");
  CHECK(number_text(-1234, true) == "-1,234");
  CHECK(number_text(123, true) == "123");
  CHECK(number_text(std::numeric_limits<double>::quiet_NaN()) == "-");
  CHECK(tick_text(2500) == "2,500");
  CHECK(tick_text(0.5) == "0.5");
  CHECK(tick_text(1.5e6) == "1.5 M");
  CHECK(percent_text(0.123) == "12 %");
  CHECK(percent_text(0.004) == "0.4 %");
  CHECK(percent_text(0.0001) == "0 %");
  CHECK(percent_text(0) == "0 %");
  CHECK(percent_text(-0.0001) == "0 %");
  CHECK(change_text(0.123) == "+12 %");
  CHECK(change_text(-0.004) == "-0.4 %");
  CHECK(change_text(-0.0001) == "0 %");
}

TEST_CASE("text is cut and wrapped by letters, not bytes, and without control characters",
          "[experiments][report]")
{
  CHECK(width_of("4 \xC2\xB5s") == 4);
  CHECK(clipped("\xC2\xB5\xC2\xB5\xC2\xB5\xC2\xB5", 4) == "\xC2\xB5\xC2\xB5\xC2\xB5\xC2\xB5");
  CHECK(clipped("\xC2\xB5\xC2\xB5\xC2\xB5\xC2\xB5\xC2\xB5", 4) == "\xC2\xB5...");
  CHECK(clipped("a\x1b[31mb", 20) == "a?[31mb");
  CHECK(wrapped("one two three", 7) == std::vector<std::string>{"one two", "three"});
  CHECK(wrapped("incompressible", 5) == std::vector<std::string>{"incompressible"});
}

TEST_CASE("markup in text is shown, not obeyed", "[experiments][report]")
{
  CHECK(escaped("<b a=\"1\" c='2'>&") == "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
  CHECK(escaped(std::string("a\0b\x07", 4)) == "a b ");
}

TEST_CASE("coordinates are short", "[experiments][report]")
{
  CHECK(coordinate(1) == "1");
  CHECK(coordinate(1.256) == "1.26");
  CHECK(coordinate(-0.0001) == "0");
  CHECK(coordinate(1e6) == "1000000");
}

TEST_CASE("a chart draws every point inside its frame", "[experiments][report]")
{
  LineChart chart;
  chart.description = "a < b";
  chart.x_title = "GPUs";
  chart.y_title = "samples/s";
  const double last = GENERATE(8.0, 1024.0);
  Curve curve;
  curve.points = {{1, 100, 90, 110, "one"}, {last, 60 * last, 50 * last, 70 * last, "many"}};
  curve.ideal_slope = 100;
  chart.curves = {curve};
  const std::string svg = line_chart(chart, 400, 300);
  CHECK_THAT(svg, Contains("aria-label=\"a &lt; b\"") && Contains("<title>many</title>") &&
                      Contains("class=\"ideal\"") && Contains("class=\"whisker\""));
  CHECK_THAT(svg, !Contains("nan") && !Contains("inf") && !Contains("=\"-"));
}

TEST_CASE("charts of one point, of equal values and of zeros are drawn", "[experiments][report]")
{
  LineChart chart;
  const auto points = GENERATE(std::vector<CurvePoint>{{4, 100, 100, 100, ""}},
                               std::vector<CurvePoint>{{1, 0, 0, 0, ""}, {2, 0, 0, 0, ""}},
                               std::vector<CurvePoint>{{0, 5, 5, 5, ""}, {100, 5, 5, 5, ""}},
                               std::vector<CurvePoint>{});
  chart.curves = {{points, 0, 0}};
  const std::string svg = line_chart(chart, 400, 300);
  CHECK_THAT(svg, !Contains("nan") && !Contains("inf"));
  CHECK_THAT(svg, EndsWith("</svg>"));
}

TEST_CASE("bars are as long as their shares and stay within their place", "[experiments][report]")
{
  const std::string stacked =
      stacked_bar({{0.5, "t0", "50 %", "half"}, {0.02, "t1", "2 %", "bit"}}, "all");
  CHECK_THAT(stacked, Contains("x=\"0%\" width=\"50%\"") && Contains("x=\"50%\" width=\"2%\""));
  CHECK_THAT(stacked, Contains(">50 %</text>") && !Contains(">2 %</text>")); // too narrow to read
  CHECK_THAT(value_bar({2.0, 0.1, 3.0, 0, 0}, "beyond"), Contains("width=\"100%\" height"));
  CHECK_THAT(meter(0.25, "a quarter"), Contains("width=\"25%\""));
}

} // namespace foretrain::report_svg_test
