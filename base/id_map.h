// IdMap: values by the ids of nodes, in one array (open addressing with linear probing). Ids are
// hashes already. Never iterated: the order would depend on what was inserted before.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace starling {

template <class T>
class IdMap {
 public:
  // Null: there is none. Valid until the next insertion or erasure.
  T* find(NodeId id) { return const_cast<T*>(std::as_const(*this).find(id)); }
  const T* find(NodeId id) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[place_of(id)];
    return slot.is_used ? &slot.value : nullptr;
  }
  // Inserts a T{} if there is none.
  T& operator[](NodeId id) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place_of(id)];
    if (!std::exchange(slot.is_used, true)) slot.id = id, ++size_;
    return slot.value;
  }
  // Later slots of the same run move up, so that no search stops too early.
  void erase(NodeId id) {
    if (!find(id)) return;
    std::size_t gap = place_of(id);
    slots_[gap] = {};
    --size_;
    for (std::size_t k = next(gap); slots_[k].is_used; k = next(k)) {
      Slot moved = std::exchange(slots_[k], {});
      slots_[place_of(moved.id)] = std::move(moved);
    }
  }
  void clear() { slots_.clear(), size_ = 0; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  struct Slot {
    NodeId id;
    T value{};
    bool is_used = false;
  };
  static constexpr std::size_t kSlotsLeast = 8;

  std::size_t next(std::size_t place) const { return (place + 1) & (slots_.size() - 1); }
  // Of the id, or the free one where it belongs.
  std::size_t place_of(NodeId id) const {
    std::size_t place = id.value & (slots_.size() - 1);
    while (slots_[place].is_used && slots_[place].id != id) place = next(place);
    return place;
  }
  void grow() {
    std::vector<Slot> before = std::exchange(slots_, {});
    slots_.resize(before.empty() ? kSlotsLeast : 2 * before.size());
    for (Slot& slot : before)
      if (slot.is_used) slots_[place_of(slot.id)] = std::move(slot);
  }

  std::vector<Slot> slots_;  // a power of two, at least half of them free
  std::size_t size_ = 0;
};

}  // namespace starling
