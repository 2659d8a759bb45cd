/* A robot under its position servos, step by step, and the derivatives of its motion by the unknowns, carried along.

   Moreau's time stepping with the midpoint rule for what is linear (docs/output-error.md): every step solves

     (D + J + h/2 KD + h^2/4 KP) dv = h (KP (u - q - h/2 v) + KD (ud - v) - g(q + h/2 v + h/4 dv, v + dv/2) - ... + f),

   with the joints' effects: inertia J, smooth efforts g, and dry friction f within its bounds, at its bound against the
   velocity after the step or with that velocity zero.  Efforts that are linear in the motion need one solution, others
   are linearised until the step no longer changes.  Effects come from two functions that are generated from their
   table for the group; nothing here knows one by name.
   Elastic joints have two coordinates, link and motor, with a spring and a damper between them, which the same rule
   takes implicitly: it has no limit of stability, however stiff they are.
   Servos that are driven by their duty have gains, limits and a switch that change with the step (the supply, the
   firmware's register, motor on or off): kp is then the effort of a volt, which changes with the motor's temperature,
   and start the duty that any position error beyond NEAR adds.  The supply falls by sag times duty and effort, which
   divides efforts by 1 + sag kp duty^2.  Friction reads the load of the gear, share of the
   motor's effort and the rest of what the links ask for, bent by curve times its square; load and velocity are those
   foreseen for the middle of the step, which keeps it of second order.  With play, the law reads a shaft that the gear
   moves at either end of the play and that stays where it is in between: that place is its memory.
   Where a joint stops within a step, the rest of the step is one of its own: to stand until the next step and turn
   back only then would be an error of first order.  What is stiffer than its inertia in a step (gains, springs of joints
   or of a floor) forbids to divide it: the rule then swings about the velocity, and does not stop where the joint does.
   Elsewhere friction reads the load of the step itself, b + (D + J) dv / h, so that bounds and motion are solved for
   together: with the load of the step before they would be of first order, and swing from step to step.
   The robot's own terms come from two functions that are generated for it. */

/* at -O3 GCC takes twice as long to compile, for code that is no faster */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O2", "tree-vectorize", "vect-cost-model=dynamic")
#endif

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef void (*Call)(const void *, const double *const *, double *const *);

/* fmax and fmin are calls of a library on some processors; of a first number that is none, the second one */
static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }

enum { LINK, EFFECT, KP, KD, KI, DELAY, Q0, V0, ZERO, CJ, DJ, RJ, SPEED, LAPSE, SHARE, CURVE, START, WARM, SAG, PLAY };

typedef struct {
    int n, links, columns, steps, every, is_voltage, ring, fail_at, is_euler, springs, effects, is_linear, on_floor;
    double h, delay_steps;   /* delay_steps: delay of the effort, 0 without */
    Call terms, slopes;      /* D, b of (q, qd, x); dq, dqd, Y of (q, qd, qdd, x) */
    Call efforts, rubbing;   /* of effects: see codegen/rollout/effects.py */
    const double *kp, *kd, *ki, *limit, *zero; /* (n) each */
    const double *e, *c;     /* (effects), (constants): values and constants of effects */
    const int *at, *inertia; /* (effects): coordinate of each; whether it adds to the mass matrix */
    const int *loaded;       /* (n): whether friction depends on the load */
    const double *x;         /* (links); on_floor: the last one is the length of the step */
    const double *q0, *v0;   /* (n) */
    const double *u, *u_d, *ud, *ud_d; /* (steps, n): command, its derivative by the delay, velocity reference and its */
    const int *kind, *place; /* (columns) */
    double *q_out;           /* (steps / every + 1, n) */
    double *S_out;           /* (steps / every + 1, n, columns), or null */
    const double *cj, *dj, *rj;    /* (springs): compliance, damping, motor less link position without effort */
    const int *at_link, *at_motor; /* (springs): coordinates on both sides */
    const int *sees;               /* (n): coordinate whose motion the law of each coordinate reads */
    const double *gain, *room, *on; /* (rows, n): volts of a position error, most volts, motor on or off; or null */
    const double *volts, *heat;     /* (rows, n): supply where the motor is on, temperature over that of kp; or null */
    const double *u_s, *u_l;        /* (steps, n): derivatives of the command by the target's speed and its lapse, or null */
    const double *share, *curve;    /* (n): part of the motor's effort in the load of the gear, and how much more than
                                       proportionally it counts; or null */
    const double *start, *warm;     /* (n): duty added to any error, change of the motor's effort a kelvin; or null */
    const double *sag;              /* (n): volts by which the supply falls for an effort of 1 at full duty; or null */
    const double *play;             /* (n): between gear and shaft; or null: the shaft is the gear's */
} Loop;

#define MOST 64
#define SWEEPS 4000
#define TURNS 8        /* of the sets of joints that stick and slide: most steps that change them change one */
#define PASSES 50      /* of efforts that are not linear in the motion */
#define SETTLED 1e-13  /* of the velocities: what a pass may still change */
#define APART 1e-9     /* of the velocities, from which two passes tell a slope */
#define SHORTEST 1e-9  /* of a step: its rest after a stop */
#define WIDE 8
#define FADED 1e-9     /* of what they began with: derivatives by the start of a motion that has forgotten it */
#define SAME 1e-9      /* s between times that are the same */
#define NEAR 2e-3      /* rad or m: position error up to which the duty that starts a motor grows */

/* triangular factors (unit lower, upper) of the rows and columns listed, in L (m x m, packed by MOST); 1 where there are
   none with positive pivots */
static int factor(int m, const int *list, const double *A, int n, double *L)
{
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            double sum = A[list[i] * n + list[j]];
            for (int k = 0; k < (i < j ? i : j); k++)
                sum -= L[i * MOST + k] * L[k * MOST + j];
            L[i * MOST + j] = j < i ? sum / L[j * MOST + j] : sum;
        }
        if (!(L[i * MOST + i] > 0))
            return 1;
    }
    return 0;
}

static void solve(int m, const double *L, double *b)
{
    for (int i = 0; i < m; i++)
        for (int k = 0; k < i; k++)
            b[i] -= L[i * MOST + k] * b[k];
    for (int i = m - 1; i >= 0; i--) {
        for (int k = i + 1; k < m; k++)
            b[i] -= L[i * MOST + k] * b[k];
        b[i] /= L[i * MOST + i];
    }
}

/* row -= l other, for p numbers */
static inline void take_off(double *restrict row, double l, const double *restrict other, int p)
{
    for (int c = 0; c < p; c++)
        row[c] -= l * other[c];
}

static inline void divide(double *restrict row, double by, int p)
{
    const double over = 1.0 / by;
    for (int c = 0; c < p; c++)
        row[c] *= over;
}

/* `solve` for rows of w numbers, p apart */
static void solve_rows(int m, const int *list, const double *L, double *B, int p, int w)
{
    for (int i = 0; i < m; i++) {
        double *row = B + (size_t)list[i] * p;
        for (int k = 0; k < i; k++)
            take_off(row, L[i * MOST + k], B + (size_t)list[k] * p, w);
    }
    for (int i = m - 1; i >= 0; i--) {
        double *row = B + (size_t)list[i] * p;
        for (int k = i + 1; k < m; k++)
            take_off(row, L[i * MOST + k], B + (size_t)list[k] * p, w);
        divide(row, L[i * MOST + i], w);
    }
}

/* dry friction of the step: how much it can be against motion forwards and backwards at a load, and its derivatives */
typedef struct {
    double up[MOST], down[MOST], by_up[MOST], by_down[MOST], load[MOST];
} Bounds;

static inline int can_rub(const Bounds *F, int j) { return F->up[j] > 0 || F->down[j] > 0; }

static inline double within(const Bounds *F, int j, double f) { return smaller(larger(f, -F->up[j]), F->down[j]); }

typedef struct {
    double A[MOST * MOST], P[MOST * MOST], L[MOST * MOST], W[MOST * MOST]; /* P: A with friction of the step's own load */
    int list[MOST], slide[MOST], turns[MOST], m; /* slide: 0 stuck, else the sign of the velocity after the step */
    double f[MOST], dv[MOST];
    const double *D, *rotor, *b; /* load: b + (D + rotor) dv / h */
} Contact;

static double load_of(const Contact *c, int n, double h, int j)
{
    double sum = c->rotor[j] * c->dv[j];
    for (int k = 0; k < n; k++)
        sum += c->D[j * n + k] * c->dv[k];
    return c->b[j] + sum / h;
}

/* derivative of the friction effort of a sliding joint by its load */
static inline double by_load(const Contact *c, const Bounds *F, int j) { return c->slide[j] > 0 ? F->by_up[j] : -F->by_down[j]; }

/* the matrix of sliding joints, and its factors; 1 where there are none */
static int fold(Contact *c, int n, const Bounds *F)
{
    for (int i = 0; i < c->m; i++) {
        const int j = c->list[i];
        const double by = by_load(c, F, j);
        for (int k = 0; k < n; k++)
            c->P[j * n + k] = c->A[j * n + k] + by * c->D[j * n + k];
        c->P[j * n + j] += by * c->rotor[j];
    }
    return factor(c->m, c->list, c->P, n, c->L);
}

/* the step with given joints stuck; 0 where it is the solution, 1 where not, 2 where there is none.  turns: what each
   joint seems to do instead */
static int attempt(Contact *c, int n, double h, const double *r, const double *v, const Bounds *F)
{
    double b[MOST];
    c->m = 0;
    for (int j = 0; j < n; j++)
        if (c->slide[j])
            c->list[c->m++] = j;
        else
            c->dv[j] = -v[j];
    if (fold(c, n, F))
        return 2;
    for (int i = 0; i < c->m; i++) {
        const int j = c->list[i];
        c->f[j] = (c->slide[j] > 0 ? -F->up[j] : F->down[j]) - by_load(c, F, j) * (c->b[j] - F->load[j]);
        b[i] = r[j] + h * c->f[j];
        for (int k = 0; k < n; k++)
            if (!c->slide[k])
                b[i] -= c->P[j * n + k] * c->dv[k];
    }
    solve(c->m, c->L, b);
    for (int i = 0; i < c->m; i++)
        c->dv[c->list[i]] = b[i];
    int is_wrong = 0;
    for (int j = 0; j < n; j++) {
        c->turns[j] = c->slide[j];
        if (c->slide[j]) {
            if (!isfinite(c->dv[j]))
                return 2;
            if (can_rub(F, j) && (v[j] + c->dv[j]) * c->slide[j] < 0)
                c->turns[j] = 0;
        } else {
            double sum = -r[j];
            for (int k = 0; k < n; k++)
                sum += c->A[j * n + k] * c->dv[k];
            c->f[j] = sum / h;
            const int reads = F->by_up[j] != 0 || F->by_down[j] != 0;
            const double more = reads ? load_of(c, n, h, j) - F->load[j] : 0;
            const double up = F->up[j] + F->by_up[j] * more, down = F->down[j] + F->by_down[j] * more;
            c->turns[j] = !(-up * (1 + 1e-12) <= c->f[j]) ? 1 : !(c->f[j] <= down * (1 + 1e-12)) ? -1 : 0;
        }
        is_wrong |= c->turns[j] != c->slide[j];
    }
    return is_wrong;
}

/* friction of the step: the sets of the step before, else those they turn to, else projected Gauss-Seidel */
static int contact(Contact *c, int n, double h, const double *r, const double *v, const Bounds *F)
{
    for (int j = 0; j < n; j++)
        if (!can_rub(F, j))
            c->slide[j] = v[j] < 0 ? -1 : 1;
    for (int turn = 0; turn < TURNS; turn++) {
        const int found = attempt(c, n, h, r, v, F);
        if (found != 1)
            return found;
        memcpy(c->slide, c->turns, n * sizeof(int));
    }
    int all[MOST];
    for (int j = 0; j < n; j++)
        all[j] = j;
    if (factor(n, all, c->A, n, c->W))
        return 2;
    double inv[MOST * MOST], w[MOST];
    for (int j = 0; j < n; j++) {
        double e[MOST] = {0};
        e[j] = 1;
        solve(n, c->W, e);
        for (int i = 0; i < n; i++)
            inv[i * n + j] = e[i];
        c->f[j] = within(F, j, c->f[j]);
    }
    for (int i = 0; i < n; i++) {
        w[i] = v[i];
        for (int k = 0; k < n; k++)
            w[i] += inv[i * n + k] * (r[k] + h * c->f[k]);
    }
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double moved = 0, size = 0;
        for (int j = 0; j < n; j++) {
            const double old = c->f[j], own = h * inv[j * n + j];
            c->f[j] = within(F, j, old - w[j] / own);
            const double change = c->f[j] - old;
            for (int i = 0; i < n; i++)
                w[i] += h * inv[i * n + j] * change;
            moved = larger(fabs(change), moved);
            size = larger(larger(F->up[j], F->down[j]), size);
        }
        const int is_done = !(moved > 1e-13 * size);
        if (is_done || sweep % 8 == 7) { /* the sets are right long before the efforts are */
            double f[MOST];
            memcpy(f, c->f, n * sizeof(double));
            for (int j = 0; j < n; j++)
                c->slide[j] = !can_rub(F, j)                                ? (v[j] < 0 ? -1 : 1)
                              : -F->up[j] < f[j] && f[j] < F->down[j] ? 0
                              : f[j] >= F->down[j]                    ? -1
                                                                      : 1;
            const int found = attempt(c, n, h, r, v, F);
            if (found != 1 || is_done)
                return found == 2 ? 2 : 0;
            memcpy(c->f, f, n * sizeof(double));
        }
    }
    return 0;
}

/* R = Q T1 + V T2, all with rows of w numbers, p apart */
static void products(int n, int p, int w, const double *Q, const double *T1, const double *V, const double *T2, double *restrict R)
{
    for (int c = 0; c < w; c += WIDE)
        for (int j = 0; j < n; j++) {
            double sum[WIDE] = {0};
            for (int i = 0; i < n; i++) {
                const double a = Q[j * n + i], b = V[j * n + i];
                const double *x = T1 + (size_t)i * p + c, *y = T2 + (size_t)i * p + c;
                for (int k = 0; k < WIDE; k++)
                    sum[k] += a * x[k] + b * y[k];
            }
            memcpy(R + (size_t)j * p + c, sum, sizeof sum);
        }
}

static void axpy(int p, double a, const double *restrict x, double *restrict y)
{
    if (a != 0)
        for (int c = 0; c < p; c++)
            y[c] += a * x[c];
}

/* what a law makes of the motion of another coordinate, which it sees as foreseen for the middle of the step */
static void far(int seen, int p, int w, double by_place, double by_rate, const double *T1, const double *T2, double *restrict row)
{
    const size_t at = (size_t)seen * p;
    if (by_place == 0 && by_rate == 0)
        return;
    for (int i = 0; i < w; i++)
        row[i] += by_place * T1[at + i] + by_rate * T2[at + i];
}

/* part of the duty that starts a motor, of its position error */
static inline double started(double error) { return smaller(larger(error / NEAR, -1), 1); }

/* whether a column of derivatives by the start is as good as zero */
static int has_faded(const Loop *o, int p, int column, const double *Sq, const double *Sv, const double *Sz, const double *Sy)
{
    for (int j = 0; j < o->n; j++) {
        const size_t at = (size_t)j * p + column;
        if (!(fabs(Sq[at]) < FADED && fabs(Sy[at]) < FADED && fabs(Sv[at]) < FADED && (o->ki[j] == 0 || fabs(Sz[at]) < FADED)))
            return 0;
    }
    return 1;
}

__attribute__((visibility("default"))) int minertia_servo(Loop *o)
{
    const int n = o->n, is_carried = o->S_out != 0;
    const int p = (o->columns + WIDE - 1) / WIDE * WIDE; /* columns beyond the unknowns stay zero */
    const int columns = o->columns;
    int w = p, live = columns, starts = columns; /* live: columns carried along; starts: the first one of the start */
    while (starts > 0 && (o->kind[starts - 1] == Q0 || o->kind[starts - 1] == V0))
        starts--;
    int others = 0; /* the first column that is none of the links */
    while (others < starts && o->kind[others] == LINK)
        others++;
    const double whole_h = o->h;
    double h = whole_h;
    int stopping = -1, stops = 0, is_rest = 0; /* joint that stops within the step, how many did; this is the rest of such a step */
    /* parts of the step at which things are taken: the midpoint rule, or MuJoCo's Euler, where only passive damping is
       implicit and the new velocity moves the joint */
    const int is_euler = o->is_euler;
    const double mid = is_euler ? 0 : 0.5, quarter = is_euler ? 0 : 0.25, end = is_euler ? 1 : 0.5;
    double q[MOST], v[MOST], a[MOST], dvp[MOST] = {0}, qm[MOST], qs[MOST], vm[MOST], z[MOST] = {0}, load[MOST] = {0};
    double b[MOST], r[MOST], gp[MOST], gd[MOST], held[MOST], slope[MOST], tau[MOST], far_p[MOST], far_d[MOST];
    double D[MOST * MOST], Q[MOST * MOST], V[MOST * MOST];
    double y[MOST], seen_at[MOST];      /* shafts, and the position that each law reads */
    int side[MOST] = {0};               /* end of the play at which the gear moves a shaft, 0 in between */
    const double *by_seen[MOST];        /* derivatives of that position */
    /* servos driven by their duty: factor of the temperature, the same with the sag, effort of a volt, volts that start
       the motor and how steep they are, part of a step that velocities are foreseen, these velocities, and efforts of motors */
    double warm[MOST], warmth[MOST], per[MOST], kick[MOST], steep_kick[MOST], ahead[MOST], vr[MOST], motor[MOST];
    /* part of an effort that the sag takes, and its derivatives by sag, kp, duty and position error */
    double sag[MOST] = {0}, sag_own[MOST] = {0}, sag_kp[MOST] = {0}, sag_duty[MOST] = {0}, sag_error[MOST] = {0};
    const double still[MOST] = {0};
    /* effects: efforts at the middle of the step, their derivatives, inertia; those of friction; what a pass knows */
    double effort[MOST] = {0}, smooth_q[MOST] = {0}, smooth_qd[MOST] = {0}, rotor[MOST] = {0}, own[MOST], r0[MOST];
    double rub_q[MOST] = {0}, rub_qd[MOST] = {0}, rub_load[MOST] = {0}, slip[MOST], by_length[MOST] = {0};
    double q_at[MOST], v_at[MOST], x[MOST], last_x[MOST], last_effort[MOST];
    Bounds F = {{0}}, last = {{0}};
    int reads_load = 0;
    int sat[MOST], rubs_up[MOST], rubs_down[MOST];
    Contact *c = calloc(1, sizeof *c);
    int shown[2 * MOST]; /* unknowns of the columns of the start */
    for (int i = starts; i < columns && i < starts + 2 * MOST; i++)
        shown[i - starts] = i;
    const size_t block = (size_t)n * (size_t)(p ? p : 1);
    const int ring = o->ring;
    double *room = calloc(is_carried ? (13 + (size_t)ring) * block : 1, sizeof(double));
    double *Y = calloc((size_t)n * (size_t)(o->links ? o->links : 1), sizeof(double));
    double *past = calloc((size_t)(ring ? ring : 1) * n, sizeof(double));
    double *shapes = calloc((size_t)(o->effects ? o->effects : 1), sizeof(double));
    double *links = calloc((size_t)(o->links ? o->links : 1), sizeof(double)), *step = o->on_floor ? links + o->links - 1 : 0;
    if (!c || !room || !Y || !past || !shapes || !links) {
        free(c), free(room), free(Y), free(past), free(shapes), free(links);
        return 3;
    }
    if (o->links)
        memcpy(links, o->x, o->links * sizeof(double));
    double *Sq = room, *Sv = Sq + block, *Sd = Sv + block, *Sz = Sd + block, *Sl = Sz + block, *Sy = Sl + block;
    double *Te = Sy + block, *R = Te + block, *T1 = R + block, *T2 = T1 + block, *Sm = T2 + block, *Sh = Sm + block;
    double *Sn = Sh + block, *St = Sn + block; /* Sh: of the length of the rest of a step; Sn: of the time until a joint stops */
    const int whole = (int)floor(o->delay_steps);
    const double late = o->delay_steps - whole, s = !ring ? 1 : whole ? 0 : 1 - late;
    int code = 0, delay_column = -1;
    memcpy(q, o->q0, n * sizeof(double)), memcpy(v, o->v0, n * sizeof(double)), memcpy(y, q, n * sizeof(double));
    c->D = D, c->rotor = rotor, c->b = b;
    for (int j = 0; j < n; j++)
        reads_load |= o->loaded[j] && !o->share;
    for (int j = 0; j < n; j++)
        c->slide[j] = v[j] > 0 ? 1 : v[j] < 0 ? -1 : 0;
    if (is_carried)
        for (int k = 0; k < columns; k++) {
            if (o->kind[k] == Q0)
                Sq[o->place[k] * p + k] = Sy[o->place[k] * p + k] = 1;
            if (o->kind[k] == V0)
                Sv[o->place[k] * p + k] = 1;
            if (o->kind[k] == DELAY)
                delay_column = k;
        }
    for (int i = 0; i < ring; i++) /* before the start: the effort of the start */
        for (int j = 0; j < n; j++) {
            const int seen = o->sees[j];
            const double full = o->kp[j] * (o->u[j] - q[seen]) - o->kd[j] * v[seen];
            past[i * n + j] = smaller(larger(full, -o->limit[j]), o->limit[j]);
            for (int k2 = 0; is_carried && fabs(full) < o->limit[j] && k2 < columns; k2++) {
                const int kind = o->kind[k2], is_own = o->place[k2] == j, is_seen = o->place[k2] == seen;
                const double d = kind == Q0 && is_seen   ? -o->kp[j]
                                 : kind == V0 && is_seen ? -o->kd[j]
                                 : kind == KP && is_own  ? o->u[j] - q[seen]
                                 : kind == KD && is_own  ? -v[seen]
                                                         : 0;
                St[(size_t)i * block + (size_t)j * p + k2] = d;
            }
        }
    const double *in[4], *in2[4];
    double *out[3] = {D, b, 0}, *out2[3] = {Q, V, Y}, *scratch[3] = {Q, V, 0};
    in[0] = qs, in[1] = vm, in[2] = links, in[3] = 0;
    in2[0] = qs, in2[1] = vm, in2[2] = a, in2[3] = links;
    const double *in3[] = {qm, vr, load, q_at, v_at, o->e, o->c}, *in4[] = {qm, vr, load, q_at, v_at, a, slip, o->e, o->c};
    double *out3[] = {effort, smooth_q, smooth_qd, rotor, F.up, F.down, F.by_up, F.by_down}, *out4[] = {rub_q, rub_qd, rub_load, shapes};
    int until = o->every, row = 0;
    for (int k = 0;; k++, until--) {
        if (!is_rest && (k == 0 || until == 0)) {
            memcpy(o->q_out + (size_t)row * n, o->play ? y : q, n * sizeof(double));
            for (int j = 0; is_carried && j < n; j++) {
                double *to = o->S_out + ((size_t)row * n + j) * columns;
                const double *from = (o->play ? Sy : Sq) + (size_t)j * p;
                memcpy(to, from, starts * sizeof(double));
                for (int i = starts; i < live; i++)
                    to[shown[i - starts]] = from[i];
            }
            row++, until = o->every;
            for (int i = starts; is_carried && !ring && i < live; i++)
                if (has_faded(o, p, i, Sq, Sv, Sz, Sy)) { /* the last one takes its place */
                    live--;
                    for (int j = 0; j < n; j++)
                        for (int m = 0; m < 6; m++)
                            room[m * block + (size_t)j * p + i] = room[m * block + (size_t)j * p + live];
                    shown[i - starts] = shown[live - starts], i--;
                }
            w = (live + WIDE - 1) / WIDE * WIDE;
        }
        if (k == o->steps)
            break;
        const size_t at_k = (size_t)k * n, at_row = (size_t)(row - 1) * n;
        const double *u = o->u + at_k, *ud = o->ud ? o->ud + at_k : 0;
        const double *gain = o->gain ? o->gain + at_row : 0, *room_k = o->gain ? o->room + at_row : 0;
        const double *on = o->gain ? o->on + at_row : 0;
        for (int j = 0; j < n; j++) {
            qm[j] = q[j] + mid * h * v[j];
            vm[j] = v[j] + mid * dvp[j];
            qs[j] = qm[j] + o->zero[j]; /* where the links are */
        }
        if (step)
            *step = h;
        o->terms(0, in, out);
        for (int j = 0; j < n; j++) {
            const int seen = o->sees[j];
            seen_at[j] = qm[seen];
            if (o->play) {
                const double half = 0.5 * o->play[j];
                side[j] = qm[j] - half > y[j] ? 1 : qm[j] + half < y[j] ? -1 : 0;
                seen_at[j] = side[j] ? qm[j] - side[j] * half : y[j];
            }
            const double error = u[j] - seen_at[j], full = gain ? o->start[j] * o->volts[at_row + j] : 0;
            warmth[j] = warm[j] = gain ? 1 + o->warm[j] * o->heat[at_row + j] : 1;
            steep_kick[j] = fabs(error) < NEAR ? full / NEAR : 0;
            kick[j] = full * started(error);
            if (gain) {
                const double volts = on[j] > 0 ? o->volts[at_row + j] : 1, asked = gain[j] * error + kick[j];
                const double duty = smaller(larger(asked, -room_k[j]), room_k[j]) / volts;
                warmth[j] /= 1 + o->sag[j] * warm[j] * o->kp[j] * duty * duty;
                sag_own[j] = warmth[j] * o->kp[j] * duty * duty, sag_kp[j] = warmth[j] * o->sag[j] * duty * duty;
                sag[j] = o->sag[j] * sag_own[j];
                sag_duty[j] = 2 * warmth[j] * o->sag[j] * o->kp[j] * duty;
                sag_error[j] = fabs(asked) < room_k[j] ? sag_duty[j] * (gain[j] + steep_kick[j]) / volts : 0;
            }
            per[j] = warmth[j] * o->kp[j];
            const double rate = ud ? ud[j] : 0, kp = per[j] * (gain ? gain[j] : 1) + mid * h * o->ki[j];
            const double kd = warmth[j] * o->kd[j] * (on ? on[j] : 1), limit = room_k ? per[j] * room_k[j] : o->limit[j];
            const double by_place = kp * error + per[j] * kick[j] + o->ki[j] * z[j], by_rate = kd * (rate - vm[seen]);
            const double limited = by_place + (o->is_voltage ? 0 : by_rate);
            sat[j] = limited > limit ? 1 : limited < -limit ? -1 : 0;
            gp[j] = sat[j] ? 0 : kp + per[j] * steep_kick[j];
            gd[j] = sat[j] && !o->is_voltage ? 0 : kd;
            held[j] = sat[j] ? sat[j] * limit : by_place;
            held[j] += gd[j] * rate; /* what is not the joint's own motion in the step */
            far_p[j] = far_d[j] = 0;
            if (seen != j) { /* another coordinate's motion is that of the step's middle, foreseen */
                held[j] -= gd[j] * vm[seen];
                far_p[j] = gp[j], far_d[j] = gd[j];
                gp[j] = gd[j] = 0;
            } else if (o->play && !side[j]) /* the shaft stays */
                far_p[j] = gp[j], gp[j] = 0;
            double old = 0;
            if (ring && whole == 0)
                old = late * past[((k - 1 + ring) % ring) * n + j];
            else if (ring) {
                const double *now = past + ((k - whole + 2 * ring) % ring) * n, *before = past + ((k - whole - 1 + 2 * ring) % ring) * n;
                old = (1 - late) * now[j] + late * before[j];
            }
            r0[j] = h * (s * (held[j] - gd[j] * v[j]) + old - b[j]);
            for (int i = 0; i < n; i++)
                c->A[j * n + i] = D[j * n + i];
            c->A[j * n + j] += h * mid * s * gd[j] + quarter * h * h * s * gp[j];
            ahead[j] = o->share && c->slide[j] ? mid : 0; /* a joint that stands is foreseen to stand */
            vr[j] = v[j] + ahead[j] * dvp[j];
            motor[j] = held[j] - gd[j] * vr[j];
            if (o->share) {
                const double plain = o->share[j] * motor[j] + (1 - o->share[j]) * b[j];
                load[j] = plain * (1 + o->curve[j] * fabs(plain));
            }
        }
        for (int k2 = 0; k2 < o->springs; k2++) {
            const int i = o->at_link[k2], j = o->at_motor[k2];
            const double stiff = 1 / o->cj[k2], damp = o->dj[k2], both = h * end * damp + quarter * h * h * stiff;
            const double wind = h * (stiff * (qm[j] - qm[i] - o->rj[k2]) + damp * (v[j] - v[i]));
            r0[i] += wind, r0[j] -= wind;
            c->A[i * n + i] += both, c->A[j * n + j] += both;
            c->A[i * n + j] -= both, c->A[j * n + i] -= both;
        }
        for (int j = 0; j < n; j++)
            own[j] = c->A[j * n + j];
        stopping = -1;
        for (int look = 0; look < 3; look++) { /* if a joint stops, as if all slid on beyond that; if then none does, as at first */
            for (int j = 0; j < n; j++)
                x[j] = 0;
            for (int pass = 0;; pass++) {
                for (int j = 0; j < n; j++)
                    q_at[j] = qm[j] + quarter * h * x[j], v_at[j] = v[j] + end * x[j];
                for (int j = 0; pass && j < n; j++) {
                    last.up[j] = F.up[j], last.by_up[j] = F.by_up[j], last.load[j] = F.load[j];
                    last.down[j] = F.down[j], last.by_down[j] = F.by_down[j];
                }
                if (o->effects)
                    o->efforts(0, in3, out3);
                int is_bent = 0; /* whether the bounds at the load of the last pass are others than it foresaw */
                for (int j = 0; j < n; j++) {
                    const double more = load[j] - last.load[j], least = SETTLED * (1 + fabs(load[j]));
                    rubs_up[j] = F.up[j] >= 0, rubs_down[j] = F.down[j] >= 0; /* friction that falls below zero is none */
                    F.up[j] = larger(F.up[j], 0), F.down[j] = larger(F.down[j], 0);
                    F.by_up[j] *= reads_load && rubs_up[j], F.by_down[j] *= reads_load && rubs_down[j];
                    F.load[j] = load[j];
                    is_bent |= fabs(F.up[j] - last.up[j] - last.by_up[j] * more) > least
                               || fabs(F.down[j] - last.down[j] - last.by_down[j] * more) > least;
                }
                if (pass && o->is_linear && !is_bent)
                    break;
                for (int j = 0; j < n; j++) {
                    double steep = end * smooth_qd[j] + quarter * h * smooth_q[j];
                    if (pass && !o->is_linear && fabs(x[j] - last_x[j]) > APART * (1 + fabs(v[j]))) /* efforts that bend: never beyond */
                        steep = larger((effort[j] - last_effort[j]) / (x[j] - last_x[j]), steep);
                    c->A[j * n + j] = own[j] + rotor[j] + h * steep;
                    r[j] = r0[j] - h * (effort[j] - steep * x[j]);
                    last_x[j] = x[j], last_effort[j] = effort[j];
                }
                code = look == 1 ? attempt(c, n, h, r, v, &F) & 2 : contact(c, n, h, r, v, &F);
                if (code || (o->is_linear && !reads_load) || pass == PASSES)
                    break;
                double moved = 0, size = 0;
                for (int j = 0; j < n; j++) {
                    moved = larger(fabs(c->dv[j] - x[j]), moved), size = larger(fabs(v[j]) + fabs(c->dv[j]), size);
                    x[j] = c->dv[j];
                    load[j] = reads_load ? load_of(c, n, h, j) : load[j];
                }
                if (moved <= SETTLED * (1 + size))
                    break;
            }
            double part = 1;
            int is_stopping = 0, is_stiff = 0;
            const double *inertia = D;
            for (int j = 0; j < n && look < 2 && !code; j++) {
                if (!can_rub(&F, j) || v[j] == 0 || v[j] * (look ? v[j] + c->dv[j] : c->slide[j]) > 0)
                    continue;
                if (step && inertia == D) { /* that of the links, without the springs of a floor */
                    *step = 0;
                    o->terms(0, in, scratch);
                    *step = h, inertia = Q;
                }
                is_stopping = 1, is_stiff |= c->A[j * n + j] > 2 * (inertia[j * n + j] + rotor[j]);
                if (look == 1 && fabs(v[j]) < part * fabs(c->dv[j]))
                    part = -v[j] / c->dv[j], stopping = j;
            }
            stopping = is_stiff ? -1 : stopping;
            if (code || stopping >= 0 || (look == 0 && (!is_stopping || is_stiff || is_euler || stops == n)))
                break;
            for (int j = 0; look == 0 && j < n; j++)
                c->slide[j] = v[j] > 0 ? 1 : v[j] < 0 ? -1 : !can_rub(&F, j);
        }
        if (code) {
            o->fail_at = k;
            break;
        }
        for (int j = 0; j < n; j++) {
            a[j] = c->dv[j] / h;
            slope[j] = v[j] + mid * c->dv[j]; /* velocity that the loop damps */
            tau[j] = held[j] - gp[j] * quarter * h * c->dv[j] - gd[j] * slope[j];
        }
        const double taken = stopping < 0 ? h : -v[stopping] / a[stopping]; /* time of the step, until a joint stops */
        if (is_carried) {
            for (int j = 0; j < n; j++) {
                q_at[j] = qm[j] + quarter * h * c->dv[j], v_at[j] = v[j] + end * c->dv[j];
                slip[j] = c->slide[j] > 0 ? rubs_up[j] : c->slide[j] < 0 ? -rubs_down[j] : 0;
            }
            if (o->effects && !o->is_linear) { /* derivatives of the efforts that the step ended with */
                const Bounds kept = F;
                o->efforts(0, in3, out3);
                F = kept;
                for (int j = 0; j < n; j++)
                    c->A[j * n + j] = own[j] + rotor[j] + h * (end * smooth_qd[j] + quarter * h * smooth_q[j]);
                if (fold(c, n, &F)) {
                    code = 2, o->fail_at = k;
                    break;
                }
            }
            if (o->effects)
                o->rubbing(0, in4, out4);
            for (int j = 0; j < n; j++)
                for (size_t i = (size_t)j * p; i < (size_t)j * p + w; i++) {
                    T1[i] = Sq[i] + mid * h * Sv[i];
                    T2[i] = Sv[i] + mid * Sd[i];
                }
            for (int j = 0; is_rest && j < n; j++) /* whose length changes, too */
                axpy(w, mid * v[j], Sh, T1 + (size_t)j * p);
            for (int j = 0; j < n; j++) {
                by_seen[j] = T1 + (size_t)o->sees[j] * p;
                if (o->play)
                    by_seen[j] = memcpy(Te + (size_t)j * p, (side[j] ? T1 : Sy) + (size_t)j * p, p * sizeof(double));
            }
            for (int k2 = 0; o->play && k2 < columns; k2++)
                if (o->kind[k2] == PLAY)
                    Te[(size_t)o->place[k2] * p + k2] -= 0.5 * side[o->place[k2]];
            if (o->share) { /* load of the gears: static effort of the links, and the motor's */
                in2[2] = still;
                o->slopes(0, in2, out2);
                in2[2] = a;
                products(n, p, w, Q, T1, V, T2, Sl);
            }
            for (int j = 0; o->share && j < n; j++) {
                const double part = o->share[j], plain = part * motor[j] + (1 - part) * b[j];
                const double bent = 1 + 2 * o->curve[j] * fabs(plain), error = u[j] - seen_at[j];
                const double stiff = gp[j] + (o->play ? far_p[j] : 0);
                double *restrict to = Sl + (size_t)j * p;
                const double *restrict by_place = by_seen[j], *restrict own_v = Sv + (size_t)j * p;
                const double *restrict own_d = Sd + (size_t)j * p;
                for (int i = 0; i < w; i++)
                    to[i] = bent * ((1 - part) * to[i] - part * (stiff * by_place[i] + gd[j] * (own_v[i] + ahead[j] * own_d[i])));
                axpy(w, bent * part * motor[j] * sag_error[j], by_place, to);
                for (int k2 = 0; k2 < columns; k2++) {
                    const int kind = o->kind[k2], at = o->place[k2];
                    if (kind == LINK || kind == ZERO)
                        to[k2] += bent * (1 - part) * (kind == LINK ? Y[j * o->links + at] : Q[j * n + at]);
                    else if (kind == DELAY)
                        to[k2] += bent * part * (stiff - motor[j] * sag_error[j]) * o->u_d[at_k + j];
                    else if (at != j)
                        continue;
                    else if (kind == KP)
                        to[k2] += bent * part
                                  * (warmth[j] * (sat[j] ? sat[j] * room_k[j] : gain[j] * error + kick[j])
                                     - motor[j] * sag_kp[j]);
                    else if (kind == KD)
                        to[k2] -= bent * part * warmth[j] * on[j] * vr[j];
                    else if (kind == SPEED || kind == LAPSE)
                        to[k2] += o->u_s ? bent * part * (stiff - motor[j] * sag_error[j]) * (kind == SPEED ? o->u_s : o->u_l)[at_k + j] : 0;
                    else if (kind == START)
                        to[k2] += sat[j] ? 0 : bent * part * (per[j] * o->volts[at_row + j] - motor[j] * sag_duty[j]) * started(error);
                    else if (kind == WARM)
                        to[k2] += bent * part * o->heat[at_row + j] / warm[j] * (1 - sag[j]) * motor[j];
                    else if (kind == SAG)
                        to[k2] -= bent * part * motor[j] * sag_own[j];
                    else if (kind == SHARE)
                        to[k2] += bent * (motor[j] - b[j]);
                    else if (kind == CURVE)
                        to[k2] += plain * fabs(plain);
                }
            }
            o->slopes(0, in2, out2);
            products(n, p, w, Q, T1, V, T2, R); /* what the links ask for, here as an effort */
            for (int j = 0; j < n; j++)
                for (int k2 = 0; k2 < others; k2++)
                    R[(size_t)j * p + k2] += Y[j * o->links + o->place[k2]];
            for (int j = 0; step && is_rest && j < n; j++)
                axpy(w, Y[(j + 1) * o->links - 1], Sh, R + (size_t)j * p);
            for (int k2 = others; k2 < starts; k2++)
                for (int j = 0; o->kind[k2] == ZERO && j < n; j++)
                    R[(size_t)j * p + k2] += Q[j * n + o->place[k2]];
            for (int j = 0; j < n; j++) {
                double *restrict row_j = R + (size_t)j * p;
                const double *restrict by_q = T1 + (size_t)j * p;
                const double *restrict own_v = Sv + (size_t)j * p, *restrict own_z = Sz + (size_t)j * p;
                const double *restrict own_l = Sl + (size_t)j * p;
                const double *restrict own_d = Sd + (size_t)j * p;
                const double g1 = (o->play ? 0 : s * gp[j]) + smooth_q[j] + rub_q[j], g2 = s * gd[j] + smooth_qd[j] + rub_qd[j];
                const double g3 = sat[j] ? 0 : s * o->ki[j], g4 = o->share ? rub_load[j] : 0, g5 = ahead[j] * rub_qd[j];
                const double g0 = o->share ? 1 : 1 + rub_load[j]; /* friction of the load of the step itself */
                const double *restrict t0 = 0, *restrict t1 = 0;
                double c0 = 0, c1 = 0;
                if (ring && whole == 0)
                    t0 = St + (size_t)((k - 1 + ring) % ring) * block + (size_t)j * p, c0 = late;
                else if (ring) {
                    t0 = St + (size_t)((k - whole + 2 * ring) % ring) * block + (size_t)j * p, c0 = 1 - late;
                    t1 = St + (size_t)((k - whole - 1 + 2 * ring) % ring) * block + (size_t)j * p, c1 = late;
                }
                for (int i = 0; i < w; i++)
                    row_j[i] = -h * (g0 * row_j[i] + g1 * by_q[i] + g2 * own_v[i]);
                axpy(w, h * g3, own_z, row_j), axpy(w, -h * g4, own_l, row_j), axpy(w, -h * g5, own_d, row_j);
                if (t0)
                    for (int i = 0; i < w; i++)
                        row_j[i] += h * (c0 * t0[i] + (t1 ? c1 * t1[i] : 0));
                if (o->play)
                    axpy(w, -h * s * (gp[j] + far_p[j]), by_seen[j], row_j);
                else
                    far(o->sees[j], p, w, -h * s * far_p[j], -h * s * far_d[j], T1, T2, row_j);
                axpy(w, h * tau[j] * sag_error[j], by_seen[j], row_j);
            }
            for (int k2 = 0; k2 < o->springs; k2++) {
                const int i = o->at_link[k2], j = o->at_motor[k2];
                const double stiff = 1 / o->cj[k2], damp = o->dj[k2], swing = c->dv[j] - c->dv[i];
                const double wound = qm[j] - qm[i] - o->rj[k2] + quarter * h * swing, rate = v[j] - v[i] + end * swing;
                double *restrict link = R + (size_t)i * p, *restrict motor = R + (size_t)j * p;
                for (int m = 0; m < w; m++) {
                    const double d = h * (stiff * (T1[(size_t)j * p + m] - T1[(size_t)i * p + m])
                                          + damp * (Sv[(size_t)j * p + m] - Sv[(size_t)i * p + m]));
                    link[m] += d, motor[m] -= d;
                }
                for (int m = 0; m < columns; m++) {
                    const int kind = o->place[m] == k2 ? o->kind[m] : LINK;
                    const double d = kind == CJ ? -stiff * stiff * wound : kind == DJ ? rate : kind == RJ ? -stiff : 0;
                    link[m] += h * d, motor[m] -= h * d;
                }
            }
            for (int k2 = others; k2 < starts; k2++) {
                const int j = o->place[k2], kind = o->kind[k2];
                if (kind >= Q0 && kind < SPEED)
                    continue;
                if (kind == DELAY) {
                    for (int i = 0; i < n; i++) {
                        double d = 0;
                        if (ring) {
                            const double *now = whole ? past + ((k - whole + 2 * ring) % ring) * n : tau;
                            const double *before = past + ((k - whole - 1 + 2 * ring) % ring) * n;
                            d = (before[i] - now[i]) / whole_h;
                        } else
                            d = (gp[i] + far_p[i] - tau[i] * sag_error[i]) * o->u_d[(size_t)k * n + i]
                                + (o->ud_d ? (gd[i] + far_d[i]) * o->ud_d[(size_t)k * n + i] : 0);
                        R[(size_t)i * p + k2] += h * d;
                    }
                    continue;
                }
                if (kind == EFFECT) {
                    const int is_load = o->inertia[j] && !o->share;
                    R[(size_t)o->at[j] * p + k2] -= h * shapes[j] * (is_load ? 1 + rub_load[o->at[j]] : 1);
                    continue;
                }
                if (kind == SHARE || kind == CURVE || kind == PLAY)
                    continue;
                if (kind == SPEED || kind == LAPSE) {
                    const double *by = kind == SPEED ? o->u_s : o->u_l;
                    R[(size_t)j * p + k2] += h * (by ? (gp[j] + far_p[j] - tau[j] * sag_error[j]) * by[at_k + j] : 0);
                    continue;
                }
                const double rate = ud ? ud[j] : 0;
                const int seen = o->sees[j];
                const int moves = seen == j && !(o->play && !side[j]); /* whether the law sees what the joint does in the step */
                const double foreseen = u[j] - seen_at[j], error = foreseen - (moves ? quarter * h * c->dv[j] : 0);
                double d = 0;
                if (kind == KP)
                    d = warmth[j] * (sat[j] ? (room_k ? sat[j] * room_k[j] : 0)
                                            : s * (error * (gain ? gain[j] : 1) + kick[j] + steep_kick[j] * (error - foreseen)))
                        - tau[j] * sag_kp[j];
                else if (kind == START)
                    d = sat[j] ? 0 : per[j] * o->volts[at_row + j] * (started(foreseen) + (fabs(foreseen) < NEAR ? (error - foreseen) / NEAR : 0))
                                     - tau[j] * sag_duty[j] * started(foreseen);
                else if (kind == WARM)
                    d = o->heat[at_row + j] / warm[j] * (1 - sag[j]) * tau[j];
                else if (kind == SAG)
                    d = -tau[j] * sag_own[j];
                else if (kind == KI)
                    d = sat[j] ? 0 : s * (mid * h * error + z[j]);
                else if (kind == KD)
                    d = sat[j] && !o->is_voltage ? 0 : s * warmth[j] * (on ? on[j] : 1) * (rate - (seen == j ? slope[j] : vm[seen]));
                R[(size_t)j * p + k2] += h * d;
            }
            for (int j = 0; is_rest && j < n; j++)
                by_length[j] = sat[j] ? 0 : o->ki[j] * mid * (u[j] - seen_at[j] - quarter * h * c->dv[j]);
            for (int i = 0; is_rest && i < c->m; i++) {
                const int j = c->list[i];
                double by_h = (mid * s * gd[j] + end * smooth_qd[j] + 2 * quarter * h * (s * gp[j] + smooth_q[j])) * c->dv[j], sum = 0;
                for (int k2 = 0; k2 < o->springs; k2++) {
                    const int other = j == o->at_link[k2] ? o->at_motor[k2] : j == o->at_motor[k2] ? o->at_link[k2] : j;
                    by_h += (end * o->dj[k2] + 2 * quarter * h / o->cj[k2]) * (c->dv[j] - c->dv[other]);
                }
                for (int k2 = 0; k2 < n; k2++)
                    sum += c->P[j * n + k2] * a[k2];
                axpy(w, sum - by_h + h * s * by_length[j], Sh, R + (size_t)j * p);
            }
            for (int j = 0; j < n; j++)
                if (!c->slide[j])
                    for (int i = 0; i < w; i++)
                        R[(size_t)j * p + i] = -Sv[(size_t)j * p + i];
            for (int i = 0; i < c->m; i++)
                for (int j = 0; j < n; j++)
                    if (!c->slide[j])
                        axpy(w, -c->P[c->list[i] * n + j], R + (size_t)j * p, R + (size_t)c->list[i] * p);
            solve_rows(c->m, c->list, c->L, R, p, w);
            if (ring) { /* derivatives of the motor's effort */
                for (int j = 0; j < n; j++) {
                    for (int i = 0; i < w; i++) {
                        const size_t at = (size_t)j * p + i;
                        Sm[at] = -gp[j] * (T1[at] + quarter * h * R[at]) - gd[j] * (Sv[at] + mid * R[at])
                                 + (sat[j] ? 0 : o->ki[j] * Sz[at]);
                    }
                    far(o->sees[j], p, w, -far_p[j], -far_d[j], T1, T2, Sm + (size_t)j * p);
                    if (is_rest)
                        axpy(w, by_length[j] - gp[j] * quarter * c->dv[j], Sh, Sm + (size_t)j * p);
                }
                for (int k2 = 0; k2 < columns; k2++) {
                    const int j = o->place[k2], kind = o->kind[k2];
                    if (kind != KP && kind != KI && kind != KD)
                        continue;
                    const int seen = o->sees[j];
                    const double error = u[j] - (seen == j ? qm[j] + quarter * h * c->dv[j] : qm[seen]);
                    double *to = Sm + (size_t)j * p + k2;
                    if (kind == KP && !sat[j])
                        *to += error;
                    if (kind == KI && !sat[j])
                        *to += mid * h * error + z[j];
                    if (kind == KD && !(sat[j] && !o->is_voltage))
                        *to += (ud ? ud[j] : 0) - (seen == j ? slope[j] : vm[seen]);
                }
                memcpy(St + (size_t)(k % ring) * block, Sm, block * sizeof(double));
            }
            for (int i = 0; stopping >= 0 && i < w; i++) {
                const size_t at = (size_t)stopping * p + i;
                Sn[i] = -(Sv[at] + taken / h * (R[at] - (is_rest ? a[stopping] * Sh[i] : 0))) / a[stopping];
            }
            const int is_divided = stopping >= 0 || is_rest;
            const double *by_taken = stopping >= 0 ? Sn : Sh;
            for (int j = 0; j < n; j++) { /* integrals of position errors, which nothing reads where ki is 0 */
                const int seen = o->sees[j];
                const double open = sat[j] || o->ki[j] == 0 ? 0 : taken, *T = T1 + (size_t)seen * p, *own_r = R + (size_t)seen * p;
                double *restrict own_z = Sz + (size_t)j * p;
                for (int i = 0; open != 0 && !is_divided && i < w; i++)
                    own_z[i] -= open * (T[i] + quarter * h * own_r[i]);
                for (int i = 0; open != 0 && is_divided && i < w; i++) {
                    const double by_a = (own_r[i] - (is_rest ? a[seen] * Sh[i] : 0)) / h, by = by_taken[i];
                    const double *own_v = Sv + (size_t)seen * p, *own_q = Sq + (size_t)seen * p;
                    own_z[i] -= open * (own_q[i] + taken * (mid * own_v[i] + quarter * taken * by_a)
                                        + (mid * v[seen] + 2 * quarter * taken * a[seen]) * by);
                    own_z[i] += (u[j] - q[seen] - taken * (mid * v[seen] + quarter * taken * a[seen])) * by;
                }
                if (delay_column >= 0 && !ring)
                    own_z[delay_column] += (sat[j] ? 0 : taken) * o->u_d[at_k + j];
            }
            for (int j = 0; j < n; j++) {
                double *restrict own_q = Sq + (size_t)j * p, *restrict own_v = Sv + (size_t)j * p, *restrict own_d = Sd + (size_t)j * p;
                const double *restrict change = R + (size_t)j * p;
                for (int i = 0; !is_divided && i < w; i++) {
                    own_q[i] += h * (own_v[i] + end * change[i]);
                    own_v[i] += change[i];
                    own_d[i] = change[i];
                }
                for (int i = 0; is_divided && i < w; i++) { /* the next step foresees a change of velocity of a whole one */
                    const double by_a = (change[i] - (is_rest ? a[j] * Sh[i] : 0)) / h;
                    own_q[i] += taken * (own_v[i] + end * taken * by_a) + (v[j] + 2 * end * taken * a[j]) * by_taken[i];
                    own_v[i] = j == stopping ? 0 : own_v[i] + taken * by_a + a[j] * by_taken[i];
                    own_d[i] = stopping < 0 ? by_a * whole_h : 0;
                }
            }
            for (int i = 0; stopping >= 0 && i < w; i++)
                Sh[i] = (is_rest ? Sh[i] : 0) - Sn[i];
        }
        for (int j = 0; j < n; j++) {
            if (ring)
                past[(k % ring) * n + j] = tau[j];
            load[j] = b[j] + rotor[j] * a[j];
            for (int i = 0; i < n; i++)
                load[j] += D[j * n + i] * a[i];
            if (!sat[j])
                z[j] += taken * (u[j] - q[o->sees[j]] - taken * (mid * v[o->sees[j]] + quarter * taken * a[o->sees[j]]));
        }
        for (int j = 0; j < n; j++) {
            q[j] += taken * (v[j] + end * taken * a[j]);
            v[j] = c->slide[j] && j != stopping ? v[j] + taken * a[j] : 0;
            dvp[j] = stopping < 0 ? a[j] * whole_h : 0;
            const double half = o->play ? 0.5 * o->play[j] : 0, at_end = q[j] - half > y[j] ? 1 : q[j] + half < y[j] ? -1 : 0;
            if (at_end != 0) {
                y[j] = q[j] - at_end * half;
                for (int i = 0; o->play && is_carried && i < p; i++)
                    Sy[(size_t)j * p + i] = Sq[(size_t)j * p + i]
                                            - (i < columns && o->kind[i] == PLAY && o->place[i] == j ? 0.5 * at_end : 0);
            }
            if (!(fabs(q[j]) < 1e6)) {
                code = 2, o->fail_at = k;
            }
        }
        if (code)
            break;
        is_rest = stopping >= 0 && h - taken > SHORTEST * whole_h;
        h = is_rest ? h - taken : whole_h;
        stops = is_rest ? stops + 1 : 0;
        if (is_rest)
            k--, until++;
    }
    free(c), free(room), free(Y), free(past), free(shapes), free(links);
    return code;
}

/* target while a command is held: of a row its speed, and that speed's derivatives by the speed without lapse and by
   the lapse; of the row's start the target, and its derivatives by both */
typedef struct {
    double told, speed, of_speed, of_lapse, target, by_speed, by_lapse;
} Held;

/* the row of a command: a command that differs from the one before costs the target part of its speed */
static void hold(Held *a, const double *told, int row, int n, double speed, double lapse)
{
    const double is_new = row && fabs(told[0] - told[-n]) > SAME;
    a->told = told[0], a->of_speed = 1 - lapse * is_new, a->of_lapse = -speed * is_new, a->speed = a->of_speed * speed;
}

/* some time after the row: the target, its integral since the row, and those of its derivatives */
static void follow_for(double past, const Held *a, double *found)
{
    const double gap = a->told - a->target, way = gap > 0 ? 1 : gap < 0 ? -1 : 0, takes = a->speed > 0 ? fabs(gap) / a->speed : 0;
    const double moving = smaller(larger(past, 0), takes), gone = way * a->speed * moving, half = 0.5 * way * moving * moving;
    found[0] = a->target + gone, found[1] = a->target * past + gone * (past - 0.5 * moving);
    found[2] = a->by_speed * moving + a->of_speed * half, found[3] = a->by_lapse * moving + a->of_lapse * half;
}

/* means (steps, n) of targets between edges h apart, which follow commands, held from their times on, at limited speeds
   (0: at once), and their derivatives by a delay, by the speed and by the lapse; see codegen/rollout/commands.py */
__attribute__((visibility("default"))) void minertia_follow(int rows, int n, int steps, double first, double h, const double *told,
                                                            const double *times, const double *speeds, const double *lapses,
                                                            double *u, double *u_d, double *u_s, double *u_l)
{
    for (int j = 0; j < n; j++) {
        Held a = {0};
        double area[3] = {0}, last[4] = {0}, now[4];
        int row = 0;
        a.target = told[j];
        hold(&a, told + j, 0, n, speeds[j], lapses[j]);
        for (int k = 0; k <= steps; k++) {
            const double edge = first + h * k;
            for (; row + 1 < rows && times[row + 1] <= edge + SAME; row++) {
                const double gap = a.told - a.target, width = times[row + 1] - times[row];
                follow_for(width, &a, now);
                for (int i = 0; i < 3; i++)
                    area[i] += now[i + 1];
                if (a.speed > 0 && fabs(gap) > a.speed * width) {
                    const double way = gap > 0 ? width : -width;
                    a.target += way * a.speed, a.by_speed += way * a.of_speed, a.by_lapse += way * a.of_lapse;
                } else
                    a.target = told[(size_t)(a.speed > 0 ? row : row + 1) * n + j], a.by_speed = a.by_lapse = 0;
                hold(&a, told + (size_t)(row + 1) * n + j, row + 1, n, speeds[j], lapses[j]);
            }
            follow_for(edge - times[row], &a, now);
            for (int i = 0; i < 3; i++)
                now[i + 1] += area[i];
            if (k) {
                const size_t at = (size_t)(k - 1) * n + j;
                u[at] = (now[1] - last[1]) / h, u_d[at] = -(now[0] - last[0]) / h;
                u_s[at] = (now[2] - last[2]) / h, u_l[at] = (now[3] - last[3]) / h;
            }
            memcpy(last, now, sizeof now);
        }
    }
}
