/* A filter made of second-order sections, run forwards and backwards over samples whose channels stand side by side. */
#include "cascade.h"

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif
#define MOST_PAIRS 4  /* channels filtered at once, in pairs: as many as the recursion leaves time for */
#define STRETCH 256   /* samples that pass all sections before the next ones do: they stay in the first-level cache */

typedef double pair __attribute__((vector_size(16)));
typedef double loose_pair __attribute__((vector_size(16), aligned(8), may_alias));

/* One section over some samples, in place: y = b0 x + z1, z1 = b1 x - a1 y + z2, z2 = b2 x - a2 y. */
INLINE void pairs_section(const int pairs, double *x, long step, long count, const double *c, double *z1, double *z2)
{
    pair u[MOST_PAIRS], v[MOST_PAIRS];
    UNROLL for (int k = 0; k < pairs; k++) u[k] = *(loose_pair *)(z1 + 2 * k), v[k] = *(loose_pair *)(z2 + 2 * k);
    const double b0 = c[0], b1 = c[1], b2 = c[2], a1 = c[4], a2 = c[5];
    for (; count > 0; count--, x += step) {
        UNROLL for (int k = 0; k < pairs; k++) {
            const pair in = *(loose_pair *)(x + 2 * k);
            const pair out = b0 * in + u[k];
            u[k] = (b1 * in + v[k]) - a1 * out;
            v[k] = b2 * in - a2 * out;
            *(loose_pair *)(x + 2 * k) = out;
        }
    }
    UNROLL for (int k = 0; k < pairs; k++) *(loose_pair *)(z1 + 2 * k) = u[k], *(loose_pair *)(z2 + 2 * k) = v[k];
}

static void section(long channels, double *x, long step, long count, const double *c, double *z1, double *z2)
{
    long done = 0;
    for (; channels - done >= 2 * MOST_PAIRS; done += 2 * MOST_PAIRS)
        pairs_section(MOST_PAIRS, x + done, step, count, c, z1 + done, z2 + done);
    switch ((channels - done) / 2) {
    case 3: pairs_section(3, x + done, step, count, c, z1 + done, z2 + done), done += 6; break;
    case 2: pairs_section(2, x + done, step, count, c, z1 + done, z2 + done), done += 4; break;
    case 1: pairs_section(1, x + done, step, count, c, z1 + done, z2 + done), done += 2; break;
    default: break;
    }
    if (done == channels) return;
    double u = z1[done], v = z2[done];
    for (double *last = x + done; count > 0; count--, last += step) {
        const double in = *last, out = c[0] * in + u;
        u = (c[1] * in + v) - c[4] * out;
        v = c[2] * in - c[5] * out;
        *last = out;
    }
    z1[done] = u, z2[done] = v;
}

static void one_way(long sections, const double *sos, const double *settled, double *x, long step, long samples,
                    long channels, double *state)
{
    for (long s = 0; s < sections; s++)
        for (long k = 0; k < channels; k++) {
            state[(2 * s) * channels + k] = settled[2 * s] * x[k];
            state[(2 * s + 1) * channels + k] = settled[2 * s + 1] * x[k];
        }
    for (long done = 0; done < samples; done += STRETCH) {
        const long count = samples - done < STRETCH ? samples - done : STRETCH;
        for (long s = 0; s < sections; s++)
            section(channels, x + done * step, step, count, sos + 6 * s, state + 2 * s * channels,
                    state + (2 * s + 1) * channels);
    }
}

void cascade_both_ways(long sections, const double *sos, const double *settled, double *x, long samples, long channels,
                       double *state)
{
    if (samples < 1 || channels < 1) return;
    one_way(sections, sos, settled, x, channels, samples, channels, state);
    one_way(sections, sos, settled, x + (samples - 1) * channels, -channels, samples, channels, state);
}
