// Applies merge patches to networks.
import { Effect, Schema } from "effect"
import * as MergePatch from "../request/MergePatch.ts"
import type { Network } from "./Network.ts"
import type { UpdateNetwork } from "./NetworkRequest.ts"
import { NetworkDefinition } from "./NetworkInheritance.ts"
import { BadRequest } from "../request/Request.ts"
import type { Violation } from "../request/Request.ts"

const decode = Schema.decodeUnknownEffect(NetworkDefinition, { errors: "all", onExcessProperty: "error" })

/** Fails with `BadRequest` if the patch has fields of another network type. */
export const apply = (
  definition: NetworkDefinition,
  patch: UpdateNetwork
): Effect.Effect<NetworkDefinition, BadRequest> =>
  decode(MergePatch.apply(definition, patch)).pipe(Effect.mapError(({ issue }) => BadRequest.fromIssue(issue, "body")))

const chain = (network: Network) => {
  if (network.network_type === "evm") return ["chain_id", network.chain_id] as const
  return network.network_type === "stellar" ? (["passphrase", network.passphrase] as const) : undefined
}

/** Relayers and transactions are bound to a chain, so a change of a network must not change its chain, not even by `from`. */
export const chainViolations = (before: Network, after: Network): ReadonlyArray<Violation> => {
  const was = chain(before)
  return was === undefined || was[1] === chain(after)?.[1]
    ? []
    : [{ field: "from", message: `would change ${was[0]}, which cannot be changed` }]
}
