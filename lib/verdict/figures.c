#include "verdict/figures.h"

#include "base/json_text.h"
#include "model/event.h"

void figures_add(struct figures *figures, const char *name, double value)
{
    if (figures->count < FIGURES_MOST)
        figures->items[figures->count++] = (struct figure){name, value};
}

void figures_add_time(struct figures *figures, const char *name_us, int64_t time_ns)
{
    if (time_ns != TIME_UNKNOWN)
        figures_add(figures, name_us, (double)time_ns / 1e3);
}

int figures_add_json(const struct figures *figures, struct buffer *json)
{
    int failed = text_json_key(json, "figures") || buffer_append_byte(json, '{');
    for (size_t i = 0; !failed && i < figures->count; i++)
        failed = text_json_key(json, figures->items[i].name) ||
                 buffer_printf(json, "%.10g", figures->items[i].value);
    return failed || buffer_append_byte(json, '}') ? -1 : 0;
}
