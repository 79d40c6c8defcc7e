// Questions and answers between two processes, here with both ends in one.
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { EventEmitter } from "node:events"
import * as Channel from "../../src/process/Channel.ts"

interface Contract {
  readonly double: { readonly question: number; readonly answer: number }
  readonly fail: { readonly question: null; readonly answer: null }
}

/** What is sent by one is received by the other, as JSON has it. */
const ports = () => {
  const sent: Array<unknown> = []
  const make = () =>
    Object.assign(new EventEmitter(), { connected: true, send: (message: unknown) => Boolean(message) })
  const [one, other] = [make(), make()]
  for (const [from, to] of [
    [one, other],
    [other, one]
  ] as const) {
    from.send = (message) => {
      sent.push(message)
      return to.emit("message", JSON.parse(JSON.stringify(message)))
    }
  }
  const close = () => {
    for (const port of [one, other]) {
      port.connected = false
      port.emit("disconnect")
    }
  }
  return { one, other, sent, close }
}

const pair = Effect.gen(function* () {
  const { close, one, other, sent } = ports()
  const asking = yield* Channel.make<Contract, Contract>(one)
  const answering = yield* Channel.make<Contract, Contract>(other)
  return { asking, answering, close, sent }
})

describe("a channel", () => {
  it.effect("brings each question its answer, those of one turn in one message", () =>
    Effect.gen(function* () {
      const { answering, asking, sent } = yield* pair
      yield* answering.answer({ double: (number) => Effect.succeed(2 * number) })
      const numbers = [1, 2, 3, 4, 5]
      const doubled = yield* Effect.forEach(numbers, (number) => asking.ask("double", number), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(doubled, [2, 4, 6, 8, 10])
      assert.lengthOf(sent, 2)
    })
  )

  it.effect("keeps a question until there is somebody to answer it", () =>
    Effect.gen(function* () {
      const { answering, asking } = yield* pair
      const fiber = yield* Effect.forkChild(asking.ask("double", 4), { startImmediately: true })
      const other = yield* Effect.forkChild(Effect.exit(asking.ask("fail", null)), { startImmediately: true })
      yield* answering.answer({ fail: () => Effect.die(new Error("no")) })
      const failed = yield* Fiber.join(other)
      assert.isTrue(Exit.isFailure(failed))
      assert.include(String(failed), "no")
      yield* answering.answer({ double: (number) => Effect.succeed(2 * number) })
      assert.strictEqual(yield* Fiber.join(fiber), 8)
    })
  )

  it.effect("fails whoever waits, or asks, when the other process is gone", () =>
    Effect.gen(function* () {
      const { answering, asking, close } = yield* pair
      const asked = yield* Deferred.make<void>()
      yield* answering.answer({ double: () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never) })
      const fiber = yield* Effect.forkChild(Effect.flip(asking.ask("double", 1)), { startImmediately: true })
      yield* Deferred.await(asked)
      close()
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "ChannelClosed")
      assert.strictEqual((yield* Effect.flip(asking.ask("double", 1)))._tag, "ChannelClosed")
      yield* asking.closed
    })
  )
})
