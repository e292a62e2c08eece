/* What a start record says of its event, by its type. */
#ifndef PLUGIN_TREE_FILL_H
#define PLUGIN_TREE_FILL_H

#include "plugin/tree/tree.h"

void tree_fill(struct tree *tree, struct node *node, const struct record *record);

#endif
