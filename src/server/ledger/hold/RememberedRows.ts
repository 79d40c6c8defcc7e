// Rows of held lanes as they were read or written last. Their versions say whether they are still the same.
import type { TransactionId } from "../../../domain/transaction/TransactionId.ts"
import type { Hold, LaneId } from "../StoredLane.ts"
import type { StoredTransaction } from "../StoredTransaction.ts"
import type { RowState } from "../write/TransactionsRepo.ts"

interface Remembered {
  readonly epoch: number
  rows: ReadonlyMap<TransactionId, StoredTransaction>
}

export interface RememberedRows {
  /** By id, as they were read or written last: they may have changed since. */
  rows(hold: Hold): ReadonlyMap<TransactionId, StoredTransaction>
  /** Undefined: not known, or changed since. */
  get(hold: Hold, state: RowState): StoredTransaction | undefined
  /** Forgets all other rows of the lane. */
  replace(hold: Hold, rows: ReadonlyArray<StoredTransaction>): void
  update(hold: Hold, rows: ReadonlyArray<StoredTransaction>): void
  forget(lane: LaneId): void
}

const byId = (rows: ReadonlyArray<StoredTransaction>) => rows.map((row) => [row.id, row] as const)

export const make = (): RememberedRows => {
  const lanes = new Map<LaneId, Remembered>()

  const of = ({ laneId, epoch }: Hold): Remembered | undefined => {
    const found = lanes.get(laneId)
    return found?.epoch === epoch ? found : undefined
  }

  return {
    rows: (hold) => of(hold)?.rows ?? new Map(),
    get: (hold, { id, version }) => {
      const row = of(hold)?.rows.get(id)
      return row?.version === version ? row : undefined
    },
    replace: ({ laneId, epoch }, rows) => void lanes.set(laneId, { epoch, rows: new Map(byId(rows)) }),
    update: (hold, rows) => {
      const found = of(hold)
      if (found !== undefined) found.rows = new Map([...found.rows, ...byId(rows)])
    },
    forget: (lane) => void lanes.delete(lane)
  }
}
