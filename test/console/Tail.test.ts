// What a page keeps of events that arrive while it is open.
import { assert, describe, it } from "@effect/vitest"
import { isAboutRelayer, matcherOf } from "../../web/src/data/EventFilter.ts"
import { above, arrived, empty, frame, mostPerSecond, resumed } from "../../web/src/data/Tail.ts"
import type { Tail } from "../../web/src/data/Tail.ts"

interface Event {
  readonly id: number
}

/** The oldest first, as they are published. */
const published = (first: number, count: number): ReadonlyArray<Event> =>
  Array.from({ length: count }, (_, index) => ({ id: first + index }))

const ids = (events: ReadonlyArray<Event>) => events.map(({ id }) => id)

describe("a tail of events", () => {
  it("shows the newest first, each once, above the list that was loaded", () => {
    const tail = arrived<Event>(empty, published(5, 3), false)
    assert.deepStrictEqual(ids(above(tail, [{ id: 6 }, { id: 5 }, { id: 4 }])), [7, 6, 5, 4])
  })

  it("shows a sample and counts the others when more arrive than a person sees", () => {
    const tail = arrived<Event>(empty, published(1, 500), false)
    assert.deepStrictEqual(ids(tail.shown).slice(0, 2), [500, 499])
    assert.strictEqual(tail.shown.length + tail.leftOut, 500)
    assert.isAtMost(tail.shown.length, Math.ceil((mostPerSecond * frame) / 1_000))
  })

  it("holds what arrives while it is paused, and shows it afterwards", () => {
    const before = arrived<Event>(empty, published(1, 3), false)
    const paused = arrived(before, published(4, 5), true)
    assert.deepStrictEqual(ids(paused.shown), [3, 2, 1])
    assert.strictEqual(paused.held.length, 5)
    const after = resumed(paused)
    assert.deepStrictEqual(ids(after.shown), [8, 7, 6, 5, 4, 3, 2, 1])
    assert.strictEqual(after.held.length, 0)
  })

  it("counts what arrives after a thousand events of a pause, without keeping it", () => {
    const paused = arrived<Event>(empty, published(1, 1_500), true)
    assert.strictEqual(paused.held.length, 1_000)
    assert.strictEqual(paused.dropped, 500)
    assert.strictEqual(paused.held[0]?.id, 1_500)
  })

  it("keeps as little after an hour of 50 events a second as after a minute, paused or not", () => {
    const sizes = ({ shown, held }: Tail<Event>) => shown.length + held.length
    for (const isPaused of [false, true]) {
      let tail: Tail<Event> = empty
      let afterMinute = 0
      for (let second = 0; second < 3_600; second += 1) {
        tail = arrived(tail, published(second * 50 + 1, 50), isPaused)
        if (second === 60) afterMinute = sizes(tail)
      }
      assert.strictEqual(sizes(tail), afterMinute)
      assert.isAtMost(afterMinute, 1_000)
    }
  })
})

describe("filters of arriving events", () => {
  const held = { type: "transaction.held", resource_id: "tx-1", data: { relayer_id: "payouts" } }
  const disabled = { type: "relayer.disabled", resource_id: "payouts", data: { id: "payouts" } }

  it("select by type, resource and relayer, as the service does in lists", () => {
    const select = (query: string) => [held, disabled].filter(matcherOf(new URLSearchParams(query)))
    assert.deepStrictEqual(select(""), [held, disabled])
    assert.deepStrictEqual(select("type=relayer.disabled&type=relayer.enabled"), [disabled])
    assert.deepStrictEqual(select("resource_id=tx-1"), [held])
    assert.deepStrictEqual(select("relayer_id=payouts"), [held, disabled])
    assert.deepStrictEqual(select("relayer_id=other"), [])
  })

  it("count a transaction's event as one about its relayer", () => {
    assert.isTrue(isAboutRelayer(held, "payouts"))
    assert.isFalse(isAboutRelayer(held, "tx-1"))
    assert.isTrue(isAboutRelayer(disabled, "payouts"))
  })
})
