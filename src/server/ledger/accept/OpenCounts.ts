// How many transactions are open, for the limits of acceptance. Counts are kept for a moment, because each one reads every open
// transaction: what other instances accept meanwhile can exceed a limit by what they accept in that time.
import { Clock, Effect } from "effect"
import { TooManyRequests } from "../../../domain/access/Caller.ts"
import { maxOpen } from "../../../domain/transaction/Numbers.ts"
import * as RelayerTransactionsRepo from "../read/RelayerTransactionsRepo.ts"

/** Milliseconds for which a count is kept. */
const kept = { ofRelayer: 1000, ofService: 5000 } as const

/** Relayers whose counts are kept. */
const maxKept = 10_000

/** Seconds after which a refused caller may try again: a few blocks. */
export const retryAfter = 5

interface Counted {
  readonly at: number
  count: number
}

export interface Addition {
  readonly relayerNumber: number
  readonly count: number
}

export const make = Effect.gen(function* () {
  const repo = yield* RelayerTransactionsRepo.make
  const relayers = new Map<number, Counted>()
  let all: Counted = { at: Number.NEGATIVE_INFINITY, count: 0 }

  /** Those that are not kept are counted in one statement. */
  const ofRelayers = Effect.fnUntraced(function* (numbers: ReadonlyArray<number>, now: number) {
    const counted = new Map<number, Counted>()
    for (const number of numbers) {
      const found = relayers.get(number)
      if (found !== undefined && now - found.at < kept.ofRelayer) counted.set(number, found)
    }
    const missing = [...new Set(numbers)].filter((number) => !counted.has(number))
    if (missing.length === 0) return counted
    const counts = yield* repo.countOpen(missing)
    if (relayers.size + missing.length > maxKept) relayers.clear()
    for (const number of missing) {
      const fresh = { at: now, count: counts.get(number) ?? 0 }
      relayers.set(number, fresh)
      counted.set(number, fresh)
    }
    return counted
  })

  const ofService = Effect.fnUntraced(function* (now: number) {
    if (now - all.at >= kept.ofService) all = { at: now, count: yield* repo.countAllOpen(maxOpen.perService) }
    return all
  })

  /** Counts more transactions of relayers. Returns for each addition whether there was room for it. */
  const addAll = Effect.fnUntraced(function* (additions: ReadonlyArray<Addition>) {
    const now = yield* Clock.currentTimeMillis
    const service = yield* ofService(now)
    const counted = yield* ofRelayers(
      additions.map(({ relayerNumber }) => relayerNumber),
      now
    )
    return additions.map(({ relayerNumber, count }) => {
      const relayer = counted.get(relayerNumber)
      if (relayer === undefined) return false
      if (relayer.count + count > maxOpen.perRelayer || service.count + count > maxOpen.perService) return false
      relayer.count += count
      service.count += count
      return true
    })
  })

  /** Takes back one transaction of each of these relayers, because it was not stored. */
  const remove = (relayerNumbers: ReadonlyArray<number>): void => {
    for (const number of relayerNumbers) {
      const relayer = relayers.get(number)
      if (relayer !== undefined) relayer.count -= 1
      all.count -= 1
    }
  }

  /** Fails if there is no room. */
  const add = Effect.fnUntraced(function* (addition: Addition) {
    const [hasRoom] = yield* addAll([addition])
    if (hasRoom !== true) return yield* new TooManyRequests({ retryAfter })
  })

  return { addAll, add, remove }
})
