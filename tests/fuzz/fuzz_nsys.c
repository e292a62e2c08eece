/*
 * Arbitrary bytes as an SQLite file of another program: opened, its tables read row by row, and read as an
 * export of Nsight Systems. Memory stays proportional to the file, and there are no more rows than fit.
 */
#include "base/base.h"
#include "format/format.h"
#include "model/model.h"
#include "require.h"
#include "store/internal.h"
#include "store/store.h"

#include <stdlib.h>
#include <unistd.h>

extern const struct format format_nsys;

struct seen {
    size_t events;
    int64_t last_ordinal;
};

static int take_event(void *context, const struct event *event, struct error *error)
{
    struct seen *seen = context;
    (void)error;
    seen->events++;
    if (event->kind != EVENT_OPERATION)
        return 0;
    require(event->operation.ordinal == seen->last_ordinal + 1, "operations in order");
    require(event->operation.duration_ns >= COUNT_UNKNOWN, "a duration");
    require(event->operation.device.end_ns >= event->operation.device.begin_ns, "an end behind its begin");
    seen->last_ordinal++;
    return 0;
}

static int take_note(void *context, const char *reason, int damage, uint64_t offset, const char *detail,
                     size_t detail_length, struct error *error)
{
    (void)context;
    (void)damage;
    (void)offset;
    (void)error;
    require(reason != NULL, "a reason");
    return detail && detail_length > FOREIGN_VALUE_BYTES;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct error error = ERROR_INIT;
    struct seen seen = {.last_ordinal = -1};
    const struct format_sink sink = {&seen, take_event, take_note};
    char path[] = "/tmp/ncclprof-fuzz-XXXXXX", dialect[64] = "";
    int file = mkstemp(path); /* SQLite follows links, but a link of /proc leads to no file */
    require(file >= 0 && write(file, bytes, length) == (ssize_t)length, "room for the input");
    struct foreign *foreign = foreign_open(path, NULL, NULL, &error);
    if (foreign) {
        format_nsys.read_tables(foreign_tables(foreign), &sink, dialect, sizeof dialect, &error);
        require(seen.events <= length, "no more than fits");
    }
    foreign_close(foreign);
    error_clear(&error);
    unlink(path);
    close(file);
    return 0;
}
