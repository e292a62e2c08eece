#include "base/disjoint.h"

void disjoint_init(int32_t *parent, size_t count)
{
    for (size_t i = 0; i < count; i++)
        parent[i] = (int32_t)i;
}

int32_t disjoint_root(int32_t *parent, int32_t number)
{
    while (parent[number] != number) {
        parent[number] = parent[parent[number]];
        number = parent[number];
    }
    return number;
}

int disjoint_unite(int32_t *parent, int32_t a, int32_t b)
{
    a = disjoint_root(parent, a);
    b = disjoint_root(parent, b);
    if (a == b)
        return 0;
    parent[a < b ? b : a] = a < b ? a : b;
    return 1;
}
