// How many transactions are open, for the limits of acceptance. Counts are kept for a moment, because each one reads every open
// transaction: what other instances accept meanwhile can exceed a limit by what they accept in that time.
import { Clock, Effect } from "effect"
import { TooManyRequests } from "../../domain/access/Caller.ts"
import { maxOpen } from "../../domain/transaction/Numbers.ts"
import { RelayerTransactionsRepo } from "./RelayerTransactionsRepo.ts"

/** Milliseconds for which a count is kept. */
const kept = { ofRelayer: 1000, ofService: 5000 } as const

/** Relayers whose counts are kept. */
const maxKept = 10_000

/** Seconds after which a refused caller may try again: a few blocks. */
const retryAfter = 5

interface Counted {
  readonly at: number
  count: number
}

export const make = Effect.gen(function* () {
  const repo = yield* RelayerTransactionsRepo
  const relayers = new Map<number, Counted>()
  let all: Counted = { at: Number.NEGATIVE_INFINITY, count: 0 }

  const ofRelayer = Effect.fnUntraced(function* (relayerNumber: number, now: number) {
    const found = relayers.get(relayerNumber)
    if (found !== undefined && now - found.at < kept.ofRelayer) return found
    const counts = yield* repo.countOpen([relayerNumber])
    const counted = { at: now, count: counts.get(relayerNumber) ?? 0 }
    if (relayers.size >= maxKept) relayers.clear()
    relayers.set(relayerNumber, counted)
    return counted
  })

  const ofService = Effect.fnUntraced(function* (now: number) {
    if (now - all.at >= kept.ofService) all = { at: now, count: yield* repo.countAllOpen(maxOpen.perService) }
    return all
  })

  /** Counts `count` more transactions of the relayer. Fails if that would be too many. */
  const add = Effect.fnUntraced(function* (relayerNumber: number, count: number) {
    const now = yield* Clock.currentTimeMillis
    const service = yield* ofService(now)
    const relayer = yield* ofRelayer(relayerNumber, now)
    if (relayer.count + count > maxOpen.perRelayer || service.count + count > maxOpen.perService) {
      return yield* new TooManyRequests({ retryAfter })
    }
    relayer.count += count
    service.count += count
  })

  return { add }
})
