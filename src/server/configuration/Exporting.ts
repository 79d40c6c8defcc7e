// Exports what the service has as a document.
import { Effect } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import type { Scope } from "../../domain/access/Scope.ts"
import * as Exported from "../../domain/configuration/Exported.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import * as ConfigurationRepo from "./ConfigurationRepo.ts"
import * as FoundStates from "./FoundStates.ts"
import * as Tokens from "./Tokens.ts"

/** What a caller needs to read all sections. */
const scopes: ReadonlyArray<Scope> = [
  "relayers:read",
  "signers:read",
  "notifications:read",
  "networks:read",
  "api-keys:read"
]

export const make = Effect.gen(function* () {
  const repo = yield* ConfigurationRepo.make
  const readFound = yield* FoundStates.make
  const { load: loadTokens } = yield* Tokens.make
  const transaction = yield* Transaction.make
  const keys = yield* ApiKeys

  const checkCaller = Effect.flatMap(Caller.current, (caller) =>
    caller.relayerIds === undefined && scopes.every((scope) => Caller.hasScope(caller, scope))
      ? Effect.void
      : Effect.fail(new Caller.Forbidden({}))
  )

  /** The caller's own key and those that it descends from: no configuration that it applies may contain them. */
  const ownKeys = Effect.flatMap(Caller.current, ({ id }) =>
    Effect.map(keys.ancestors(id), (ancestors) => new Set([id, ...ancestors]))
  )

  const ownedNames = Effect.fnUntraced(function* (name: string) {
    yield* repo.find(name)
    const rows = yield* repo.managed(name, [])
    return rows.map(({ kind, id }) => ({ kind, id }))
  })

  /** `all`: everything that the service has, else what the configuration owns. */
  return Effect.fn("Configuration.document")(function* (name: string, all: boolean) {
    yield* checkCaller
    const tokens = yield* loadTokens
    const read = Effect.gen(function* () {
      const names = all ? ("all" as const) : yield* ownedNames(name)
      return yield* readFound({ names, wanted: new Map(), deletable: () => false, tokens, lock: false })
    })
    const found = yield* transaction(Effect.andThen(repo.snapshot, read))
    const own = yield* ownKeys
    return Exported.make(
      name,
      found.filter(({ kind, id }) => kind !== "api_keys" || !own.has(id))
    )
  })
})
