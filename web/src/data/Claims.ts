// Claims of names: who has a name now, and until when.
import { Effect } from "effect"
import type { Claim } from "../../../src/client/Client.ts"
import { ClaimName } from "../../../src/domain/claim/Claim.ts"
import { call } from "./Client.ts"
import { queryReader } from "./Pages.ts"
import { queries } from "./Registry.ts"

export type { Claim }

const readName = queryReader({ name: ClaimName })

/** `null`: nobody holds the name. */
export const claimOf = queries((name) =>
  call(({ claims }) =>
    Effect.flatMap(readName(new URLSearchParams({ name }).toString()), (params) =>
      Effect.map(claims.get({ params }), ({ data }): Claim | null => data)
    )
  ).pipe(
    Effect.catchIf(
      ({ status }) => status === 404,
      () => Effect.succeed(null)
    )
  )
)
