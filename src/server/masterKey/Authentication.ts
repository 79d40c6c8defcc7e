// Adds MACs to rows that were written before their tables had MACs.
import { Effect } from "effect"
import * as RowMacs from "../secrets/RowMacs.ts"
import { ServiceSecrets } from "../secrets/ServiceSecrets.ts"
import * as AuthenticatedRepo from "./AuthenticatedRepo.ts"
import { authenticatedTables } from "./AuthenticatedRepo.ts"
import type { AuthenticatedTable, Unauthenticated } from "./AuthenticatedRepo.ts"

/** Rows that get their MACs with one statement. */
const batch = 500

/** Authenticates all rows of all tables that have no MAC. */
export const run = Effect.gen(function* () {
  const repo = yield* AuthenticatedRepo.make
  // Once: before the start it is not remembered, because it is part of the transaction of the upgrade.
  const secret = yield* (yield* ServiceSecrets).get(RowMacs.secretName)

  const authenticate = Effect.fnUntraced(function* (authenticated: AuthenticatedTable) {
    const { table } = authenticated
    let last: Unauthenticated | undefined
    do {
      const rows = yield* repo.withoutMac(authenticated, last?.id ?? "", batch)
      const withMacs = rows.map(({ id, content }) => ({ id, mac: RowMacs.macOf(secret, { table, id, content }) }))
      yield* repo.authenticate(authenticated, withMacs)
      last = rows[batch - 1]
    } while (last !== undefined)
  })

  yield* Effect.forEach(authenticatedTables, authenticate, { discard: true })
})
