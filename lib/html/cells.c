#include "html/cells.h"

#include "base/base64.h"

#include <math.h>

enum { NOTHING = 1, FIRST = 2, LAST = 255 };

struct html_scale html_scale_of(const double *values, size_t count)
{
    struct html_scale scale = {.least = 0, .most = 0};
    for (size_t i = 0; i < count; i++)
        if (values[i] > scale.most)
            scale.most = values[i];
    scale.least = scale.most;
    for (size_t i = 0; i < count; i++)
        if (values[i] > scale.most / HTML_SCALE_SPAN && values[i] < scale.least)
            scale.least = values[i];
    return scale;
}

unsigned char html_scale_byte(const struct html_scale *scale, double value)
{
    if (isnan(value))
        return 0;
    if (value <= 0 || value < scale->least)
        return NOTHING;
    if (scale->most <= scale->least || value >= scale->most)
        return LAST;
    double part = log(value / scale->least) / log(scale->most / scale->least);
    return (unsigned char)(FIRST + lround(part * (LAST - FIRST)));
}

/* A row of zeros that is to be written. */
static int put_zeros(struct buffer *bytes, size_t *zeros)
{
    if (*zeros && (buffer_append_byte(bytes, 0) || buffer_append_byte(bytes, (char)*zeros)))
        return -1;
    *zeros = 0;
    return 0;
}

static int put_difference(struct buffer *bytes, unsigned char difference, size_t *zeros)
{
    if (difference)
        return put_zeros(bytes, zeros) || buffer_append_byte(bytes, (char)difference) ? -1 : 0;
    return ++*zeros == LAST ? put_zeros(bytes, zeros) : 0;
}

int html_add_cells(struct buffer *data, const double *values, size_t rows, size_t columns,
                   const struct html_scale *scale)
{
    struct buffer bytes = BUFFER_INIT;
    size_t zeros = 0;
    int failed = 0;
    for (size_t i = 0; !failed && i < rows * columns; i++) {
        unsigned char above = i >= columns ? html_scale_byte(scale, values[i - columns]) : 0;
        failed = put_difference(&bytes, (unsigned char)(html_scale_byte(scale, values[i]) - above), &zeros);
    }
    failed = failed || put_zeros(&bytes, &zeros) || base64_append(data, bytes.data, bytes.length);
    buffer_release(&bytes);
    return failed ? -1 : 0;
}
