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

/* Entries x[0] to x[3] of LANES rows, `stride` doubles apart, as four vectors. */
INLINE void load_four(const double *x, const int64_t stride, vd *first, vd *second, vd *third, vd *fourth)
{
#if LANES == 8 && defined(SHUFFLE)
    typedef double four __attribute__((vector_size(32)));
    typedef double four_anywhere __attribute__((vector_size(32), aligned(8), may_alias));
#define ROW(l) ((four)(*(const four_anywhere *)(x + (l)*stride)))
#if defined(__clang__)
#define TWO_ROWS(l, m) SHUFFLE(ROW(l), ROW(m), 0, 1, 2, 3, 4, 5, 6, 7)
#else /* which would load both before it puts them together */
#define TWO_ROWS(l, m) \
    __builtin_ia32_insertf64x4_mask(__builtin_ia32_pd512_256pd(ROW(l)), ROW(m), 1, (vd){0}, (unsigned char)255)
#endif
    const vd a = TWO_ROWS(0, 2), b = TWO_ROWS(1, 3), c = TWO_ROWS(4, 6), d = TWO_ROWS(5, 7);
    const vd ab = SHUFFLE(a, b, 0, 8, 2, 10, 4, 12, 6, 14), cd = SHUFFLE(c, d, 0, 8, 2, 10, 4, 12, 6, 14);
    const vd ba = SHUFFLE(a, b, 1, 9, 3, 11, 5, 13, 7, 15), dc = SHUFFLE(c, d, 1, 9, 3, 11, 5, 13, 7, 15);
    *first = SHUFFLE(ab, cd, 0, 1, 4, 5, 8, 9, 12, 13);
    *second = SHUFFLE(ba, dc, 0, 1, 4, 5, 8, 9, 12, 13);
    *third = SHUFFLE(ab, cd, 2, 3, 6, 7, 10, 11, 14, 15);
    *fourth = SHUFFLE(ba, dc, 2, 3, 6, 7, 10, 11, 14, 15);
#undef ROW
#undef TWO_ROWS
#else
    load_two(x, stride, first, second);
    load_two(x + 2, stride, third, fourth);
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

#if LANES == 8 && defined(SHUFFLE)
#define STORES_ROWS 1

/* Entries 0 to n - 1 (5 <= n <= 8), `leading` doubles apart, of a vector of samples as rows one after the other, each in
   one piece. */
INLINE void store_rows(const int n, const double *x, const int64_t leading, double *out)
{
    vd entry[8], even[4], odd[4], row[8];
    UNROLL for (int e = 0; e < 8; e++) entry[e] = *(const vd *)(x + (e < n ? e : n - 1) * leading);
    UNROLL for (int k = 0; k < 4; k++) { /* pairs of entries, of samples 0 2 4 6 and of 1 3 5 7 */
        even[k] = SHUFFLE(entry[2 * k], entry[2 * k + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        odd[k] = SHUFFLE(entry[2 * k], entry[2 * k + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
#define FIRST(a, b) SHUFFLE(a, b, 0, 1, 4, 5, 8, 9, 12, 13)
#define SECOND(a, b) SHUFFLE(a, b, 2, 3, 6, 7, 10, 11, 14, 15)
    UNROLL for (int l = 0; l < 2; l++) {
        const vd *const pair = l ? odd : even;
        const vd a = FIRST(pair[0], pair[1]), b = SECOND(pair[0], pair[1]);
        if (n <= 6) { /* the third pair is the last one of a row */
            row[l] = SHUFFLE(a, pair[2], 0, 1, 4, 5, 8, 9, 8, 9);
            row[l + 2] = SHUFFLE(b, pair[2], 0, 1, 4, 5, 10, 11, 10, 11);
            row[l + 4] = SHUFFLE(a, pair[2], 2, 3, 6, 7, 12, 13, 12, 13);
            row[l + 6] = SHUFFLE(b, pair[2], 2, 3, 6, 7, 14, 15, 14, 15);
        } else {
            const vd c = FIRST(pair[2], pair[3]), d = SECOND(pair[2], pair[3]);
            row[l] = FIRST(a, c), row[l + 2] = FIRST(b, d), row[l + 4] = SECOND(a, c), row[l + 6] = SECOND(b, d);
        }
    }
#undef FIRST
#undef SECOND
    UNROLL for (int l = 0; l < 8; l++) __builtin_ia32_storeupd512_mask(out + l * n, row[l], (unsigned char)((1 << n) - 1));
}
#endif

/* Largest |x| the reductions below are made for. */
#define SINCOS_LIMIT 2e5
#define SIGN_BIT INT64_MIN

/* What turns a number k to the nearest integer: the low REDUCED_BITS of the sum hold it, plus half of what they can hold
   so that it is never negative. */
#if LANES == 8
#define REDUCED_BITS 20
#else
#define REDUCED_BITS 18
#endif
#define TO_INTEGER (6755399441055744.0 + (double)(1 << (REDUCED_BITS - 1))) /* 1.5 * 2^52 */

#if LANES == 8
/* a b + c with one rounding: of two products in a sum it matters which one is rounded. */
INLINE vd fused(vd a, vd b, vd c)
{
    return __builtin_ia32_vfmaddpd512_mask(a, b, c, 255, 4); /* rounding as the processor is set to */
}

/* Entry number (index modulo 16) of a table of 16. */
INLINE vd looked_up(const double *table, vi index)
{
    const vd low = *(const vd *)table, high = *(const vd *)(table + 8);
#if defined(__clang__)
    typedef long long eight __attribute__((vector_size(64)));
    return __builtin_ia32_vpermi2varpd512(low, (eight)index, high);
#else
    return __builtin_shuffle(low, high, index);
#endif
}

#define AT_ONCE 3 /* angles whose operations take turns: one alone is a long chain of dependent operations */
#if defined(__clang__)
#define MOST_AT_ONCE 5 /* the angles of many an arm: a tenth faster than three and two, but not with GCC */
#else
#define MOST_AT_ONCE AT_ONCE
#endif
#define EACH_ANGLE UNROLL for (int i = 0; i < count; i++)

/* sin and cos of up to MOST_AT_ONCE vectors; the return value is as below, and so is the reduction, but x = k pi/8 + r: sine
   and cosine of k pi/8 come from tables of 16, each in two vectors, which leaves short polynomials for r.  The first
   difference is exact because products are fused with it, which goes with vectors of 8. */
INLINE vi sincos_reduced(const int count, const vd *x, vd *sine, vd *cosine)
{
#define S1 0x1.87de2a6aea963p-2
#define S2 0x1.6a09e667f3bcdp-1
#define S3 0x1.d906bcf328d46p-1
    static const _Alignas(64) double sines[16] = {-0.0, S1, S2, S3, 1, S3, S2, S1, 0, -S1, -S2, -S3, -1, -S3, -S2, -S1};
    static const _Alignas(64) double cosines[16] = {1, S3, S2, S1, 0, -S1, -S2, -S3, -1, -S3, -S2, -S1, 0, S1, S2, S3};
#undef S1
#undef S2
#undef S3
    vd shifted[MOST_AT_ONCE], k[MOST_AT_ONCE], r[MOST_AT_ONCE], y[MOST_AT_ONCE], s[MOST_AT_ONCE], c[MOST_AT_ONCE];
    vd a[MOST_AT_ONCE], b[MOST_AT_ONCE], u[MOST_AT_ONCE], v[MOST_AT_ONCE];
    vi bits = {0};
    EACH_ANGLE shifted[i] = x[i] * 0x1.45f306dc9c883p+1 + TO_INTEGER;
    EACH_ANGLE k[i] = shifted[i] - TO_INTEGER;
    EACH_ANGLE r[i] = x[i] - k[i] * 0x1.921fb54440000p-2;
    EACH_ANGLE r[i] = r[i] - k[i] * 0x1.68c234c4c0000p-41;
    EACH_ANGLE r[i] = r[i] - k[i] * 0x1.98a2e03707345p-79;
    EACH_ANGLE y[i] = r[i] * r[i];
    EACH_ANGLE s[i] = y[i] * 2.7533788524684361257e-6 - 0.00019841262220323771678; /* sine - r = y s */
    EACH_ANGLE c[i] = y[i] * -2.7533601252666133742e-7 + 0.000024801577274858294382; /* cosine - 1 = y c */
    EACH_ANGLE s[i] = s[i] * y[i] + 0.0083333333323605305483;
    EACH_ANGLE c[i] = c[i] * y[i] - 0.0013888888886964624776;
    EACH_ANGLE s[i] = s[i] * y[i] - 0.16666666666666280672;
    EACH_ANGLE c[i] = c[i] * y[i] + 0.041666666666665054991;
    EACH_ANGLE s[i] = s[i] * r[i];
    EACH_ANGLE c[i] = c[i] * y[i] - 0.49999999999999999562;
    EACH_ANGLE a[i] = looked_up(sines, (vi)shifted[i]);
    EACH_ANGLE b[i] = looked_up(cosines, (vi)shifted[i]);
    EACH_ANGLE u[i] = b[i] * s[i];
    EACH_ANGLE v[i] = a[i] * s[i];
    EACH_ANGLE u[i] = y[i] * (a[i] * c[i] + u[i]);
    EACH_ANGLE v[i] = y[i] * (b[i] * c[i] - v[i]);
    EACH_ANGLE sine[i] = a[i] + fused(b[i], r[i], u[i]);
    EACH_ANGLE cosine[i] = b[i] + fused(-a[i], r[i], v[i]);
    EACH_ANGLE bits |= (vi)shifted[i] ^ (vi)((vd){0} + TO_INTEGER);
    return bits;
}
#else
#define AT_ONCE 2
#define MOST_AT_ONCE AT_ONCE

/* sin and cos for |x| <= SINCOS_LIMIT, at most 2 ulp off.  The return value has bits above REDUCED_BITS set in the lanes
   where |x| is larger, infinite or not a number.

   x = k pi/2 + r with pi/2 in three parts of 36, 36 and 53 bits, so that the first two products are exact with or without
   fused multiply-add, and so is the first difference; the other two are off by half an ulp of r each.  Polynomials of
   our own (minimax) on |r| <= pi/4.  Needs IEEE arithmetic as written: never compile with -ffast-math. */
INLINE vi sincos_one(vd x, vd *sine, vd *cosine)
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

/* The same of up to AT_ONCE vectors: one alone is a long chain of dependent operations. */
INLINE vi sincos_reduced(const int count, const vd *x, vd *sine, vd *cosine)
{
    const vd u = x[0], v = x[count - 1];
    vd su, cu, sv, cv;
    vi bits = sincos_one(u, &su, &cu);
    if (count > 1) {
        bits |= sincos_one(v, &sv, &cv);
        sine[1] = sv, cosine[1] = cv;
    }
    sine[0] = su, cosine[0] = cu;
    return bits;
}
#endif

/* Which lanes are beyond the reduction: too large or infinite.  What is not a number goes through it and stays so. */
INLINE vi beyond_reduction(vd x)
{
    return (vd)((vi)x & INT64_MAX) > SINCOS_LIMIT;
}

/* Whether any lane has bits above REDUCED_BITS. */
INLINE int is_any_beyond(vi bits)
{
#if LANES == 8
    typedef long long eight __attribute__((vector_size(64)));
    const vi above = bits & -((int64_t)1 << REDUCED_BITS);
#if defined(__clang__)
    return __builtin_ia32_cmpq512_mask((eight)above, (eight){0}, 4, 255) != 0;
#else
    return __builtin_ia32_ptestmq512((eight)above, (eight)above, 255) != 0;
#endif
#else
    int64_t found = 0;
    UNROLL for (int l = 0; l < LANES; l++) found |= bits[l];
    return found >> REDUCED_BITS != 0;
#endif
}

/* sin and cos of `count` vectors; lanes beyond the reduction are taken from the C library. */
INLINE void sincos_many(const int count, const vd *x, vd *sine, vd *cosine)
{
    vi bits = {0};
    int i = 0;
    if (count == MOST_AT_ONCE) bits = sincos_reduced(MOST_AT_ONCE, x, sine, cosine), i = count;
    UNROLL for (; i + AT_ONCE <= count; i += AT_ONCE) bits |= sincos_reduced(AT_ONCE, x + i, sine + i, cosine + i);
    switch (count - i) {
    case 1: bits |= sincos_reduced(1, x + i, sine + i, cosine + i); break;
    case 2: bits |= sincos_reduced(2, x + i, sine + i, cosine + i); break;
    }
    if (__builtin_expect(is_any_beyond(bits), 0)) {
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
