#ifndef NCCLPROF_OUTPUT_HTML_H
#define NCCLPROF_OUTPUT_HTML_H

#include <stddef.h>

struct buffer;
struct heat_map;
struct heat_scale;

/* -------------------- html_page.c -------------------- */

/*
 * Building blocks of a page. Texts are hostile and are escaped on output. All return -1 when out of memory.
 */

/* Appends ` name="VALUE"`, with the value escaped. */
int html_attribute(struct buffer *page, const char *name, const char *value);

/* -------------------- html_heat.c -------------------- */

/*
 * Maps the values of a grid to one byte each, for the script. 0: unknown. 1: zero or less than `least`. 2 to
 * 255: a logarithmic scale from `least` to `most`, so that a value is restored with an error of at most half
 * a step of the scale.
 */
struct html_scale {
    double least;
    double most;
};

/* The scale that covers these values. Values must be finite or NAN (unknown). */
struct html_scale html_scale_of(const double *values, size_t count);
unsigned char html_scale_byte(const struct html_scale *scale, double value);

/*
 * Appends the bytes of all rows in base64. Each byte is the difference (modulo 256) from the row above; a run
 * of zeros is a zero and the length of the run (1 to 255). Returns -1 when out of memory.
 */
int html_add_cells(struct buffer *data, const double *values, size_t rows, size_t columns,
                   const struct html_scale *scale);

/* -------------------- html_matrix.c -------------------- */

/*
 * Draws the cells of a map as one path per colour level (classes l0 to l4), so that thousands of cells need
 * little space. Adjacent cells of a row are merged. A cell is one unit wide and high. Returns -1 when out of
 * memory.
 */
int html_add_levels(struct buffer *page, const struct heat_map *map);

/* Appends the legend of the colours and finally of the frame (NULL: none), to the end of a paragraph of class
 * "keys". */
int html_add_level_keys(struct buffer *page, const struct heat_scale *scale, const char *frame);

#endif
