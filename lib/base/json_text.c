#include "base/json_text.h"

#include "base/escape.h"

#include <string.h>

int text_json_quote(struct buffer *json, const char *text)
{
    if (!text)
        return buffer_append_text(json, "null");
    return buffer_append_byte(json, '"') || escape_json(json, text, strlen(text)) ||
                   buffer_append_byte(json, '"')
               ? -1
               : 0;
}

int text_json_key(struct buffer *json, const char *name)
{
    char last = (char)(json->length ? json->data[json->length - 1] : '\0');
    int first = last == '{' || last == '[' || last == '\0';
    return buffer_printf(json, "%s\"%s\":", first ? "" : ",", name);
}

int text_json_string(struct buffer *json, const char *name, const char *value)
{
    return text_json_key(json, name) || text_json_quote(json, value) ? -1 : 0;
}

int text_json_integer(struct buffer *json, const char *name, int64_t value)
{
    return text_json_key(json, name) || buffer_printf(json, "%lld", (long long)value) ? -1 : 0;
}
