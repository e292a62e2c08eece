#include "cmd/print.h"

#include "cmd/cmd.h"
#include "cmd/opt.h"
#include "render/registry.h"
#include "render/render.h"

#include <stdarg.h>
#include <string.h>

static void put_escaped(const char *before, const char *text)
{
    struct buffer escaped = BUFFER_INIT;
    if (escape_terminal(&escaped, text, strlen(text)) == 0)
        fprintf(stderr, "%s%s\n", before, escaped.data);
    else
        fputs("ncclprof: out of memory\n", stderr);
    buffer_release(&escaped);
}

void print_line(const char *format, ...)
{
    struct error text;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text.cause[0], sizeof text.cause[0], format, arguments);
    va_end(arguments);
    put_escaped("ncclprof: ", text.cause[0]);
}

void print_error(const struct error *error)
{
    for (int i = error->depth - 1; i >= 0; i--)
        put_escaped(i == error->depth - 1 ? "ncclprof: " : "  cause: ", error->cause[i]);
}

void print_warnings(const struct table *table)
{
    for (size_t i = 0; i < table->warning_count; i++)
        print_line("warning: %s", table->warnings[i]);
}

int print_table(struct context *context, const struct arguments *arguments, const struct table *table)
{
    struct render_target target = {.stream = stdout, .width = context->width, .colour = context->colour};
    if (render_table(arguments->renderer, table, &target, &context->error))
        return EXIT_NOT_DONE;
    if (!arguments->renderer->shows_warnings)
        print_warnings(table);
    return EXIT_DONE;
}
