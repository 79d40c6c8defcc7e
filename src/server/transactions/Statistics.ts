// Statistics of transactions over time. Pages ask repeatedly, so callers that see the same transactions share a result.
import { Array as Arr, Cache, Clock, DateTime, Effect } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import { RelayerId, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import { filled, seriesOf } from "../../domain/request/Page.ts"
import type { Series } from "../../domain/request/Page.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { longestCounted, longestStatistics, sumStep } from "../../domain/transaction/Statistics.ts"
import type { StatisticsQuery, TransactionStatistics } from "../../domain/transaction/Statistics.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { Relayers } from "../relayers/Relayers.ts"

const timeToLive = "2 seconds"

/** Results in memory. */
const capacity = 100

const unsummed = BadRequest.of([
  {
    field: "step",
    message: `must be a multiple of ${sumStep / 1000} seconds if \`since\` is more than ${longestCounted / 3_600_000} hours ago`
  }
])

/** JSON, so that equal questions share a result. */
interface Counting {
  readonly series: Series
  /** Whether the series is too long to count transactions. */
  readonly isSummed: boolean
  /** Absent: of all relayers. */
  readonly relayers?: ReadonlyArray<number>
}

export const make = Effect.gen(function* () {
  const ledger = yield* Ledger
  const relayers = yield* Relayers

  const count = Effect.fn("Statistics.count")(function* ({ series, isSummed, relayers }: Counting) {
    const rows = yield* isSummed ? ledger.summedSteps(series, relayers) : ledger.finalSteps(series, relayers)
    const statistics: TransactionStatistics = {
      steps: filled(series, rows, (row) => {
        const { at: _, p50_ms, p95_ms, ...final } = row ?? { at: 0, confirmed: 0, failed: 0, canceled: 0, expired: 0 }
        return { final, ...(p50_ms === undefined ? {} : { p50_ms }), ...(p95_ms === undefined ? {} : { p95_ms }) }
      }),
      open: yield* ledger.openSummary(relayers)
    }
    return statistics
  })

  const counted = yield* Cache.make({
    capacity,
    timeToLive,
    lookup: (counting: string) => count(JSON.parse(counting) as Counting)
  })

  /** The existing relayers of the caller. Undefined: the caller sees all relayers. */
  const numbersFor = Effect.fnUntraced(function* (wanted: RelayerId | undefined) {
    const caller = yield* Caller.current
    if (wanted !== undefined) {
      if (!Caller.mayUseRelayer(caller, wanted)) return yield* new RelayerNotFound({})
      return [yield* relayers.numberOf(wanted)]
    }
    if (caller.relayerIds === undefined) return undefined
    const found = yield* Effect.forEach(
      caller.relayerIds,
      (id) => Effect.option(relayers.numberOf(RelayerId.make(id))),
      { concurrency: "unbounded" }
    )
    return Arr.getSomes(found)
  })

  const get = Effect.fn("Statistics.get")(function* ({ relayer_id, ...query }: StatisticsQuery) {
    const numbers = yield* numbersFor(relayer_id)
    const now = yield* Clock.currentTimeMillis
    const series = yield* seriesOf(query, now, longestStatistics)
    const isSummed = query.since !== undefined && now - DateTime.toEpochMillis(query.since) > longestCounted
    if (isSummed && series.step % sumStep !== 0) return yield* unsummed
    const counting: Counting = { series, isSummed, ...(numbers === undefined ? {} : { relayers: numbers }) }
    return yield* Cache.get(counted, JSON.stringify(counting))
  })

  return { get }
})
