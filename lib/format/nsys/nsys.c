#include "format/nsys/nsys.h"

#include "format/nsys/emit.h"
#include "format/nsys/link.h"

#include <stdio.h>
#include <string.h>

static int note_some(const struct nsys_profile *profile, int64_t count, const char *reason,
                     struct error *error)
{
    int failed = 0;
    for (int64_t i = 0; i < count && !failed; i++)
        failed = profile->sink->note(profile->sink->context, reason, 0, 0, NULL, 0, error);
    return failed;
}

/* What can be read before damage is handed over all the same. */
static int nsys_read(const struct foreign_tables *tables, const struct format_sink *sink, char *dialect,
                     size_t dialect_bytes, struct error *error)
{
    struct nsys_profile profile;
    struct error later = ERROR_INIT;
    int64_t loose;
    snprintf(dialect, dialect_bytes, "nsys");
    nsys_profile_init(&profile, tables, sink);
    int damaged = nsys_profile_read(&profile, error);
    nsys_link(&profile, &loose);
    int failed = error->is_no_memory ? -1 : 0;
    struct error *told = damaged ? &later : error;
    failed = failed || nsys_emit(&profile, told) ||
             note_some(&profile, loose, "kernel without a call", told) ||
             (profile.is_full && sink->note(sink->context, "too many calls or kernels", 1, 0, NULL, 0, told));
    error_clear(&later);
    nsys_profile_release(&profile);
    return damaged || failed ? -1 : 0;
}

enum { SURE = 90 };

/* SQLite's own beginning, and tables that no other program has: they are made before the rest. */
static int nsys_sniff(const char *bytes, size_t length, const char *path)
{
    static const char begin[] = "SQLite format 3";
    static const char *const tables[] = {"ENUM_NSYS_EVENT", "CUPTI_ACTIVITY_KIND_", "NVTX_EVENTS",
                                         "TARGET_INFO_SESSION_START_TIME"};
    (void)path;
    if (length < sizeof begin || memcmp(bytes, begin, sizeof begin) != 0)
        return 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (memmem(bytes, length, tables[i], strlen(tables[i])))
            return SURE;
    return 0;
}

static const char *nsys_why_nothing(const char *path, uint64_t bytes)
{
    (void)path;
    return bytes ? "nsys records NCCL calls only with --trace=cuda,nvtx and without NCCL_NVTX_DISABLE" : NULL;
}

const struct format format_nsys = {
    .name = "nsys",
    .version = 1,
    .description = "SQLite export of NVIDIA's Nsight Systems",
    .unknown = "unknown record",
    .sniff = nsys_sniff,
    .read_tables = nsys_read,
    .why_nothing = nsys_why_nothing,
};
