// The RPC URLs of a relayer: checked, masked to be shown, and sealed to be called.
import { Effect } from "effect"
import { maskRpc } from "../../domain/chain/Rpc.ts"
import type { CreateRelayer, RelayerId } from "../../domain/relayer/Relayer.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { Outbound } from "../../outbound/Outbound.ts"
import * as RpcUrls from "../chains/RpcUrls.ts"
import { Secrets } from "../secrets/Secrets.ts"
import type { StoredUrls } from "./NewRelayersRepo.ts"
import type { HeldRelayer } from "./StoredRelayer.ts"

/** The URLs of a relayer that uses those of its network. */
const none: StoredUrls = { masked: undefined, sealed: undefined }

const place = (id: RelayerId) => ({ table: "relayers", id, column: "custom_rpc_urls" })

export const make = Effect.gen(function* () {
  const secrets = yield* Secrets
  const outbound = yield* Outbound

  /** Fails with `BadRequest` if the service must not call one of the URLs. */
  const check = (urls: CreateRelayer["custom_rpc_urls"]) => {
    const refused = RpcUrls.refuseAll(outbound, "custom_rpc_urls", urls ?? [])
    return refused.length > 0 ? Effect.fail(BadRequest.of(refused)) : Effect.void
  }

  /** Fails as `check` does. */
  const store = Effect.fnUntraced(function* (id: RelayerId, urls: CreateRelayer["custom_rpc_urls"]) {
    if (urls === undefined || urls.length === 0) return none
    yield* check(urls)
    const sealed = yield* RpcUrls.seal(secrets, urls, place(id))
    return { masked: urls.map(maskRpc), sealed }
  })

  /** The unmasked URLs. `undefined` if the relayer uses the URLs of its network. */
  const open = ({ id, urlsSealed }: HeldRelayer) =>
    urlsSealed === undefined ? Effect.undefined : RpcUrls.open(secrets, urlsSealed, place(id))

  return { check, store, open }
})
