/* One build of the interpreter: whoever includes this has chosen LANES, the target and NAME, its suffix. */
#include "vector.h"
#define VECTORS (64 / LANES)
#include "task.h"
#include "blocks.h"
#include "interpreter.h"
#include "packed.h"
#include "fold.h"

#define JOIN(a, b) a##b
#define NAMED(a, b) JOIN(a, b)

int NAMED(interpret_, NAME)(const Task *task)
{
    return run_task(task);
}

void NAMED(interpret_one_, NAME)(const void *state, const double *const *in, double *const *out)
{
    evaluate_one(state, in, out);
}

int NAMED(fold_rows_, NAME)(int64_t k, double *R, int64_t n, const double *rows, double *B)
{
    return fold_rows(k, R, n, rows, B);
}

int NAMED(fold_packed_, NAME)(int64_t k, double *R, const Packed *from, const int32_t *columns, double *B)
{
    return fold_packed(k, R, from, columns, B);
}

void NAMED(packed_scores_, NAME)(const Packed *from, const double *b, double *z)
{
    packed_scores(from, b, z);
}
