#include "sim/cost/products.hpp"

#include <catch2/catch.hpp>

namespace foretrain::sim::products_test {

namespace {

ProductCurve plain()
{
  ProductCurve curve;
  curve.peak = 100e12;
  curve.efficiency = 1;
  curve.fill = 0;
  curve.floor = 0;
  curve.memory = 1e18;
  curve.whole_waves = 1;
  curve.half_tile = 0.5;
  curve.quarter_tile = 0.5;
  curve.processors = 100;
  return curve;
}

} // namespace

TEST_CASE("a product in whole waves of large tiles runs at the curve's rate", "[cost][product]")
{
  // 10 x 10 tiles of 256 x 128 on 100 processors: one wave.
  const double time = plain()({2560, 1280, 4096});
  CHECK(time == Approx(2.0 * 2560 * 1280 * 4096 / 100e12));
}

TEST_CASE("one tile too many costs a wave, less where libraries divide the last one",
          "[cost][product]")
{
  ProductCurve curve = plain();
  const double full = curve({2560, 1280, 512});
  CHECK(curve({2560, 1281, 512}) > 1.9 * full);
  curve.whole_waves = 0;
  CHECK(curve({2560, 1281, 512}) == Approx(1.1 * full));
}

TEST_CASE("without tensor cores tiles of 128 x 128 are the largest, at the full rate",
          "[cost][product]")
{
  ProductCurve curve = plain();
  curve.tensor_cores = false;
  // 10 x 10 tiles of 128 x 128 on 100 processors: one wave.
  CHECK(curve.arithmetic({1280, 1280, 4096}) == Approx(2.0 * 1280 * 1280 * 4096 / 100e12));
  // 64 columns: tiles of 128 x 64, a halving below.
  CHECK(curve.arithmetic({12800, 64, 512}) == Approx(2.0 * 12800 * 64 * 512 / 50e12));
  curve.processors = 1; // 128 x 64 again, and no 256 x 64, which is as quick as 128 x 128
  CHECK(curve.arithmetic({256, 64, 512}) == Approx(2.0 * 256 * 64 * 512 / 50e12));
}

TEST_CASE("few columns fill tiles of 32 where a library has them", "[cost][product]")
{
  ProductCurve curve = plain();
  curve.quarter_tile = 0.8;
  // 100 tiles of 256 rows on 100 processors: one wave; 64 columns half empty at half the rate.
  CHECK(curve.arithmetic({25600, 32, 512}) == Approx(2.0 * 25600 * 64 * 512 / 50e12));
  curve.narrow_tile = 0.6; // of 256 x 64 and of 256 x 32
  CHECK(curve.arithmetic({25600, 32, 512}) == Approx(2.0 * 25600 * 32 * 512 / 60e12));
  CHECK(curve.arithmetic({25600, 64, 512}) == Approx(2.0 * 25600 * 64 * 512 / 60e12));
  CHECK(curve.arithmetic({64, 25600, 512}) == Approx(2.0 * 25600 * 64 * 512 / 60e12));
  CHECK(curve.arithmetic({25600, 128, 512}) == Approx(2.0 * 25600 * 128 * 512 / 100e12));
  curve.tensor_cores = false; // 128 x 32, two halvings below 128 x 128
  CHECK(curve.arithmetic({12800, 32, 512}) == Approx(2.0 * 12800 * 32 * 512 / 64e12));
}

TEST_CASE("a long sum is divided into as many parts as fill the processors", "[cost][product]")
{
  ProductCurve curve = plain();
  curve.processors = 32;
  const double product = 2.0 * 256 * 128 * 1e6;
  CHECK(curve.arithmetic({256, 128, 1e6}) == Approx(8 * product / 100e12)); // 4 of 32
  curve.splits = 32;
  CHECK(curve.arithmetic({256, 128, 1e6}) == Approx(product / 100e12));
}

TEST_CASE("adding up the parts of a divided sum takes its time once", "[cost][product]")
{
  ProductCurve curve = plain();
  curve.processors = 32;
  const double product = 2.0 * 256 * 128 * 1e6;
  const double divided = 8 * product / 100e12;
  curve.split_floor = divided / 2;
  CHECK(curve.arithmetic({256, 128, 1e6}) == Approx(1.5 * divided));
  curve.split_floor = 4 * divided; // more than what dividing by four saves
  CHECK(curve.arithmetic({256, 128, 1e6}) == Approx(4 * divided));
}

TEST_CASE("nothing hides what kernels take beside their work", "[cost][product]")
{
  ProductCurve curve = plain();
  const double work = curve({2560, 1280, 512});
  curve.floor = 3e-6;
  CHECK(curve({2560, 1280, 512}) == Approx(work + 3e-6));
  curve.quantise_floor = 8e-6;
  CHECK(curve({2560, 1280, 512}) == Approx(work + 11e-6));
}

TEST_CASE("products without arithmetic to speak of take what memory takes", "[cost][product]")
{
  ProductCurve curve = plain();
  curve.peak = 1e18;
  curve.memory = 1e12;
  curve.memory_efficiency = 0.5;
  const double bytes = (1000.0 * 64 + 64.0 * 2000 + 1000.0 * 2000) * 2;
  CHECK(curve({1000, 2000, 64}) == Approx(bytes / 0.5e12).epsilon(1e-3));
}

TEST_CASE("a product grows with each of its sizes, and with a slower clock", "[cost][product]")
{
  ProductCurve curve = plain();
  curve.fill = 100;
  curve.floor = 2e-6;
  curve.memory = 2e12;
  for (double size = 128; size < 9000; size *= 2) {
    CHECK(curve({2 * size, size, size}) >= curve({size, size, size}));
    CHECK(curve({size, 2 * size, size}) >= curve({size, size, size}));
    CHECK(curve({size, size, 2 * size}) >= curve({size, size, size}));
    CHECK(curve({size, size, size}, 0.5) >= curve({size, size, size}));
  }
}

TEST_CASE("causal attention of long sequences takes half of full attention", "[cost][attention]")
{
  AttentionCurve curve;
  curve.peak = 100e12;
  curve.memory = 1e12;
  curve.fill = 0;
  curve.floor = 0;
  curve.processors = 100;
  AttentionShape shape{8, 16384, 16384, 32, 8, 128, true, 0};
  const double causal = curve.forward(shape);
  shape.causal = false;
  CHECK(curve.forward(shape) == Approx(4.0 * 8 * 32 * 16384.0 * 16384 * 128 / 50e12));
  CHECK(causal / curve.forward(shape) == Approx(0.5).epsilon(0.01));
  CHECK(curve.backward_time(shape) == Approx(2.5 / curve.backward * curve.forward(shape)));
}

TEST_CASE("quicker kernels take their times divided, whatever limits them", "[cost]")
{
  ProductCurve curve = plain();
  curve.floor = 3e-6;
  curve.memory = 1e12;
  curve.quantise = 2;
  curve.quantise_floor = 5e-6;
  curve.split_floor = 4e-6;
  ProductCurve twice = curve;
  twice.quicken(2);
  for (const Product& product :
       {Product{8192, 8192, 8192}, Product{16, 8192, 8192}, Product{256, 128, 65536}})
    CHECK(twice(product, 0.9) == Approx(curve(product, 0.9) / 2).epsilon(1e-12));
  AttentionCurve attention;
  attention.peak = 100e12;
  attention.memory = 1e12;
  attention.passes = 2;
  attention.processors = 100;
  AttentionCurve quick = attention;
  quick.quicken(2);
  for (const double length : {128.0, 16384.0}) {
    const AttentionShape shape{1, length, length, 8, 8, 128};
    CHECK(quick.forward(shape) == Approx(attention.forward(shape) / 2).epsilon(1e-12));
    CHECK(quick.backward_time(shape) == Approx(attention.backward_time(shape) / 2).epsilon(1e-12));
  }
}

TEST_CASE("a tile pays for filling its pipeline as for longer sums", "[cost][product]")
{
  ProductCurve curve = plain();
  const double without = curve({2560, 1280, 100});
  curve.fill = 300;
  CHECK(curve({2560, 1280, 100}) == Approx(4 * without));
}

TEST_CASE("each halving of a tile costs its share of the rate", "[cost][product]")
{
  ProductCurve curve = plain();
  curve.half_tile = 0.8;
  curve.quarter_tile = 0.9;
  // One tile of 64 x 64, three halvings of 256 x 128, on one of a hundred processors.
  CHECK(curve({64, 64, 512}) == Approx(2.0 * 64 * 64 * 512 / (1e12 * 0.8 * 0.9 * 0.9)));
}

TEST_CASE("converting the left side moves its bytes before the product", "[cost][product]")
{
  ProductCurve curve = plain();
  curve.memory = 1e12;
  const double without = curve({1000, 2000, 64, 2, 2, 3});
  curve.quantise = 5;
  CHECK(curve({1000, 2000, 64, 2, 2, 3}) - without == Approx(5 * 3 * 1000.0 * 64 / 1e12));
}

TEST_CASE("one block of queries is one processor's work", "[cost][attention]")
{
  AttentionCurve curve;
  curve.peak = 100e12;
  curve.memory = 1e12;
  curve.fill = 0;
  curve.floor = 0;
  curve.processors = 100;
  const double alone = curve.forward({1, 128, 4096, 1, 1, 128, false, 0});
  CHECK(alone == Approx(4.0 * 128 * 4096 * 128 / (0.5 * 1e12)));
  CHECK(curve.forward({1, 128, 4096, 100, 100, 128, false, 0}) == Approx(alone));
}

TEST_CASE("a window that is shorter than the sequence saves what lies before it",
          "[cost][attention]")
{
  AttentionCurve curve;
  curve.peak = 100e12;
  curve.memory = 1e12;
  curve.fill = 0;
  curve.floor = 0;
  curve.processors = 100;
  AttentionShape shape{8, 16384, 16384, 32, 8, 128, true, 0};
  const double whole = curve.forward(shape);
  double before = 0;
  for (const double window : {1024.0, 4096.0, 8192.0, 12288.0, 16383.0}) {
    shape.window = window;
    const double share = window / 16384;
    CAPTURE(window);
    // Of s / 2 pairs w - w^2 / 2s are left, and half a block at each end of a block's keys.
    const double left = window * (1 - share / 2) + 64 + 64 * (1 - share);
    CHECK(curve.forward(shape) / whole == Approx(left / (8192 + 64)));
    CHECK(curve.forward(shape) > before);
    before = curve.forward(shape);
  }
  CHECK(before == Approx(whole).epsilon(1e-3));
}

} // namespace foretrain::sim::products_test
