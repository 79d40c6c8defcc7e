// The API, with what a test starts from already in it.
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { notification, signer } from "./fixtures.ts"
import * as TestApi from "./TestApi.ts"

/** Creates a resource and gives its `data`. The test fails if the resource is not created. */
export const create = Effect.fnUntraced(function* (resource: string, body: object, call: TestApi.Call = {}) {
  const api = yield* TestApi.TestApi
  const { status, text, json } = yield* api.call(`/api/v1/${resource}`, { ...call, body })
  assert.strictEqual(status, 201, text)
  return json.data as { readonly id: string }
})

/** Creates an API key and gives its secret. */
export const createKey = (body: object, call: TestApi.Call = {}) =>
  Effect.map(
    create("api-keys", { name: "of a test", ...body }, call),
    (data) => (data as { readonly key?: string }).key ?? assert.fail("no key")
  )

/** What the relayers of `fixtures.ts` refer to. */
export const references = Effect.andThen(create("signers", signer), create("notifications", notification))

/** The API in the state in which `setUp` leaves it. */
export const layer = <A, E>(
  setUp: Effect.Effect<A, E, Layer.Success<ReturnType<typeof TestApi.layer>>>,
  options: TestApi.Options = {}
) => Layer.effectDiscard(setUp).pipe(Layer.provideMerge(TestApi.layer(options)))
