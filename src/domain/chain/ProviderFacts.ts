// What a provider can do, as a check of a network finds it. It decides how the service asks it, and what it can prove.
import { Schema } from "effect"
import { shown } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"

/** Each is absent if the provider did not say it, or if the network type has no such thing. */
export const factFields = {
  batch_size: shown(
    Schema.Natural,
    "Calls in one HTTP request that the service sends to it: 50 at most, or what it takes, as far as the instance that answers knows.",
    3
  ),
  client_version: shown(Shown.Words, "Software of its node, as it says.", "Geth/v1.16.9"),
  finalized: shown(Schema.Boolean, "Whether it knows the newest final block.", true),
  fee_history: shown(Schema.Boolean, "Whether it says which fees recent blocks took.", true),
  archive: shown(
    Schema.Boolean,
    "Whether it has the state of the first blocks (evm), or the transactions since the first slot (solana). Without it, what used a nonce long ago cannot be proven.",
    false
  )
}

const Facts = Schema.Struct(factFields)
export type ProviderFacts = typeof Facts.Type
