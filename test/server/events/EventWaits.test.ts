// Long polls: the response comes with the first event, or at the end of the waiting time.
import { assert } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Draining } from "../../../src/server/lifecycle/Lifecycle.ts"
import { awaited } from "../../../testkit/Awaited.ts"
import { signer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as LiveApi from "./LiveApi.ts"
import { soon } from "./LiveApi.ts"

const create = (id: string) => TestApi.call("/api/v1/signers", { body: { ...signer, id } })

const resources = ({ json }: TestApi.Answer) =>
  (json.data as ReadonlyArray<{ readonly resource_id: string }>).map(({ resource_id }) => resource_id)

layerEach(LiveApi.layer())("waiting for events", (it) => {
  it.effect("ends at once if there are events, or else with the first new one", () =>
    Effect.gen(function* () {
      yield* create("there")
      const there = yield* soon(TestApi.call("/api/v1/events?wait=25"))
      assert.deepStrictEqual(resources(there), ["there"])
      const next = /<([^>]+)>/.exec(there.headers.get("link") ?? "")?.[1] ?? assert.fail("no link")
      for (const id of ["one", "two", "three"]) {
        const waiting = yield* Effect.forkChild(TestApi.call(`${next}&resource_id=${id}`))
        yield* create(`not-${id}`)
        yield* create(id)
        const answer = yield* soon(Fiber.join(waiting))
        assert.deepStrictEqual(resources(answer), [id])
      }
    })
  )

  it.effect("ends when the instance drains", () =>
    Effect.gen(function* () {
      const waiting = yield* Effect.forkChild(TestApi.call("/api/v1/events?wait=25&resource_id=never"))
      yield* create("begun")
      yield* (yield* Draining).begin
      const answer = yield* soon(Fiber.join(waiting))
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(answer.json.data, [])
      assert.strictEqual(answer.headers.get("connection"), "close")
    })
  )
})

layerEach(TestApi.layer())("waiting without events", (it) => {
  it.effect("ends after at most 25 seconds, with a link to continue", () =>
    Effect.gen(function* () {
      yield* create("there")
      const listed = yield* awaited(TestApi.call("/api/v1/events"), (answer) => resources(answer).length === 1)
      const [{ id } = { id: 0 }] = listed.json.data as ReadonlyArray<{ readonly id: number }>
      const waiting = yield* Effect.forkChild(TestApi.call(`/api/v1/events?after=${id}&wait=1000`))
      yield* LiveApi.listening
      while (waiting.pollUnsafe() === undefined) {
        yield* TestClock.adjust("5 seconds")
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      }
      const answer = yield* Fiber.join(waiting)
      assert.strictEqual(answer.status, 200, answer.text)
      assert.deepStrictEqual(resources(answer), [])
      assert.include(answer.headers.get("link"), `after=${id}`)
    })
  )
})
