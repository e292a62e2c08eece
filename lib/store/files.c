/*
 * The ledger of a file, which counts skipped input by reason, and the snapshot of the files that a store
 * holds.
 */

#include "base/base.h"
#include "store/records.h"
#include "store/store.h"

#include "schemas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char other_reasons[] = "other reasons";

void ledger_init(struct ledger *ledger)
{
    ledger->count = 0;
}

void ledger_release(struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->count; i++)
        free(ledger->entries[i].reason);
    ledger->count = 0;
}

const struct ledger_entry *ledger_find(const struct ledger *ledger, const char *reason)
{
    for (size_t i = 0; i < ledger->count; i++)
        if (strcmp(ledger->entries[i].reason, reason) == 0)
            return &ledger->entries[i];
    return NULL;
}

static struct ledger_entry *find(struct ledger *ledger, const char *reason)
{
    const struct ledger_entry *entry = ledger_find(ledger, reason);
    return entry ? &ledger->entries[entry - ledger->entries] : NULL;
}

static struct ledger_entry *add(struct ledger *ledger, const char *reason, uint64_t offset)
{
    struct ledger_entry *entry = &ledger->entries[ledger->count];
    *entry = (struct ledger_entry){.reason = strdup(reason), .first_offset = offset};
    if (!entry->reason)
        return NULL;
    ledger->count++;
    return entry;
}

int ledger_note(struct ledger *ledger, const char *reason, int damage, uint64_t offset, const char *detail,
                size_t detail_length, struct error *error)
{
    struct ledger_entry *entry = find(ledger, reason);
    if (!entry && ledger->count >= LEDGER_REASONS - 1)
        reason = other_reasons;
    if (!entry)
        entry = find(ledger, reason);
    if (!entry) {
        entry = add(ledger, reason, offset);
        if (!entry)
            return error_no_memory(error);
        if (detail)
            memcpy(entry->example, detail,
                   detail_length < LEDGER_EXAMPLE_BYTES ? detail_length : LEDGER_EXAMPLE_BYTES);
    }
    entry->damage |= damage != 0;
    entry->count++;
    return 0;
}

int ledger_add(struct ledger *ledger, const struct ledger *part, struct error *error)
{
    for (size_t i = 0; i < part->count; i++) {
        const struct ledger_entry *from = &part->entries[i];
        if (ledger_note(ledger, from->reason, from->damage, from->first_offset, from->example,
                        strlen(from->example), error))
            return -1;
        struct ledger_entry *entry = find(ledger, from->reason);
        if (!entry)
            entry = find(ledger, other_reasons);
        if (entry)
            entry->count += from->count - 1;
    }
    return 0;
}

int64_t ledger_total(const struct ledger *ledger)
{
    int64_t total = 0;
    for (size_t i = 0; i < ledger->count; i++)
        total += ledger->entries[i].count;
    return total;
}

int64_t ledger_damage(const struct ledger *ledger)
{
    int64_t total = 0;
    for (size_t i = 0; i < ledger->count; i++)
        if (ledger->entries[i].damage)
            total += ledger->entries[i].count;
    return total;
}

const struct ledger_entry *ledger_only(const struct ledger *ledger, const char *reason)
{
    const struct ledger_entry *only = NULL;
    for (size_t i = 0; i < ledger->count; i++) {
        const struct ledger_entry *entry = &ledger->entries[i];
        if (strcmp(entry->reason, reason) == 0)
            only = entry;
        else if (!entry->damage)
            return NULL;
    }
    return only;
}

const struct ledger_entry *ledger_first_damage(const struct ledger *ledger)
{
    const struct ledger_entry *first = NULL;
    for (size_t i = 0; i < ledger->count; i++) {
        const struct ledger_entry *entry = &ledger->entries[i];
        if (entry->damage && (!first || entry->first_offset < first->first_offset))
            first = entry;
    }
    return first;
}

static int known_add(struct known *known, struct statement *list, struct error *error)
{
    if (array_reserve((void **)&known->files, &known->capacity, known->count + 1, sizeof *known->files))
        return error_no_memory(error);
    struct known_file *file = &known->files[known->count++];
    *file = (struct known_file){.bytes = (uint64_t)statement_integer(list, 0),
                                .events = statement_integer(list, 3),
                                .skipped = statement_integer(list, 4),
                                .lost_pieces = statement_integer(list, 5),
                                .first_offset = (uint64_t)statement_integer(list, 7),
                                .reader_version = statement_integer(list, 10),
                                .file_id = statement_integer(list, 11)};
    const char *digest = statement_text(list, 1), *dialect = statement_text(list, 2);
    const char *reason = statement_text(list, 6);
    if (reason && !(file->first_reason = strdup(reason)))
        return error_no_memory(error);
    const char *path = statement_text(list, 8), *reader = statement_text(list, 9);
    if (reader && !(file->reader = strdup(reader)))
        return error_no_memory(error);
    if (!(file->path = strdup(path ? path : "")))
        return error_no_memory(error);
    snprintf(file->digest, sizeof file->digest, "%s", digest ? digest : "");
    snprintf(file->dialect, sizeof file->dialect, "%s", dialect ? dialect : "");
    return 0;
}

int known_read(struct known *known, struct store *store, struct error *error)
{
    *known = (struct known){.files = NULL};
    struct statement *list = store_prepare(store, schema_ingest_write_known_files, error);
    if (!list)
        return -1;
    int more;
    while ((more = statement_step(list, error)) == 1)
        if (known_add(known, list, error)) {
            more = -1;
            break;
        }
    statement_free(list);
    if (more < 0)
        known_release(known);
    return more;
}

void known_release(struct known *known)
{
    for (size_t i = 0; i < known->count; i++) {
        free(known->files[i].first_reason);
        free(known->files[i].reader);
        free(known->files[i].path);
    }
    free(known->files);
    *known = (struct known){.files = NULL};
}

static int is_smaller(const void *file, const void *bytes)
{
    return ((const struct known_file *)file)->bytes < *(const uint64_t *)bytes;
}

/* The index of the first file of at least this size. */
static size_t first_of(const struct known *known, uint64_t bytes)
{
    return lower_bound(known->files, known->count, sizeof *known->files, is_smaller, &bytes);
}

int known_has_size(const struct known *known, uint64_t bytes)
{
    size_t at = first_of(known, bytes);
    return at < known->count && known->files[at].bytes == bytes;
}

int known_has_path(const struct known *known, const char *path)
{
    for (size_t i = 0; i < known->count; i++)
        if (strcmp(known->files[i].path, path) == 0)
            return 1;
    return 0;
}

const struct known_file *known_find(const struct known *known, uint64_t bytes, const char *digest)
{
    for (size_t at = first_of(known, bytes); at < known->count && known->files[at].bytes == bytes; at++)
        if (strcmp(known->files[at].digest, digest) == 0)
            return &known->files[at];
    return NULL;
}
