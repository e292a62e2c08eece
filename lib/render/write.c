#include "render/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int render_check(FILE *stream, struct error *error)
{
    int number = errno;
    return ferror(stream) ? error_set_errno(error, number, "cannot write the output") : 0;
}

void render_real(double value, char text[REAL_TEXT_BYTES])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, REAL_TEXT_BYTES, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}
