// `foretrain model import`.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>

namespace foretrain::cli {

/// Adds the subcommand; `action` is set to what runs when it was given.
void add_model_import(CLI::App& model, const std::shared_ptr<std::function<int()>>& action);

/// Tells on stderr how far a large file has been read.
void tell_progress(double read);

} // namespace foretrain::cli
