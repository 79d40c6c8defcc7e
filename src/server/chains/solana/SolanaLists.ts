// The list of an address at one provider, newest first. One look reads a limited number of pages. The next look continues
// below the entries that earlier looks have read, because entries below a finalized slot do not change.
import { Effect, Result } from "effect"
import { listKept, listPage, listSettled } from "../../../domain/transaction/solana/SolanaNumbers.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import { answeredFailure, RpcFailure } from "../RpcFailure.ts"
import type { RpcNode } from "../RpcNode.ts"
import * as Calls from "./SolanaCalls.ts"

/** The part of the list that was read: complete from the slot `from` to its newest slot. */
interface Read {
  readonly from: number
  /** Slots by signature, newest first. */
  readonly entries: ReadonlyMap<string, number>
  /** The end of the list was reached: the node has no older entry. A list has entries, because someone funded the account. */
  readonly isWhole?: true
  /** The first page has no entry. */
  readonly isEmpty?: true
}

/** What looks at one provider have read, without the newest slots, where an index that lags may still add entries. */
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
  /** The finalized slot. The list must reach it at its upper end. */
  readonly slot: number
  /** The list is read down to a slot below this one, or to its end. */
  readonly until: number
  /**
   * A finalized transaction of anybody, below which the list begins: a back end answers only if its index has that transaction. Absent:
   * the list begins at its top.
   */
  readonly before?: string | undefined
}

/** The error of a node that does not know the entry below which a page begins. Before Agave 4.0, the page is empty. */
export const transactionNotFound = -32_020

const unknownBefore = new RpcFailure({
  ...answeredFailure("refused", "a page of the list does not continue the page above it").of("getSignaturesForAddress"),
  rpcCode: transactionNotFound
})

/** Reads from the top down to the entries that an earlier look has read, and then continues below them. */
const pages = Effect.fnUntraced(function* (
  node: RpcNode,
  { address, slot, until, before: top }: SoughtList,
  earlier: Read | undefined
) {
  const entries = new Map<string, number>()
  let known = earlier?.entries.size === 0 ? undefined : earlier
  /** The page begins below `before`, and with `next`, which the page above has as well. */
  let [before, next]: ReadonlyArray<string | undefined> = [top]
  let lowest = slot + 1
  const add = (signature: string, at: number) => {
    entries.set(signature, at)
    lowest = Math.min(lowest, at)
  }
  const ended = (rest: Pick<Read, "isWhole" | "isEmpty"> = {}, failure?: RpcFailure) => ({
    // The rest of the lowest slot may be on the next page.
    read: { from: rest.isWhole === true ? lowest : lowest + 1, entries, ...rest } satisfies Read,
    isContinued: known === undefined,
    failure
  })
  for (let page = 0; page < listPage.pages; page++) {
    const answer = yield* Effect.result(node.call(Calls.signaturesFor(address, slot, before)))
    if (Result.isFailure(answer)) return ended({}, answer.failure)
    const found = answer.success
    if (next !== undefined && found[0]?.signature !== next) return ended({}, unknownBefore)
    const met = found.some(({ signature }) => known?.entries.has(signature)) ? known : undefined
    for (const entry of found) add(entry.signature, entry.slot)
    for (const [signature, at] of met?.entries ?? []) add(signature, at)
    if (met !== undefined) known = undefined
    const isEnd = found.length < listPage.entries || met?.isWhole === true
    if (isEnd) return ended(entries.size > 0 ? { isWhole: true } : { isEmpty: true })
    if (lowest < until) return ended()
    ;[before, next] = [...entries.keys()].slice(-2)
  }
  return ended()
})

/** Signatures of the address. `lists`: what earlier looks have read. This look adds its entries. */
export const read = Effect.fnUntraced(function* (node: RpcNode, wanted: SoughtList, lists: Lists, now: Moment) {
  const { read: found, isContinued, failure } = yield* pages(node, wanted, lists.get(node.url)?.read)
  // The node has forgotten the entries that earlier looks have read, or another back end answers: the list is read anew.
  if (failure?.rpcCode === transactionNotFound) lists.delete(node.url)
  // If a look fails above the entries of an earlier look, those entries are kept.
  else if (failure === undefined || isContinued) {
    lists.set(node.url, { read: settledOf(found, wanted.slot), at: now })
  }
  if (failure !== undefined) return yield* failure
  const { entries, ...rest } = found
  return { listed: { ...rest, signatures: new Set(entries.keys()) }, entries }
})
