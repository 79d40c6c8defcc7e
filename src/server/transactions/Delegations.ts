// The delegation of a relayer's account: contracts whose code the account runs, on networks whose accounts can delegate.
import { Context, Effect, Layer } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { Delegate, Delegation, DelegationChange } from "../../domain/index.ts"
import type { RelayerId, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import { NotImplemented } from "../../domain/request/Request.ts"
import type { BadGateway, BadRequest } from "../../domain/request/Request.ts"
import type { TransactionConflict } from "../../networks/core/Rules.ts"
import { RelayerPaused, TransactionLimitExceeded } from "../../networks/core/TransactionLimits.ts"
import { makeSenders } from "./Intake.ts"
import type { Sender } from "./Intake.ts"

type Refused =
  | RelayerNotFound
  | RelayerPaused
  | BadRequest
  | BadGateway
  | NotImplemented
  | TransactionConflict
  | TooManyRequests

/** How a network type delegates. `sender`: the caller may change what its account delegates to. */
export interface DelegationNetwork {
  readonly type: string
  get(sender: Sender): Effect.Effect<Delegation>
  /** Undefined: the delegation ends. */
  change(sender: Sender, wanted: Delegate | undefined): Effect.Effect<DelegationChange, Refused>
}

/**
 * Whether the caller may change what an account delegates to. The account may be that of several relayers, and its code could do what limits
 * of a key forbid.
 */
export const mayDelegate = (caller: Caller.Caller): boolean =>
  Caller.hasScope(caller, "relayers:write") && caller.relayerIds === undefined && caller.transactionLimits === undefined

export const notAllowed = (field: string) =>
  TransactionLimitExceeded.of({
    field,
    message:
      "concerns what the account delegates to: it needs an API key with the scope relayers:write, for all relayers and without transaction_limits"
  })

export class Delegations extends Context.Service<
  Delegations,
  {
    /** What the service has recorded. No provider is asked. */
    get(id: RelayerId): Effect.Effect<Delegation, RelayerNotFound | NotImplemented>
    /** Accepts the transaction that delegates, after checks of the contract. */
    delegate(id: RelayerId, wanted: Delegate): Effect.Effect<DelegationChange, Refused | TransactionLimitExceeded>
    /** Accepts the transaction that ends the delegation. */
    undelegate(id: RelayerId): Effect.Effect<DelegationChange, Refused | TransactionLimitExceeded>
  }
>()("effect-relayer/server/transactions/Delegations") {
  /** @internal */
  static readonly layer = <E, R>(networks: Effect.Effect<ReadonlyArray<DelegationNetwork>, E, R>) =>
    Layer.effect(
      Delegations,
      Effect.gen(function* () {
        const senders = yield* makeSenders
        const byType = new Map((yield* networks).map((network) => [network.type, network]))

        const find = Effect.fnUntraced(function* (id: RelayerId) {
          const { sender } = yield* senders.get(id)
          const network = byType.get(sender.relayer.network_type)
          if (network !== undefined) return { sender, network }
          return yield* new NotImplemented({ error: `accounts of ${sender.relayer.network_type} do not delegate` })
        })

        const change = Effect.fnUntraced(function* (id: RelayerId, wanted: Delegate | undefined) {
          const { sender, network } = yield* find(id)
          if (!mayDelegate(yield* Caller.current)) return yield* notAllowed("relayer_id")
          if (sender.relayer.paused) return yield* new RelayerPaused({})
          return yield* network.change(sender, wanted)
        })

        return Delegations.of({
          get: Effect.fn("Delegations.get")(function* (id: RelayerId) {
            const { sender, network } = yield* find(id)
            return yield* network.get(sender)
          }),
          delegate: Effect.fn("Delegations.delegate")((id: RelayerId, wanted: Delegate) => change(id, wanted)),
          undelegate: Effect.fn("Delegations.undelegate")((id: RelayerId) => change(id, undefined))
        })
      })
    )
}
