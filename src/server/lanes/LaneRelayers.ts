// The relayers whose transactions are in a lane: their networks, their providers, and what they allow now.
import { Array, Effect, Result } from "effect"
import type { DisabledReason, RelayerId } from "../../domain/relayer/Relayer.ts"
import type { Terms } from "../../domain/transaction/Lane.ts"
import type { Rules } from "../../domain/transaction/Rules.ts"
import type { RelayerTarget } from "../relayers/RelayerTargets.ts"
import { changedRowIn } from "../secrets/RowMacs.ts"
import type { LaneRelayer } from "./LaneNetwork.ts"
import type { LaneContext } from "./StepState.ts"

/**
 * A lack of funds, and an account of stellar that does not exist or cannot be read, disable nothing here: each poll reads the account,
 * sooner than the next health check.
 */
const disabledBy = (reason: DisabledReason | undefined): Terms["disabled"] => {
  switch (reason?.type) {
    case undefined:
    case "BalanceCheckFailed":
    case "SequenceSyncFailed":
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

const toLaneRelayer = (rules: Rules, { relayer, network, urls }: RelayerTarget): LaneRelayer | undefined => {
  const target = rules.targetOf({ relayer, network })
  return target === undefined
    ? undefined
    : {
        id: relayer.id,
        signerId: relayer.signer_id,
        target,
        urls,
        urlsKey: JSON.stringify(urls),
        hasOwnUrls: relayer.custom_rpc_urls !== undefined,
        isPaused: relayer.paused,
        disabled: relayer.system_disabled ? disabledBy(relayer.disabled_reason) : undefined
      }
}

/** A relayer that the lane cannot use, because a row was changed or removed in the database. */
export interface Unusable {
  readonly id: RelayerId
  /** For the log. */
  readonly reason: string
}

type Options = Pick<LaneContext, "targets" | "rules">

type Loaded = Result.Result<LaneRelayer, Unusable>

const loadOne = ({ targets, rules }: Options, id: RelayerId): Effect.Effect<Loaded> => {
  const unusable = (reason: string): Loaded => Result.fail({ id, reason })
  const missing = unusable(`there is no ${rules.type} relayer with this id in the database`)
  return targets.get(id).pipe(
    Effect.map((target): Loaded => {
      const relayer = toLaneRelayer(rules, target)
      return relayer === undefined ? missing : Result.succeed(relayer)
    }),
    Effect.catchTag("RelayerNotFound", () => Effect.succeed(missing)),
    Effect.catchCause((cause) => {
      const changed = changedRowIn(cause)
      return changed === undefined ? Effect.failCause(cause) : Effect.succeed(unusable(changed.message))
    })
  )
}

/** The relayers by id, and those that cannot be used. */
export const load = Effect.fnUntraced(function* (options: Options, ids: Iterable<RelayerId>) {
  const loaded = yield* Effect.forEach(new Set(ids), (id) => loadOne(options, id), { concurrency: "unbounded" })
  const [relayers, unusable] = Array.separate(loaded)
  return { relayers: new Map(relayers.map((relayer) => [relayer.id, relayer])), unusable }
})
