// The sequences of a relayer's account, for operators: the ledger next to the chain, and three ways to repair them. Each network type says
// what its sequences are.
import { Context, Effect, Layer } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { ClearedNonces, ClearNonces, NonceDecision } from "../../domain/index.ts"
import type { RelayerId, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import { NotImplemented } from "../../domain/request/Request.ts"
import type { BadRequest } from "../../domain/request/Request.ts"
import type { ShownSequences } from "../../networks/core/Family.ts"
import { present } from "../../networks/core/Presentation.ts"
import { TransactionConflict } from "../../networks/core/Rules.ts"
import type { TransactionLimitExceeded } from "../../networks/core/TransactionLimits.ts"
import type { ResyncNonce } from "../../networks/core/TransactionRequests.ts"
import type { TransactionNotFound } from "../../networks/core/TransactionValues.ts"
import { Ledger } from "../ledger/Ledger.ts"
import type { StoredTransaction } from "../ledger/LedgerEntries.ts"
import { makeSenders } from "./Intake.ts"
import type { Sender } from "./Intake.ts"

/** What a network type says about the sequences of an account. */
export interface SequenceNetwork {
  readonly type: string
  /** What the ledger has. */
  ofLedger(sender: Sender): Effect.Effect<ShownSequences>
  /** The same next to what the chain says, as far as a provider answers. */
  get(sender: Sender): Effect.Effect<ShownSequences, RelayerNotFound | TooManyRequests | NotImplemented>
  /** How many sequences are used and final, as every provider that answers says. */
  usedBelow(sender: Sender): Effect.Effect<bigint, RelayerNotFound | TooManyRequests>
  /** Ends open transactions with these sequences by no-ops. Fails with `TransactionConflict` if accounts of the network have no gaps. */
  clear(
    sender: Sender,
    range: ClearNonces
  ): Effect.Effect<ClearedNonces, BadRequest | TransactionConflict | TransactionLimitExceeded>
  /** Fails if the caller may not decide about the transaction. Absent: it may decide about all. */
  checkDecision?(row: StoredTransaction): Effect.Effect<void, TransactionLimitExceeded>
  /** Ends the channels of the relayer's account that no other relayer wants. Absent: accounts of the network have no channels. */
  releaseChannels?(
    sender: Sender
  ): Effect.Effect<ShownSequences, RelayerNotFound | BadRequest | TransactionLimitExceeded>
}

type Unknown = RelayerNotFound | NotImplemented

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
    ): Effect.Effect<
      NonceDecision,
      Unknown | TransactionNotFound | TransactionConflict | TransactionLimitExceeded | TooManyRequests
    >
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
>()("effect-relayer/server/transactions/Nonces") {
  /** @internal */
  static readonly layer = <E, R>(networks: Effect.Effect<ReadonlyArray<SequenceNetwork>, E, R>) =>
    Layer.effect(
      Nonces,
      Effect.gen(function* () {
        const senders = yield* makeSenders
        const byType = new Map((yield* networks).map((network) => [network.type, network]))
        const ledger = yield* Ledger

        /** The sender, with what its network type says about sequences. Undefined: nothing. */
        const find = Effect.fnUntraced(function* (id: RelayerId) {
          const { sender } = yield* senders.get(id)
          return { sender, sequences: byType.get(sender.relayer.network_type) }
        })

        const findShown = Effect.fnUntraced(function* (id: RelayerId) {
          const { sender, sequences } = yield* find(id)
          if (sequences !== undefined) return { sender, sequences }
          const error = `relayers of ${sender.relayer.network_type} do not have what this endpoint does`
          return yield* new NotImplemented({ error })
        })

        const get = Effect.fn("Nonces.get")(function* (id: RelayerId) {
          const { sender, sequences } = yield* findShown(id)
          return yield* sequences.get(sender)
        })

        /** If the network type shows no sequences, operators can only decide about transactions without a place. */
        const resync = Effect.fn("Nonces.resync")(function* (id: RelayerId, { answer, transaction_id }: ResyncNonce) {
          const { sender, sequences } = yield* find(id)
          const changed = yield* ledger.resync<TransactionLimitExceeded>(sender.account, {
            ...present("check", sequences?.checkDecision),
            ...(answer === undefined
              ? {}
              : { answer, usedBelow: sequences === undefined ? 0n : yield* sequences.usedBelow(sender) }),
            ...(transaction_id === undefined ? {} : { id: transaction_id })
          })
          return decisionOf(changed)
        })

        const clear = Effect.fn("Nonces.clear")(function* (id: RelayerId, range: ClearNonces) {
          const { sender, sequences } = yield* findShown(id)
          return yield* sequences.clear(sender, range)
        })

        const beginGeneration = Effect.fn("Nonces.beginGeneration")(function* (id: RelayerId) {
          const { sender, sequences } = yield* findShown(id)
          if (!sender.network.is_testnet) {
            return yield* new TransactionConflict({
              error: "the network is not a test network: its is_testnet is false"
            })
          }
          yield* ledger.beginGeneration(sender.account)
          return yield* sequences.ofLedger(sender)
        })

        /** Needs the scopes to change a relayer and to send: it changes the policy, and the service then sends transactions. */
        const releaseChannels = Effect.fn("Nonces.releaseChannels")(function* (id: RelayerId) {
          const caller = yield* Caller.current
          if (!Caller.hasScope(caller, "transactions:write")) return yield* Caller.Forbidden.of(caller.id)
          const { sender, sequences } = yield* find(id)
          if (sequences?.releaseChannels !== undefined) return yield* sequences.releaseChannels(sender)
          return yield* new TransactionConflict({ error: "only relayers of stellar have channels" })
        })

        return Nonces.of({ get, resync, clear, releaseChannels, beginGeneration })
      })
    )
}
