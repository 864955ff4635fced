/* Tools for names and ids, and what is written about them. */
#pragma once

#include "tsd/tool/tool.h"

tool_fn tool_mkmetric, tool_mkmetric_check;
tool_fn tool_purge;
tool_fn tool_uid, tool_uid_check;
