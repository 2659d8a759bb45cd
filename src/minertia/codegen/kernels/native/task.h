/* What a kernel is told. */
#define PORTS 12

enum { ROWS, NONZEROS, GRAM, RESIDUAL, PRECONDITIONED, NOTHING };

/* One piece of work; kernels/task.py has the same fields.  Everything is 8 bytes wide. */
typedef struct {
    int64_t mode, first, count; /* what to do with samples first to first + count */
    int64_t n_inputs, n_entries;
    const double *input[PORTS];
    int64_t stride[PORTS]; /* doubles from one sample to the next, 0: the same for all */
    /* ROWS, NONZEROS; sums write their entries where there is an output */
    int64_t n_outputs;
    double *output[PORTS];
    int64_t size[PORTS];
    const int32_t *numbers[PORTS], *positions[PORTS]; /* entries of an output and their places in it */
    int64_t n_numbers[PORTS];
    /* least squares on a program whose output is a matrix (rows, columns), entries row by row */
    int64_t n_rows, n_columns;
    const double *tau, *weights;
    int64_t weight_stride;
    const int32_t *row_start, *column; /* first entry of each row, column of each entry */
    const int32_t *tiles;
    int64_t n_tiles, n_products;
    /* RESIDUAL: parameters; GRAM: those whose torques are taken off tau first, or NULL; PRECONDITIONED: inverse of the
       triangle, padded to tiles, beside it such parameters with another sign */
    const double *theta;
    const int32_t *z_start; /* PRECONDITIONED: first column of each row, a multiple of TILE */
    int64_t z_columns;      /* columns with tau, padded to tiles */
    double *result;
    /* interpreter */
    const int32_t *code;
    const double *constants;
    int64_t n_steps, n_slots;
} Task;
