#include "plugin/tree/communicators.h"

#include <stdlib.h>
#include <string.h>

#include "plugin/tree/tree.h"

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
    /* One communicator's, but of which, nobody knows: it has no number. */
    if (record->context == 0 && record->tag.source == TAG_SOURCE_NCCL)
        return;
    struct communicator_state *communicator = tree_communicator(tree, record->context);
    uint32_t *tag = record->context == 0 ? &tree->process_tag : &communicator->tag;
    tag_texts_drop(&tree->tags, *tag);
    *tag = tag_texts_add(&tree->tags, record->tag.text, record->tag.length);
    *(record->context == 0 ? &tree->process_tag_ns : &communicator->tag_ns) = record->time_ns;
}
