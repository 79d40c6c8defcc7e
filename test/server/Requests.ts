// Requests to operations of openapi.json. A test fails if the response is not as documented.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as Documented from "../../testkit/Documented.ts"
import * as Prepared from "../../testkit/Prepared.ts"
import * as TestApi from "../../testkit/TestApi.ts"
import { evmRelayer } from "../../testkit/fixtures.ts"

/** Parts of the path, and `query`, which follows it. */
export type Params = Readonly<Record<string, string>>

/** Sends a request to an operation. The test fails if the response differs from the document. */
export const send = Effect.fnUntraced(function* (operation: string, params: Params = {}, call: TestApi.Call = {}) {
  const api = yield* TestApi.TestApi
  const [method = "", template = ""] = operation.split(" ")
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? "missing")
  const answer = yield* api.call(`${path}${params.query ?? ""}`, { method: method.toUpperCase(), ...call })
  assert.deepStrictEqual(Documented.faultsOf(operation, answer), [])
  return answer
})

let created = 0

/** A name that no other resource of the database has. */
export const unusedName = () => `own-${++created}`

/** Creates something that the test may change, and gives its id. */
export const made = Effect.fnUntraced(function* (resource: string, body: object) {
  const { id } = yield* Prepared.create(resource, { id: unusedName(), ...body })
  return id
})

export const ownRelayer = (more: object = {}) => made("relayers", { ...evmRelayer, id: unusedName(), ...more })

/** Whether an operation is about transactions: those need a chain, and have a test of their own. */
export const isAboutTransactions = (operation: string): boolean =>
  /\/(transactions|sign|sign-typed-data|sign-transaction|rpc|nonce|channels|delegation)(\/|$)/.test(operation)

export const inRelayer = "/api/v1/relayers/{relayer_id}"
