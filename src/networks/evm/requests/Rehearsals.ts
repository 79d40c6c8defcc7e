// Tries a policy on the final transactions of a relayer. It reads pages of the ledger, locks nothing and stores nothing; only
// the length of a hold is asked of a provider.
import { Clock, Context, Effect, Layer, Option } from "effect"
import * as Caller from "../../../domain/access/Caller.ts"
import type { TooManyRequests } from "../../../domain/access/Caller.ts"
import { networkId } from "../../../domain/network/Network.ts"
import { applyRelayerPatch, RehearsalTooLarge, RelayerNotFound } from "../../../domain/relayer/Relayer.ts"
import type { RelayerId } from "../../../domain/relayer/Relayer.ts"
import { NotImplemented } from "../../../domain/request/Request.ts"
import type { BadRequest } from "../../../domain/request/Request.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import { Ledger } from "../../../server/ledger/Ledger.ts"
import { isTransactionOf } from "../../../server/ledger/LedgerEntries.ts"
import type { StoredTransaction } from "../../../server/ledger/LedgerEntries.ts"
import { OutboundWork } from "../../../server/limits/RateLimits.ts"
import { Networks } from "../../../server/networks/Networks.ts"
import { Relayers } from "../../../server/relayers/Relayers.ts"
import { finalStates } from "../../core/Transaction.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import { baseFeesAfter, blockAt } from "../chain/EvmCalls.ts"
import { evmTermsOf } from "../rules/Admission.ts"
import type { Evm, EvmTarget, EvmTerms } from "../rules/Evm.ts"
import { evmRules } from "../rules/EvmRules.ts"
import { judgeByPolicy, maxNamed, maxRehearsed, maxRehearsedDays, unknownToRehearsals } from "../rules/Hindsight.ts"
import type { Rehearsal, RehearsePolicy } from "../rules/Hindsight.ts"
import { makeRelayerNodes } from "./EvmSenders.ts"

/** Transactions that are read at once. */
const pageSize = 1000

const day = 86_400_000

/** Blocks of one answer to `eth_feeHistory`: half of what common nodes allow. */
const maxBlocks = 512

/** A hold that the answer names, with the height at which its first bytes were sent. */
interface NamedHold {
  readonly stored: StoredTransaction<Evm>
  readonly firstSent: number | undefined
}

/** Counts verdicts. The newest transactions come first. */
const makeTally = (terms: EvmTerms) => {
  let transactions = 0
  let held = 0
  const holds: Array<NamedHold> = []
  const refusals = new Map<string, { message: string; count: number; first: Array<{ id: StoredTransaction["id"] }> }>()

  const add = (stored: StoredTransaction<Evm>) => {
    const { id, transaction } = stored
    transactions += 1
    const verdict = judgeByPolicy(transaction, terms)
    if (verdict._tag === "Held") {
      held += 1
      const firstSent = transaction.attempts.find((attempt) => attempt.firstSent !== undefined)?.firstSent?.height
      if (holds.length < maxNamed) holds.push({ stored, firstSent })
    } else if (verdict._tag === "Refused") {
      const found = refusals.get(verdict.field) ?? { message: verdict.message, count: 0, first: [] }
      found.count += 1
      if (found.first.length < maxNamed) found.first.push({ id })
      refusals.set(verdict.field, found)
    }
  }

  return { add, holds: holds as ReadonlyArray<NamedHold>, refusals, counts: () => ({ transactions, held }) }
}

/** How long providers are asked for base fees. Several that do not answer would take longer than the request may. */
const patience = "5 seconds"

export class Rehearsals extends Context.Service<
  Rehearsals,
  {
    /** Fails with `NotImplemented` for a relayer that is not on evm, and with `Forbidden` without `transactions:read`. */
    rehearse(
      id: RelayerId,
      request: RehearsePolicy
    ): Effect.Effect<
      Rehearsal,
      RelayerNotFound | NotImplemented | BadRequest | RehearsalTooLarge | TooManyRequests | Caller.Forbidden
    >
  }
>()("effect-relayer/networks/evm/requests/Rehearsals") {
  /** @internal */
  static readonly layer = Layer.effect(
    Rehearsals,
    Effect.gen(function* () {
      const relayers = yield* Relayers
      const networks = yield* Networks
      const ledger = yield* Ledger
      const nodes = yield* makeRelayerNodes
      const outboundWork = yield* OutboundWork

      /** The relayer as the patch would make it. */
      const targetOf = Effect.fnUntraced(
        function* (id: RelayerId, patch: RehearsePolicy["policies"]) {
          const { number, value: relayer } = yield* relayers.get(id)
          const { value: network } = yield* networks.get(networkId(relayer.network_type, relayer.network))
          if (relayer.network_type !== "evm" || network.network_type !== "evm") {
            const error = `policies of ${relayer.network_type} relayers cannot be tried on the past`
            return yield* new NotImplemented({ error })
          }
          const { request } = yield* applyRelayerPatch(relayer, undefined, { policies: patch })
          const { policies: _, ...withoutPolicies } = relayer
          const wanted =
            request.network_type === "evm" && request.policies !== undefined
              ? { ...withoutPolicies, policies: request.policies }
              : withoutPolicies
          const target: EvmTarget = { relayer: wanted, network }
          return { number, target }
        },
        Effect.catchTag("NetworkNotFound", () => Effect.fail(new RelayerNotFound({})))
      )

      const checkSize = Effect.fnUntraced(function* (number: number, now: Moment, days: number) {
        const perDay = yield* ledger.countFinalByDay(number, { now, days, limit: maxRehearsed + 1 })
        let total = 0
        let fitting = 0
        for (const [index, count] of perDay.entries()) {
          total += count
          if (total <= maxRehearsed) fitting = index + 1
        }
        if (total > maxRehearsed) return yield* RehearsalTooLarge.of(days, maxRehearsed, fitting)
      })

      const readAll = Effect.fnUntraced(function* (
        number: number,
        since: Moment,
        add: (stored: StoredTransaction<Evm>) => void
      ) {
        // A day begins after the end of the former one. Moments are whole milliseconds.
        const filter = { relayerNumbers: [number], states: finalStates, createdAfter: since + 1 }
        let after: number | undefined = undefined
        do {
          const position: { readonly after?: number } = after === undefined ? {} : { after }
          const page = yield* ledger.select({ filter, limit: pageSize, ...position })
          for (const stored of page.transactions) if (isTransactionOf<Evm>(evmRules, stored)) add(stored)
          const isLast = !page.isCut && page.transactions.length < pageSize
          after = isLast ? undefined : page.transactions.at(-1)?.transaction.number
        } while (after !== undefined)
      })

      /** Blocks from the first send until one that a transaction at the cap fits into. Undefined: the provider does not say. */
      const blocksOf = (node: RpcNode, { firstSent }: NamedHold, cap: bigint, head: number) =>
        firstSent === undefined || firstSent >= head
          ? Effect.undefined
          : Effect.map(
              Effect.option(node.call(baseFeesAfter(firstSent, Math.min(head, firstSent + maxBlocks)))),
              (found) => {
                const baseFees = (found._tag === "None" ? undefined : found.value.baseFeePerGas) ?? []
                const index = baseFees.findIndex((baseFee) => baseFee <= cap)
                return index < 0 ? undefined : index + 1
              }
            )

      const lengths = Effect.fnUntraced(function* (id: RelayerId, target: EvmTarget, holds: ReadonlyArray<NamedHold>) {
        const { cap, network } = evmTermsOf(target)
        if (holds.length === 0 || cap === undefined) return []
        const ask = nodes.first(id, network.chainId, (node) =>
          Effect.flatMap(node.call(blockAt("latest")), (head) =>
            Effect.forEach(holds, (hold) => blocksOf(node, hold, cap, head?.number ?? 0), { concurrency: "unbounded" })
          )
        )
        const answered = Effect.catchTag(ask, "BadGateway", () => Effect.succeed([]))
        const inTime = yield* outboundWork.run(Effect.timeoutOption(answered, patience))
        return Option.getOrElse(inTime, () => [])
      })

      const rehearse = Effect.fn("Rehearsals.rehearse")(function* (
        id: RelayerId,
        { policies, days = maxRehearsedDays }: RehearsePolicy
      ) {
        const caller = yield* Caller.current
        if (!Caller.hasScope(caller, "transactions:read")) return yield* Caller.Forbidden.of(caller.id)
        const { number, target } = yield* targetOf(id, policies)
        const now = yield* Clock.currentTimeMillis
        yield* checkSize(number, now, days)
        const tally = makeTally(evmTermsOf(target))
        yield* readAll(number, now - days * day, tally.add)
        const blocks = yield* lengths(id, target, tally.holds)
        const { held, transactions } = tally.counts()
        const rehearsal: Rehearsal = {
          days,
          transactions,
          would_hold: {
            count: held,
            first: tally.holds.map(({ stored }, index) => {
              const length = blocks[index]
              return { id: stored.id, code: "gas_price_above_cap", ...(length === undefined ? {} : { blocks: length }) }
            })
          },
          would_refuse: [...tally.refusals].map(([field, found]) => ({ code: "policy_changed", field, ...found })),
          unknown: unknownToRehearsals
        }
        return rehearsal
      })

      return Rehearsals.of({ rehearse })
    })
  )
}
