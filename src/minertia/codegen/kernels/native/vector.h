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

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define SHUFFLE __builtin_shufflevector /* Clang, GCC from 12 on */
#endif
#endif

/* Four numbers side by side, written in vectors as they are read: a vector that is read right after its numbers were
   written one by one waits until all of them have reached the memory. */
INLINE void put_four(double *x, double a, double b, double c, double d)
{
#if LANES == 2
    ((vd *)x)[0] = (vd){a, b};
    ((vd *)x)[1] = (vd){c, d};
#else
    typedef double four __attribute__((vector_size(32), may_alias));
    *(four *)x = (four){a, b, c, d};
#endif
}

/* x[0] of LANES rows, `stride` doubles apart. */
INLINE vd load_one(const double *x, const int64_t stride)
{
    vd v;
    UNROLL for (int l = 0; l < LANES; l++) v[l] = x[l * stride];
    return v;
}

/* Entries x[0] and x[1] of LANES rows, `stride` doubles apart, as two vectors.

   Pairs are loaded whole and told apart by one shuffle each; lane by lane it takes twice as many operations, and GCC goes
   through memory. */
INLINE void load_two(const double *x, const int64_t stride, vd *first, vd *second)
{
#if defined(SHUFFLE)
    typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));
#define PAIR(l) (*(const pair *)(x + (l)*stride))
#if LANES == 8
#define FOUR(l) SHUFFLE(PAIR(l), PAIR((l) + 2), 0, 1, 2, 3)
    const vd even = SHUFFLE(FOUR(0), FOUR(4), 0, 1, 2, 3, 4, 5, 6, 7);
    const vd odd = SHUFFLE(FOUR(1), FOUR(5), 0, 1, 2, 3, 4, 5, 6, 7);
    *first = SHUFFLE(even, odd, 0, 8, 2, 10, 4, 12, 6, 14);
    *second = SHUFFLE(even, odd, 1, 9, 3, 11, 5, 13, 7, 15);
#undef FOUR
#elif LANES == 4
    const vd even = SHUFFLE(PAIR(0), PAIR(2), 0, 1, 2, 3), odd = SHUFFLE(PAIR(1), PAIR(3), 0, 1, 2, 3);
    *first = SHUFFLE(even, odd, 0, 4, 2, 6);
    *second = SHUFFLE(even, odd, 1, 5, 3, 7);
#else
    *first = SHUFFLE(PAIR(0), PAIR(1), 0, 2);
    *second = SHUFFLE(PAIR(0), PAIR(1), 1, 3);
#endif
#undef PAIR
#else
    UNROLL for (int l = 0; l < LANES; l++) (*first)[l] = x[l * stride], (*second)[l] = x[l * stride + 1];
#endif
}

/* The other way round. */
INLINE void store_two(vd first, vd second, double *x, const int64_t stride)
{
#if defined(SHUFFLE)
    typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));
#if LANES == 8
    const vd even = SHUFFLE(first, second, 0, 8, 2, 10, 4, 12, 6, 14);
    const vd odd = SHUFFLE(first, second, 1, 9, 3, 11, 5, 13, 7, 15);
#elif LANES == 4
    const vd even = SHUFFLE(first, second, 0, 4, 2, 6), odd = SHUFFLE(first, second, 1, 5, 3, 7);
#else
    const vd even = SHUFFLE(first, second, 0, 2), odd = SHUFFLE(first, second, 1, 3);
#endif
#define PUT(l) \
    *(pair *)(x + (l)*stride) = SHUFFLE(even, even, (l), (l) + 1); \
    *(pair *)(x + ((l) + 1) * stride) = SHUFFLE(odd, odd, (l), (l) + 1);
    PUT(0)
#if LANES >= 4
    PUT(2)
#endif
#if LANES == 8
    PUT(4)
    PUT(6)
#endif
#undef PUT
#else
    UNROLL for (int l = 0; l < LANES; l++) x[l * stride] = first[l], x[l * stride + 1] = second[l];
#endif
}

/* Largest |x| the reduction below is made for: k < 2^17 keeps k * HALF_PI_1 and k * HALF_PI_2 exact. */
#define SINCOS_LIMIT 2e5
#define SIGN_BIT INT64_MIN

/* What turns a number to the nearest integer: the low bits of the sum hold it, plus 2^17 so that it is never negative. */
#define TO_INTEGER (6755399441055744.0 + 131072.0) /* 1.5 * 2^52 */

/* sin and cos for |x| <= SINCOS_LIMIT, at most 2 ulp off.  The return value has bits above the 18th set in the lanes where
   |x| is larger, infinite or not a number.

   x = k pi/2 + r with pi/2 in three parts of 36, 36 and 53 bits, so that the first two products are exact with or without
   fused multiply-add, and so is the first difference; the other two are off by half an ulp of r each.  Polynomials of
   our own (minimax) on |r| <= pi/4.  Needs IEEE arithmetic as written: never compile with -ffast-math. */
INLINE vi sincos_reduced(vd x, vd *sine, vd *cosine)
{
    const vd shifted = x * 0x1.45f306dc9c883p-1 + TO_INTEGER;
    const vi quadrant = (vi)shifted;
    const vd k = shifted - TO_INTEGER;
    const vd near = x - k * 0x1.921fb54440000p+0;
    const vd r = near - k * 0x1.68c234c4c0000p-39 - k * 0x1.98a2e03707345p-77;
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
    c = c * y - 0.5;
    c = c * y + 1.0;
    const vi odd = -(quadrant & 1);
    const vi turned = quadrant << 62;
    const vi a = (vi)s, b = (vi)c;
    *sine = (vd)(((a & ~odd) | (b & odd)) ^ (turned & SIGN_BIT));
    *cosine = (vd)(((b & ~odd) | (a & odd)) ^ ((turned ^ odd) & SIGN_BIT));
    return quadrant ^ (vi)((vd){0} + TO_INTEGER);
}

/* Which lanes are beyond the reduction: too large or infinite.  What is not a number goes through it and stays so. */
INLINE vi beyond_reduction(vd x)
{
    return (vd)((vi)x & INT64_MAX) > SINCOS_LIMIT;
}

INLINE int64_t united(vi bits)
{
    int64_t found = 0;
    UNROLL for (int l = 0; l < LANES; l++) found |= bits[l];
    return found;
}

/* sin and cos of `count` vectors; lanes beyond the reduction are taken from the C library. */
static void sincos_many(int count, const vd *x, vd *sine, vd *cosine)
{
    vi bits = {0};
    int i = 0;
    for (; i + 1 < count; i += 2) { /* two at a time: one alone is a long chain of dependent operations */
        const vd u = x[i], v = x[i + 1];
        vd su, cu, sv, cv;
        bits |= sincos_reduced(u, &su, &cu);
        bits |= sincos_reduced(v, &sv, &cv);
        sine[i] = su, sine[i + 1] = sv, cosine[i] = cu, cosine[i + 1] = cv;
    }
    if (i < count) {
        const vd u = x[i];
        bits |= sincos_reduced(u, sine + i, cosine + i);
    }
    if (__builtin_expect(united(bits) >> 18 != 0, 0)) {
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
