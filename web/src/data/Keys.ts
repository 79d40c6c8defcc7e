// API keys: what each may do, when it was used, and its end.
import { Effect } from "effect"
import type { ApiKey } from "../../../src/client/Client.ts"
import { ApiKeyId } from "../../../src/domain/access/ApiKey.ts"
import { call } from "./Client.ts"
import { query } from "./Registry.ts"

export type { ApiKey }

const all = 1_000

export const keyList = query(
  call(({ apiKeys }) => Effect.map(apiKeys.list({ query: { page: 1, per_page: all } }), ({ data }) => data))
)

/** Revokes the key and all its descendants. */
export const revokeKey = (id: string) =>
  call(({ apiKeys }) =>
    Effect.map(
      apiKeys.delete({ params: { key_id: ApiKeyId.make(id) }, query: { descendants: true } }),
      ({ data }) => data
    )
  )
