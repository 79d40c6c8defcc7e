// API keys: what each may do, when it was used, and its end.
import { Effect } from "effect"
import type { ApiKey } from "../../../src/client/Client.ts"
import { ApiKeyId, scopeTexts } from "../../../src/domain/access/ApiKey.ts"
import { words } from "../words.ts"
import { call, callById, once } from "./Client.ts"
import { queries, query } from "./Registry.ts"

export type { ApiKey }

const all = 1_000

export const keyList = query(
  call(({ apiKeys }) => Effect.map(apiKeys.list({ query: { page: 1, per_page: all } }), ({ data }) => data))
)

const params = (id: string) => ({ key_id: ApiKeyId.make(id) })

export const keyById = queries((id) =>
  callById(({ apiKeys }) => Effect.map(apiKeys.get({ params: params(id) }), ({ data }) => data))
)

/** Gives the key a new value, and keeps the old one valid for some seconds. `attempt` is the same for each try of one question. */
export const rotateKey = (id: string, overlap_seconds: number, attempt: string) =>
  once(
    attempt,
    call(({ apiKeys }) =>
      Effect.map(apiKeys.rotate({ params: params(id), payload: { overlap_seconds } }), ({ data }) => data.key)
    )
  )

/** Revokes the key and all its descendants. */
export const revokeKey = (id: string) =>
  call(({ apiKeys }) =>
    Effect.map(apiKeys.delete({ params: params(id), query: { descendants: true } }), ({ data }) => data)
  )

const texts: Readonly<Record<string, string | undefined>> = scopeTexts

/** What a key with the grant can do. `undefined`: it is no grant that this console knows. */
export const grantText = (grant: string): string | undefined => {
  if (grant === "*") return words.keys.everything
  return grant.endsWith(":*") ? words.keys.allOf(grant.slice(0, -2)) : texts[grant]
}
