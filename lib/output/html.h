#ifndef NCCLPROF_OUTPUT_HTML_H
#define NCCLPROF_OUTPUT_HTML_H

#include <stddef.h>

struct buffer;
struct heat_map;
struct heat_scale;

/* -------------------- html_page.c -------------------- */

/* Pieces of a page. Texts are hostile and come out escaped. All return -1 when memory is out. */

int html_text(struct buffer *page, const char *text);

/* " name=\"VALUE\"", the value escaped. */
int html_attribute(struct buffer *page, const char *name, const char *value);

/* -------------------- html_heat.c -------------------- */

/*
 * Values of a grid in a byte each, for the script. 0: not known. 1: nothing, or less than `least`. From 2 to
 * 255 in equal ratios from `least` to `most`, so that each reads back within half of one of those ratios.
 */
struct html_scale {
    double least;
    double most;
};

struct html_scale html_scale_of(const double *values, size_t count);
unsigned char html_scale_byte(const struct html_scale *scale, double value);

/*
 * The bytes of the rows, each as the difference (modulo 256) from the one above, zeros in a row as a zero and
 * their number (1 to 255), all of it in base64. -1 when memory is out.
 */
int html_add_cells(struct buffer *data, const double *values, size_t rows, size_t columns,
                   const struct html_scale *scale);

/* -------------------- html_matrix.c -------------------- */

/*
 * Cells of a map as one path for each level of colour, so that thousands of them take little room: classes
 * l0 to l4. Cells that touch in a row are one piece; one is one unit wide and high. -1 when memory is out.
 */
int html_add_levels(struct buffer *page, const struct heat_map *map);

/* What the colours stand for, and last what a frame does: the end of a paragraph of class "keys". */
int html_add_level_keys(struct buffer *page, const struct heat_scale *scale, const char *frame);

#endif
