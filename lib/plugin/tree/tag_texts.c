#include "plugin/tree/tag_texts.h"

#include <stdlib.h>
#include <string.h>

void tag_texts_release(struct tag_texts *tags)
{
    for (uint32_t i = 1; i < tags->used; i++)
        free(tags->texts[i].text);
    free(tags->texts);
    *tags = (struct tag_texts){0};
}

/* A number that nobody uses; 0 when memory is short. */
static uint32_t take_number(struct tag_texts *tags)
{
    uint32_t number = tags->first_free;
    if (number) {
        tags->first_free = tags->texts[number].next_free;
        return number;
    }
    if (tags->used == tags->capacity) {
        uint32_t capacity = tags->capacity ? tags->capacity * 2 : 64;
        struct tag_text *more = realloc(tags->texts, capacity * sizeof(*more));
        if (!more)
            return 0;
        tags->texts = more;
        tags->capacity = capacity;
        tags->used += tags->used == 0;
    }
    return tags->used++;
}

uint32_t tag_texts_add(struct tag_texts *tags, const char *text, size_t length)
{
    char *copy = length ? strndup(text, length) : NULL;
    uint32_t number = copy ? take_number(tags) : 0;
    if (number)
        tags->texts[number] = (struct tag_text){.text = copy, .references = 1};
    else
        free(copy);
    return number;
}

uint32_t tag_texts_keep(struct tag_texts *tags, uint32_t number)
{
    if (number)
        tags->texts[number].references++;
    return number;
}

void tag_texts_drop(struct tag_texts *tags, uint32_t number)
{
    if (number == 0 || --tags->texts[number].references > 0)
        return;
    free(tags->texts[number].text);
    tags->texts[number] = (struct tag_text){.next_free = tags->first_free};
    tags->first_free = number;
}

const char *tag_texts_get(const struct tag_texts *tags, uint32_t number)
{
    return number ? tags->texts[number].text : NULL;
}
