// `foretrain platform import`.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>

namespace foretrain::cli {

/// Adds the subcommand; `action` is set to what runs when it was given.
void add_platform_import(CLI::App& platform, const std::shared_ptr<std::function<int()>>& action);

} // namespace foretrain::cli
