// Results of a benchmark of transactions that only has these rows.
import type { Results, Row } from "../../bench/transactions/Results.ts"

export const resultsOf = (rows: ReadonlyArray<Row>, more: Partial<Results> = {}): Results => ({
  machine: { processor: "", cores: 2, memoryGiB: 8, system: "", node: "" },
  loadBefore: 0,
  loadAfter: 0,
  minutes: 1,
  rounds: 1,
  acceptances: [],
  rows,
  firstOfProcess: 0,
  idleCalls: 0,
  ...more
})
