#include "store/stamp.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Of an SQLite file: what it begins with, and where its application_id stands, the great end first. */
enum { HEADER_BYTES = 72, STAMP_AT = 68 };
static const char MAGIC[16] = "SQLite format 3";

int store_is_stamped(const char *path)
{
    unsigned char header[HEADER_BYTES];
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    size_t got = fread(header, 1, sizeof header, file);
    fclose(file);
    if (got != sizeof header || memcmp(header, MAGIC, sizeof MAGIC) != 0)
        return 0;
    const unsigned char *at = header + STAMP_AT;
    return ((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]) ==
           STORE_APPLICATION_ID;
}
