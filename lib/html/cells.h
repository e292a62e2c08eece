#ifndef NCCLPROF_HTML_CELLS_H
#define NCCLPROF_HTML_CELLS_H

#include "base/buffer.h"

#include <stddef.h>

/*
 * Values of a grid in a byte each, for the script. 0: not known. 1: nothing, or less than `least`. From 2 to
 * 255 in equal ratios from `least` to `most`, so that each reads back within half of one of those ratios.
 */
struct html_scale {
    double least;
    double most;
};

/* Of values that are not known (NAN) or finite. A value of `most` / HTML_SCALE_SPAN counts as nothing. */
enum { HTML_SCALE_SPAN = 100000 };
struct html_scale html_scale_of(const double *values, size_t count);
unsigned char html_scale_byte(const struct html_scale *scale, double value);

/*
 * The bytes of the rows, each as the difference (modulo 256) from the one above, zeros in a row as a zero and
 * their number (1 to 255), all of it in base64. -1 when memory is out.
 */
int html_add_cells(struct buffer *data, const double *values, size_t rows, size_t columns,
                   const struct html_scale *scale);

#endif
