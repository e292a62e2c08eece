/*
 * What the writer knows of each communicator, from the registry and from records, and the tags that apply to
 * operations.
 */
#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"
#include "plugin/tree/tree.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void tag_texts_release(struct tag_texts *tags)
{
    for (uint32_t i = 1; i < tags->used; i++)
        free(tags->texts[i].text);
    free(tags->texts);
    *tags = (struct tag_texts){0};
}

/* Returns an unused number, or 0 when memory is short. */
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

/*
 * Adds a text with one reference, owned by the caller. Returns 0 for an empty text and when memory is short.
 */
static uint32_t tag_texts_add(struct tag_texts *tags, const char *text, size_t length)
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

static bool grow_communicators(struct tree *tree)
{
    size_t room = (size_t)tree->communicator_room * 2;
    struct communicator_state *more = realloc(tree->communicators, room * sizeof(*more));
    if (!more)
        return false;
    memset(more + tree->communicator_room, 0, (room - tree->communicator_room) * sizeof(*more));
    tree->communicators = more;
    tree->communicator_room = (uint32_t)room;
    return true;
}

uint32_t tree_learn_communicators(struct tree *tree)
{
    uint32_t count = communicator_count();
    while (tree->communicator_count <= count) {
        if (tree->communicator_count == tree->communicator_room && !grow_communicators(tree))
            break;
        tree->communicators[tree->communicator_count].known = *communicator_at(tree->communicator_count);
        tree->communicator_count++;
    }
    return tree->communicator_count;
}

void tree_learn_ends(struct tree *tree)
{
    uint32_t ends = communicator_ends();
    if (ends == tree->ends_learnt)
        return;
    tree->ends_learnt = ends;
    uint32_t count = tree_learn_communicators(tree);
    for (uint32_t number = 1; number < count; number++)
        tree->communicators[number].ended |= communicator_ended(number);
}

struct communicator_state *tree_communicator(struct tree *tree, uint32_t number)
{
    return &tree->communicators[number < tree->communicator_count ? number : 0];
}

void tree_tag(struct tree *tree, const struct record *record)
{
    /* The tag belongs to one communicator, but that has no number, so it is unknown which. */
    if (record->context == 0 && record->tag.source == TAG_SOURCE_NCCL)
        return;
    struct communicator_state *communicator = tree_communicator(tree, record->context);
    uint32_t *tag = record->context == 0 ? &tree->process_tag : &communicator->tag;
    tag_texts_drop(&tree->tags, *tag);
    *tag = tag_texts_add(&tree->tags, record->tag.text, record->tag.length);
    *(record->context == 0 ? &tree->process_tag_ns : &communicator->tag_ns) = record->time_ns;
}
