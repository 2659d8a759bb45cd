/* The interpreter for x86 processors with AVX-512; chosen when the module is loaded. */
#if defined(__x86_64__)
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx2,fma")
#endif
#define LANES 8
#define NAME avx512
#include "interpret.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int nothing_here;
#endif
