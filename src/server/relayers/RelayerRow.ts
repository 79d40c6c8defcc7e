// A relayer as the columns of its row.
import { Effect, Schema } from "effect"
import { EvmPolicy, SolanaPolicy, StellarPolicy } from "../../domain/relayer/Policy.ts"
import { MaskedRpcConfig } from "../../domain/chain/Rpc.ts"
import type { CreateRelayer } from "../../domain/relayer/Relayer.ts"
import { jsonText } from "../../sql/Rows.ts"

/** `JSON.stringify` of the encoded fields keeps the digits of amounts: they are raw JSON numbers. */
const encodePolicies = {
  evm: Schema.encodeUnknownEffect(EvmPolicy),
  solana: Schema.encodeUnknownEffect(SolanaPolicy),
  stellar: Schema.encodeUnknownEffect(StellarPolicy)
}
const encodeMasked = Schema.encodeUnknownEffect(Schema.Array(MaskedRpcConfig))

/** The columns of what can change. */
export const changeable = ({ name, paused, notification_id, network_type, policies }: CreateRelayer) =>
  Effect.map(policies === undefined ? Effect.undefined : encodePolicies[network_type](policies), (encoded) => ({
    name,
    paused,
    notification_id: notification_id ?? null,
    policies: jsonText(encoded)
  }))

export const shownUrls = (masked: ReadonlyArray<MaskedRpcConfig> | undefined) =>
  Effect.map(masked === undefined ? Effect.undefined : encodeMasked(masked), jsonText)
