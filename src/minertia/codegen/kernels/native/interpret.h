/* One build of the interpreter: whoever includes this has chosen LANES, the target and NAME, its suffix. */
#include "vector.h"
#define VECTORS (64 / LANES)
#include "task.h"
#include "blocks.h"
#include "interpreter.h"

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
