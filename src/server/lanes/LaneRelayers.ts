// The relayers whose transactions are in a lane: their networks, their providers, and what they allow now.
import { Array, Effect, Result } from "effect"
import type { RpcConfig } from "../../domain/chain/Rpc.ts"
import type { EvmPolicy } from "../../domain/relayer/Policy.ts"
import type { DisabledReason, RelayerId } from "../../domain/relayer/Relayer.ts"
import type { SignerId } from "../../domain/signer/SignerId.ts"
import { isReceiverAllowed } from "../../domain/transaction/Admission.ts"
import type { Terms } from "../../domain/transaction/Lane.ts"
import { networkNumbers } from "../../domain/transaction/NetworkNumbers.ts"
import type { NetworkNumbers } from "../../domain/transaction/NetworkNumbers.ts"
import { newestRequest } from "../../domain/transaction/Transaction.ts"
import type { Transaction } from "../../domain/transaction/Transaction.ts"
import type { RelayerTargets } from "../relayers/RelayerTargets.ts"
import type { RelayerTarget } from "../relayers/RelayerTargets.ts"
import * as ChangedRow from "../secrets/ChangedRow.ts"

export interface LaneRelayer {
  readonly id: RelayerId
  readonly signerId: SignerId
  readonly numbers: NetworkNumbers
  readonly urls: ReadonlyArray<RpcConfig>
  /** The same text means the same providers. */
  readonly urlsKey: string
  readonly policy: EvmPolicy
  readonly isPaused: boolean
  readonly disabled: Terms["disabled"]
}

/** Wei. */
const defaultMinBalance = 1n

/** A lack of funds disables nothing here: the balance of each poll decides. */
const disabledBy = (reason: DisabledReason | undefined): Terms["disabled"] => {
  switch (reason?.type) {
    case undefined:
    case "BalanceCheckFailed":
      return undefined
    case "ChainIdMismatch":
      return "chain_changed"
    case "RpcValidationFailed":
    case "NonceSyncFailed":
      return "providers_unavailable"
    default:
      return "relayer_disabled"
  }
}

const toLaneRelayer = ({ relayer, network, urls }: RelayerTarget): LaneRelayer | undefined =>
  relayer.network_type === "evm" && network.network_type === "evm"
    ? {
        id: relayer.id,
        signerId: relayer.signer_id,
        numbers: networkNumbers(network),
        urls,
        urlsKey: JSON.stringify(urls),
        policy: relayer.policies ?? {},
        isPaused: relayer.paused,
        disabled: relayer.system_disabled ? disabledBy(relayer.disabled_reason) : undefined
      }
    : undefined

/** A relayer that the lane cannot use, because a row was changed or removed in the database. */
export interface Unusable {
  readonly id: RelayerId
  /** For the log. */
  readonly reason: string
}

type Targets = Pick<RelayerTargets["Service"], "get">

type Loaded = Result.Result<LaneRelayer, Unusable>

const loadOne = (targets: Targets, id: RelayerId): Effect.Effect<Loaded> => {
  const unusable = (reason: string): Loaded => Result.fail({ id, reason })
  const missing = unusable("there is no evm relayer with this id in the database")
  return targets.get(id).pipe(
    Effect.map((target): Loaded => {
      const relayer = toLaneRelayer(target)
      return relayer === undefined ? missing : Result.succeed(relayer)
    }),
    Effect.catchTag("RelayerNotFound", () => Effect.succeed(missing)),
    Effect.catchCause((cause) => {
      const changed = ChangedRow.inCause(cause)
      return changed === undefined ? Effect.failCause(cause) : Effect.succeed(unusable(changed.message))
    })
  )
}

/** The relayers by id, and those that cannot be used. */
export const load = Effect.fnUntraced(function* (targets: Targets, ids: Iterable<RelayerId>) {
  const [relayers, unusable] = Array.separate(yield* Effect.forEach(new Set(ids), (id) => loadOne(targets, id)))
  return { relayers: new Map(relayers.map((relayer) => [relayer.id, relayer])), unusable }
})

export const termsOf = (relayer: LaneRelayer, transaction: Transaction, address: string): Terms => {
  const { policy, numbers, isPaused, disabled } = relayer
  const admission = { now: 0, relayerAddress: address, policy, network: numbers, checksum: (text: string) => text }
  return {
    isPaused,
    ...(disabled === undefined ? {} : { disabled }),
    ...(policy.gas_price_cap === undefined ? {} : { cap: policy.gas_price_cap }),
    minBalance: policy.min_balance ?? defaultMinBalance,
    isEip1559: policy.eip1559_pricing ?? numbers.isEip1559,
    isAllowed: transaction.origin === "gap" || isReceiverAllowed(newestRequest(transaction), admission)
  }
}
