#include "format/nsys/payload.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* More layouts than any program registers. */
enum { LAYOUTS_MOST = 1 << 16 };

enum { HEAD_BYTES = 32, SCHEMA_AT = 8 };

static const struct {
    const char *name;
    size_t bytes;
} fields[NSYS_FIELDS] = {
    [NSYS_COMMUNICATOR] = {"NCCL communicator ID", 8},
    [NSYS_BYTES] = {"Message size [bytes]", 8},
    [NSYS_ROOT] = {"Root", 4},
    [NSYS_PEER] = {"Peer rank", 4},
    [NSYS_RANKS] = {"No. of ranks", 4},
    [NSYS_RANK] = {"Rank", 4},
    [NSYS_DEVICE] = {"CUDA device", 4},
};

void nsys_layouts_release(struct nsys_layouts *layouts)
{
    free(layouts->items);
}

static int find_field(const struct foreign_value *name, enum nsys_field *field)
{
    for (int i = 0; i < NSYS_FIELDS && name->kind == FOREIGN_TEXT; i++)
        if (strcmp(name->bytes, fields[i].name) == 0) {
            *field = (enum nsys_field)i;
            return 1;
        }
    return 0;
}

int nsys_layouts_read(struct nsys_layouts *layouts, const struct foreign_tables *tables, struct error *error)
{
    static const char *const columns[] = {"domainId", "schemaId", "name", "offset"};
    struct foreign_value row[4];
    int more = tables->open(tables->context, "NVTX_PAYLOAD_SCHEMA_ENTRIES", columns, 4, error);
    while (more == 1 && (more = tables->next(tables->context, row, error)) == 1) {
        struct nsys_layout layout = {.domain = row[0].integer, .schema = row[1].integer};
        if (!find_field(&row[2], &layout.field) || row[3].integer < 0 ||
            row[3].integer > FOREIGN_COLUMNS * 64 || layouts->count == LAYOUTS_MOST)
            continue;
        layout.offset = (size_t)row[3].integer;
        if (array_reserve((void **)&layouts->items, &layouts->capacity, layouts->count + 1, sizeof layout))
            return error_no_memory(error);
        layouts->items[layouts->count++] = layout;
    }
    return more;
}

static uint64_t number_at(const char *at, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = bytes; i-- > 0;)
        number = number << 8 | (unsigned char)at[i];
    return number;
}

void nsys_payload_take(const struct nsys_layouts *layouts, const struct foreign_value *blob,
                       struct nsys_payload *payload)
{
    *payload = (struct nsys_payload){{0}, {0}};
    if (blob->kind != FOREIGN_BLOB || blob->length < HEAD_BYTES)
        return;
    int64_t domain = (int64_t)number_at(blob->bytes, 4);
    int64_t schema = (int64_t)number_at(blob->bytes + SCHEMA_AT, 4);
    for (size_t i = 0; i < layouts->count; i++) {
        const struct nsys_layout *layout = &layouts->items[i];
        size_t bytes = fields[layout->field].bytes, at = HEAD_BYTES + layout->offset;
        if (layout->domain != domain || layout->schema != schema || at + bytes > blob->length)
            continue;
        uint64_t number = number_at(blob->bytes + at, bytes);
        payload->is_there[layout->field] = 1;
        payload->value[layout->field] = bytes == 4 ? (int64_t)(int32_t)(uint32_t)number : (int64_t)number;
    }
}
