/* Runs a schedule without compiling it: each step works on a whole block, so that choosing it costs little. */

/* Numbers of the operations: CODES in kernels/steps.py. */
enum {
    LOAD, CONST, COPY, NEG, SQRT, SIGN, ABS, EXP, TANH, SINCOS, ADD, SUB, MUL, DIV, NADD, NMUL, FMA, FNMA, FMS, FNMS,
    ADDK, SUBK, MULK, DIVK, FMAK, FMSK
};

INLINE int has_constant(int32_t operation)
{
    return operation == CONST || operation >= ADDK;
}

/* d: result, a b c: operands, k: constant.  The result may stand where an operand stands. */
#define OPERATIONS(EACH, ROOT, SIGN_OF, SIZE, EXPONENTIAL, TANGENT) \
    case CONST: EACH(zero + k) break; \
    case COPY: EACH(a[i]) break; \
    case NEG: EACH(-a[i]) break; \
    case SQRT: EACH(ROOT(a[i])) break; \
    case SIGN: EACH(SIGN_OF(a[i])) break; \
    case ABS: EACH(SIZE(a[i])) break; \
    case EXP: EACH(EXPONENTIAL(a[i])) break; \
    case TANH: EACH(TANGENT(a[i])) break; \
    case ADD: EACH(a[i] + b[i]) break; \
    case SUB: EACH(a[i] - b[i]) break; \
    case MUL: EACH(a[i] * b[i]) break; \
    case DIV: EACH(a[i] / b[i]) break; \
    case NADD: EACH(-(a[i] + b[i])) break; \
    case NMUL: EACH(-(a[i] * b[i])) break; \
    case FMA: EACH(c[i] + a[i] * b[i]) break; \
    case FNMA: EACH(c[i] - a[i] * b[i]) break; \
    case FMS: EACH(a[i] * b[i] - c[i]) break; \
    case FNMS: EACH(-(a[i] * b[i]) - c[i]) break; \
    case ADDK: EACH(k + b[i]) break; \
    case SUBK: EACH(k - b[i]) break; \
    case MULK: EACH(k * b[i]) break; \
    case DIVK: EACH(k / b[i]) break; \
    case FMAK: EACH(c[i] + k * b[i]) break; \
    case FMSK: EACH(k * b[i] - c[i]) break;

#if defined(__clang__)
#define EIGHT_TIMES _Pragma("clang loop unroll_count(8)")
#else
#define EIGHT_TIMES _Pragma("GCC unroll 8")
#endif
#define EACH_VECTOR(expression) EIGHT_TIMES for (int i = 0; i < VECTORS; i++) d[i] = (expression);
#define ONE_NUMBER(expression) { enum { i = 0 }; *d = (expression); }

static void evaluate(const Task *task, int64_t first, const double *const *in, int vectors, vd *W)
{
    (void)first, (void)vectors; /* always a whole block: the workspace has room and the inputs are padded */
    const vd zero = {0};
    const int32_t *step = task->code;
    for (int64_t n = 0; n < task->n_steps; n++, step += 5) {
        vd *const d = W + (int64_t)step[1] * STRIDE;
        const vd *const a = W + (int64_t)step[2] * STRIDE, *const b = W + (int64_t)step[3] * STRIDE;
        vd *const c = W + (int64_t)step[4] * STRIDE;
        const double k = has_constant(step[0]) ? task->constants[step[2]] : 0.0;
        switch (step[0]) {
            OPERATIONS(EACH_VECTOR, vector_sqrt, vector_sign, vector_abs, vector_exp, vector_tanh)
        case LOAD: {
            const int64_t stride = task->stride[step[2]];
            const double *from = in[step[2]] + step[3];
            for (int s = 0; s < SAMPLES; s++) ((double *)d)[s] = from[s * stride];
            break;
        }
        case SINCOS: sincos_many(VECTORS, a, d, c); break;
        }
    }
}

/* What a function that is called for one sample needs: the steps and room for its slots. */
typedef struct {
    const int32_t *code;
    const double *constants;
    int64_t n_steps, n_slots;
    int64_t n_outputs;
    int64_t size[PORTS];
    const int32_t *numbers[PORTS], *positions[PORTS];
    int64_t n_numbers[PORTS];
    double *slots;
} Single;

static double number_sign(double x)
{
    return x != x ? x : (double)((x > 0) - (x < 0));
}

/* One sample, number by number; `slots` is shared, so the caller holds the interpreter lock. */
static void evaluate_one(const void *state, const double *const *in, double *const *out)
{
    const Single *const single = state;
    const double zero = 0;
    double *const S = single->slots;
    const int32_t *step = single->code;
    for (int64_t n = 0; n < single->n_steps; n++, step += 5) {
        double *const d = S + step[1];
        const double *const a = S + step[2], *const b = S + step[3];
        double *const c = S + step[4];
        const double k = has_constant(step[0]) ? single->constants[step[2]] : 0.0;
        switch (step[0]) {
            OPERATIONS(ONE_NUMBER, sqrt, number_sign, fabs, exp, tanh)
        case LOAD: *d = in[step[2]][step[3]]; break;
        case SINCOS: {
            const double x = *a;
            *d = sin(x);
            *c = cos(x);
            break;
        }
        }
    }
    for (int64_t p = 0; p < single->n_outputs; p++) {
        if (single->n_numbers[p] < single->size[p]) memset(out[p], 0, (size_t)single->size[p] * sizeof(double));
        for (int64_t e = 0; e < single->n_numbers[p]; e++) out[p][single->positions[p][e]] = S[single->numbers[p][e]];
    }
}
