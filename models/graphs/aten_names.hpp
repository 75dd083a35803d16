// PyTorch's operators that compute nothing.
#pragma once

#include <string>

namespace foretrain::models {

/// Whether an operator of a trace takes time that grows with its tensors: not a view, a cast, a
/// copy, a tensor that is made or filled, a question about one, what a framework does around the
/// model, or an annotation.
bool computes_something(const std::string& name);

} // namespace foretrain::models
