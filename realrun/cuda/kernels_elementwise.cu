// Kernels in which threads do not talk to each other.
#include "realrun/cuda/kernel_support.hpp"
#include "realrun/cuda/kernels.hpp"

namespace foretrain::realrun::kernels {

namespace {

template <class T>
__global__ void convert_kernel(const float* in, std::size_t count, T* out)
{
  for (std::size_t i = first(); i < count; i += step())
    out[i] = from_float<T>(in[i]);
}

template <class T>
__global__ void gather_kernel(const T* image, std::size_t count, Patches p, T* columns)
{
  const int out_width = p.out_width();
  const int out_height = p.out_height();
  for (std::size_t i = first(); i < count; i += step()) {
    std::size_t rest =
        i; // ((((n * out_h + oy) * out_w + ox) * kernel + ky) * kernel + kx) * channels + c
    const int c = static_cast<int>(rest % p.channels);
    rest /= p.channels;
    const int kx = static_cast<int>(rest % p.kernel);
    rest /= p.kernel;
    const int ky = static_cast<int>(rest % p.kernel);
    rest /= p.kernel;
    const int x = static_cast<int>(rest % out_width) * p.stride + kx - p.pad;
    rest /= out_width;
    const int y = static_cast<int>(rest % out_height) * p.stride + ky - p.pad;
    const std::size_t n = rest / out_height;
    const bool inside = y >= 0 && y < p.height && x >= 0 && x < p.width;
    columns[i] =
        inside ? image[((n * p.height + y) * p.width + x) * p.channels + c] : from_float<T>(0.0F);
  }
}

template <class T>
__global__ void scatter_kernel(const T* columns, std::size_t count, Patches p, T* image, bool add)
{
  const int out_width = p.out_width();
  const int out_height = p.out_height();
  for (std::size_t i = first(); i < count; i += step()) {
    std::size_t rest = i;
    const int c = static_cast<int>(rest % p.channels);
    rest /= p.channels;
    const int x = static_cast<int>(rest % p.width) + p.pad;
    rest /= p.width;
    const int y = static_cast<int>(rest % p.height) + p.pad;
    const std::size_t n = rest / p.height;
    float sum = 0.0F;
    for (int ky = 0; ky < p.kernel; ++ky)
      for (int kx = 0; kx < p.kernel; ++kx) {
        const int oy = (y - ky) / p.stride;
        const int ox = (x - kx) / p.stride;
        if (y < ky || x < kx || (y - ky) % p.stride != 0 || (x - kx) % p.stride != 0 ||
            oy >= out_height || ox >= out_width)
          continue;
        const std::size_t row = (n * out_height + oy) * out_width + ox;
        sum += to_float(columns[((row * p.kernel + ky) * p.kernel + kx) * p.channels + c]);
      }
    put(image[i], sum, add);
  }
}

template <class T>
__global__ void add_bias_kernel(T* matrix, std::size_t count, std::size_t columns,
                                const float* bias)
{
  for (std::size_t i = first(); i < count; i += step())
    matrix[i] = from_float<T>(to_float(matrix[i]) + bias[i % columns]);
}

template <class T>
__global__ void relu_kernel(const T* in, std::size_t count, T* out)
{
  for (std::size_t i = first(); i < count; i += step())
    out[i] = to_float(in[i]) > 0.0F ? in[i] : from_float<T>(0.0F);
}

template <class T>
__global__ void relu_gradient_kernel(const T* in, const T* out_gradient, std::size_t count,
                                     T* in_gradient, bool add)
{
  for (std::size_t i = first(); i < count; i += step())
    put(in_gradient[i], to_float(in[i]) > 0.0F ? to_float(out_gradient[i]) : 0.0F, add);
}

__device__ inline float gelu_tanh(float x)
{
  return tanhf(0.7978845608F * (x + 0.044715F * x * x * x));
}

template <class T>
__global__ void gelu_kernel(const T* in, std::size_t count, T* out)
{
  for (std::size_t i = first(); i < count; i += step()) {
    const float x = to_float(in[i]);
    out[i] = from_float<T>(0.5F * x * (1.0F + gelu_tanh(x)));
  }
}

template <class T>
__global__ void gelu_gradient_kernel(const T* in, const T* out_gradient, std::size_t count,
                                     T* in_gradient, bool add)
{
  for (std::size_t i = first(); i < count; i += step()) {
    const float x = to_float(in[i]);
    const float t = gelu_tanh(x);
    const float slope = 0.7978845608F * (1.0F + 3.0F * 0.044715F * x * x);
    put(in_gradient[i], to_float(out_gradient[i]) * 0.5F * (1.0F + t + x * (1.0F - t * t) * slope),
        add);
  }
}

template <class T>
__global__ void add_kernel(const T* a, const T* b, std::size_t count, T* out)
{
  for (std::size_t i = first(); i < count; i += step())
    out[i] = from_float<T>(to_float(a[i]) + to_float(b[i]));
}

template <class T>
__global__ void copy_gradient_kernel(const T* out_gradient, std::size_t count, T* in_gradient,
                                     bool add)
{
  for (std::size_t i = first(); i < count; i += step())
    put(in_gradient[i], to_float(out_gradient[i]), add);
}

template <class T>
__global__ void mean_pool_kernel(const T* in, std::size_t count, std::size_t rows,
                                 std::size_t width, T* out)
{
  for (std::size_t i = first(); i < count; i += step()) {
    const T* column = in + i / width * rows * width + i % width;
    float sum = 0.0F;
    for (std::size_t row = 0; row < rows; ++row)
      sum += to_float(column[row * width]);
    out[i] = from_float<T>(sum / static_cast<float>(rows));
  }
}

template <class T>
__global__ void mean_pool_gradient_kernel(const T* out_gradient, std::size_t count,
                                          std::size_t rows, std::size_t width, T* in_gradient,
                                          bool add)
{
  for (std::size_t i = first(); i < count; i += step()) {
    const float g = to_float(out_gradient[i / (rows * width) * width + i % width]);
    put(in_gradient[i], g / static_cast<float>(rows), add);
  }
}

template <class T>
__global__ void sgd_kernel(float* master, float* velocity, const float* gradient, std::size_t count,
                           float rate, float momentum, float loss_scale, T* working)
{
  for (std::size_t i = first(); i < count; i += step()) {
    velocity[i] = momentum * velocity[i] + gradient[i] / loss_scale;
    const float value = master[i] - rate * velocity[i];
    master[i] = value;
    working[i] = from_float<T>(value);
  }
}

std::size_t pixels(const Patches& p)
{
  return static_cast<std::size_t>(p.height) * static_cast<std::size_t>(p.width) *
         static_cast<std::size_t>(p.channels);
}

std::size_t patch_values(const Patches& p)
{
  return static_cast<std::size_t>(p.out_height()) * static_cast<std::size_t>(p.out_width()) *
         p.row();
}

} // namespace

template <class T>
void convert(const float* in, std::size_t count, T* out, cudaStream_t stream)
{
  launch(&convert_kernel<T>, blocks_for(count), kThreads, stream, in, count, out);
}

template <class T>
void gather_patches(const T* image, std::size_t samples, const Patches& p, T* columns,
                    cudaStream_t stream)
{
  const std::size_t count = samples * patch_values(p);
  launch(&gather_kernel<T>, blocks_for(count), kThreads, stream, image, count, p, columns);
}

template <class T>
void scatter_patches(const T* columns, std::size_t samples, const Patches& p, T* image, bool add,
                     cudaStream_t stream)
{
  const std::size_t count = samples * pixels(p);
  launch(&scatter_kernel<T>, blocks_for(count), kThreads, stream, columns, count, p, image, add);
}

template <class T>
void add_bias(T* matrix, std::size_t rows, std::size_t columns, const float* bias,
              cudaStream_t stream)
{
  const std::size_t count = rows * columns;
  launch(&add_bias_kernel<T>, blocks_for(count), kThreads, stream, matrix, count, columns, bias);
}

template <class T>
void relu(const T* in, std::size_t count, T* out, cudaStream_t stream)
{
  launch(&relu_kernel<T>, blocks_for(count), kThreads, stream, in, count, out);
}

template <class T>
void relu_gradient(const T* in, const T* out_gradient, std::size_t count, T* in_gradient, bool add,
                   cudaStream_t stream)
{
  launch(&relu_gradient_kernel<T>, blocks_for(count), kThreads, stream, in, out_gradient, count,
         in_gradient, add);
}

template <class T>
void gelu(const T* in, std::size_t count, T* out, cudaStream_t stream)
{
  launch(&gelu_kernel<T>, blocks_for(count), kThreads, stream, in, count, out);
}

template <class T>
void gelu_gradient(const T* in, const T* out_gradient, std::size_t count, T* in_gradient, bool add,
                   cudaStream_t stream)
{
  launch(&gelu_gradient_kernel<T>, blocks_for(count), kThreads, stream, in, out_gradient, count,
         in_gradient, add);
}

template <class T>
void add(const T* a, const T* b, std::size_t count, T* out, cudaStream_t stream)
{
  launch(&add_kernel<T>, blocks_for(count), kThreads, stream, a, b, count, out);
}

template <class T>
void copy_gradient(const T* out_gradient, std::size_t count, T* in_gradient, bool add,
                   cudaStream_t stream)
{
  launch(&copy_gradient_kernel<T>, blocks_for(count), kThreads, stream, out_gradient, count,
         in_gradient, add);
}

template <class T>
void mean_pool(const T* in, std::size_t samples, std::size_t rows, std::size_t width, T* out,
               cudaStream_t stream)
{
  const std::size_t count = samples * width;
  launch(&mean_pool_kernel<T>, blocks_for(count), kThreads, stream, in, count, rows, width, out);
}

template <class T>
void mean_pool_gradient(const T* out_gradient, std::size_t samples, std::size_t rows,
                        std::size_t width, T* in_gradient, bool add, cudaStream_t stream)
{
  const std::size_t count = samples * rows * width;
  launch(&mean_pool_gradient_kernel<T>, blocks_for(count), kThreads, stream, out_gradient, count,
         rows, width, in_gradient, add);
}

template <class T>
void sgd(float* master, float* velocity, const float* gradient, std::size_t count, float rate,
         float momentum, float loss_scale, T* working, cudaStream_t stream)
{
  launch(&sgd_kernel<T>, blocks_for(count), kThreads, stream, master, velocity, gradient, count,
         rate, momentum, loss_scale, working);
}

#define REALRUN_INSTANTIATE(T)                                                                     \
  template void convert(const float*, std::size_t, T*, cudaStream_t);                              \
  template void gather_patches(const T*, std::size_t, const Patches&, T*, cudaStream_t);           \
  template void scatter_patches(const T*, std::size_t, const Patches&, T*, bool, cudaStream_t);    \
  template void add_bias(T*, std::size_t, std::size_t, const float*, cudaStream_t);                \
  template void relu(const T*, std::size_t, T*, cudaStream_t);                                     \
  template void relu_gradient(const T*, const T*, std::size_t, T*, bool, cudaStream_t);            \
  template void gelu(const T*, std::size_t, T*, cudaStream_t);                                     \
  template void gelu_gradient(const T*, const T*, std::size_t, T*, bool, cudaStream_t);            \
  template void add(const T*, const T*, std::size_t, T*, cudaStream_t);                            \
  template void copy_gradient(const T*, std::size_t, T*, bool, cudaStream_t);                      \
  template void mean_pool(const T*, std::size_t, std::size_t, std::size_t, T*, cudaStream_t);      \
  template void mean_pool_gradient(const T*, std::size_t, std::size_t, std::size_t, T*, bool,      \
                                   cudaStream_t);                                                  \
  template void sgd(float*, float*, const float*, std::size_t, float, float, float, T*,            \
                    cudaStream_t);
REALRUN_FOR_TYPES(REALRUN_INSTANTIATE)
#undef REALRUN_INSTANTIATE

} // namespace foretrain::realrun::kernels
