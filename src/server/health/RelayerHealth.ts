// The health of a relayer: from an inspection now, or from the last check.
import { Clock, Context, DateTime, Duration, Effect, Layer, Option } from "effect"
import { explain } from "../../domain/health/HealthExplanation.ts"
import type { RelayerExplanation } from "../../domain/health/HealthExplanation.ts"
import { Ledger } from "../ledger/Ledger.ts"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { ChainSnapshot } from "../../domain/chain/ChainSnapshot.ts"
import {
  balanceOf,
  carry,
  fundingOf,
  hasAnswered,
  minBalanceOf,
  sinceOf,
  trendOf
} from "../../domain/health/Funding.ts"
import type { BalanceTrend, BalanceTrendQuery, Funding } from "../../domain/health/Funding.ts"
import { RelayerNotFound, unitOf } from "../../domain/relayer/Relayer.ts"
import type { RelayerBalance, RelayerId, RelayerStatus } from "../../domain/relayer/Relayer.ts"
import { BadGateway } from "../../domain/request/Request.ts"
import { OutboundWork } from "../limits/CallerLimits.ts"
import { Relayers } from "../relayers/Relayers.ts"
import type { StoredRelayer } from "../relayers/StoredRelayer.ts"
import { RelayerTargets } from "../relayers/RelayerTargets.ts"
import { Chains } from "../chains/Chains.ts"
import { HealthChecks } from "./HealthChecks.ts"
import * as BalancesRepo from "./BalancesRepo.ts"
import * as HealthRepo from "./HealthRepo.ts"
import type { Check } from "./HealthRepo.ts"

/** The longest time that a caller waits for a chain. */
const patience = Duration.seconds(10)

const whyUnanswered = (seen: ChainSnapshot | undefined): string => {
  const failed = (seen?.providers ?? []).flatMap(({ error, url }) => (error === undefined ? [] : [`${url}: ${error}`]))
  return failed.length > 0 ? failed.join("; ") : `no provider answered within ${Duration.format(patience)}`
}

export class RelayerHealth extends Context.Service<
  RelayerHealth,
  {
    /** Inspects the chain. If it does not answer in time, the amounts are those of the last check. */
    status(id: RelayerId): Effect.Effect<RelayerStatus, RelayerNotFound | TooManyRequests>
    /** Fails with `BadGateway` if the chain does not answer or is the wrong one. */
    balance(id: RelayerId): Effect.Effect<RelayerBalance, RelayerNotFound | BadGateway | TooManyRequests>
    /** Runs a check now and returns the resulting status. */
    check(id: RelayerId): Effect.Effect<RelayerStatus, RelayerNotFound | TooManyRequests>
    explain(id: RelayerId): Effect.Effect<RelayerExplanation, RelayerNotFound>
    /** The balances that the checks of all instances have read. No provider is asked. */
    balances(id: RelayerId, query: BalanceTrendQuery): Effect.Effect<BalanceTrend, RelayerNotFound>
    /**
     * What to send to the relayer for a transaction that lacks `waiting`. Undefined: the balance is not known, or nothing is missing.
     *
     * @internal
     */
    funding(id: RelayerId, waiting: bigint): Effect.Effect<Funding | undefined, RelayerNotFound>
  }
>()("effect-relayer/server/health/RelayerHealth") {
  /** @internal */
  static readonly layer = Layer.effect(
    RelayerHealth,
    Effect.gen(function* () {
      const repo = yield* HealthRepo.make
      const balances = yield* BalancesRepo.make
      const relayers = yield* Relayers
      const ledger = yield* Ledger
      const targets = yield* RelayerTargets
      const chains = yield* Chains
      const checks = yield* HealthChecks
      const outboundWork = yield* OutboundWork

      /** The row of the check is created with the relayer. Without it, the relayer does not exist. */
      const find = (id: RelayerId) =>
        Effect.flatMap(
          repo.find(id),
          Option.match({ onNone: () => Effect.fail(new RelayerNotFound({})), onSome: Effect.succeed })
        )

      const inspect = (id: RelayerId) =>
        Effect.flatMap(targets.get(id), (target) =>
          outboundWork.run(Effect.timeoutOption(chains.inspect(target), patience))
        )

      const transactionsOf = Effect.fnUntraced(function* (relayerNumber: number) {
        const confirmed = Option.getOrUndefined(yield* ledger.lastConfirmed(relayerNumber))
        return {
          pending_transactions_count: yield* ledger.countOpen(relayerNumber),
          ...(confirmed === undefined ? {} : { last_confirmed_transaction_timestamp: DateTime.makeUnsafe(confirmed) })
        }
      })

      const show = Effect.fnUntraced(function* (stored: StoredRelayer, check: Check, seen: ChainSnapshot | undefined) {
        const relayer = stored.value
        const reading = seen === undefined ? check.reading : carry(check.reading, seen)
        const { failures: _, providers = [], ...amounts } = reading ?? { network_type: relayer.network_type }
        const read_at = seen?.balance === undefined ? check.read_at : yield* DateTime.now
        return {
          ...amounts,
          live: seen !== undefined && hasAnswered(seen),
          ...(read_at === undefined ? {} : { read_at }),
          paused: relayer.paused,
          system_disabled: relayer.system_disabled,
          ...(relayer.disabled_reason === undefined ? {} : { disabled_reason: relayer.disabled_reason }),
          health: check.state.status,
          ...(check.checked_at === undefined ? {} : { last_check_at: check.checked_at }),
          next_check_at: check.next_check_at,
          ...(yield* transactionsOf(stored.number)),
          providers
        } as RelayerStatus
      })

      const status = Effect.fn("RelayerHealth.status")(function* (id: RelayerId) {
        const seen = Option.getOrUndefined(yield* inspect(id))
        return yield* show(yield* relayers.get(id), yield* find(id), seen)
      })

      const balance = Effect.fn("RelayerHealth.balance")(function* (id: RelayerId) {
        const seen = Option.getOrUndefined(yield* inspect(id))
        const found = seen && balanceOf(seen)
        if (seen === undefined || found === undefined) return yield* new BadGateway({ error: whyUnanswered(seen) })
        return { balance: found, unit: unitOf[seen.network_type] }
      })

      const check = Effect.fn("RelayerHealth.check")(function* (id: RelayerId) {
        const seen = yield* checks.now(id)
        return yield* show(yield* relayers.get(id), yield* find(id), seen)
      })

      const explanation = Effect.fn("RelayerHealth.explain")(function* (id: RelayerId) {
        const { value: relayer, number } = yield* relayers.get(id)
        const { state: health, reading, next_check_at: next_at, since } = yield* find(id)
        const waiting = yield* ledger.largestShortage(number)
        const { network } = yield* targets.get(id)
        const channels = relayer.network_type === "stellar" ? yield* ledger.countChannelsOf({ relayer, network }) : 0
        const code = yield* ledger.laneCodeOf({ relayer, network })
        return explain({
          relayer,
          health,
          reading,
          next_at,
          since,
          waiting,
          channels,
          isOtherChain: code === "chain_changed"
        })
      })

      const trend = Effect.fn("RelayerHealth.balances")(function* (id: RelayerId, query: BalanceTrendQuery) {
        const { value: relayer } = yield* relayers.get(id)
        const { reading, read_at } = yield* find(id)
        const stored = yield* balances.since(id, sinceOf(query, yield* Clock.currentTimeMillis))
        const balance = reading && balanceOf(reading)
        const newest = stored.at(-1)
        const readAt = read_at === undefined ? undefined : DateTime.toEpochMillis(read_at)
        const isLater = balance !== undefined && readAt !== undefined && (newest === undefined || readAt > newest.at)
        const readings = isLater ? [...stored, { at: readAt, balance }] : stored
        return trendOf(unitOf[relayer.network_type], readings, minBalanceOf(relayer.network_type, relayer.policies))
      })

      const funding = Effect.fn("RelayerHealth.funding")(function* (id: RelayerId, waiting: bigint) {
        const { value: relayer } = yield* relayers.get(id)
        return fundingOf(relayer, (yield* find(id)).reading, waiting)
      })

      return RelayerHealth.of({ status, balance, check, explain: explanation, balances: trend, funding })
    })
  )
}
