// What must hold in every episode, whatever the faults: the six invariants of the state machine, against the true chain.
import { isFinal } from "../../../../../src/networks/core/Transaction.ts"
import type { Row, Told } from "./Ledger.ts"
import type { World } from "./Process.ts"

type Landed = ReturnType<World["chain"]["landed"]>

/** A verdict that was given before a restore, and the effects of its request since. */
const contradictsTold = (row: Row, told: Told | undefined, effects: number): string | undefined => {
  if (told === undefined || told.isGivenUp === true) return undefined
  if (told.by === undefined)
    return effects > 0 ? `the caller was told that it is ${told.state}, then it landed` : undefined
  if (!isFinal(row.transaction) || row.isGivenUp === true) return undefined
  return row.by === told.by ? undefined : "another verdict than the one that the caller was told"
}

const contradictsVerdict = (
  { by, transaction, isGivenUp }: Row,
  landed: Landed,
  effects: number
): string | undefined => {
  const { state, cause } = transaction
  if (!isFinal(transaction) || isGivenUp === true) return undefined
  const isOnChain = state === "confirmed" || cause?.code === "failed_on_chain"
  if (!isOnChain) return effects > 0 ? `${state}, but it landed` : undefined
  const block = by === undefined ? undefined : landed.get(by)
  if (block?.isFinal !== true) return `${state} without a finalized effect`
  return block.isSuccess === (state === "confirmed") ? undefined : "wrong verdict"
}

/** The first violation. Undefined: everything holds. `finals` has the rows that were final before, in the same ledger. */
export const violation = ({ ledger, chain }: World, finals: Map<string, string>): string | undefined => {
  const landed = chain.landed()
  const finishedBy = new Set<string>()
  for (const row of ledger.rows()) {
    const effects = [...ledger.madeFor(row.id)].filter((signature) => landed.has(signature)).length
    if (effects > 1) return "several effects of one request"
    const wrong = contradictsVerdict(row, landed, effects) ?? contradictsTold(row, ledger.told.get(row.id), effects)
    if (wrong !== undefined) return wrong
    if (row.by !== undefined) {
      if (finishedBy.has(row.by)) return "two rows are finished by one signature"
      finishedBy.add(row.by)
    }
    if (!isFinal(row.transaction)) continue
    const key = `${ledger.mark} ${row.id}`
    const before = finals.get(key)
    if (before !== undefined && before !== row.transaction.state) return "a final state has a successor"
    finals.set(key, row.transaction.state)
  }
  return undefined
}
