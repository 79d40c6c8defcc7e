// What follows after a copy of the ledger was put back: its bound, the list of the address, and the answers of an operator.
import { isFinal } from "../../../../../src/networks/core/Transaction.ts"
import { boundMargin } from "../../../../../src/networks/solana/rules/SolanaNumbers.ts"
import { life } from "./Chain.ts"
import { attemptOf } from "./Ledger.ts"
import type { World } from "./Process.ts"

/** A row of a restored ledger that the list of the address finds gets the signature as its attempt. */
const adopt = ({ ledger, chain }: World, unknown: ReadonlySet<string>): void => {
  const blocks = chain.branch().blocks
  const left = new Set(unknown)
  for (const row of ledger.rows()) {
    if (!row.transaction.restored || isFinal(row.transaction)) continue
    // It stands for the comparison of the fetched transaction with the request.
    const hash = [...left].find((signature) => ledger.madeFor(row.id).has(signature))
    const block = hash === undefined ? undefined : blocks.find(({ landed }) => landed.has(hash))
    if (hash === undefined || block === undefined) continue
    left.delete(hash)
    const price = { computeUnitPrice: 0n, fee: 0n, out: 0n }
    const offer = { blockhash: block.hash, bound: block.height, signedSlot: block.slot, ...price }
    const { attempts } = row.transaction
    const adopted = attemptOf({ hash, offer, maxFee: 0n }, attempts.length + 1)
    ledger.save(row, { attempts: [...attempts, adopted], state: "submitted" })
  }
}

/**
 * The bound is read from a block that was made after the restore: a provider that lags would give a height that the lost
 * process has passed. Then, when the bound is final everywhere, the lists are read and compared.
 */
export const reconcile = (world: World, heightAtRestore: number): void => {
  const { ledger, providers, setting } = world
  const { restore } = ledger
  if (restore === undefined || restore.isRead) return
  if (restore.bound === undefined) {
    const heights = providers.map((provider) => provider.height())
    const known = heights.filter((height) => height !== undefined)
    if (known.length < Math.min(2, providers.length)) return
    const isFresh = known.every((height) => height >= heightAtRestore)
    if (isFresh || setting.without.freshBound === true)
      ledger.restore = { isRead: false, bound: Math.max(...known) + life + boundMargin }
    return
  }
  const lists: Array<ReadonlySet<string>> = []
  for (const provider of providers) {
    const finalized = provider.finalized()
    if (finalized === undefined || finalized.height < restore.bound + boundMargin) return
    if (setting.without.index !== true && !provider.hasIndexed(restore.bound)) return
    const list = provider.listFrom(finalized.slot)
    // Without its beginning, the list proves no absence.
    if (list === undefined || list.from > 0) return
    lists.push(list.signatures)
  }
  const known = ledger.knownSignatures()
  const unknown = new Set(lists.flatMap((list) => [...list]).filter((signature) => !known.has(signature)))
  // Providers that disagree about a signature leave the rows to the operator.
  if ([...unknown].some((signature) => lists.some((list) => !list.has(signature)))) return
  adopt(world, unknown)
  ledger.restore = { ...restore, isRead: true }
}

/**
 * The operator knows what callers were told, and reads an explorer of the chain. Before the bound is final, an answer is
 * refused.
 */
export const answer = ({ ledger, chain }: World): void => {
  const { restore } = ledger
  if (restore?.bound === undefined) return
  const { blocks, finalized } = chain.branch()
  if ((blocks[finalized]?.height ?? 0) < restore.bound + boundMargin) return
  const landed = chain.landed()
  for (const row of ledger.open()) {
    if (!row.transaction.restored) continue
    const hasEffect = [...ledger.madeFor(row.id)].some((signature) => landed.has(signature))
    if (restore.isRead && row.transaction.state !== "pending" && hasEffect) continue
    if (ledger.told.has(row.id) || hasEffect) ledger.save(row, { state: "failed" }, { isGivenUp: true })
    else ledger.save(row, { restored: false })
  }
}
