// Counts the deliveries that this instance is sending, in all and by receiver.
import type { NotificationId } from "../../../domain/notification/Notification.ts"

/** Deliveries that one instance sends concurrently. */
const limit = 256

export const make = () => {
  const busy = new Map<NotificationId, number>()
  let total = 0

  const add = (id: NotificationId, change: 1 | -1) => {
    total += change
    const count = (busy.get(id) ?? 0) + change
    if (count === 0) busy.delete(id)
    else busy.set(id, count)
  }

  return {
    /** The number of deliveries being sent, by notification. */
    busy: busy as ReadonlyMap<NotificationId, number>,
    free: () => limit - total,
    take: (id: NotificationId) => add(id, 1),
    giveBack: (id: NotificationId) => add(id, -1)
  }
}
