# Writes build_info.hpp (compiler, flags, git revision) and touches it only when something changed.
# Run at every build: cmake -DOUT=... -DSOURCE=... -DCOMPILER=... -DFLAGS=... -P build_info.cmake
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(revision "unknown")
else()
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no -- realrun sim/base
    OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    string(APPEND revision "+")
  endif()
endif()
set(text "// Generated at build time.
#pragma once

namespace foretrain::realrun {
inline constexpr const char* kCompiler = \"${COMPILER}\";
inline constexpr const char* kFlags = \"${FLAGS}\";
inline constexpr const char* kGitRevision = \"${revision}\";
} // namespace foretrain::realrun
")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
