// Positions in the order of events: by transaction id, then by event id.

export interface Position {
  readonly xid: bigint
  readonly id: number
}

/** Before the first event. */
export const start: Position = { xid: 0n, id: 0 }

export const isAfter = (one: Position, other: Position): boolean =>
  one.xid === other.xid ? one.id > other.id : one.xid > other.xid

export const latest = (one: Position, other: Position): Position => (isAfter(other, one) ? other : one)
