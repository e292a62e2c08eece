#include "base/time_text.h"

#include <stddef.h>

int text_time(struct buffer *text, int64_t time_ns)
{
    static const struct {
        double least;
        const char *unit;
        double factor;
    } units[] = {{999.5e6, "s", 1e9}, {999.5e3, "ms", 1e6}, {999.5, "us", 1e3}, {0, "ns", 1}};
    double value = (double)time_ns, size = value < 0 ? -value : value;
    size_t i = 0;
    while (size < units[i].least)
        i++;
    double shown = value / units[i].factor;
    int decimals = shown >= 100 || shown <= -100 || units[i].factor < 1e3 ? 0
                   : shown >= 10 || shown <= -10                          ? 1
                                                                          : 2;
    return buffer_printf(text, "%.*f %s", decimals, shown, units[i].unit);
}
