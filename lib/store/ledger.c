#include "store/ledger.h"

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
