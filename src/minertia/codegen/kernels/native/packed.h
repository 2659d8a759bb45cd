#ifndef PACKED_H
#define PACKED_H
/* Packed triangles: `count` of them, `stride` numbers apart, the upper halves of (size, size) row by row; rows from
   `first` on are meant. */
typedef struct {
    const double *numbers;
    int64_t count, stride, size, first;
} Packed;

#define FOLD_ROWS 96 /* rows that are folded at a time; room for one triangle more where it has more */
#endif
