// URLs of networks: which are allowed, and how RPC URLs are stored: masked to be shown, and sealed to be called.
import { Effect } from "effect"
import * as Rpc from "../../domain/chain/Rpc.ts"
import type { RpcConfig } from "../../domain/chain/Rpc.ts"
import type { NetworkId } from "../../domain/network/Network.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import type { Outbound } from "../../outbound/Outbound.ts"
import * as RpcUrls from "../chains/RpcUrls.ts"
import type { Secrets } from "../secrets/Secrets.ts"

/** The RPC URLs of a request. Null and absent: none. */
interface Urls {
  readonly rpc_urls?: ReadonlyArray<RpcConfig> | null
  readonly horizon_url?: string | null
}

export const check = (outbound: Outbound["Service"], { rpc_urls, horizon_url }: Urls) => {
  const violations = [
    ...RpcUrls.refuseAll(outbound, "rpc_urls", rpc_urls ?? []),
    ...(horizon_url ? RpcUrls.refuse(outbound, "horizon_url", horizon_url) : [])
  ]
  return violations.length === 0 ? Effect.void : Effect.fail(BadRequest.of(violations))
}

/** Puts the stored RPC URLs in the place of masked ones. */
export const unmask = <A extends Urls, E>(
  request: A,
  stored: Effect.Effect<ReadonlyArray<RpcConfig>, E>
): Effect.Effect<A, E | BadRequest> => {
  const { rpc_urls: given } = request
  if (!given?.some(({ url }) => Rpc.isMasked(url))) return Effect.succeed(request)
  return Effect.flatMap(stored, (urls) =>
    Effect.fromResult(Rpc.unmask("rpc_urls", given, urls)).pipe(
      Effect.mapBoth({ onFailure: BadRequest.of, onSuccess: (rpc_urls) => ({ ...request, rpc_urls }) })
    )
  )
}

export const masked = <A extends Urls>(request: A): A =>
  request.rpc_urls ? { ...request, rpc_urls: request.rpc_urls.map(Rpc.maskRpc) } : request

const place = (id: NetworkId) => ({ table: "networks", id, column: "rpc_urls" })

export const seal = (secrets: Secrets["Service"], id: NetworkId, { rpc_urls }: Urls) =>
  rpc_urls ? RpcUrls.seal(secrets, rpc_urls, place(id)) : Effect.undefined

export const open = (secrets: Secrets["Service"], id: NetworkId, sealed: Uint8Array) =>
  RpcUrls.open(secrets, sealed, place(id))
