// Every CUDA kernel against its reference in common/reference_ops.hpp. The same file runs on a GPU
// (label gpu) and on the emulated device.
#include "realrun/common/reference_ops.hpp"
#include "realrun/cuda/blas.hpp"
#include "realrun/cuda/kernels.hpp"
#include "tests/realrun/device_vector.hpp"

#include <catch2/catch.hpp>

using namespace foretrain::realrun;
using namespace foretrain::realrun::test;

TEMPLATE_TEST_CASE("patches are gathered and scattered as the reference does", "", float, __half,
                   __nv_bfloat16)
{
  const Patches p = GENERATE(Patches{5, 6, 3, 3, 1, 1}, Patches{8, 8, 2, 3, 2, 1},
                             Patches{8, 8, 3, 4, 4, 0}, Patches{7, 7, 1, 1, 1, 0});
  const std::size_t samples = 3;
  const std::size_t pixels = samples * static_cast<std::size_t>(p.height * p.width * p.channels);
  const std::size_t values =
      samples * static_cast<std::size_t>(p.out_height() * p.out_width()) * p.row();
  const Device<TestType> image(noise<TestType>(pixels, 1));
  const Device<TestType> columns(values);
  std::vector<float> expected(values);
  kernels::gather_patches(image.in(), samples, p, columns.out(), nullptr);
  reference::gather_patches(image.host.data(), samples, p, expected.data());
  CHECK(differ(columns, expected) == 0.0);

  const bool add = GENERATE(false, true);
  const Device<TestType> back(noise<TestType>(pixels, 2));
  const Device<TestType> from(noise<TestType>(values, 3));
  expected = back.host;
  kernels::scatter_patches(from.in(), samples, p, back.out(), add, nullptr);
  reference::scatter_patches(from.host.data(), samples, p, expected.data(), add);
  CHECK(differ(back, expected) < tolerance<TestType>());
}

TEMPLATE_TEST_CASE("bias and column sums", "", float, __half, __nv_bfloat16)
{
  const std::size_t rows = GENERATE(std::size_t{1}, std::size_t{37}, std::size_t{1000});
  const std::size_t columns = GENERATE(std::size_t{1}, std::size_t{33}, std::size_t{96});
  const Device<TestType> matrix(noise<TestType>(rows * columns, 1));
  const Device<float> bias(noise<float>(columns, 2));
  const Device<float> sums(columns);
  const Device<float> scratch(kernels::sum_columns_scratch(columns));
  std::vector<float> expected(columns);
  kernels::sum_columns(matrix.in(), rows, columns, sums.out(), scratch.out(), nullptr);
  reference::sum_columns(matrix.host.data(), rows, columns, expected.data());
  CHECK(differ(sums, expected) < 1e-5); // sums are fp32 whatever the input
  expected = matrix.host;
  kernels::add_bias(matrix.out(), rows, columns, bias.in(), nullptr);
  reference::add_bias(expected.data(), rows, columns, bias.host.data());
  CHECK(differ(matrix, expected) < tolerance<TestType>());
}

TEMPLATE_TEST_CASE("element-wise operations and their gradients", "", float, __half, __nv_bfloat16)
{
  const std::size_t count = GENERATE(std::size_t{1}, std::size_t{1000}, std::size_t{70001});
  const bool add = GENERATE(false, true);
  const Device<TestType> a(noise<TestType>(count, 1));
  const Device<TestType> b(noise<TestType>(count, 2));
  const Device<TestType> out(noise<TestType>(count, 3));
  const auto agrees = [&](const auto& kernel, const auto& loop) {
    const Device<TestType> result(out.host);
    std::vector<float> expected = out.host;
    kernel(result.out());
    loop(expected.data());
    return differ(result, expected) < tolerance<TestType>();
  };
  const float* ah = a.host.data();
  const float* bh = b.host.data();
  CHECK(agrees([&](TestType* to) { kernels::relu(a.in(), count, to, nullptr); },
               [&](float* to) { reference::relu(ah, count, to); }));
  CHECK(
      agrees([&](TestType* to) { kernels::relu_gradient(a.in(), b.in(), count, to, add, nullptr); },
             [&](float* to) { reference::relu_gradient(ah, bh, count, to, add); }));
  CHECK(agrees([&](TestType* to) { kernels::gelu(a.in(), count, to, nullptr); },
               [&](float* to) { reference::gelu(ah, count, to); }));
  CHECK(
      agrees([&](TestType* to) { kernels::gelu_gradient(a.in(), b.in(), count, to, add, nullptr); },
             [&](float* to) { reference::gelu_gradient(ah, bh, count, to, add); }));
  CHECK(agrees([&](TestType* to) { kernels::add(a.in(), b.in(), count, to, nullptr); },
               [&](float* to) { reference::add(ah, bh, count, to); }));
  CHECK(agrees([&](TestType* to) { kernels::copy_gradient(a.in(), count, to, add, nullptr); },
               [&](float* to) { reference::copy_gradient(ah, count, to, add); }));
  const Device<float> plain(noise<float>(count, 4));
  CHECK(agrees([&](TestType* to) { kernels::convert(plain.in(), count, to, nullptr); },
               [&](float* to) { std::copy(plain.host.begin(), plain.host.end(), to); }));
}

TEMPLATE_TEST_CASE("layer norm and its gradients", "", float, __half, __nv_bfloat16)
{
  const std::size_t rows = GENERATE(std::size_t{1}, std::size_t{19});
  const std::size_t width = GENERATE(std::size_t{4}, std::size_t{300});
  const bool add = GENERATE(false, true);
  const Device<TestType> in(noise<TestType>(rows * width, 1));
  const Device<TestType> slope(noise<TestType>(rows * width, 2));
  const Device<float> scale(noise<float>(width, 3));
  const Device<float> shift(noise<float>(width, 4));
  const Device<TestType> out(rows * width);
  const Device<float> saved(2 * rows);
  std::vector<float> expected(rows * width);
  std::vector<float> expected_saved(2 * rows);
  kernels::layer_norm(in.in(), rows, width, scale.in(), shift.in(), out.out(), saved.out(),
                      nullptr);
  reference::layer_norm(in.host.data(), rows, width, scale.host.data(), shift.host.data(),
                        expected.data(), expected_saved.data());
  CHECK(differ(out, expected) < tolerance<TestType>());
  CHECK(differ(saved, expected_saved) < 1e-5);

  const Device<TestType> to(noise<TestType>(rows * width, 5));
  const Device<float> products(rows * width);
  const Device<float> scale_sum(width);
  const Device<float> scratch(kernels::sum_columns_scratch(width));
  expected = to.host;
  std::vector<float> expected_scale(width);
  std::vector<float> expected_shift(width);
  kernels::layer_norm_gradient(in.in(), slope.in(), rows, width, scale.in(), saved.in(), to.out(),
                               add, products.out(), nullptr);
  kernels::sum_columns<float>(products.in(), rows, width, scale_sum.out(), scratch.out(), nullptr);
  reference::layer_norm_gradient(in.host.data(), slope.host.data(), rows, width, scale.host.data(),
                                 expected_saved.data(), expected.data(), add, expected_scale.data(),
                                 expected_shift.data());
  CHECK(differ(to, expected) < tolerance<TestType>());
  CHECK(differ(scale_sum, expected_scale) < 1e-5);
}

TEMPLATE_TEST_CASE("softmax, its gradient and cross entropy", "", float, __half, __nv_bfloat16)
{
  const std::size_t rows = GENERATE(std::size_t{1}, std::size_t{21});
  const std::size_t columns = GENERATE(std::size_t{3}, std::size_t{500});
  const Device<TestType> matrix(noise<TestType>(rows * columns, 1));
  std::vector<float> expected = matrix.host;
  kernels::softmax_rows(matrix.out(), rows, columns, 0.7F, nullptr);
  reference::softmax_rows(expected.data(), rows, columns, 0.7F);
  CHECK(differ(matrix, expected) < tolerance<TestType>());

  const Device<TestType> probabilities(noise<TestType>(rows * columns, 2));
  const Device<TestType> slope(noise<TestType>(rows * columns, 3));
  expected = slope.host;
  kernels::softmax_rows_gradient(probabilities.in(), slope.out(), rows, columns, 0.7F, nullptr);
  reference::softmax_rows_gradient(probabilities.host.data(), expected.data(), rows, columns, 0.7F);
  CHECK(differ(slope, expected) < tolerance<TestType>());

  const Device<TestType> logits(noise<TestType>(rows * columns, 4));
  std::vector<int> labels(rows);
  for (std::size_t i = 0; i < rows; ++i)
    labels[i] = static_cast<int>((7 * i) % columns);
  const DeviceBuffer<int> device_labels(rows);
  REALRUN_CHECK(
      cudaMemcpy(device_labels.data(), labels.data(), rows * sizeof(int), cudaMemcpyHostToDevice));
  const Device<float> losses(rows);
  const Device<TestType> gradient(rows * columns);
  std::vector<float> expected_losses(rows);
  kernels::cross_entropy(logits.in(), device_labels.data(), rows, columns, 0.5F, losses.out(),
                         gradient.out(), nullptr);
  reference::cross_entropy(logits.host.data(), labels.data(), rows, columns, 0.5F,
                           expected_losses.data(), expected.data());
  CHECK(differ(losses, expected_losses) < 1e-5);
  CHECK(differ(gradient, expected) < tolerance<TestType>());
}

TEMPLATE_TEST_CASE("mean pool, its gradient and SGD", "", float, __half, __nv_bfloat16)
{
  const std::size_t samples = 3;
  const std::size_t rows = GENERATE(std::size_t{1}, std::size_t{17});
  const std::size_t width = GENERATE(std::size_t{1}, std::size_t{130});
  const bool add = GENERATE(false, true);
  const Device<TestType> in(noise<TestType>(samples * rows * width, 1));
  const Device<TestType> out(samples * width);
  std::vector<float> expected(samples * width);
  kernels::mean_pool(in.in(), samples, rows, width, out.out(), nullptr);
  reference::mean_pool(in.host.data(), samples, rows, width, expected.data());
  CHECK(differ(out, expected) < tolerance<TestType>());

  const Device<TestType> slope(noise<TestType>(samples * width, 2));
  expected = in.host;
  kernels::mean_pool_gradient(slope.in(), samples, rows, width, in.out(), add, nullptr);
  reference::mean_pool_gradient(slope.host.data(), samples, rows, width, expected.data(), add);
  CHECK(differ(in, expected) < tolerance<TestType>());

  const std::size_t count = 1000;
  const Device<float> master(noise<float>(count, 3));
  const Device<float> velocity(noise<float>(count, 4));
  const Device<float> gradient(noise<float>(count, 5));
  const Device<TestType> working(count);
  std::vector<float> parameters = master.host;
  std::vector<float> speed = velocity.host;
  std::vector<float> unscaled = gradient.host;
  for (float& g : unscaled)
    g /= 8.0F;
  kernels::sgd(master.out(), velocity.out(), gradient.in(), count, 0.1F, 0.9F, 8.0F, working.out(),
               nullptr);
  reference::sgd(parameters.data(), speed.data(), unscaled.data(), count, 0.1F, 0.9F);
  CHECK(differ(master, parameters) < 1e-6);
  CHECK(differ(velocity, speed) < 1e-6);
  CHECK(differ(working, parameters) < tolerance<TestType>());
}

TEMPLATE_TEST_CASE("row-major GEMMs, transposed, strided and batched", "", float, __half,
                   __nv_bfloat16)
{
  const bool ta = GENERATE(false, true);
  const bool tb = GENERATE(false, true);
  const bool add = GENERATE(false, true);
  const std::size_t batch = GENERATE(std::size_t{1}, std::size_t{3});
  const std::size_t m = 5, n = 7, k = 9, stride = 12, next = 12 * 12;
  const Device<TestType> a(noise<TestType>(batch * next, 1));
  const Device<TestType> b(noise<TestType>(batch * next, 2));
  const Device<TestType> c(noise<TestType>(batch * next, 3));
  std::vector<float> expected = c.host;
  for (std::size_t p = 0; p < batch; ++p)
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        float sum = 0.0F;
        for (std::size_t l = 0; l < k; ++l)
          sum += a.host[p * next + (ta ? l * stride + i : i * stride + l)] *
                 b.host[p * next + (tb ? j * stride + l : l * stride + j)];
        float& to = expected[p * next + i * stride + j];
        to = add ? to + sum : sum;
      }
  const Stream stream;
  const Blas blas(stream, false);
  blas.multiply<TestType, TestType>({m, n, k, batch}, {a.in(), stride, ta, next},
                                    {b.in(), stride, tb, next}, {c.out(), stride, add, next});
  REALRUN_CHECK(cudaStreamSynchronize(stream.get()));
  CHECK(differ(c, expected) < tolerance<TestType>());
}
