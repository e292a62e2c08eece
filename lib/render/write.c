#include "render/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int render_check(FILE *stream, struct error *error)
{
    int number = errno;
    return ferror(stream) ? error_set_errno(error, number, "cannot write output") : 0;
}
