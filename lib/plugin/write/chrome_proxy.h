/* The lines of proxy operations, their network steps and what network plugins report below them. */
#ifndef PLUGIN_WRITE_CHROME_PROXY_H
#define PLUGIN_WRITE_CHROME_PROXY_H

#include "plugin/write/chrome_line.h"

void chrome_proxy_op(struct chrome *chrome, uint32_t number);
void chrome_proxy_step(struct chrome *chrome, uint32_t number);
void chrome_proxy_control(struct chrome *chrome, const struct node *node);
void chrome_net(struct chrome *chrome, const struct node *node);

#endif
