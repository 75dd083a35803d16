// Every operation except the GEMMs as plain loops: the CPU twin runs them, and the CUDA kernels are
// tested against them. Row-major matrices; `add` true adds to the output instead of setting it.
#pragma once

#include "realrun/common/program.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace foretrain::realrun::reference {

template <class T>
void put(T& place, T value, bool add)
{
  place = add ? place + value : value;
}

/// One row of `columns` per output pixel: the kernel x kernel x channels values it looks at, zeros
/// outside the image. image: samples x height x width x channels.
template <class T>
void gather_patches(const T* image, std::size_t samples, const Patches& p, T* columns)
{
  const auto channels = static_cast<std::size_t>(p.channels);
  const std::size_t row = static_cast<std::size_t>(p.width) * channels;
  for (std::size_t n = 0; n < samples; ++n, image += static_cast<std::size_t>(p.height) * row)
    for (int y = 0; y < p.out_height(); ++y)
      for (int x = 0; x < p.out_width(); ++x)
        for (int ky = 0; ky < p.kernel; ++ky)
          for (int kx = 0; kx < p.kernel; ++kx, columns += channels) {
            const int from_y = y * p.stride + ky - p.pad;
            const int from_x = x * p.stride + kx - p.pad;
            if (from_y < 0 || from_y >= p.height || from_x < 0 || from_x >= p.width)
              std::fill_n(columns, channels, T(0));
            else
              std::copy_n(image + static_cast<std::size_t>(from_y) * row +
                              static_cast<std::size_t>(from_x) * channels,
                          channels, columns);
          }
}

/// The transpose of gather_patches: adds each patch value to the pixel it came from.
template <class T>
void scatter_patches(const T* columns, std::size_t samples, const Patches& p, T* image, bool add)
{
  const auto channels = static_cast<std::size_t>(p.channels);
  const std::size_t row = static_cast<std::size_t>(p.width) * channels;
  if (!add)
    std::fill_n(image, samples * static_cast<std::size_t>(p.height) * row, T(0));
  for (std::size_t n = 0; n < samples; ++n, image += static_cast<std::size_t>(p.height) * row)
    for (int y = 0; y < p.out_height(); ++y)
      for (int x = 0; x < p.out_width(); ++x)
        for (int ky = 0; ky < p.kernel; ++ky)
          for (int kx = 0; kx < p.kernel; ++kx, columns += channels) {
            const int to_y = y * p.stride + ky - p.pad;
            const int to_x = x * p.stride + kx - p.pad;
            if (to_y < 0 || to_y >= p.height || to_x < 0 || to_x >= p.width)
              continue;
            T* to = image + static_cast<std::size_t>(to_y) * row +
                    static_cast<std::size_t>(to_x) * channels;
            for (std::size_t c = 0; c < channels; ++c)
              to[c] += columns[c];
          }
}

template <class T>
void add_bias(T* matrix, std::size_t rows, std::size_t columns, const T* bias)
{
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      matrix[i * columns + j] += bias[j];
}

/// sums[j] = sum over rows of matrix[i][j]: the gradient of a bias.
template <class T>
void sum_columns(const T* matrix, std::size_t rows, std::size_t columns, T* sums)
{
  std::fill_n(sums, columns, T(0));
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      sums[j] += matrix[i * columns + j];
}

template <class T>
void relu(const T* in, std::size_t count, T* out)
{
  for (std::size_t i = 0; i < count; ++i)
    out[i] = in[i] > T(0) ? in[i] : T(0);
}

template <class T>
void relu_gradient(const T* in, const T* out_gradient, std::size_t count, T* in_gradient, bool add)
{
  for (std::size_t i = 0; i < count; ++i)
    put(in_gradient[i], in[i] > T(0) ? out_gradient[i] : T(0), add);
}

/// The tanh form of GELU: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
template <class T>
void gelu(const T* in, std::size_t count, T* out)
{
  for (std::size_t i = 0; i < count; ++i) {
    const T x = in[i];
    out[i] = T(0.5) * x * (T(1) + std::tanh(T(0.7978845608) * (x + T(0.044715) * x * x * x)));
  }
}

template <class T>
void gelu_gradient(const T* in, const T* out_gradient, std::size_t count, T* in_gradient, bool add)
{
  for (std::size_t i = 0; i < count; ++i) {
    const T x = in[i];
    const T t = std::tanh(T(0.7978845608) * (x + T(0.044715) * x * x * x));
    const T slope = T(0.7978845608) * (T(1) + T(3 * 0.044715) * x * x);
    put(in_gradient[i], out_gradient[i] * T(0.5) * (T(1) + t + x * (T(1) - t * t) * slope), add);
  }
}

template <class T>
void add(const T* a, const T* b, std::size_t count, T* out)
{
  for (std::size_t i = 0; i < count; ++i)
    out[i] = a[i] + b[i];
}

template <class T>
void copy_gradient(const T* out_gradient, std::size_t count, T* in_gradient, bool add)
{
  for (std::size_t i = 0; i < count; ++i)
    put(in_gradient[i], out_gradient[i], add);
}

/// (x - mean) / deviation * scale + shift for each row; saved: mean, 1/deviation of each row.
template <class T>
void layer_norm(const T* in, std::size_t rows, std::size_t width, const T* scale, const T* shift,
                T* out, T* saved)
{
  for (std::size_t i = 0; i < rows; ++i, in += width, out += width, saved += 2) {
    T mean = 0;
    for (std::size_t j = 0; j < width; ++j)
      mean += in[j];
    mean /= static_cast<T>(width);
    T variance = 0;
    for (std::size_t j = 0; j < width; ++j)
      variance += (in[j] - mean) * (in[j] - mean);
    const T inverse = T(1) / std::sqrt(variance / static_cast<T>(width) + T(1e-5));
    for (std::size_t j = 0; j < width; ++j)
      out[j] = (in[j] - mean) * inverse * scale[j] + shift[j];
    saved[0] = mean;
    saved[1] = inverse;
  }
}

template <class T>
void layer_norm_gradient(const T* in, const T* out_gradient, std::size_t rows, std::size_t width,
                         const T* scale, const T* saved, T* in_gradient, bool add,
                         T* scale_gradient, T* shift_gradient)
{
  std::fill_n(scale_gradient, width, T(0));
  std::fill_n(shift_gradient, width, T(0));
  for (std::size_t i = 0; i < rows; ++i) {
    const T mean = saved[2 * i];
    const T inverse = saved[2 * i + 1];
    T sum = 0;
    T product = 0;
    for (std::size_t j = 0; j < width; ++j) {
      const T normal = (in[i * width + j] - mean) * inverse;
      const T g = out_gradient[i * width + j];
      scale_gradient[j] += g * normal;
      shift_gradient[j] += g;
      sum += g * scale[j];
      product += g * scale[j] * normal;
    }
    sum /= static_cast<T>(width);
    product /= static_cast<T>(width);
    for (std::size_t j = 0; j < width; ++j) {
      const T normal = (in[i * width + j] - mean) * inverse;
      put(in_gradient[i * width + j],
          inverse * (out_gradient[i * width + j] * scale[j] - sum - normal * product), add);
    }
  }
}

/// Each row becomes softmax(factor * row), in place.
template <class T>
void softmax_rows(T* matrix, std::size_t rows, std::size_t columns, T factor)
{
  for (std::size_t i = 0; i < rows; ++i, matrix += columns) {
    T largest = factor * matrix[0];
    for (std::size_t j = 1; j < columns; ++j)
      largest = std::max(largest, factor * matrix[j]);
    T sum = 0;
    for (std::size_t j = 0; j < columns; ++j)
      sum += matrix[j] = std::exp(factor * matrix[j] - largest);
    for (std::size_t j = 0; j < columns; ++j)
      matrix[j] /= sum;
  }
}

/// gradient (of the probabilities, in place) becomes the gradient of the scores before `factor`.
template <class T>
void softmax_rows_gradient(const T* probabilities, T* gradient, std::size_t rows,
                           std::size_t columns, T factor)
{
  for (std::size_t i = 0; i < rows; ++i, probabilities += columns, gradient += columns) {
    T dot = 0;
    for (std::size_t j = 0; j < columns; ++j)
      dot += probabilities[j] * gradient[j];
    for (std::size_t j = 0; j < columns; ++j)
      gradient[j] = factor * probabilities[j] * (gradient[j] - dot);
  }
}

/// out[n][j] = mean over the rows of sample n.
template <class T>
void mean_pool(const T* in, std::size_t samples, std::size_t rows, std::size_t width, T* out)
{
  for (std::size_t n = 0; n < samples; ++n) {
    sum_columns(in + n * rows * width, rows, width, out + n * width);
    for (std::size_t j = 0; j < width; ++j)
      out[n * width + j] /= static_cast<T>(rows);
  }
}

template <class T>
void mean_pool_gradient(const T* out_gradient, std::size_t samples, std::size_t rows,
                        std::size_t width, T* in_gradient, bool add)
{
  for (std::size_t n = 0; n < samples; ++n)
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < width; ++j)
        put(in_gradient[(n * rows + i) * width + j],
            out_gradient[n * width + j] / static_cast<T>(rows), add);
}

/// Writes each sample's -log(probability of its label) and the gradient of their sum times `scale`.
template <class T>
void cross_entropy(const T* logits, const int* labels, std::size_t samples, std::size_t classes,
                   T scale, T* losses, T* gradient)
{
  for (std::size_t n = 0; n < samples; ++n, logits += classes, gradient += classes) {
    const T largest = *std::max_element(logits, logits + classes);
    T sum = 0;
    for (std::size_t j = 0; j < classes; ++j)
      sum += std::exp(logits[j] - largest);
    for (std::size_t j = 0; j < classes; ++j)
      gradient[j] = scale * std::exp(logits[j] - largest) / sum;
    const auto label = static_cast<std::size_t>(labels[n]);
    gradient[label] -= scale;
    losses[n] = std::log(sum) + largest - logits[label];
  }
}

/// velocity = momentum velocity + gradient; parameter -= rate velocity
template <class T>
void sgd(T* parameters, T* velocity, const T* gradient, std::size_t count, T rate, T momentum)
{
  for (std::size_t i = 0; i < count; ++i) {
    velocity[i] = momentum * velocity[i] + gradient[i];
    parameters[i] -= rate * velocity[i];
  }
}

} // namespace foretrain::realrun::reference
