/* The interpreter for x86 processors with AVX2; chosen when the module is loaded. */
#if defined(__x86_64__)
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#define LANES 4
#define NAME avx2
#include "interpret.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int nothing_here;
#endif
