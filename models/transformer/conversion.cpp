#include "models/transformer/conversion.hpp"

namespace foretrain::models {

namespace {

// Kernels that read what is converted, each once, and write of it what they make.
Conversion passes(int kernels, double element, double written)
{
  return {kernels * element + written, kernels};
}

Conversion of_fp8(Fp8Scaling scaling, double element)
{
  switch (scaling) {
  case Fp8Scaling::delayed: // cast and transposed in one kernel, which finds the next maximum
    return passes(1, element, 2);
  case Fp8Scaling::current: // the maximum first (Transformer Engine, Float8CurrentScalingQuantizer)
    return passes(2, element, 2);
  case Fp8Scaling::row: // of rows for one product, of columns for the other: each has its maximum
                        // and its cast (torchao, float8_linear.py); so have weights in each pass,
                        // as shards in fp8 are gathered with one scale alone (fsdp_utils.py)
    return {passes(4, element, 2).bytes, 4, passes(2, element, 1).bytes};
  case Fp8Scaling::block: // (Transformer Engine, quantize_transpose_vector_blockwise.cu)
    break;
  }
  return passes(1, element, 2 * (1 + 4.0 / 128));
}

} // namespace

Conversion conversion_of(sim::Precision precision, Fp8Scaling scaling, double element)
{
  const double both = 2 * bytes_of(precision);
  switch (precision) {
  case sim::Precision::fp8:
    return of_fp8(scaling, element);
  case sim::Precision::mxfp8:
  case sim::Precision::mxfp4: // scaled as mxfp8 (OCP Microscaling Formats 1.0): in as many passes
    return passes(1, element, both);
  case sim::Precision::nvfp4:
    // The maximum, the cast of rows, and a Hadamard transform with the cast of columns
    // (Transformer Engine, NVFP4Quantizer::quantize_impl, quantizer.cpp).
    return passes(3, element, both);
  default:
    return {};
  }
}

} // namespace foretrain::models
