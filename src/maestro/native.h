// What files of kernels share: arrays as XLA hands them over, and the errors that it hears of.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>

#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;
using Any = ffi::AnyBuffer;
using Out = ffi::Result<ffi::AnyBuffer>;

template <typename T>
static T* data(Any b) {
  return (T*)b.untyped_data();
}
static ffi::Error done() {
  const cudaError_t e = cudaGetLastError();
  return e == cudaSuccess ? ffi::Error::Success() : ffi::Error::Internal(cudaGetErrorString(e));
}

// The signature of a function of a stream, so many arrays and so many results; attributes may follow.
template <int inputs, int results>
static auto bind() {
  if constexpr (results > 0)
    return bind<inputs, results - 1>().template Ret<Any>();
  else if constexpr (inputs > 0)
    return bind<inputs - 1, 0>().template Arg<Any>();
  else
    return ffi::Ffi::Bind().Ctx<ffi::PlatformStream<cudaStream_t>>();
}
#define MAESTRO_KERNEL(symbol, function, ...) \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(symbol, function, (__VA_ARGS__), {ffi::Traits::kCmdBufferCompatible})
