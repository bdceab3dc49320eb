// HashMap and HashSet: hash tables in one array. Their order depends on what was inserted before,
// so the node core never iterates over them, or sorts what it finds. What find() points to is
// const; value() of the iterator is not. An insertion or erasure moves values.
#pragma once

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

namespace starling {

template <class Key, class Value>
using HashMap = tsl::robin_map<Key, Value>;
template <class Key>
using HashSet = tsl::robin_set<Key>;

}  // namespace starling
