/* minertia.codegen._native: runs kernels, compiled or interpreted, on NumPy arrays without ctypes on the way.

   run(function, task)          one piece of a batch, with the interpreter lock released
   batch(function, task, ...)   a callable for whole batches, arrays in, arrays out
   function(call, state, ...)   a callable for one sample, arrays in, arrays out
   both_ways(sos, settled, x)   a filter of second-order sections over x (samples, channels), forwards and backwards
   fold(R, rows)                rows (n, k) folded into the triangle R (k, k)
   fold_packed(R, packed, start, size, first, columns)   the same with rows of packed triangles, over some columns
   packed_scores(packed, start, size, first, b, z)       W'(W b) of rows of packed triangles W
   INTERPRET, INTERPRET_ONE     addresses of the interpreter's own entry points */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

#include <stdint.h>
#include "cascade.h"
#include "packed.h"
#include "task.h"

typedef int (*Kernel)(const Task *);
typedef void (*Call)(const void *state, const double *const *in, double *const *out);

/* interpret_*.c */
int interpret_base(const Task *), interpret_avx2(const Task *), interpret_avx512(const Task *);
void interpret_one_base(const void *, const double *const *, double *const *);
void interpret_one_avx2(const void *, const double *const *, double *const *);
void interpret_one_avx512(const void *, const double *const *, double *const *);

typedef int (*FoldRows)(int64_t k, double *R, int64_t n, const double *rows, double *B);
typedef int (*FoldPacked)(int64_t k, double *R, const Packed *from, const int32_t *columns, double *B);
typedef void (*PackedScores)(const Packed *from, const double *b, double *z);
int fold_rows_base(int64_t, double *, int64_t, const double *, double *);
int fold_rows_avx2(int64_t, double *, int64_t, const double *, double *);
int fold_rows_avx512(int64_t, double *, int64_t, const double *, double *);
int fold_packed_base(int64_t, double *, const Packed *, const int32_t *, double *);
int fold_packed_avx2(int64_t, double *, const Packed *, const int32_t *, double *);
int fold_packed_avx512(int64_t, double *, const Packed *, const int32_t *, double *);
void packed_scores_base(const Packed *, const double *, double *);
void packed_scores_avx2(const Packed *, const double *, double *);
void packed_scores_avx512(const Packed *, const double *, double *);
static FoldRows fold_rows = fold_rows_base;
static FoldPacked fold_packed = fold_packed_base;
static PackedScores packed_scores = packed_scores_base;

/* Callables hold what they need in a capsule without a name: nobody else can reach it, and names are compared at each
   call. */

static Kernel kernel_at(PyObject *address)
{
    Kernel kernel = (Kernel)PyLong_AsVoidPtr(address);
    if (!kernel && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "there is no function at address 0");
    return kernel;
}

/* A task that somebody else holds; 0 where it is one. */
static int read_task(PyObject *holder, Py_buffer *view)
{
    if (PyObject_GetBuffer(holder, view, PyBUF_SIMPLE)) return -1;
    if (view->len == sizeof(Task)) return 0;
    PyBuffer_Release(view);
    PyErr_SetString(PyExc_ValueError, "the task has not the size of a task");
    return -1;
}

/* Runs a task with the interpreter lock released; 0 where it was done. */
static int run_kernel(Kernel kernel, const Task *task)
{
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = kernel(task);
    Py_END_ALLOW_THREADS
    if (failed == 1) PyErr_NoMemory();
    else if (failed) PyErr_SetString(PyExc_ValueError, "this kernel was built without sums");
    return failed;
}

static PyObject *run(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    (void)module;
    if (n != 2) {
        PyErr_SetString(PyExc_TypeError, "run(function, task)");
        return NULL;
    }
    Kernel kernel = kernel_at(args[0]);
    Py_buffer view;
    if (!kernel || read_task(args[1], &view)) return NULL;
    const int failed = run_kernel(kernel, view.buf);
    PyBuffer_Release(&view);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

#define ARRAY(object) ((PyArrayObject *)(object))

/* ------------------------------------------------------------------ one sample */

#define SPARES 2 /* `tau = f(...)` in a loop holds one result while the next is made */

typedef struct {
    Call call;
    const void *state;
    PyObject *keep;  /* what must live as long as the function */
    PyObject *error; /* raised for arrays of the wrong shape */
    int n_inputs, n_outputs;
    npy_intp input_size[PORTS], output_size[PORTS];
    int output_rank[PORTS];
    npy_intp output_shape[PORTS][4];
    PyObject *spare[PORTS][SPARES]; /* outputs of earlier calls */
    int oldest[PORTS];
} Function;

/* A new C-contiguous array of doubles from a list, or from an array of another kind. */
static PyObject *real_numbers(const Function *f, int p, PyObject *given)
{
    PyObject *any = PyArray_FROM_O(given), *array = NULL;
    if (any) {
        const int type = PyArray_TYPE(ARRAY(any));
        if (PyTypeNum_ISINTEGER(type) || PyTypeNum_ISFLOAT(type) || PyTypeNum_ISBOOL(type))
            array = PyArray_FROM_OTF(any, NPY_DOUBLE, NPY_ARRAY_IN_ARRAY | NPY_ARRAY_FORCECAST);
        Py_DECREF(any);
    }
    if (!array && !(PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_MemoryError)))
        PyErr_Format(f->error, "input %d must hold real numbers", p + 1);
    return array;
}

/* An input as a C-contiguous array of doubles, with a reference of our own; copied only where it has to be. */
static PyObject *input(const Function *f, int p, PyObject *given)
{
    PyObject *array = given;
    if (PyArray_Check(given) && PyArray_TYPE(ARRAY(given)) == NPY_DOUBLE && PyArray_ISCARRAY_RO(ARRAY(given)))
        Py_INCREF(array);
    else
        array = real_numbers(f, p, given);
    const int is_vector = array && PyArray_NDIM(ARRAY(array)) == 1; /* the usual case: NumPy multiplies no lengths */
    if (array && (is_vector ? PyArray_DIMS(ARRAY(array))[0] : PyArray_SIZE(ARRAY(array))) != f->input_size[p]) {
        PyErr_Format(f->error, "input %d has %zd entries; this function needs %zd", p + 1,
                     (Py_ssize_t)PyArray_SIZE(ARRAY(array)), (Py_ssize_t)f->input_size[p]);
        Py_CLEAR(array);
    }
    return array;
}

/* Whether an object is an array of C-contiguous doubles of this shape.  Where `samples` is given the shape is that of one
   sample, and there are as many as those before it had: any number while that is -1. */
static int has_shape(PyObject *array, int rank, const npy_intp *shape, npy_intp *samples)
{
    if (!PyArray_Check(array) || PyArray_TYPE(ARRAY(array)) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(ARRAY(array)) ||
        PyArray_NDIM(ARRAY(array)) != rank + (samples != NULL))
        return 0;
    const npy_intp *lengths = PyArray_DIMS(ARRAY(array));
    if (samples && *samples < 0) *samples = *lengths;
    if (samples && *lengths++ != *samples) return 0;
    for (int d = 0; d < rank; d++)
        if (lengths[d] != shape[d]) return 0;
    return 1;
}

/* Whether it can be written to as well. */
static int can_take(PyObject *array, int rank, const npy_intp *shape, npy_intp *samples)
{
    return has_shape(array, rank, shape, samples) && PyArray_ISWRITEABLE(ARRAY(array));
}

static int is_output(const Function *f, int p, PyObject *given)
{
    if (can_take(given, f->output_rank[p], f->output_shape[p], NULL)) return 1;
    PyErr_Format(f->error, "out must be a writeable C-contiguous float64 array of %zd entries",
                 (Py_ssize_t)f->output_size[p]);
    return 0;
}

/* Whether nobody else holds an array, or could see it change, and it is still as it was made. */
static int is_free(const Function *f, int p, PyObject *array)
{
    return Py_REFCNT(array) == 1 && !((PyArrayObject_fields *)array)->weakreflist &&
           can_take(array, f->output_rank[p], f->output_shape[p], NULL);
}

/* An array for an output.  Making one takes NumPy longer than many a function takes to fill it, so the arrays of the last
   calls are used again once the caller has dropped them. */
static PyObject *new_output(Function *f, int p)
{
    for (int k = 0; k < SPARES; k++)
        if (f->spare[p][k] && is_free(f, p, f->spare[p][k])) {
            Py_INCREF(f->spare[p][k]);
            return f->spare[p][k];
        }
    PyObject *made = PyArray_SimpleNew(f->output_rank[p], f->output_shape[p], NPY_DOUBLE);
    if (made) {
        PyObject **place = &f->spare[p][f->oldest[p]], *old = *place;
        f->oldest[p] = (f->oldest[p] + 1) % SPARES;
        Py_INCREF(made);
        *place = made;
        Py_XDECREF(old);
    }
    return made;
}

/* The outputs, new or given, with references of our own. */
static int outputs(Function *f, PyObject *given, PyObject **out)
{
    for (int p = 0; p < f->n_outputs; p++) {
        if (!given)
            out[p] = new_output(f, p);
        else if (f->n_outputs == 1) {
            out[p] = given;
            Py_INCREF(given);
        } else
            out[p] = PySequence_GetItem(given, p);
        if (!out[p] || (given && !is_output(f, p, out[p]))) return -1;
    }
    return 0;
}

/* Whether two arrays of so many doubles share memory. */
static int overlap(PyObject *a, npy_intp size_a, PyObject *b, npy_intp size_b)
{
    const double *start_a = PyArray_DATA(ARRAY(a)), *start_b = PyArray_DATA(ARRAY(b));
    return start_a < start_b + size_b && start_b < start_a + size_a;
}

/* Copies the inputs in whose memory an output stands: they would change while they are read. */
static int part_from_outputs(const Function *f, PyObject **in, PyObject **out)
{
    for (int p = 0; p < f->n_outputs; p++)
        for (int k = 0; k < p; k++)
            if (overlap(out[p], f->output_size[p], out[k], f->output_size[k])) {
                PyErr_SetString(f->error, "the arrays given as out overlap one another");
                return -1;
            }
    for (int i = 0; i < f->n_inputs; i++)
        for (int p = 0; p < f->n_outputs; p++)
            if (overlap(in[i], f->input_size[i], out[p], f->output_size[p])) {
                PyObject *copy = PyArray_NewCopy(ARRAY(in[i]), NPY_CORDER);
                if (!copy) return -1;
                Py_DECREF(in[i]);
                in[i] = copy;
                break;
            }
    return 0;
}

static PyObject *result(const int n, PyObject *const *out)
{
    if (n == 1) {
        Py_INCREF(out[0]);
        return out[0];
    }
    PyObject *all = PyTuple_New(n);
    for (int p = 0; all && p < n; p++) {
        Py_INCREF(out[p]);
        PyTuple_SetItem(all, p, out[p]);
    }
    return all;
}

static PyObject *call_function(PyObject *capsule, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    Function *f = PyCapsule_GetPointer(capsule, NULL);
    if (!f) return NULL;
    const Py_ssize_t n_names = names ? PyTuple_Size(names) : 0;
    PyObject *given = n + n_names > f->n_inputs ? args[f->n_inputs] : NULL;
    if (n < f->n_inputs || n + n_names > f->n_inputs + 1 ||
        (n_names && PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, 0), "out") != 0)) {
        PyErr_Format(PyExc_TypeError, "this function takes %d arrays and out=None", f->n_inputs);
        return NULL;
    }
    if (given == Py_None) given = NULL;
    if (given && f->n_outputs > 1 && (!PySequence_Check(given) || PySequence_Size(given) != f->n_outputs)) {
        PyErr_Format(f->error, "out must be a list of %d arrays, one for each output", f->n_outputs);
        return NULL;
    }
    PyObject *in[PORTS] = {NULL}, *out[PORTS] = {NULL}, *answer = NULL;
    const double *from[PORTS];
    double *to[PORTS];
    for (int p = 0; p < f->n_inputs; p++) {
        in[p] = input(f, p, args[p]);
        if (!in[p]) goto end;
    }
    if (outputs(f, given, out) || (given && part_from_outputs(f, in, out))) goto end;
    for (int p = 0; p < f->n_inputs; p++) from[p] = PyArray_DATA(ARRAY(in[p]));
    for (int p = 0; p < f->n_outputs; p++) to[p] = PyArray_DATA(ARRAY(out[p]));
    f->call(f->state, from, to);
    answer = result(f->n_outputs, out);
end:
    for (int p = 0; p < f->n_inputs; p++) Py_XDECREF(in[p]);
    for (int p = 0; p < f->n_outputs; p++) Py_XDECREF(out[p]);
    return answer;
}

static void forget(PyObject *capsule)
{
    Function *f = PyCapsule_GetPointer(capsule, NULL);
    Py_XDECREF(f->keep);
    Py_XDECREF(f->error);
    for (int p = 0; p < PORTS; p++)
        for (int k = 0; k < SPARES; k++) Py_XDECREF(f->spare[p][k]);
    PyMem_Free(f);
}

static int read_sizes(PyObject *shapes, int *n, npy_intp *size, int *rank, npy_intp (*shape)[4])
{
    const Py_ssize_t count = PyTuple_Size(shapes);
    if (count < 0 || count > PORTS) goto wrong;
    *n = (int)count;
    for (Py_ssize_t p = 0; p < count; p++) {
        PyObject *one = PyTuple_GetItem(shapes, p);
        const Py_ssize_t dimensions = one ? PyTuple_Size(one) : -1;
        if (dimensions < 0 || dimensions > 4) goto wrong;
        size[p] = 1;
        for (Py_ssize_t d = 0; d < dimensions; d++) {
            const npy_intp length = PyLong_AsSsize_t(PyTuple_GetItem(one, d));
            if (length < 0) goto wrong;
            size[p] *= length;
            if (shape) shape[p][d] = length;
        }
        if (rank) rank[p] = (int)dimensions;
    }
    return 0;
wrong:
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "shapes must be a tuple of short tuples of lengths");
    return -1;
}

static PyMethodDef CALL = {"function", (PyCFunction)(void (*)(void))call_function, METH_FASTCALL | METH_KEYWORDS,
                           "Arrays of one sample in, arrays out; out=None makes new ones."};

static PyObject *function(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *call, *state, *inputs, *results, *keep, *error;
    if (!PyArg_ParseTuple(args, "OOO!O!OO", &call, &state, &PyTuple_Type, &inputs, &PyTuple_Type, &results, &keep, &error))
        return NULL;
    Function *f = PyMem_Calloc(1, sizeof *f);
    if (!f) return PyErr_NoMemory();
    f->call = (Call)PyLong_AsVoidPtr(call);
    f->state = PyLong_AsVoidPtr(state);
    if (PyErr_Occurred() || read_sizes(inputs, &f->n_inputs, f->input_size, NULL, NULL) ||
        read_sizes(results, &f->n_outputs, f->output_size, f->output_rank, f->output_shape)) {
        PyMem_Free(f);
        return NULL;
    }
    Py_INCREF(keep);
    Py_INCREF(error);
    f->keep = keep;
    f->error = error;
    PyObject *capsule = PyCapsule_New(f, NULL, forget);
    if (!capsule) return NULL;
    PyObject *made = PyCFunction_NewEx(&CALL, capsule, NULL);
    Py_DECREF(capsule);
    return made;
}

/* ------------------------------------------------------------------ whole batches */

typedef struct {
    Kernel kernel;
    Task task;      /* all but the arrays and the number of samples */
    PyObject *keep; /* what must live as long as the callable */
    int n_inputs, n_outputs;
    npy_intp input_size[PORTS], output_size[PORTS];
    int input_rank[PORTS], output_rank[PORTS];
    npy_intp input_shape[PORTS][4], output_shape[PORTS][4];
} Batch;

static PyObject *new_rows(const Batch *b, int p, npy_intp samples)
{
    npy_intp lengths[5] = {samples};
    for (int d = 0; d < b->output_rank[p]; d++) lengths[d + 1] = b->output_shape[p][d];
    return PyArray_SimpleNew(b->output_rank[p] + 1, lengths, NPY_DOUBLE);
}

/* Whether outputs share memory with nothing else. */
static int are_apart(const Batch *b, PyObject *const *in, PyObject *const *out, npy_intp samples)
{
    for (int p = 0; p < b->n_outputs; p++) {
        for (int k = 0; k < p; k++)
            if (overlap(out[p], samples * b->output_size[p], out[k], samples * b->output_size[k])) return 0;
        for (int i = 0; i < b->n_inputs; i++) {
            const npy_intp size = (b->task.stride[i] ? samples : 1) * b->input_size[i];
            if (overlap(out[p], samples * b->output_size[p], in[i], size)) return 0;
        }
    }
    return 1;
}

/* The outputs, with references of our own: 1 where they can be written to, 0 where not, -1 after an error. */
static int rows_to_write(const Batch *b, PyObject *given, PyObject *const *in, npy_intp samples, PyObject **out)
{
    if (given && b->n_outputs > 1 && (!PyTuple_Check(given) || PyTuple_Size(given) != b->n_outputs)) return 0;
    for (int p = 0; p < b->n_outputs; p++) {
        if (!given) {
            out[p] = new_rows(b, p, samples);
            if (!out[p]) return -1;
            continue;
        }
        out[p] = b->n_outputs == 1 ? given : PyTuple_GetItem(given, p);
        Py_INCREF(out[p]);
        if (!can_take(out[p], b->output_rank[p], b->output_shape[p], &samples)) return 0;
    }
    return !given || are_apart(b, in, out, samples);
}

/* Arrays as they are, then the outputs (an array, a tuple of them, or None for new ones).  What is not as it should be is
   not said here: NotImplemented tells the caller to look, to copy, or to complain. */
static PyObject *call_batch(PyObject *capsule, PyObject *const *args, Py_ssize_t n)
{
    Batch *b = PyCapsule_GetPointer(capsule, NULL);
    if (!b) return NULL;
    if (n != b->n_inputs + 1) Py_RETURN_NOTIMPLEMENTED;
    npy_intp samples = -1;
    for (int p = 0; p < b->n_inputs; p++)
        if (!has_shape(args[p], b->input_rank[p], b->input_shape[p], b->task.stride[p] ? &samples : NULL))
            Py_RETURN_NOTIMPLEMENTED;
    if (samples < 0) samples = 1; /* nothing varies */
    PyObject *out[PORTS] = {NULL}, *answer = NULL;
    const int is_ready = rows_to_write(b, args[n - 1] == Py_None ? NULL : args[n - 1], args, samples, out);
    if (is_ready > 0) {
        Task task = b->task;
        task.count = samples;
        for (int p = 0; p < b->n_inputs; p++) task.input[p] = PyArray_DATA(ARRAY(args[p]));
        for (int p = 0; p < b->n_outputs; p++) task.output[p] = PyArray_DATA(ARRAY(out[p]));
        if (!run_kernel(b->kernel, &task)) answer = result(b->n_outputs, out);
    } else if (is_ready == 0) {
        answer = Py_NotImplemented;
        Py_INCREF(answer);
    }
    for (int p = 0; p < b->n_outputs; p++) Py_XDECREF(out[p]);
    return answer;
}

static void forget_batch(PyObject *capsule)
{
    Batch *b = PyCapsule_GetPointer(capsule, NULL);
    Py_XDECREF(b->keep);
    PyMem_Free(b);
}

static PyMethodDef CALL_BATCH = {"batch", (PyCFunction)(void (*)(void))call_batch, METH_FASTCALL,
                                 "Arrays of a batch and outputs or None; NotImplemented where they are not as needed."};

static PyObject *batch(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *address, *holder, *inputs, *results, *keep;
    if (!PyArg_ParseTuple(args, "OOO!O!O", &address, &holder, &PyTuple_Type, &inputs, &PyTuple_Type, &results, &keep))
        return NULL;
    Kernel kernel = kernel_at(address);
    Py_buffer view;
    if (!kernel || read_task(holder, &view)) return NULL;
    Batch *b = PyMem_Calloc(1, sizeof *b);
    if (b) b->kernel = kernel, b->task = *(const Task *)view.buf;
    PyBuffer_Release(&view);
    if (!b) return PyErr_NoMemory();
    if (read_sizes(inputs, &b->n_inputs, b->input_size, b->input_rank, b->input_shape) ||
        read_sizes(results, &b->n_outputs, b->output_size, b->output_rank, b->output_shape)) {
        PyMem_Free(b);
        return NULL;
    }
    PyObject *capsule = PyCapsule_New(b, NULL, forget_batch);
    if (!capsule) {
        PyMem_Free(b);
        return NULL;
    }
    Py_INCREF(keep);
    b->keep = keep;
    PyObject *made = PyCFunction_NewEx(&CALL_BATCH, capsule, NULL);
    Py_DECREF(capsule);
    return made;
}

/* ------------------------------------------------------------------ filters */

static int doubles(PyObject *object, Py_buffer *view, int flags, Py_ssize_t columns)
{
    if (PyObject_GetBuffer(object, view, flags | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)) return -1;
    if (view->ndim == 2 && view->format && view->format[0] == 'd' && !view->format[1] &&
        (columns == 0 || view->shape[1] == columns))
        return 0;
    PyBuffer_Release(view);
    PyErr_SetString(PyExc_ValueError, "both_ways takes C-contiguous matrices of doubles: (s, 6), (s, 2), (samples, channels)");
    return -1;
}

static PyObject *both_ways(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    (void)module;
    if (n != 3) {
        PyErr_SetString(PyExc_TypeError, "both_ways(sos, settled, x)");
        return NULL;
    }
    Py_buffer sos, settled, x;
    if (doubles(args[0], &sos, 0, 6)) return NULL;
    if (doubles(args[1], &settled, 0, 2)) {
        PyBuffer_Release(&sos);
        return NULL;
    }
    if (doubles(args[2], &x, PyBUF_WRITABLE, 0)) {
        PyBuffer_Release(&sos), PyBuffer_Release(&settled);
        return NULL;
    }
    const long sections = (long)sos.shape[0], samples = (long)x.shape[0], channels = (long)x.shape[1];
    double *state = sections == settled.shape[0] ? PyMem_Calloc(2 * sections * channels + 1, sizeof(double)) : NULL;
    if (state) {
        Py_BEGIN_ALLOW_THREADS
        cascade_both_ways(sections, sos.buf, settled.buf, x.buf, samples, channels, state);
        Py_END_ALLOW_THREADS
        PyMem_Free(state);
    } else if (sections != settled.shape[0]) {
        PyErr_SetString(PyExc_ValueError, "both_ways needs a state for each section");
    } else {
        PyErr_NoMemory();
    }
    PyBuffer_Release(&sos), PyBuffer_Release(&settled), PyBuffer_Release(&x);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

/* ------------------------------------------------------------------ triangles */

/* A C-contiguous array of `rank` dimensions, its numbers of this kind. */
static int numbers(PyObject *object, Py_buffer *view, int flags, int rank, char kind)
{
    if (PyObject_GetBuffer(object, view, flags | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)) return -1;
    if (view->ndim == rank && view->format && view->format[0] == kind && !view->format[1]) return 0;
    PyBuffer_Release(view);
    PyErr_Format(PyExc_ValueError, "an array of %d dimensions and kind '%c' is needed", rank, kind);
    return -1;
}

/* Whether numbers were in range: False tells that R is spoilt and the caller has to do without. */
static PyObject *folded(int failed, double *room)
{
    if (!room) return PyErr_NoMemory();
    PyMem_Free(room);
    return PyBool_FromLong(!failed);
}

static double *aligned(double *room)
{
    return (double *)(((uintptr_t)room + 63) & ~(uintptr_t)63);
}

static PyObject *fold(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    (void)module;
    Py_buffer R, rows;
    if (n != 2) {
        PyErr_SetString(PyExc_TypeError, "fold(R, rows)");
        return NULL;
    }
    if (numbers(args[0], &R, PyBUF_WRITABLE, 2, 'd')) return NULL;
    if (numbers(args[1], &rows, 0, 2, 'd')) {
        PyBuffer_Release(&R);
        return NULL;
    }
    PyObject *answer = NULL;
    const int64_t k = rows.shape[1];
    if (R.shape[0] == k && R.shape[1] == k) {
        double *room = PyMem_Malloc((size_t)(k * FOLD_ROWS + 8) * sizeof(double));
        int failed = 0;
        Py_BEGIN_ALLOW_THREADS
        if (room) failed = fold_rows(k, R.buf, rows.shape[0], rows.buf, aligned(room));
        Py_END_ALLOW_THREADS
        answer = folded(failed, room);
    } else {
        PyErr_SetString(PyExc_ValueError, "fold needs a square R with as many columns as the rows");
    }
    PyBuffer_Release(&R), PyBuffer_Release(&rows);
    return answer;
}

/* Packed triangles of a matrix whose rows hold several, one of them from number `start` on. */
static int packed_triangles(Packed *from, const Py_buffer *view, PyObject *const *args)
{
    const Py_ssize_t start = PyLong_AsSsize_t(args[0]), size = PyLong_AsSsize_t(args[1]), first = PyLong_AsSsize_t(args[2]);
    if (PyErr_Occurred()) return -1;
    if (start < 0 || size < 1 || size > 100000 || first < 0 || first >= size ||
        start + size * (size + 1) / 2 > view->shape[1]) {
        PyErr_SetString(PyExc_ValueError, "the rows do not hold such a triangle");
        return -1;
    }
    *from = (Packed){(const double *)view->buf + start, view->shape[0], view->shape[1], size, first};
    return 0;
}

static PyObject *fold_some(const Packed *from, const Py_buffer *R, const Py_buffer *columns)
{
    const int64_t k = columns->shape[0];
    if (R->shape[0] != k || R->shape[1] != k) {
        PyErr_SetString(PyExc_ValueError, "fold_packed needs a square R with as many columns as are chosen");
        return NULL;
    }
    for (int64_t c = 0; c < k; c++) {
        const int32_t own = ((const int32_t *)columns->buf)[c];
        if (own < from->first || own >= from->size) {
            PyErr_SetString(PyExc_ValueError, "the rows of the triangle do not have such a column");
            return NULL;
        }
    }
    const int64_t height = from->size - from->first;
    double *room = PyMem_Malloc((size_t)(k * (height > FOLD_ROWS ? height + 8 : FOLD_ROWS) + 8) * sizeof(double));
    int failed = 0;
    Py_BEGIN_ALLOW_THREADS
    if (room) failed = fold_packed(k, R->buf, from, columns->buf, aligned(room));
    Py_END_ALLOW_THREADS
    return folded(failed, room);
}

static PyObject *fold_packed_method(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    (void)module;
    Py_buffer R, packed, columns;
    if (n != 6) {
        PyErr_SetString(PyExc_TypeError, "fold_packed(R, packed, start, size, first, columns)");
        return NULL;
    }
    if (numbers(args[0], &R, PyBUF_WRITABLE, 2, 'd')) return NULL;
    if (numbers(args[1], &packed, 0, 2, 'd')) {
        PyBuffer_Release(&R);
        return NULL;
    }
    PyObject *answer = NULL;
    if (!numbers(args[5], &columns, 0, 1, 'i')) {
        Packed from;
        if (!packed_triangles(&from, &packed, args + 2)) answer = fold_some(&from, &R, &columns);
        PyBuffer_Release(&columns);
    }
    PyBuffer_Release(&R), PyBuffer_Release(&packed);
    return answer;
}

static PyObject *packed_scores_method(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    (void)module;
    Py_buffer packed, b, z;
    if (n != 6) {
        PyErr_SetString(PyExc_TypeError, "packed_scores(packed, start, size, first, b, z)");
        return NULL;
    }
    if (numbers(args[0], &packed, 0, 2, 'd')) return NULL;
    if (numbers(args[4], &b, 0, 1, 'd')) {
        PyBuffer_Release(&packed);
        return NULL;
    }
    Packed from;
    int failed = numbers(args[5], &z, PyBUF_WRITABLE, 2, 'd');
    if (!failed) {
        failed = packed_triangles(&from, &packed, args + 1);
        if (!failed && (b.shape[0] != from.size || z.shape[0] != from.count || z.shape[1] != from.size)) {
            PyErr_SetString(PyExc_ValueError, "packed_scores needs b (size,) and z (triangles, size)");
            failed = -1;
        }
        if (!failed) {
            Py_BEGIN_ALLOW_THREADS
            packed_scores(&from, b.buf, z.buf);
            Py_END_ALLOW_THREADS
        }
        PyBuffer_Release(&z);
    }
    PyBuffer_Release(&packed), PyBuffer_Release(&b);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef METHODS[] = {
    {"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL, "run(function, task): one piece of a batch."},
    {"batch", batch, METH_VARARGS, "batch(function, task, input shapes, output shapes, keep)."},
    {"function", function, METH_VARARGS, "function(call, state, input shapes, output shapes, keep, error)."},
    {"both_ways", (PyCFunction)(void (*)(void))both_ways, METH_FASTCALL,
     "both_ways(sos, settled, x): a filter forwards and backwards, in place."},
    {"fold", (PyCFunction)(void (*)(void))fold, METH_FASTCALL, "fold(R, rows): rows into a triangle, in place."},
    {"fold_packed", (PyCFunction)(void (*)(void))fold_packed_method, METH_FASTCALL,
     "fold_packed(R, packed, start, size, first, columns): rows of packed triangles into a triangle, in place."},
    {"packed_scores", (PyCFunction)(void (*)(void))packed_scores_method, METH_FASTCALL,
     "packed_scores(packed, start, size, first, b, z): W'(W b) of rows of packed triangles, added to z."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_native", "Runs kernels on arrays.", -1, METHODS,
                                    NULL, NULL, NULL, NULL};

static int add_address(PyObject *module, const char *name, void *address)
{
    PyObject *number = PyLong_FromVoidPtr(address);
    const int failed = !number || PyModule_AddObjectRef(module, name, number);
    Py_XDECREF(number);
    return failed;
}

PyMODINIT_FUNC PyInit__native(void)
{
    import_array();
    PyObject *module = PyModule_Create(&MODULE);
    if (!module) return NULL;
    Kernel kernel = interpret_base;
    Call one = interpret_one_base;
    const char *width = "base";
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
        kernel = interpret_avx512, one = interpret_one_avx512, width = "avx512";
        fold_rows = fold_rows_avx512, fold_packed = fold_packed_avx512, packed_scores = packed_scores_avx512;
    } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        kernel = interpret_avx2, one = interpret_one_avx2, width = "avx2";
        fold_rows = fold_rows_avx2, fold_packed = fold_packed_avx2, packed_scores = packed_scores_avx2;
    }
#endif
    if (add_address(module, "INTERPRET", (void *)kernel) || add_address(module, "INTERPRET_ONE", (void *)one) ||
        PyModule_AddStringConstant(module, "WIDTH", width) || PyModule_AddIntConstant(module, "SAMPLES", 64) ||
        PyModule_AddIntConstant(module, "TASK_SIZE", sizeof(Task)) ||
        PyModule_AddStringConstant(module, "SOURCES", SOURCES)) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
