// The nonces of a relayer's account, for operators: the ledger next to the chain, and three ways to repair them.
import { Context, DateTime, Effect, Layer, Option } from "effect"
import * as Caller from "../../../domain/access/Caller.ts"
import type { TooManyRequests } from "../../../domain/access/Caller.ts"
import type { RelayerId, RelayerNotFound } from "../../../domain/relayer/Relayer.ts"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { NotImplemented } from "../../../domain/request/Request.ts"
import { Ledger } from "../../../server/ledger/Ledger.ts"
import type { LaneCounts, StoredLane, StoredTransaction } from "../../../server/ledger/LedgerEntries.ts"
import type { Cleared } from "../../../server/ledger/Operators.ts"
import { OutboundWork } from "../../../server/limits/RateLimits.ts"
import { makeOwnCheck, makeSenders } from "../../../server/transactions/Intake.ts"
import type { Sender, SequenceNetwork } from "../../../server/transactions/Intake.ts"
import type { ShownSequences } from "../../core/Family.ts"
import { present, statusOf } from "../../core/Presentation.ts"
import { TransactionConflict } from "../../core/Rules.ts"
import { TransactionLimitExceeded } from "../../core/TransactionLimits.ts"
import type { ResyncNonce } from "../../core/TransactionRequests.ts"
import type { TransactionNotFound } from "../../core/TransactionValues.ts"
import { countAt } from "../chain/EvmCalls.ts"
import { readHead } from "../chain/EvmNodes.ts"
import { nonceOf } from "../rules/Evm.ts"
import { evmRules } from "../rules/EvmRules.ts"
import { maxCleared } from "../rules/EvmSchemas.ts"
import type { ClearedNonces, ClearNonces, NonceDecision } from "../rules/EvmSchemas.ts"
import * as EvmSenders from "./EvmSenders.ts"
import { evmSenderOf, makeRelayerNodes } from "./EvmSenders.ts"
import type { EvmSender } from "./EvmSenders.ts"

type Unknown = RelayerNotFound | NotImplemented

const laneFields = (found: Option.Option<StoredLane>) => {
  if (Option.isNone(found)) return { generation: 0, next_nonce: 0, known_count: 0, settled_nonce: 0 }
  const { lane, code, codeSince } = found.value
  const [own] = lane.accounts
  return {
    generation: lane.generation,
    next_nonce: Number(own.nextSequence),
    known_count: Number(own.chainSequence),
    settled_nonce: Number(own.settledSequence),
    window: lane.windowSize,
    ...(code === undefined ? {} : { code }),
    ...(codeSince === undefined ? {} : { code_since: DateTime.makeUnsafe(codeSince) })
  }
}

const openFields = ({ pending, inFlight, oldestSequence }: LaneCounts) => ({
  pending,
  in_flight: inFlight,
  ...(oldestSequence === undefined ? {} : { oldest_open_nonce: Number(oldestSequence) })
})

const clearedOf = ({ rows, changed }: Cleared): ClearedNonces => ({
  transaction_ids: [...changed],
  transactions: rows.map(({ id, transaction }) => ({
    transaction_id: id,
    nonce: nonceOf(transaction) ?? 0,
    status: statusOf(transaction.state),
    changed: changed.has(id),
    ...present("code", transaction.cause?.code)
  }))
})

/** Such a price counts for no limit: the fees of a no-op are those of the key that sent the transaction. */
const limitedPrice = TransactionLimitExceeded.of({
  field: "max_fee_per_gas",
  message: "an API key with transaction_limits may not give a price; use a key without transaction_limits"
})

const decisionOf = (changed: ReadonlyArray<StoredTransaction>): NonceDecision => ({
  transaction_ids: changed.map(({ id }) => id)
})

export class Nonces extends Context.Service<
  Nonces,
  {
    /** The counts of the chain are absent if no provider answers. */
    get(id: RelayerId): Effect.Effect<ShownSequences, Unknown | TooManyRequests>
    resync(
      id: RelayerId,
      request: ResyncNonce
    ): Effect.Effect<NonceDecision, Unknown | TransactionNotFound | TransactionConflict | TooManyRequests>
    /**
     * Fails with `TransactionConflict` if the network has no gaps. A caller with limits gives no price, and clears only what
     * it or keys that it created have sent.
     */
    clear(
      id: RelayerId,
      range: ClearNonces
    ): Effect.Effect<ClearedNonces, Unknown | BadRequest | TransactionConflict | TransactionLimitExceeded>
    /**
     * Ends the channels of the relayer's account that no other relayer wants. Fails with `TransactionConflict` if accounts of
     * the network have no channels.
     */
    releaseChannels(
      id: RelayerId
    ): Effect.Effect<
      ShownSequences,
      Unknown | BadRequest | TransactionConflict | TransactionLimitExceeded | Caller.Forbidden
    >
    /** Fails with `TransactionConflict` if the network is not a test network. */
    beginGeneration(id: RelayerId): Effect.Effect<ShownSequences, Unknown | TransactionConflict>
  }
>()("effect-relayer/networks/evm/requests/Nonces") {
  /**
   * `networks`: network types besides evm.
   *
   * @internal
   */
  static readonly layer = <E, R>(networks: Effect.Effect<ReadonlyArray<SequenceNetwork>, E, R>) =>
    Layer.effect(
      Nonces,
      Effect.gen(function* () {
        const { ofEvm } = yield* EvmSenders.make
        const senders = yield* makeSenders
        const byType = new Map((yield* networks).map((network) => [network.type, network]))
        const { first, each } = yield* makeRelayerNodes
        const ledger = yield* Ledger
        const outboundWork = yield* OutboundWork
        const checkOwn = yield* makeOwnCheck

        const ofLedger = Effect.fnUntraced(function* ({ account, numbers }: EvmSender) {
          const lane = yield* ledger.laneOf(account)
          const open = yield* ledger.countLane(account)
          return { address: account.address, chain_id: numbers.chainId, ...laneFields(lane), ...openFields(open) }
        })

        const ofChain = ({ account, numbers }: EvmSender) =>
          first(account.relayerId, numbers.chainId, (node) =>
            Effect.all(
              [node.call(countAt(account.address, "latest")), node.call(countAt(account.address, "pending"))],
              {
                concurrency: 2
              }
            )
          ).pipe(
            Effect.map(([chain_count, chain_pending_count]) => ({ chain_count, chain_pending_count })),
            Effect.catchTag("BadGateway", () => Effect.succeed({}))
          )

        /** The lowest count in a final block over all providers that answer. Only transactions with a nonce need it. */
        const usedBelow = Effect.fnUntraced(function* ({ account, numbers }: EvmSender) {
          const { inFlight } = yield* ledger.countLane(account)
          if (inFlight === 0) return 0n
          const counts = yield* each(account.relayerId, numbers.chainId, (node) =>
            Effect.flatMap(readHead(node, numbers.finality), ({ finalHeight }) =>
              finalHeight < 0 ? Effect.succeed(0) : node.call(countAt(account.address, finalHeight))
            )
          )
          return counts.length === 0 ? 0n : BigInt(Math.min(...counts))
        })

        /** The sender of an evm relayer, or what another network type has. */
        const find = Effect.fnUntraced(function* (id: RelayerId) {
          const { sender } = yield* senders.get(id)
          return { sender, other: byType.get(sender.relayer.network_type) }
        })

        const get = Effect.fn("Nonces.get")(function* (id: RelayerId) {
          const { sender, other } = yield* find(id)
          if (other !== undefined) return yield* other.get(sender)
          const evm = yield* ofEvm(sender)
          const known = yield* ofLedger(evm)
          const state: ShownSequences = { ...known, ...(yield* outboundWork.run(ofChain(evm))) }
          return state
        })

        /** If the network type shows no sequences, operators can only decide about transactions without a place. */
        const usedBelowOf = (sender: Sender, other: SequenceNetwork | undefined) => {
          if (other !== undefined) return other.usedBelow(sender)
          const target = evmRules.targetOf(sender)
          return target === undefined
            ? Effect.succeed(0n)
            : outboundWork.run(usedBelow(evmSenderOf(target, sender.account)))
        }

        const resync = Effect.fn("Nonces.resync")(function* (id: RelayerId, { answer, transaction_id }: ResyncNonce) {
          const { sender, other } = yield* find(id)
          const changed = yield* ledger.resync(sender.account, {
            ...(answer === undefined ? {} : { answer, usedBelow: yield* usedBelowOf(sender, other) }),
            ...(transaction_id === undefined ? {} : { id: transaction_id })
          })
          return decisionOf(changed)
        })

        const clear = Effect.fn("Nonces.clear")(function* (
          id: RelayerId,
          { from, to, max_fee_per_gas: price }: ClearNonces
        ) {
          const { sender, other } = yield* find(id)
          if (other !== undefined) return yield* new TransactionConflict({ error: other.notCleared })
          const { account } = yield* ofEvm(sender)
          if (to < from || to - from >= maxCleared) {
            return yield* BadRequest.of([{ field: "to", message: `must be from ${from} to ${from + maxCleared - 1}` }])
          }
          const { transactionLimits } = yield* Caller.current
          if (price !== undefined && transactionLimits !== undefined) return yield* limitedPrice
          const range = { from: BigInt(from), to: BigInt(to), ...present("price", price) }
          return clearedOf(yield* ledger.clear(account, { ...range, check: checkOwn }))
        })

        const beginGeneration = Effect.fn("Nonces.beginGeneration")(function* (id: RelayerId) {
          const { sender, other } = yield* find(id)
          const shown = other === undefined ? ofLedger(yield* ofEvm(sender)) : other.ofLedger(sender)
          if (!sender.network.is_testnet) {
            return yield* new TransactionConflict({
              error: "the network is not a test network: its is_testnet is false"
            })
          }
          yield* ledger.beginGeneration(sender.account)
          const state: ShownSequences = yield* shown
          return state
        })

        /** Needs the scopes to change a relayer and to send: it changes the policy, and the service then sends transactions. */
        const releaseChannels = Effect.fn("Nonces.releaseChannels")(function* (id: RelayerId) {
          const caller = yield* Caller.current
          if (!Caller.hasScope(caller, "transactions:write")) return yield* Caller.Forbidden.of(caller.id)
          const { sender, other } = yield* find(id)
          if (other?.releaseChannels !== undefined) return yield* other.releaseChannels(sender)
          return yield* new TransactionConflict({ error: "only relayers of stellar have channels" })
        })

        return Nonces.of({ get, resync, clear, releaseChannels, beginGeneration })
      })
    )
}
