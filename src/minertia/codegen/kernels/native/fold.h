/* Triangles of least squares: rows folded into the R of a QR factorisation by Householder reflections.

   Rows stand column by column, so that a reflection is a product and an update of numbers side by side, and a piece at a
   time, which stays in the first-level cache.  The reflections leave a diagonal that is not negative (Parlett's choice of
   sign, which does not cancel). */

#define FOLD_LEAST 1e-280  /* squares of columns outside of this range may have lost digits: the caller does without */
#define FOLD_MOST 1e280

/* Sums of four vectors, each in the same order whatever the width. */
INLINE void sums_of_four(const vd a, const vd b, const vd c, const vd d, double *f)
{
    UNROLL for (int m = 0; m < 4; m++) f[m] = 0;
    UNROLL for (int l = 0; l < LANES; l++) f[0] += a[l], f[1] += b[l], f[2] += c[l], f[3] += d[l];
}

INLINE double sum_of(const vd a)
{
    double f = 0;
    UNROLL for (int l = 0; l < LANES; l++) f += a[l];
    return f;
}

/* Column j of a piece folded into row j of R (k, k).  B: the piece, column by column, `room` apart; of column j `count`
   vectors are not zero.  1 where the numbers are too large or too small for it. */
INLINE int fold_column(const int64_t k, double *R, double *B, const int64_t room, const int64_t j, const int64_t count)
{
    const vd zero = {0};
    const vd *const v = (const vd *)(B + j * room);
    vd squares = zero;
    for (int64_t i = 0; i < count; i++) squares += v[i] * v[i];
    const double square = sum_of(squares);
    if (!(square < FOLD_MOST)) return 1;
    if (square < FOLD_LEAST) {
        for (int64_t i = 0; i < count * LANES; i++)
            if (((const double *)v)[i] != 0) return 1;
        return 0;
    }
    double *const row = R + j * k;
    const double alpha = row[j];
    if (!(alpha * alpha < FOLD_MOST)) return 1;
    const double beta = sqrt(alpha * alpha + square);
    const double head = alpha > 0 ? -square / (alpha + beta) : alpha - beta; /* of the reflected vector, whose rest is v */
    const double tau = -head / beta, scale = 1 / head, back = 1 / beta;
    row[j] = beta;
    int64_t c = j + 1;
    for (; c + 4 <= k; c += 4) {
        vd *const w = (vd *)(B + c * room), *const x = (vd *)(B + (c + 1) * room);
        vd *const y = (vd *)(B + (c + 2) * room), *const z = (vd *)(B + (c + 3) * room);
        vd fw = zero, fx = zero, fy = zero, fz = zero;
        for (int64_t i = 0; i < count; i++) fw += v[i] * w[i], fx += v[i] * x[i], fy += v[i] * y[i], fz += v[i] * z[i];
        double f[4];
        sums_of_four(fw, fx, fy, fz, f);
        UNROLL for (int m = 0; m < 4; m++) {
            const double part = row[c + m] + f[m] * scale;
            row[c + m] -= tau * part;
            f[m] = part * back;
        }
        for (int64_t i = 0; i < count; i++) w[i] += v[i] * f[0], x[i] += v[i] * f[1], y[i] += v[i] * f[2], z[i] += v[i] * f[3];
    }
    for (; c < k; c++) {
        vd *const w = (vd *)(B + c * room);
        vd f = zero;
        for (int64_t i = 0; i < count; i++) f += v[i] * w[i];
        const double part = row[c] + sum_of(f) * scale;
        row[c] -= tau * part;
        for (int64_t i = 0; i < count; i++) w[i] += v[i] * (part * back);
    }
    return 0;
}

/* Rows (n, k), row by row, folded into R; B: room for FOLD_ROWS of them.  Zeros at the end of columns cost nothing. */
static int fold_rows(const int64_t k, double *R, const int64_t n, const double *rows, double *B)
{
    for (int64_t done = 0; done < n; done += FOLD_ROWS) {
        const int64_t own = n - done < FOLD_ROWS ? n - done : FOLD_ROWS;
        const int64_t room = (own + LANES - 1) / LANES * LANES;
        for (int64_t c = 0; c < k; c++) {
            for (int64_t i = 0; i < own; i++) B[c * room + i] = rows[(done + i) * k + c];
            for (int64_t i = own; i < room; i++) B[c * room + i] = 0;
        }
        int64_t deepest = 0;
        for (int64_t j = 0; j < k; j++) {
            int64_t end = own;
            while (end > deepest && rows[(done + end - 1) * k + j] == 0) end--;
            deepest = end;
            if (fold_column(k, R, B, room, j, (deepest + LANES - 1) / LANES)) return 1;
        }
    }
    return 0;
}

/* Rows from `first` on of packed triangles of `size` columns, `stride` numbers apart, folded into R (k, k) over some of
   their columns.  Rows of the same number stand together, so that each column ends where its triangles end. */
static int fold_packed(const int64_t k, double *R, const Packed *from, const int32_t *columns, double *B)
{
    const int64_t size = from->size, first = from->first, height = size - first;
    const int64_t together = height < FOLD_ROWS ? FOLD_ROWS / height : 1;
    for (int64_t done = 0; done < from->count; done += together) {
        const int64_t own = from->count - done < together ? from->count - done : together;
        const int64_t room = (own * height + LANES - 1) / LANES * LANES;
        memset(B, 0, (size_t)(k * room) * sizeof(double));
        for (int64_t d = 0; d < own; d++) {
            const double *row = from->numbers + (done + d) * from->stride + first * size - first * (first - 1) / 2;
            for (int64_t i = first; i < size; row += size - i, i++)
                for (int64_t c = 0; c < k; c++)
                    if (columns[c] >= i) B[c * room + (i - first) * own + d] = row[columns[c] - i];
        }
        int64_t deepest = first;
        for (int64_t j = 0; j < k; j++) {
            deepest = columns[j] > deepest ? columns[j] : deepest;
            if (fold_column(k, R, B, room, j, ((deepest - first + 1) * own + LANES - 1) / LANES)) return 1;
        }
    }
    return 0;
}

typedef double loose_vd __attribute__((vector_size(8 * LANES), aligned(8), may_alias));

/* W'(W b) of rows from `first` on of each packed triangle W; b: `size` numbers, z: as many for each, zero. */
static void packed_scores(const Packed *from, const double *b, double *z)
{
    const int64_t size = from->size, first = from->first;
    for (int64_t d = 0; d < from->count; d++, z += size) {
        const double *row = from->numbers + d * from->stride + first * size - first * (first - 1) / 2;
        for (int64_t i = first; i < size; row += size - i, i++) {
            vd sums = {0};
            int64_t c = i;
            for (; c + LANES <= size; c += LANES) sums += *(const loose_vd *)(row + c - i) * *(const loose_vd *)(b + c);
            double e = sum_of(sums);
            for (; c < size; c++) e += row[c - i] * b[c];
            for (c = i; c + LANES <= size; c += LANES) *(loose_vd *)(z + c) += *(const loose_vd *)(row + c - i) * e;
            for (; c < size; c++) z[c] += row[c - i] * e;
        }
    }
}
