#include "store/lookup.h"

static int is_id(const struct sqlite3_index_constraint *constraint, struct lookup_columns columns)
{
    return constraint->iColumn == 0 || (columns.rowid_is_id && constraint->iColumn < 0);
}

/* The way that a constraint can be handed down, 0 for none. */
static int way_of(const struct sqlite3_index_constraint *constraint, struct lookup_columns columns)
{
    if (!constraint->usable)
        return 0;
    if (columns.owner && constraint->iColumn == columns.owner)
        return constraint->op == SQLITE_INDEX_CONSTRAINT_EQ ? LOOKUP_BY_OWNER : 0;
    if (!is_id(constraint, columns))
        return 0;
    switch (constraint->op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        return LOOKUP_BY_ID;
    case SQLITE_INDEX_CONSTRAINT_GE:
    case SQLITE_INDEX_CONSTRAINT_GT:
        return LOOKUP_FROM_ID;
    case SQLITE_INDEX_CONSTRAINT_LE:
    case SQLITE_INDEX_CONSTRAINT_LT:
        return LOOKUP_UP_TO_ID;
    default:
        return 0;
    }
}

int lookup_choose(sqlite3_index_info *info, struct lookup_columns columns)
{
    int chosen = 0, arguments = 0;
    for (int way = LOOKUP_BY_ID; way <= LOOKUP_BY_OWNER; way <<= 1)
        for (int i = 0; i < info->nConstraint && !(chosen & way); i++)
            if (way_of(&info->aConstraint[i], columns) == way) {
                chosen |= way;
                info->aConstraintUsage[i].argvIndex = ++arguments;
            }
    info->idxNum = chosen;
    return chosen;
}

int lookup_bind(sqlite3_stmt *source, int plan, int count, sqlite3_value **values)
{
    int code = SQLITE_OK;
    for (int way = 0, next = 0; way < LOOKUP_WAYS && next < count && code == SQLITE_OK; way++)
        if (plan & (1 << way))
            code = sqlite3_bind_value(source, way + 1, values[next++]);
    return code;
}
