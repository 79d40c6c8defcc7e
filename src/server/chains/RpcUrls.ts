// RPC URLs that users give: checks where they lead, and seals them for the database.
import { Effect, Redacted, Schema } from "effect"
import { isMasked, RpcConfig } from "../../domain/chain/Rpc.ts"
import type { Violation } from "../../domain/request/Request.ts"
import type { Outbound } from "../../outbound/Outbound.ts"
import type { SecretPlace, Secrets } from "../secrets/Secrets.ts"

/** The violations of a URL in `field`. */
export const refuse = (outbound: Outbound["Service"], field: string, url: string): ReadonlyArray<Violation> => {
  const message = isMasked(url) ? "is masked: send the URL itself" : outbound.refuse(url)
  return message === undefined ? [] : [{ field, message }]
}

/** The violations of the URLs in the list `field`. */
export const refuseAll = (
  outbound: Outbound["Service"],
  field: string,
  urls: ReadonlyArray<RpcConfig>
): ReadonlyArray<Violation> => urls.flatMap(({ url }, index) => refuse(outbound, `${field}.${index}.url`, url))

const decode = Schema.decodeEffect(Schema.fromJsonString(Schema.Array(RpcConfig)))

export const seal = (secrets: Secrets["Service"], urls: ReadonlyArray<RpcConfig>, place: SecretPlace) =>
  secrets.seal(Redacted.make(JSON.stringify(urls)), place)

export const open = (secrets: Secrets["Service"], sealed: Uint8Array, place: SecretPlace) =>
  secrets.open(sealed, place).pipe(
    Effect.flatMap((json) => decode(Redacted.value(json))),
    Effect.orDie
  )
