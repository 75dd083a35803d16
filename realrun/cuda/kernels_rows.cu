// Kernels in which the threads of a block work on one row, or on a tile of columns, together.
#include "realrun/cuda/kernel_support.hpp"
#include "realrun/cuda/kernels.hpp"

namespace foretrain::realrun::kernels {

namespace {

constexpr unsigned kTileColumns = 32; // neighbouring threads read neighbouring columns
constexpr unsigned kTileRows = kThreads / kTileColumns;
constexpr std::size_t kMostChunks = 64; // row chunks of the first pass
constexpr std::size_t kRowsPerChunk = 128;

std::size_t tiles_of(std::size_t columns)
{
  return (columns + kTileColumns - 1) / kTileColumns;
}

/// Block (tile, chunk) sums the rows of its chunk: sums[chunk][column].
template <class T>
__global__ void sum_columns_kernel(const T* matrix, std::size_t rows, std::size_t columns,
                                   std::size_t tiles, std::size_t chunks, float* sums)
{
  __shared__ float partial[kTileRows][kTileColumns];
  const std::size_t tile = blockIdx.x % tiles;
  const std::size_t chunk = blockIdx.x / tiles;
  const unsigned lane = threadIdx.x / kTileColumns;
  const std::size_t column = tile * kTileColumns + threadIdx.x % kTileColumns;
  const std::size_t begin = chunk * rows / chunks;
  const std::size_t end = (chunk + 1) * rows / chunks;
  float sum = 0.0F;
  if (column < columns)
    for (std::size_t row = begin + lane; row < end; row += kTileRows)
      sum += to_float(matrix[row * columns + column]);
  partial[lane][threadIdx.x % kTileColumns] = sum;
  __syncthreads();
  if (lane == 0 && column < columns) {
    for (unsigned other = 1; other < kTileRows; ++other)
      sum += partial[other][threadIdx.x];
    sums[chunk * columns + column] = sum;
  }
}

template <class T>
__global__ void layer_norm_kernel(const T* in, std::size_t rows, std::size_t width,
                                  const float* scale, const float* shift, T* out, float* saved)
{
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* x = in + row * width;
    float sum = 0.0F;
    for (std::size_t j = threadIdx.x; j < width; j += blockDim.x)
      sum += to_float(x[j]);
    const float mean = over_block<Sum>(sum) / static_cast<float>(width);
    float squares = 0.0F;
    for (std::size_t j = threadIdx.x; j < width; j += blockDim.x)
      squares += (to_float(x[j]) - mean) * (to_float(x[j]) - mean);
    const float variance = over_block<Sum>(squares) / static_cast<float>(width);
    const float inverse = 1.0F / sqrtf(variance + 1e-5F);
    for (std::size_t j = threadIdx.x; j < width; j += blockDim.x)
      out[row * width + j] = from_float<T>((to_float(x[j]) - mean) * inverse * scale[j] + shift[j]);
    if (threadIdx.x == 0) {
      saved[2 * row] = mean;
      saved[2 * row + 1] = inverse;
    }
  }
}

template <class T>
__global__ void layer_norm_gradient_kernel(const T* in, const T* out_gradient, std::size_t rows,
                                           std::size_t width, const float* scale,
                                           const float* saved, T* in_gradient, bool add,
                                           float* products)
{
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float mean = saved[2 * row];
    const float inverse = saved[2 * row + 1];
    float sum = 0.0F;
    float product = 0.0F;
    for (std::size_t j = threadIdx.x; j < width; j += blockDim.x) {
      const std::size_t at = row * width + j;
      const float normal = (to_float(in[at]) - mean) * inverse;
      const float g = to_float(out_gradient[at]);
      products[at] = g * normal;
      sum += g * scale[j];
      product += g * scale[j] * normal;
    }
    sum = over_block<Sum>(sum) / static_cast<float>(width);
    product = over_block<Sum>(product) / static_cast<float>(width);
    for (std::size_t j = threadIdx.x; j < width; j += blockDim.x) {
      const std::size_t at = row * width + j;
      const float normal = (to_float(in[at]) - mean) * inverse;
      put(in_gradient[at],
          inverse * (to_float(out_gradient[at]) * scale[j] - sum - normal * product), add);
    }
  }
}

template <class T>
__global__ void softmax_kernel(T* matrix, std::size_t rows, std::size_t columns, float factor)
{
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    T* x = matrix + row * columns;
    float largest = -3.0e38F;
    for (std::size_t j = threadIdx.x; j < columns; j += blockDim.x)
      largest = Largest::of(largest, factor * to_float(x[j]));
    largest = over_block<Largest>(largest);
    float sum = 0.0F;
    for (std::size_t j = threadIdx.x; j < columns; j += blockDim.x)
      sum += expf(factor * to_float(x[j]) - largest);
    sum = over_block<Sum>(sum);
    for (std::size_t j = threadIdx.x; j < columns; j += blockDim.x)
      x[j] = from_float<T>(expf(factor * to_float(x[j]) - largest) / sum);
  }
}

template <class T>
__global__ void softmax_gradient_kernel(const T* probabilities, T* gradient, std::size_t rows,
                                        std::size_t columns, float factor)
{
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* p = probabilities + row * columns;
    T* g = gradient + row * columns;
    float dot = 0.0F;
    for (std::size_t j = threadIdx.x; j < columns; j += blockDim.x)
      dot += to_float(p[j]) * to_float(g[j]);
    dot = over_block<Sum>(dot);
    for (std::size_t j = threadIdx.x; j < columns; j += blockDim.x)
      g[j] = from_float<T>(factor * to_float(p[j]) * (to_float(g[j]) - dot));
  }
}

template <class T>
__global__ void cross_entropy_kernel(const T* logits, const int* labels, std::size_t samples,
                                     std::size_t classes, float scale, float* losses, T* gradient)
{
  for (std::size_t n = blockIdx.x; n < samples; n += gridDim.x) {
    const T* x = logits + n * classes;
    float largest = -3.0e38F;
    for (std::size_t j = threadIdx.x; j < classes; j += blockDim.x)
      largest = Largest::of(largest, to_float(x[j]));
    largest = over_block<Largest>(largest);
    float sum = 0.0F;
    for (std::size_t j = threadIdx.x; j < classes; j += blockDim.x)
      sum += expf(to_float(x[j]) - largest);
    sum = over_block<Sum>(sum);
    const std::size_t label = static_cast<std::size_t>(labels[n]);
    for (std::size_t j = threadIdx.x; j < classes; j += blockDim.x) {
      const float probability = expf(to_float(x[j]) - largest) / sum;
      gradient[n * classes + j] = from_float<T>(scale * (probability - (j == label ? 1.0F : 0.0F)));
    }
    if (threadIdx.x == 0)
      losses[n] = logf(sum) + largest - to_float(x[label]);
  }
}

} // namespace

std::size_t sum_columns_scratch(std::size_t columns)
{
  return kMostChunks * columns;
}

template <class T>
void sum_columns(const T* matrix, std::size_t rows, std::size_t columns, float* sums,
                 float* scratch, cudaStream_t stream)
{
  const std::size_t tiles = tiles_of(columns);
  std::size_t chunks = (rows + kRowsPerChunk - 1) / kRowsPerChunk;
  chunks = chunks < 1 ? 1 : chunks > kMostChunks ? kMostChunks : chunks;
  launch_meeting(&sum_columns_kernel<T>, static_cast<unsigned>(tiles * chunks), kThreads, stream,
                 matrix, rows, columns, tiles, chunks, chunks == 1 ? sums : scratch);
  if (chunks > 1)
    launch_meeting(&sum_columns_kernel<float>, static_cast<unsigned>(tiles), kThreads, stream,
                   scratch, chunks, columns, tiles, std::size_t{1}, sums);
}

template <class T>
void layer_norm(const T* in, std::size_t rows, std::size_t width, const float* scale,
                const float* shift, T* out, float* saved, cudaStream_t stream)
{
  launch_meeting(&layer_norm_kernel<T>, blocks_for_rows(rows), kThreads, stream, in, rows, width,
                 scale, shift, out, saved);
}

template <class T>
void layer_norm_gradient(const T* in, const T* out_gradient, std::size_t rows, std::size_t width,
                         const float* scale, const float* saved, T* in_gradient, bool add,
                         float* products, cudaStream_t stream)
{
  launch_meeting(&layer_norm_gradient_kernel<T>, blocks_for_rows(rows), kThreads, stream, in,
                 out_gradient, rows, width, scale, saved, in_gradient, add, products);
}

template <class T>
void softmax_rows(T* matrix, std::size_t rows, std::size_t columns, float factor,
                  cudaStream_t stream)
{
  launch_meeting(&softmax_kernel<T>, blocks_for_rows(rows), kThreads, stream, matrix, rows, columns,
                 factor);
}

template <class T>
void softmax_rows_gradient(const T* probabilities, T* gradient, std::size_t rows,
                           std::size_t columns, float factor, cudaStream_t stream)
{
  launch_meeting(&softmax_gradient_kernel<T>, blocks_for_rows(rows), kThreads, stream,
                 probabilities, gradient, rows, columns, factor);
}

template <class T>
void cross_entropy(const T* logits, const int* labels, std::size_t samples, std::size_t classes,
                   float scale, float* losses, T* gradient, cudaStream_t stream)
{
  launch_meeting(&cross_entropy_kernel<T>, blocks_for_rows(samples), kThreads, stream, logits,
                 labels, samples, classes, scale, losses, gradient);
}

#define REALRUN_INSTANTIATE(T)                                                                     \
  template void sum_columns(const T*, std::size_t, std::size_t, float*, float*, cudaStream_t);     \
  template void layer_norm(const T*, std::size_t, std::size_t, const float*, const float*, T*,     \
                           float*, cudaStream_t);                                                  \
  template void layer_norm_gradient(const T*, const T*, std::size_t, std::size_t, const float*,    \
                                    const float*, T*, bool, float*, cudaStream_t);                 \
  template void softmax_rows(T*, std::size_t, std::size_t, float, cudaStream_t);                   \
  template void softmax_rows_gradient(const T*, T*, std::size_t, std::size_t, float,               \
                                      cudaStream_t);                                               \
  template void cross_entropy(const T*, const int*, std::size_t, std::size_t, float, float*, T*,   \
                              cudaStream_t);
REALRUN_FOR_TYPES(REALRUN_INSTANTIATE)
#undef REALRUN_INSTANTIATE

} // namespace foretrain::realrun::kernels
