// Finds resources by what a person has at hand.
import { Effect } from "effect"
import type { FoundItem } from "../../../src/client/Client.ts"
import { call } from "./Client.ts"
import { queries } from "./Registry.ts"

export type { FoundItem }

export const found = queries((q) => call(({ search }) => Effect.map(search.find({ query: { q } }), ({ data }) => data)))

const pages: Readonly<Record<FoundItem["kind"], string>> = {
  transaction: "transactions",
  relayer: "relayers",
  signer: "signers",
  notification: "webhooks",
  network: "networks",
  key: "keys"
}

export const hitHref = ({ kind, id, relayer_id }: FoundItem): string => {
  const relayer = relayer_id === undefined ? "" : `?relayer=${encodeURIComponent(relayer_id)}`
  return `/console/${pages[kind]}/${encodeURIComponent(id)}${relayer}`
}
