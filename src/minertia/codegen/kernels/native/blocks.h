/* Blocks of samples: what is done with the entries of a program once they are computed.

   A kernel computes all entries of one block into a workspace that stays in cache: entry e of sample s of the block is
   double number e * STRIDE * LANES + s.  The stride is odd in vectors, because a power of two would map all entries to the
   same few places of the cache.  Then the block is written out, or used up: accumulated into the normal equations, into
   a correction of them, or into preconditioned ones, so that the matrix of all samples never exists (unless its
   entries are asked for as well).

   Whoever includes this defines VECTORS (per block, a multiple of 4) and

       static void evaluate(const Task *task, int64_t first, const double *const *in, int vectors, vd *W)

   which computes the entries of `vectors` vectors of samples, where in[p] is the row of input p that belongs to sample
   `first`.  PORTION, an even number of vectors, is how much of a block is taken at a time where larger ones have no use.
   LEAST_SQUARES 0 leaves out what only matrices need.  EXPECTS_ROWS 1: `evaluate` asks for the memory of rows. */
#if !defined(LEAST_SQUARES)
#define LEAST_SQUARES 1
#endif

#if !defined(PORTION)
#define PORTION VECTORS
#endif

#if !defined(EXPECTS_ROWS)
#define EXPECTS_ROWS 0
#endif

#define SAMPLES (VECTORS * LANES)
#define STRIDE (VECTORS | 1)
#define LEADING (STRIDE * LANES)
#define TILE 4

static void evaluate(const Task *task, int64_t first, const double *const *in, int vectors, vd *W);

/* Asks for the memory at x[at], of so many doubles that are read (0) or written (1) soon, so that it has arrived by then.
   One line at a time between computations: many at once wait for one another, and what is loaded behind them waits, too. */
#define EXPECT(x, at, doubles, is_written) \
    if ((at) < (doubles)) __builtin_prefetch((x) + (at), is_written)

/* Torques of row r stand before the entries, as the entry of number -1 - r. */
#define TORQUES(W, r) ((W) - (1 + (r)) * STRIDE)

typedef struct {
    vd *W, *Z, *sums;
    double *tail, *factor;
} Space;

static int64_t z_width(const Task *task)
{
    int64_t width = 0;
    for (int64_t r = 0; r < task->n_rows; r++) width += task->z_columns - task->z_start[r];
    return width;
}

/* Whether parameters are multiplied with entries: those of a residual, or those whose torques are taken off first. */
static int has_parameters(const Task *task)
{
    return task->mode == RESIDUAL || (task->mode == GRAM && task->theta);
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
    const int64_t vectors = w + t + z + n_sums(task) + 1, factors = has_parameters(task) ? task->n_entries : 0;
    char *memory = malloc((size_t)vectors * sizeof(vd) + (size_t)(tail + factors) * sizeof(double) + 64);
    if (!memory) return NULL;
    space->W = (vd *)(((uintptr_t)memory + 63) & ~(uintptr_t)63) + t;
    space->Z = space->W + w;
    space->sums = space->Z + z;
    space->tail = (double *)(space->sums + n_sums(task));
    space->factor = space->tail + tail;
    for (int64_t e = 0; e < factors; e++) space->factor[e] = task->theta[task->column[e]];
    memset(space->sums, 0, (size_t)n_sums(task) * sizeof(vd));
    return memory;
}

/* Vectors of samples that are computed before they are used: few entries of many samples are as good as many of few
   only for sums over tiles, which read and write their sums once for each block. */
static int portion(const Task *task)
{
    return task->mode == GRAM || task->mode == PRECONDITIONED || task->mode == NONZEROS ? VECTORS : PORTION;
}

/* Entries of one block, or of a portion of one; where it is not full it is padded with copies of its last sample. */
static void compute(const Task *task, int64_t first, int64_t samples, Space *space)
{
    const double *in[PORTS];
    double *tail = space->tail;
    const int64_t room = portion(task) * LANES;
    for (int64_t p = 0; p < task->n_inputs; p++) {
        const int64_t stride = task->stride[p];
        in[p] = task->input[p] + first * stride;
        if (samples == room || stride == 0) continue;
        memcpy(tail, in[p], (size_t)(samples * stride) * sizeof(double));
        for (int64_t s = samples; s < room; s++)
            memcpy(tail + s * stride, tail + (samples - 1) * stride, (size_t)stride * sizeof(double));
        in[p] = tail;
        tail += room * stride;
    }
    evaluate(task, first, in, (int)((samples + LANES - 1) / LANES), space->W);
}

/* One vector of samples of entries that follow one another, sample by sample: two entries at a time. */
static void store_pairs(const double *W, int64_t entries, double *out)
{
    for (int64_t e = 0; e < entries; e += 2) {
        const int64_t at = e + 1 < entries ? e : e - 1; /* of an odd number the last but one is written twice */
        const double *from = W + at * LEADING;
        store_two(*(const vd *)from, *(const vd *)(from + LEADING), out + at, entries);
    }
}

/* Entries that follow one another, sample by sample. */
static void write_turned(const double *W, int64_t entries, int64_t samples, double *out)
{
    const int64_t whole = entries < 2 ? 0 : samples / LANES * LANES;
    for (int64_t s = 0; s < whole; s += LANES) {
        double *to = out + s * entries;
        switch (entries) {
#if defined(STORES_ROWS) /* the usual arms */
        case 5: store_rows(5, W + s, LEADING, to); break;
        case 6: store_rows(6, W + s, LEADING, to); break;
        case 7: store_rows(7, W + s, LEADING, to); break;
        case 8: store_rows(8, W + s, LEADING, to); break;
#endif
        default: store_pairs(W + s, entries, to);
        }
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

/* Asks for the memory that rows are written to, where there is no better place to do so. */
static void expect_rows(const Task *task, int64_t first, int64_t samples)
{
    for (int64_t p = 0; p < task->n_outputs; p++) {
        const double *out = task->output[p] + first * task->size[p];
        for (int64_t at = 0; at < samples * task->size[p]; at += 8) __builtin_prefetch(out + at, 1);
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
    double *W = (double *)space->W;
    const int64_t rows = task->n_rows;
    const int vectors = portion(task);
    const double *tau = task->tau + first * rows;
    const int64_t whole = rows < 2 ? 0 : samples / LANES * LANES;
    for (int64_t s = 0; s < whole; s += LANES)
        for (int64_t r = 0; r < rows; r += 2) {
            const int64_t at = r + 1 < rows ? r : r - 1; /* of an odd number the last but one is read twice */
            double *to = (double *)TORQUES(space->W, at) + s;
            load_two(tau + s * rows + at, rows, (vd *)to, (vd *)(to - LEADING));
        }
    for (int64_t s = whole; s < samples; s++)
        for (int64_t r = 0; r < rows; r++) ((double *)TORQUES(space->W, r))[s] = tau[s * rows + r];
    if (task->weights) {
        const double *weight = task->weights + first * task->weight_stride;
        for (int64_t r = 0; r < rows; r++) {
            vd scale[VECTORS];
            memset(scale, 0, sizeof scale);
            for (int64_t s = 0; s < samples; s++) ((double *)scale)[s] = weight[s * task->weight_stride + r];
            for (int64_t e = task->row_start[r] - 1; e < task->row_start[r + 1]; e++) {
                vd *x = e < task->row_start[r] ? TORQUES(space->W, r) : space->W + e * STRIDE;
                for (int k = 0; k < vectors; k++) /* a row of weight 0 is left out, even one that holds NaN */
                    x[k] = (vd)((vi)(x[k] * scale[k]) & (scale[k] != 0.0));
            }
        }
    }
    if (samples == vectors * LANES) return;
    const size_t rest = (size_t)(vectors * LANES - samples) * sizeof(double);
    for (int64_t e = -rows; e < task->n_entries; e++) memset(W + e * LEADING + samples, 0, rest);
}

/* Keeps a value in a register: GCC would load it anew for every product that it is in. */
#if LANES == 8 && defined(__x86_64__)
#define KEEP(x) __asm__("" : "+v"(x))
#else
#define KEEP(x) (void)(x)
#endif

/* Each product of a tile; bounds that do not depend on one another, because Clang would leave the sums in memory. */
#define EACH_PRODUCT \
    UNROLL for (int i = 0; i < na; i++) UNROLL for (int j = 0; j < nb; j++) if (!symmetric || j >= i)
#define PLACE(i, j) ((i)*nb + (j) - (symmetric ? (i) * ((i) + 1) / 2 : 0))

/* Products of up to TILE columns with up to TILE others (or among themselves), summed over rows and samples. */
INLINE vd *tile(const int na, const int nb, const int symmetric, const int32_t *table, int rows, const vd *W, vd *sum)
{
    vd g[TILE][TILE];
    EACH_PRODUCT g[i][j] = sum[PLACE(i, j)];
    for (int r = 0; r < rows; r++, table += symmetric ? na : na + nb) {
        const vd *a[TILE], *b[TILE];
        UNROLL for (int i = 0; i < na; i++) a[i] = W + (int64_t)table[i] * STRIDE;
        UNROLL for (int j = 0; j < nb; j++) b[j] = symmetric ? a[j] : W + (int64_t)table[na + j] * STRIDE;
        /* four at a time: all of them take a compiler for narrow vectors four times as long and make nothing faster */
        for (int first = 0; first < VECTORS; first += 4) UNROLL for (int k = first; k < first + 4; k++) {
            vd x[TILE], y[TILE];
            UNROLL for (int i = 0; i < na; i++) {
                x[i] = a[i][k];
                KEEP(x[i]);
            }
            UNROLL for (int j = 0; j < nb; j++) {
                y[j] = symmetric ? x[j] : b[j][k];
                if (!symmetric) KEEP(y[j]);
            }
            EACH_PRODUCT g[i][j] += x[i] * y[j];
        }
    }
    EACH_PRODUCT sum[PLACE(i, j)] = g[i][j];
    return sum + (symmetric ? na * (na + 1) / 2 : na * nb);
}

#define SHAPE(NA, NB, SYMMETRIC) \
    case ((NA)*16 + (NB)*2 + (SYMMETRIC)): sum = tile(NA, NB, SYMMETRIC, table, rows, W, sum); break;
#define SHAPES(NA) SHAPE(NA, 1, 0) SHAPE(NA, 2, 0) SHAPE(NA, 3, 0) SHAPE(NA, 4, 0) SHAPE(NA, NA, 1)

/* All tiles of the normal equations; each is (columns, other columns, symmetric, rows, then entry numbers per row). */
static void gram(const Task *task, const vd *W, vd *sum)
{
    const int32_t *table = task->tiles;
    for (int64_t n = 0; n < task->n_tiles; n++) {
        const int na = table[0], nb = table[1], symmetric = table[2], rows = table[3];
        table += 4;
        switch (na * 16 + nb * 2 + symmetric) { SHAPES(1) SHAPES(2) SHAPES(3) SHAPES(4) }
        table += rows * (symmetric ? na : na + nb);
    }
}

/* rho = tau - Y theta of row r, for so many vectors of samples; `factor` is theta entry by entry. */
INLINE void leave(const Task *task, int64_t r, const double *factor, const vd *W, const int vectors, vd *left)
{
    const vd *rho = TORQUES(W, r);
    const int32_t start = task->row_start[r], stop = task->row_start[r + 1];
    for (int k = 0; k < vectors; k += 2) { /* entries by turns: one sum of all would be a long chain */
        vd a = rho[k], b = rho[k + 1], c = {0}, d = {0};
        const vd *x = W + (int64_t)start * STRIDE + k;
        int32_t e = start;
        for (; e + 1 < stop; e += 2, x += 2 * STRIDE) {
            a -= x[0] * factor[e], b -= x[1] * factor[e];
            c -= x[STRIDE] * factor[e + 1], d -= x[STRIDE + 1] * factor[e + 1];
        }
        if (e < stop) a -= x[0] * factor[e], b -= x[1] * factor[e];
        left[k] = a + c, left[k + 1] = b + d;
    }
}

/* Y' rho per entry and the square of rho per row. */
static void residual(const Task *task, const double *factor, const vd *W, vd *sum)
{
    for (int64_t r = 0; r < task->n_rows; r++) {
        vd left[PORTION];
        const int32_t start = task->row_start[r], stop = task->row_start[r + 1];
        leave(task, r, factor, W, PORTION, left);
        vd square = sum[task->n_entries + r];
        UNROLL for (int k = 0; k < PORTION; k++) square += left[k] * left[k];
        sum[task->n_entries + r] = square;
        const vd *x = W + (int64_t)start * STRIDE;
        for (int32_t e = start; e < stop; e++, x += STRIDE) {
            vd a = sum[e], b = {0};
            UNROLL for (int k = 0; k < PORTION; k += 2) {
                a += x[k] * left[k];
                if (PORTION > 2) b += x[k + 1] * left[k + 1]; /* by turns, too, where the chain would be long */
                if (PORTION == 2) a += x[k + 1] * left[k + 1];
            }
            sum[e] = PORTION > 2 ? a + b : a;
        }
    }
}

/* Z = [Y tau] times an upper triangle; row r of it starts at column z_start[r]. */
static void precondition(const Task *task, const vd *W, vd *Z)
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
                    const vd *x = (e < stop ? W + e * STRIDE : TORQUES(W, r)) + k;
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
    if (task->mode == GRAM) {
        if (has_parameters(task))
            for (int64_t r = 0; r < task->n_rows; r++)
                leave(task, r, space->factor, space->W, VECTORS, TORQUES(space->W, r));
        gram(task, space->W, space->sums);
    }
    if (task->mode == RESIDUAL) residual(task, space->factor, space->W, space->sums);
    if (task->mode == PRECONDITIONED) {
        precondition(task, space->W, space->Z);
        gram(task, space->Z, space->sums);
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
    const int64_t room = portion(task) * LANES;
    const int expects = task->mode == ROWS && !EXPECTS_ROWS;
    if (expects) expect_rows(task, task->first, task->count < room ? task->count : room);
    for (int64_t done = 0; done < task->count; done += room) {
        const int64_t first = task->first + done, left = task->count - done - room; /* after these */
        const int64_t samples = left < 0 ? left + room : room;
        if (expects && left > 0) expect_rows(task, first + room, left < room ? left : room);
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
