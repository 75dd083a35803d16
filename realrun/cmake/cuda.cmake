# The CUDA part: realrun-cuda and, where a device is present, its tests (label gpu).
set(REALRUN_HAVE_CUDA OFF)
if(NOT REALRUN_CUDA)
  message(STATUS "realrun: CUDA part switched off")
  return()
endif()
include(CheckLanguage)
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND EXISTS /usr/local/cuda/bin/nvcc)
  set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
endif()
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "realrun: no CUDA compiler, the CUDA part is skipped")
  return()
endif()
# The language level is given by flag: CMake 3.25 does not know that CUDA 13 speaks C++20.
# Which GPUs to compile for. CUDA 13 knows nothing below 7.5; a V100 (7.0) needs CUDA 12.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE nvcc_version)
  string(REGEX MATCH "release ([0-9]+)" _ "${nvcc_version}")
  if(CMAKE_MATCH_1 LESS 13)
    set(architectures 70 80 90)
  else()
    set(architectures 80 90)
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${architectures} CACHE STRING "GPU architectures, e.g. 70;80;90" FORCE)
endif()
enable_language(CUDA)
find_package(CUDAToolkit QUIET)
find_path(NCCL_INCLUDE_DIR nccl.h
  HINTS $ENV{NCCL_HOME}/include ${CUDAToolkit_INCLUDE_DIRS} /usr/local/cuda/include)
find_library(NCCL_LIBRARY nccl
  HINTS $ENV{NCCL_HOME}/lib ${CUDAToolkit_LIBRARY_DIR} /usr/local/cuda/lib64 /usr/local/cuda/lib)
if(NOT TARGET CUDA::cublas OR NOT NCCL_INCLUDE_DIR OR NOT NCCL_LIBRARY)
  message(STATUS "realrun: cuBLAS or NCCL not found (NCCL_HOME), the CUDA part is skipped")
  return()
endif()
set(REALRUN_HAVE_CUDA ON)

set(cuda_kernels ${CMAKE_CURRENT_SOURCE_DIR}/cuda/kernels_elementwise.cu
  ${CMAKE_CURRENT_SOURCE_DIR}/cuda/kernels_rows.cu)
set(cuda_sources)
foreach(name blas check communicator device feeder micro network train)
  list(APPEND cuda_sources ${CMAKE_CURRENT_SOURCE_DIR}/cuda/${name}.cpp)
endforeach()

add_library(realrun_cuda STATIC ${cuda_sources} ${cuda_kernels})
target_compile_options(realrun_cuda PRIVATE
  $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--expt-relaxed-constexpr;-Xcompiler=-Wall,-Wextra,-Wshadow>)
target_include_directories(realrun_cuda SYSTEM PUBLIC ${NCCL_INCLUDE_DIR})
target_link_libraries(realrun_cuda PUBLIC realrun_common CUDA::cudart CUDA::cublas ${NCCL_LIBRARY}
  ${CMAKE_DL_LIBS} PRIVATE realrun_warnings)
add_executable(realrun-cuda cuda/main.cpp)
target_link_libraries(realrun-cuda PRIVATE realrun_cuda realrun_warnings)
