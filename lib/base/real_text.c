#include "base/real_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most numbers are thousandths, of microseconds: whole ones tell these faster. Beyond this the text has an
 * exponent. */
static const double FEWEST = 1e-3, MOST = 1e12;

static int is_thousandths(double value, char text[REAL_TEXT_BYTES])
{
    double size = fabs(value);
    int64_t thousandths = size < MOST ? llrint(size * 1e3) : 0;
    if (size < FEWEST || size >= MOST || (double)thousandths / 1e3 != size)
        return 0;
    int length = snprintf(text, REAL_TEXT_BYTES, "%s%" PRId64 ".%03d", value < 0 ? "-" : "",
                          thousandths / 1000, (int)(thousandths % 1000));
    while (text[length - 1] == '0')
        text[--length] = '\0';
    if (text[length - 1] == '.')
        text[length - 1] = '\0';
    return 1;
}

void real_text(double value, char text[REAL_TEXT_BYTES])
{
    if (is_thousandths(value, text))
        return;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, REAL_TEXT_BYTES, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}
