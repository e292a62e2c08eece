#include "html/text.h"

#include "base/escape.h"

#include <string.h>

int html_text(struct buffer *page, const char *text)
{
    return escape_markup(page, text, strlen(text));
}

static int element_of(struct buffer *page, const char *open, const char *text, size_t length)
{
    return buffer_printf(page, "<%s>", open) || escape_markup(page, text, length) ||
                   buffer_printf(page, "</%.*s>\n", (int)strcspn(open, " "), open)
               ? -1
               : 0;
}

int html_element(struct buffer *page, const char *open, const char *text)
{
    return element_of(page, open, text, strlen(text));
}

int html_put(struct buffer *page, const char *open, struct buffer *text)
{
    int failed = element_of(page, open, text->data ? text->data : "", text->length);
    buffer_clear(text);
    return failed;
}

int html_attribute(struct buffer *page, const char *name, const char *value)
{
    return buffer_printf(page, " %s=\"", name) || html_text(page, value) || buffer_append_byte(page, '"') ? -1
                                                                                                          : 0;
}

int html_lines(struct buffer *page, const char *open, const char *text)
{
    while (*text) {
        text += strspn(text, " \n");
        size_t length = strcspn(text, "\n");
        if (length && element_of(page, open, text, length))
            return -1;
        text += length;
    }
    return 0;
}
