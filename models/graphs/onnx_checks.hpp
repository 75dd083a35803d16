// Whether the shapes of an ONNX operator fit each other. A dimension that the file does not tell
// counts as 1 and fits any other.
#pragma once

#include "models/graphs/onnx_file.hpp"

namespace foretrain::models {

/// MatMul and Gemm. Throws ConfigError that names the node.
void check_product(const OnnxFile& file, const std::string& path, const OnnxNode& node,
                   const OnnxShape& left, const OnnxShape& right);

/// Conv and ConvTranspose.
void check_convolution(const OnnxFile& file, const std::string& path, const OnnxNode& node,
                       const OnnxShape& input, const OnnxShape& weight);

/// What a convolution gives against what the file declares; batches may differ.
void check_result(const OnnxFile& file, const std::string& path, const OnnxNode& node,
                  const OnnxShape& result, const OnnxShape& declared);

/// A letter of Einsum's equation, wherever it stands.
void check_letter(const OnnxFile& file, const std::string& path, const OnnxNode& node, char letter,
                  double length, double other);

/// Batch normalisation: one scale for each channel.
void check_channels(const OnnxFile& file, const std::string& path, const OnnxNode& node,
                    const OnnxShape& input, const OnnxShape& scale);

} // namespace foretrain::models
