/* Tools that print stored points and series. */
#pragma once

#include "tsd/tool/tool.h"

tool_fn tool_query, tool_query_check;
tool_fn tool_scan, tool_scan_check;
tool_fn tool_search, tool_search_check;
