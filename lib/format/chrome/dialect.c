#include "format/chrome/dialect.h"

#include <stdio.h>

static int version(const struct chrome_reader *reader)
{
    if (reader->seen[CHROME_USER_TAG] || reader->hints & CHROME_HINT_PHASES)
        return 7;
    if (reader->hints & CHROME_HINT_UNQUOTED)
        return 5;
    if (reader->seen[CHROME_GROUP_API] || reader->seen[CHROME_CE_COLL])
        return 6;
    if (reader->seen_schedule || !(reader->hints & CHROME_HINT_NO_CHANNELS))
        return 4;
    if (reader->seen[CHROME_GPU] || reader->seen[CHROME_NET_PLUGIN])
        return 3;
    return reader->hints & CHROME_HINT_NUMERIC_DATATYPE ? 1 : 2;
}

void chrome_reader_dialect(const struct chrome_reader *reader, char *dialect, size_t dialect_bytes)
{
    int any = 0;
    for (int category = CHROME_OTHER + 1; category < CHROME_CATEGORIES; category++)
        any |= reader->seen[category];
    if (reader->is_bundled)
        snprintf(dialect, dialect_bytes, "chrome-ncclprof");
    else if (any)
        snprintf(dialect, dialect_bytes, "chrome-v%d", version(reader));
    else
        snprintf(dialect, dialect_bytes, "chrome");
}
