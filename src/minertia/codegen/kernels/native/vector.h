/* Vectors of samples in the width of the machine, and sine and cosine on them. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if !defined(LANES) /* doubles in one vector */
#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX__)
#define LANES 4
#else
#define LANES 2
#endif
#endif

typedef double vd __attribute__((vector_size(8 * LANES)));
typedef int64_t vi __attribute__((vector_size(8 * LANES)));

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

/* Largest |x| the reduction below is made for: k < 2^17 keeps k * HALF_PI_1 and k * HALF_PI_2 exact. */
#define SINCOS_LIMIT 2e5

/* sin and cos for |x| <= SINCOS_LIMIT, at most 2 ulp off.

   x = k pi/2 + r with pi/2 in three parts of 36, 36 and 53 bits, so that the first two products are exact with or without
   fused multiply-add; what the second difference rounds away is added back.  Polynomials of our own (minimax) on
   |r| <= pi/4.  Needs IEEE arithmetic as written: never compile with -ffast-math. */
INLINE void sincos_reduced(vd x, vd *sine, vd *cosine)
{
    const double to_integer = 6755399441055744.0; /* 1.5 * 2^52: the low bits of the sum hold the integer */
    const vd shifted = x * 0x1.45f306dc9c883p-1 + to_integer;
    const vi quadrant = (vi)shifted;
    const vd k = shifted - to_integer;
    const vd near = x - k * 0x1.921fb54440000p+0;
    const vd part = k * 0x1.68c234c4c0000p-39;
    const vd high = near - part;
    const vd lost = (near - high) - part;
    const vd r = high + (lost - k * 0x1.98a2e03707345p-77);
    const vd y = r * r;
    vd s = y * 1.5918115263038245256e-10 - 2.5051131650231317814e-8;
    s = s * y + 2.75573161016178506e-6;
    s = s * y - 0.00019841269836756772464;
    s = s * y + 0.0083333333333309472944;
    s = s * y - 0.16666666666666664622;
    s = r + r * (y * s);
    vd c = y * -1.1382623633229816086e-11 + 2.0876146146316936526e-9;
    c = c * y - 2.7557317271143654954e-7;
    c = c * y + 0.000024801587298764556746;
    c = c * y - 0.0013888888888887396487;
    c = c * y + 0.041666666666666665388;
    c = 1.0 - (y * 0.5 - y * y * c);
    const vi odd = -(quadrant & 1);
    const vi sine_sign = (vi)((quadrant & 2) << 62), cosine_sign = (vi)(((quadrant + 1) & 2) << 62);
    const vi a = (vi)s, b = (vi)c;
    *sine = (vd)(((a & ~odd) | (b & odd)) ^ sine_sign);
    *cosine = (vd)(((b & ~odd) | (a & odd)) ^ cosine_sign);
}

/* Which lanes are beyond the reduction: too large or infinite.  What is not a number goes through it and stays so. */
INLINE vi beyond_reduction(vd x)
{
    return (vd)((vi)x & INT64_MAX) > SINCOS_LIMIT;
}

INLINE int any(vi mask)
{
    int64_t found = 0;
    UNROLL for (int l = 0; l < LANES; l++) found |= mask[l];
    return found != 0;
}

/* sin and cos of `count` vectors; lanes beyond the reduction are taken from the C library. */
static void sincos_many(int count, const vd *x, vd *sine, vd *cosine)
{
    vi beyond = {0};
    int i = 0;
    for (; i + 1 < count; i += 2) { /* two at a time: one alone is a long chain of dependent operations */
        const vd u = x[i], v = x[i + 1];
        vd su, cu, sv, cv;
        beyond |= beyond_reduction(u) | beyond_reduction(v);
        sincos_reduced(u, &su, &cu);
        sincos_reduced(v, &sv, &cv);
        sine[i] = su, sine[i + 1] = sv, cosine[i] = cu, cosine[i + 1] = cv;
    }
    if (i < count) {
        const vd u = x[i];
        beyond |= beyond_reduction(u);
        sincos_reduced(u, sine + i, cosine + i);
    }
    if (__builtin_expect(any(beyond), 0)) {
        for (int i = 0; i < count; i++) {
            const vi mask = beyond_reduction(x[i]);
            for (int l = 0; l < LANES; l++)
                if (mask[l]) {
                    sine[i][l] = sin(x[i][l]);
                    cosine[i][l] = cos(x[i][l]);
                }
        }
    }
}

INLINE vd vector_sign(vd x)
{
    const vd one = (vd){0} + 1.0;
    const vi positive = x > 0.0, negative = x < 0.0, unordered = x != x;
    return (vd)(((vi)one & positive) | ((vi)-one & negative) | ((vi)x & unordered));
}

INLINE vd vector_abs(vd x)
{
    return (vd)((vi)x & INT64_MAX);
}

/* Lane by lane from the C library: friction has few of them, and they are as exact as the library is. */
INLINE vd vector_exp(vd x)
{
    vd r;
    UNROLL for (int l = 0; l < LANES; l++) r[l] = exp(x[l]);
    return r;
}

INLINE vd vector_tanh(vd x)
{
    vd r;
    UNROLL for (int l = 0; l < LANES; l++) r[l] = tanh(x[l]);
    return r;
}

INLINE vd vector_sqrt(vd x)
{
    vd r;
    UNROLL for (int l = 0; l < LANES; l++) r[l] = __builtin_sqrt(x[l]);
    return r;
}
