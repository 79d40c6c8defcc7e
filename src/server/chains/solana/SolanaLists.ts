// The list of an address at one provider, newest first. One look reads a limited number of pages; the next look continues below
// what an earlier one has read, because what lies below a finalized slot does not change.
import { Effect, Result } from "effect"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import { listKept, listPage, listSettled } from "../../../domain/transaction/solana/SolanaNumbers.ts"
import type { RpcFailure } from "../RpcFailure.ts"
import type { RpcNode } from "../RpcNode.ts"
import * as Calls from "./SolanaCalls.ts"

/** Complete from the slot `from` to the newest slot in it. */
interface Read {
  readonly from: number
  /** Slots by signature, newest first. */
  readonly entries: ReadonlyMap<string, number>
  /** The list ended: the node has no older entry. It has entries, because something has funded the account. */
  readonly isWhole?: true
}

/** What looks of one provider have read, without its newest slots: an index that lags may still get entries there. */
interface Kept {
  readonly read: Read
  readonly at: Moment
}

/** By URL. */
export type Lists = Map<string, Kept>

export const forgetOld = (lists: Lists, now: Moment): void => {
  for (const [url, { at }] of lists) if (now >= at + listKept) lists.delete(url)
}

const settledOf = ({ entries, ...rest }: Read, slot: number): Read => ({
  ...rest,
  entries: new Map([...entries].filter(([, at]) => at <= slot - listSettled))
})

export interface SoughtList {
  readonly address: string
  /** The finalized slot that the list has to reach at its upper end. */
  readonly slot: number
  /** The list is read down to a slot below this one, or to its end. */
  readonly until: number
}

/** From the top, until it meets what an earlier look has read, and then from the lower end of that. */
const pages = Effect.fnUntraced(function* (
  node: RpcNode,
  { address, slot, until }: SoughtList,
  earlier: Read | undefined
) {
  const entries = new Map<string, number>()
  let known = earlier?.entries.size === 0 ? undefined : earlier
  let before: string | undefined
  let lowest = slot + 1
  const add = (signature: string, at: number) => {
    entries.set(signature, at)
    lowest = Math.min(lowest, at)
  }
  const ended = (rest: Pick<Read, "isWhole"> = {}, failure?: RpcFailure) => ({
    // The rest of the lowest slot may be on the next page.
    read: { from: rest.isWhole === true ? lowest : lowest + 1, entries, ...rest } satisfies Read,
    isContinued: known === undefined,
    failure
  })
  for (let page = 0; page < listPage.pages; page++) {
    const answer = yield* Effect.result(node.call(Calls.signaturesFor(address, slot, before)))
    if (Result.isFailure(answer)) return ended({}, answer.failure)
    const found = answer.success
    const met = found.some(({ signature }) => known?.entries.has(signature)) ? known : undefined
    for (const entry of found) add(entry.signature, entry.slot)
    for (const [signature, at] of met?.entries ?? []) add(signature, at)
    if (met !== undefined) known = undefined
    const isEnd = found.length < listPage.entries || met?.isWhole === true
    if (isEnd) return ended(entries.size > 0 ? { isWhole: true } : {})
    if (lowest < until) return ended()
    before = [...entries.keys()].at(-1)
  }
  return ended()
})

/** Signatures of the address. `lists`: what earlier looks have read, which this one adds to. */
export const read = Effect.fnUntraced(function* (node: RpcNode, wanted: SoughtList, lists: Lists, now: Moment) {
  const { read: found, isContinued, failure } = yield* pages(node, wanted, lists.get(node.url)?.read)
  // A look that failed above what an earlier one has read keeps that.
  if (failure === undefined || isContinued) {
    lists.set(node.url, { read: settledOf(found, wanted.slot), at: now })
  }
  if (failure !== undefined) return yield* failure
  const { entries, ...rest } = found
  return { ...rest, signatures: new Set(entries.keys()) }
})
