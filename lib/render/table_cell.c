#include "render/table_cell.h"

#include "base/buffer.h"
#include "base/escape.h"
#include "base/real_text.h"
#include "render/write.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

int table_unit_is_chosen(const struct column *column)
{
    return column->type == CELL_REAL && column->unit && strcmp(column->unit, "us") == 0;
}

/* Three figures at least of the greatest value, and no column of zeros behind points. */
static int decimals_for(double greatest)
{
    return greatest >= 100 ? 1 : greatest >= 10 ? 2 : 3;
}

struct table_unit table_unit_for(const struct column *column, double greatest)
{
    if (!table_unit_is_chosen(column))
        return (struct table_unit){column->unit, 1, column->decimals};
    if (greatest >= 1e6)
        return (struct table_unit){"s", 1e-6, decimals_for(greatest * 1e-6)};
    if (greatest >= 1e3)
        return (struct table_unit){"ms", 1e-3, decimals_for(greatest * 1e-3)};
    return (struct table_unit){"us", 1, 1};
}

/* 4194304 bytes read "4 MiB", but only where nothing is lost by it. */
static int append_bytes(struct buffer *text, int64_t bytes)
{
    static const char *const units[] = {"", " KiB", " MiB", " GiB", " TiB"};
    size_t unit = 0;
    while (unit < 4 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    return buffer_printf(text, "%" PRId64 "%s", bytes, units[unit]);
}

static int append_real(struct buffer *text, double value, int decimals)
{
    char shortest[REAL_TEXT_BYTES];
    if (!isfinite(value))
        return buffer_append_byte(text, '-');
    if (decimals >= 0 && fabs(value) < 0.5 * pow(10, -decimals))
        value = 0; /* no "-0.0" */
    if (decimals >= 0)
        return buffer_printf(text, "%.*f", decimals, value);
    real_text(value, shortest);
    return buffer_append_text(text, shortest);
}

char *table_cell_text(const struct cell *cell, const struct column *column, const struct table_unit *unit)
{
    struct buffer text = BUFFER_INIT;
    int failed;
    switch (cell->type) {
    case CELL_INTEGER:
        failed = column->unit && strcmp(column->unit, "bytes") == 0
                     ? append_bytes(&text, cell->integer)
                     : buffer_printf(&text, "%" PRId64, cell->integer);
        break;
    case CELL_REAL:
        failed = append_real(&text, cell->real * unit->factor, unit->decimals);
        break;
    case CELL_TEXT:
    case CELL_JSON:
        failed = escape_terminal(&text, cell->text, strlen(cell->text));
        break;
    default:
        failed = buffer_append_byte(&text, '-');
    }
    if (failed)
        buffer_release(&text);
    return buffer_detach(&text);
}
