/* Blocks of samples: what is done with the entries of a program once they are computed.

   A kernel computes all entries of one block into a workspace that stays in cache: entry e of sample s of the block is
   double number e * STRIDE * LANES + s.  The stride is odd in vectors, because a power of two would map all entries to the
   same few places of the cache.  Then the block is written out, or used up: accumulated into the normal equations, into
   a correction of them, or into preconditioned ones, so that the matrix of all samples never exists (unless its
   entries are asked for as well).

   Whoever includes this defines VECTORS (per block, a multiple of 4) and

       static void evaluate(const Task *task, const double *const *in, int vectors, vd *W)

   which computes the entries of `vectors` vectors of samples, where in[p] is the first row of input p.  LEAST_SQUARES 0
   leaves out what only matrices need. */
#if !defined(LEAST_SQUARES)
#define LEAST_SQUARES 1
#endif

#define SAMPLES (VECTORS * LANES)
#define STRIDE (VECTORS + 1)
#define LEADING (STRIDE * LANES)
#define TILE 4

static void evaluate(const Task *task, const double *const *in, int vectors, vd *W);

typedef struct {
    vd *W, *T, *Z, *sums;
    double *tail;
} Space;

static int64_t z_width(const Task *task)
{
    int64_t width = 0;
    for (int64_t r = 0; r < task->n_rows; r++) width += task->z_columns - task->z_start[r];
    return width;
}

static int64_t n_sums(const Task *task)
{
    return task->mode == RESIDUAL ? task->n_entries + task->n_rows : task->n_products;
}

/* All memory of one run in one piece; nothing of it depends on the number of samples. */
static void *reserve(const Task *task, Space *space)
{
    const int64_t slots = task->n_slots > task->n_entries ? task->n_slots : task->n_entries;
    const int64_t w = slots * STRIDE, t = task->n_rows * STRIDE;
    const int64_t z = task->mode == PRECONDITIONED ? z_width(task) * STRIDE : 0;
    int64_t tail = 0;
    for (int64_t p = 0; p < task->n_inputs; p++) tail += task->stride[p] * SAMPLES;
    const int64_t vectors = w + t + z + n_sums(task) + 1;
    char *memory = malloc((size_t)vectors * sizeof(vd) + (size_t)tail * sizeof(double) + 64);
    if (!memory) return NULL;
    space->W = (vd *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    space->T = space->W + w;
    space->Z = space->T + t;
    space->sums = space->Z + z;
    space->tail = (double *)(space->sums + n_sums(task));
    memset(space->sums, 0, (size_t)n_sums(task) * sizeof(vd));
    return memory;
}

/* Entries of one block; a last block that is not full is padded with copies of its last sample. */
static void compute(const Task *task, int64_t first, int64_t samples, Space *space)
{
    const double *in[PORTS];
    double *tail = space->tail;
    for (int64_t p = 0; p < task->n_inputs; p++) {
        const int64_t stride = task->stride[p];
        in[p] = task->input[p] + first * stride;
        if (samples == SAMPLES || stride == 0) continue;
        memcpy(tail, in[p], (size_t)(samples * stride) * sizeof(double));
        for (int64_t s = samples; s < SAMPLES; s++)
            memcpy(tail + s * stride, tail + (samples - 1) * stride, (size_t)stride * sizeof(double));
        in[p] = tail;
        tail += SAMPLES * stride;
    }
    evaluate(task, in, (int)((samples + LANES - 1) / LANES), space->W);
}

/* Entries that follow one another, sample by sample: two entries of a vector of samples at a time. */
static void write_turned(const double *W, int64_t entries, int64_t samples, double *out)
{
    const int64_t whole = entries < 2 ? 0 : samples / LANES * LANES;
    for (int64_t s = 0; s < whole; s += LANES)
        for (int64_t e = 0; e < entries; e += 2) {
            const int64_t at = e + 1 < entries ? e : e - 1; /* of an odd number the last but one is written twice */
            const double *from = W + at * LEADING + s;
            store_two(*(const vd *)from, *(const vd *)(from + LEADING), out + s * entries + at, entries);
        }
    for (int64_t s = whole; s < samples; s++)
        for (int64_t e = 0; e < entries; e++) out[s * entries + e] = W[e * LEADING + s];
}

static void write_rows(const Task *task, int64_t first, int64_t samples, const double *W)
{
    for (int64_t p = 0; p < task->n_outputs; p++) {
        const int64_t size = task->size[p], n = task->n_numbers[p];
        const int32_t *number = task->numbers[p], *position = task->positions[p];
        double *out = task->output[p] + first * size;
        if (n == size) { /* no zeros: positions are 0, 1, 2 ... and entries follow one another */
            if (n) write_turned(W + (int64_t)number[0] * LEADING, n, samples, out);
            continue;
        }
        for (int64_t s = 0; s < samples; s++, out += size) {
            memset(out, 0, (size_t)size * sizeof(double));
            for (int64_t e = 0; e < n; e++) out[position[e]] = W[(int64_t)number[e] * LEADING + s];
        }
    }
}

/* Asks for the memory that a block of rows is written to, so that it has arrived once the block is computed. */
static void expect_rows(const Task *task, int64_t first, int64_t samples)
{
    for (int64_t p = 0; p < task->n_outputs; p++) {
        const char *out = (const char *)(task->output[p] + first * task->size[p]);
        const int64_t bytes = samples * task->size[p] * (int64_t)sizeof(double);
        for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(out + at, 1);
    }
}

/* What varies, sample by sample: (sample, entry). */
static void write_entries(const Task *task, int64_t first, int64_t samples, const double *W)
{
    double *out = task->output[0] + first * task->n_entries;
    for (int64_t s = 0; s < samples; s++, out += task->n_entries)
        for (int64_t e = 0; e < task->n_entries; e++) out[e] = W[e * LEADING + s];
}

/* Blocks as they are: (block, entry, sample of the block). */
static void write_block(const Task *task, int64_t first, int64_t samples, const double *W)
{
    double *out = task->output[0] + first * task->n_entries;
    for (int64_t e = 0; e < task->n_entries; e++) {
        memcpy(out + e * SAMPLES, W + e * LEADING, (size_t)samples * sizeof(double));
        memset(out + e * SAMPLES + samples, 0, (size_t)(SAMPLES - samples) * sizeof(double));
    }
}

#if LEAST_SQUARES
/* Torques beside the entries, rows scaled, samples beyond the last one set to zero. */
static void complete(const Task *task, int64_t first, int64_t samples, Space *space)
{
    double *W = (double *)space->W, *T = (double *)space->T;
    const int64_t rows = task->n_rows;
    const double *tau = task->tau + first * rows;
    const int64_t whole = rows < 2 ? 0 : samples / LANES * LANES;
    for (int64_t s = 0; s < whole; s += LANES)
        for (int64_t r = 0; r < rows; r += 2) {
            const int64_t at = r + 1 < rows ? r : r - 1; /* of an odd number the last but one is read twice */
            double *to = T + at * LEADING + s;
            load_two(tau + s * rows + at, rows, (vd *)to, (vd *)(to + LEADING));
        }
    for (int64_t s = whole; s < samples; s++)
        for (int64_t r = 0; r < rows; r++) T[r * LEADING + s] = tau[s * rows + r];
    if (task->weights) {
        const double *weight = task->weights + first * task->weight_stride;
        for (int64_t r = 0; r < rows; r++) {
            vd scale[VECTORS];
            memset(scale, 0, sizeof scale);
            for (int64_t s = 0; s < samples; s++) ((double *)scale)[s] = weight[s * task->weight_stride + r];
            for (int64_t e = task->row_start[r] - 1; e < task->row_start[r + 1]; e++) {
                vd *x = e < task->row_start[r] ? space->T + r * STRIDE : space->W + e * STRIDE;
                for (int k = 0; k < VECTORS; k++) /* a row of weight 0 is left out, even one that holds NaN */
                    x[k] = (vd)((vi)(x[k] * scale[k]) & (scale[k] != 0.0));
            }
        }
    }
    if (samples == SAMPLES) return;
    const size_t rest = (size_t)(SAMPLES - samples) * sizeof(double);
    for (int64_t e = 0; e < task->n_entries; e++) memset(W + e * LEADING + samples, 0, rest);
    for (int64_t r = 0; r < rows; r++) memset(T + r * LEADING + samples, 0, rest);
}

/* Entry numbers below zero stand for tau: -1 is row 0. */
INLINE const vd *entry(const vd *W, const vd *T, int32_t number)
{
    return number >= 0 ? W + (int64_t)number * STRIDE : T + (int64_t)(-1 - number) * STRIDE;
}

/* Products of up to TILE columns with up to TILE others (or among themselves), summed over rows and samples. */
INLINE vd *tile(const int na, const int nb, const int symmetric, const int32_t *table, int rows, const vd *W,
                const vd *T, vd *sum)
{
    vd g[TILE][TILE];
    UNROLL for (int i = 0; i < na; i++)
        UNROLL for (int j = 0; j < nb; j++) g[i][j] = (vd){0};
    for (int r = 0; r < rows; r++, table += symmetric ? na : na + nb) {
        const vd *a[TILE], *b[TILE];
        UNROLL for (int i = 0; i < na; i++) a[i] = entry(W, T, table[i]);
        UNROLL for (int j = 0; j < nb; j++) b[j] = symmetric ? a[j] : entry(W, T, table[na + j]);
        for (int k = 0; k < VECTORS; k++) {
            vd x[TILE], y[TILE];
            UNROLL for (int i = 0; i < na; i++) x[i] = a[i][k];
            UNROLL for (int j = 0; j < nb; j++) y[j] = symmetric ? x[j] : b[j][k];
            UNROLL for (int i = 0; i < na; i++)
                UNROLL for (int j = symmetric ? i : 0; j < nb; j++) g[i][j] += x[i] * y[j];
        }
    }
    UNROLL for (int i = 0; i < na; i++)
        UNROLL for (int j = symmetric ? i : 0; j < nb; j++) *sum++ += g[i][j];
    return sum;
}

#define SHAPE(NA, NB, SYMMETRIC) \
    case ((NA)*16 + (NB)*2 + (SYMMETRIC)): sum = tile(NA, NB, SYMMETRIC, table, rows, W, T, sum); break;
#define SHAPES(NA) SHAPE(NA, 1, 0) SHAPE(NA, 2, 0) SHAPE(NA, 3, 0) SHAPE(NA, 4, 0) SHAPE(NA, NA, 1)

/* All tiles of the normal equations; each is (columns, other columns, symmetric, rows, then entry numbers per row). */
static void gram(const Task *task, const vd *W, const vd *T, vd *sum)
{
    const int32_t *table = task->tiles;
    for (int64_t n = 0; n < task->n_tiles; n++) {
        const int na = table[0], nb = table[1], symmetric = table[2], rows = table[3];
        table += 4;
        switch (na * 16 + nb * 2 + symmetric) { SHAPES(1) SHAPES(2) SHAPES(3) SHAPES(4) }
        table += rows * (symmetric ? na : na + nb);
    }
}

/* rho = tau - Y theta, then Y' rho per entry and the square of rho per row. */
static void residual(const Task *task, const vd *W, vd *T, vd *sum)
{
    for (int64_t r = 0; r < task->n_rows; r++) {
        vd *rho = T + r * STRIDE;
        const int32_t start = task->row_start[r], stop = task->row_start[r + 1];
        for (int k = 0; k < VECTORS; k += 4) {
            vd a = rho[k], b = rho[k + 1], c = rho[k + 2], d = rho[k + 3];
            for (int32_t e = start; e < stop; e++) {
                const vd *x = W + e * STRIDE + k;
                const double theta = task->theta[task->column[e]];
                a -= x[0] * theta, b -= x[1] * theta, c -= x[2] * theta, d -= x[3] * theta;
            }
            rho[k] = a, rho[k + 1] = b, rho[k + 2] = c, rho[k + 3] = d;
        }
        for (int32_t e = start - 1; e < stop; e++) { /* first rho itself */
            const vd *x = e < start ? rho : W + e * STRIDE;
            vd a = {0}, b = {0};
            for (int k = 0; k < VECTORS; k += 2) a += x[k] * rho[k], b += x[k + 1] * rho[k + 1];
            sum[e < start ? task->n_entries + r : e] += a + b;
        }
    }
}

/* Z = [Y tau] times an upper triangle; row r of it starts at column z_start[r]. */
static void precondition(const Task *task, const vd *W, const vd *T, vd *Z)
{
    const int64_t width = task->z_columns;
    for (int64_t r = 0; r < task->n_rows; r++) {
        const int32_t start = task->row_start[r], stop = task->row_start[r + 1];
        for (int64_t c = task->z_start[r]; c < width; c += TILE, Z += TILE * STRIDE)
            for (int k = 0; k < VECTORS; k += 4) {
                vd z[TILE][4];
                UNROLL for (int i = 0; i < TILE; i++)
                    UNROLL for (int j = 0; j < 4; j++) z[i][j] = (vd){0};
                for (int32_t e = start; e <= stop; e++) {
                    const int64_t column = e < stop ? task->column[e] : task->n_columns;
                    if (column >= c + TILE) break; /* columns ascend */
                    const vd *x = (e < stop ? W + e * STRIDE : T + r * STRIDE) + k;
                    const double *factor = task->theta + column * width + c;
                    UNROLL for (int i = 0; i < TILE; i++)
                        UNROLL for (int j = 0; j < 4; j++) z[i][j] += x[j] * factor[i];
                }
                UNROLL for (int i = 0; i < TILE; i++)
                    UNROLL for (int j = 0; j < 4; j++) Z[i * STRIDE + k + j] = z[i][j];
            }
    }
}

/* Adds a block to the sums. */
static void accumulate(const Task *task, int64_t first, int64_t samples, Space *space)
{
    complete(task, first, samples, space);
    if (task->mode == GRAM) gram(task, space->W, space->T, space->sums);
    if (task->mode == RESIDUAL) residual(task, space->W, space->T, space->sums);
    if (task->mode == PRECONDITIONED) {
        precondition(task, space->W, space->T, space->Z);
        gram(task, space->Z, space->T, space->sums);
    }
}
#endif

/* Returns 0, 1 if there is no memory, 2 if this kernel cannot do it. */
static int run_task(const Task *task)
{
    const int is_sum = task->mode == GRAM || task->mode == RESIDUAL || task->mode == PRECONDITIONED;
    if (is_sum && !LEAST_SQUARES) return 2;
    Space space;
    void *memory = reserve(task, &space);
    if (!memory) return 1;
    for (int64_t done = 0; done < task->count; done += SAMPLES) {
        const int64_t first = task->first + done;
        const int64_t samples = task->count - done < SAMPLES ? task->count - done : SAMPLES;
        if (task->mode == ROWS) expect_rows(task, first, samples);
        compute(task, first, samples, &space);
        if (is_sum && task->n_outputs) write_entries(task, first, samples, (double *)space.W);
        if (task->mode == ROWS) write_rows(task, first, samples, (double *)space.W);
        if (task->mode == NONZEROS) write_block(task, first, samples, (double *)space.W);
#if LEAST_SQUARES
        if (is_sum) accumulate(task, first, samples, &space);
#endif
    }
    if (is_sum)
        for (int64_t e = 0; e < n_sums(task); e++) {
            double total = 0;
            for (int l = 0; l < LANES; l++) total += space.sums[e][l];
            task->result[e] = total;
        }
    free(memory);
    return 0;
}
