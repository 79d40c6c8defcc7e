// A relayer as the columns of its row.
import { Effect, Schema } from "effect"
import { MaskedRpcConfig } from "../../domain/Rpc.ts"
import { CreateRelayer } from "../../domain/Relayer.ts"
import { jsonText } from "../../sql/Row.ts"

/** `JSON.stringify` of the encoded fields keeps the digits of amounts: they are raw JSON numbers. */
const encodeRequest = Schema.encodeUnknownEffect(CreateRelayer)
const encodeMasked = Schema.encodeUnknownEffect(Schema.Array(MaskedRpcConfig))

/** The columns of what can change. */
export const changeable = Effect.fnUntraced(function* (request: CreateRelayer) {
  const encoded = (yield* encodeRequest(request)) as { readonly policies?: unknown }
  return {
    name: request.name,
    paused: request.paused,
    notification_id: request.notification_id ?? null,
    policies: jsonText(encoded.policies)
  }
})

export const shownUrls = (masked: ReadonlyArray<MaskedRpcConfig> | undefined) =>
  Effect.map(masked === undefined ? Effect.undefined : encodeMasked(masked), jsonText)
