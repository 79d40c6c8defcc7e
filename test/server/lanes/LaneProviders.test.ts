// Which providers a lane keeps when it learns the first block of its chain, and what a poll makes of their answers.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import { SignerId } from "../../../src/domain/signer/Signer.ts"
import type { Family } from "../../../src/networks/core/Family.ts"
import { rpcFailure } from "../../../src/server/chains/RpcFailure.ts"
import type { RpcFailure } from "../../../src/server/chains/RpcFailure.ts"
import { failureOf, noteAlone, pollSets, rememberedProviders } from "../../../src/server/lanes/LaneNetwork.ts"
import type { LaneRow, ProviderMemory } from "../../../src/server/lanes/LaneNetwork.ts"
import { submitted } from "../../networks/stellar/rules/Situations.ts"

/** Providers that find the first block themselves. */
const finding = (genesis: string | undefined) => ({ genesis: Effect.succeed(genesis) })

const newMemory = (): ProviderMemory<ReturnType<typeof finding>> => ({
  genesis: undefined,
  providers: new Map()
})

it.effect("the providers that have found the first block stay when the lane has stored it", () =>
  Effect.gen(function* () {
    const memory = newMemory()
    const first = yield* rememberedProviders(memory, "urls", Effect.succeed(finding("one")))
    memory.genesis = "one"
    for (let poll = 0; poll < 2; poll++) {
      assert.strictEqual(yield* rememberedProviders(memory, "urls", Effect.die("made again")), first)
    }
  })
)

it.effect("providers that have found another first block, or none, are made anew", () =>
  Effect.gen(function* () {
    for (const found of ["other", undefined]) {
      const memory = newMemory()
      yield* rememberedProviders(memory, "urls", Effect.succeed(finding(found)))
      memory.genesis = "one"
      const next = finding("one")
      assert.strictEqual(yield* rememberedProviders(memory, "urls", Effect.succeed(next)), next)
    }
  })
)

const row = (urlsKey: string): LaneRow => ({
  transaction: submitted,
  relayer: {
    id: RelayerId.make("r1"),
    signerId: SignerId.make("s1"),
    target: undefined,
    urls: [],
    urlsKey,
    hasOwnUrls: false,
    blockTime: 1000,
    isPaused: false,
    disabled: undefined
  }
})

const now = 1_000_000
const interval = 2000

/** Polls with an answer, or a failure, of each set of providers. */
const polling = Effect.fnUntraced(function* (said: Readonly<Record<string, number | RpcFailure>>) {
  const [first = "", ...others] = Object.keys(said)
  const asked: Array<string> = []
  const { poll, polls } = yield* pollSets<Family, number>(
    { rows: [row(first), ...[...others, first].map(row)], now },
    {
      rules: { pollInterval: () => interval },
      ask: ({ urlsKey }, rows) => {
        asked.push(`${urlsKey} ${rows.length}`)
        const answer = said[urlsKey]
        return typeof answer === "number" ? Effect.succeed(answer) : Effect.fail(answer ?? rpcFailure("unreachable"))
      },
      seenIn: (found) => found,
      heightIn: (found) => found
    }
  )
  return { asked, poll, polls }
})

const url = (name: string) => `https://${name}.example/key`

/** What the poll fails with if its providers fail with these codes. */
const failing = (...codes: ReadonlyArray<Parameters<typeof rpcFailure>[0]>) =>
  failureOf(codes.map((code, index) => ({ url: url(`node${index}`), result: Result.fail(rpcFailure(code)) })))

describe("a poll", () => {
  it.effect("asks each set of providers once, for all transactions that share it", () =>
    Effect.gen(function* () {
      const { asked, poll, polls } = yield* polling({ one: 7, other: failing("unreachable") })
      assert.deepStrictEqual(asked, ["one 2", "other 1"])
      assert.deepStrictEqual([...polls], [["one", 7]])
      assert.deepStrictEqual([poll.isAnswered, poll.isOtherChain], [true, false])
      assert.deepStrictEqual([poll.heightOf(row("one").relayer), poll.heightOf(row("other").relayer)], [7, 0])
      assert.strictEqual(poll.seenOf(row("one"), now), 7)
    })
  )

  it.effect("finds another chain if all providers of a set are there, and not if one of them only fails", () =>
    Effect.gen(function* () {
      const wrong = yield* polling({ one: failing("mismatch", "mismatch") })
      assert.isTrue(wrong.poll.isOtherChain)
      const partly = yield* polling({ one: failing("mismatch", "unreachable") })
      assert.isFalse(partly.poll.isOtherChain)
    })
  )

  it.effect("names a provider that limits requests if that is why nobody answers", () =>
    Effect.gen(function* () {
      const { poll } = yield* polling({ one: failing("unreachable", "rate_limited") })
      assert.deepStrictEqual(poll.seenOf(row("one"), now), {
        _tag: "Unreachable",
        code: "rate_limited",
        retryAt: now + interval,
        figures: { host: "https://node1.example/***", error: "left alone after a rate limit" }
      })
    })
  )

  it.effect("says the same of a failure until it is time to ask again", () =>
    Effect.gen(function* () {
      const { poll } = yield* polling({ one: failing("unreachable") })
      const retryAt = (urlsKey: string, at: number) => {
        const seen = poll.seenOf(row(urlsKey), at)
        return typeof seen === "object" && seen !== null && "retryAt" in seen ? seen.retryAt : undefined
      }
      assert.strictEqual(retryAt("one", now + interval - 1), now + interval)
      assert.strictEqual(retryAt("one", now + interval), now + 2 * interval)
      assert.strictEqual(retryAt("of a row that came later", now), now + interval)
    })
  )
})

describe("a provider that alone has an opinion", () => {
  const since = (...polls: ReadonlyArray<readonly [configured: number, speaking: number]>) => {
    const found = new Map<string, number>()
    for (const [at, [configured, speaking]] of polls.entries()) {
      noteAlone(found, { urlsKey: "one" }, { configured, speaking }, at)
    }
    return found.get("one")
  }

  it("is alone from the first poll on in which no other one has an opinion", () => {
    assert.strictEqual(since([2, 2], [2, 1], [2, 1]), 1)
    assert.strictEqual(since([2, 1], [2, 2], [2, 1]), 2)
    assert.strictEqual(since([2, 1], [2, 0], [2, 1]), 2)
  })

  it("is not alone if others have an opinion, if none has one, and if no other one is configured", () => {
    assert.isUndefined(since([2, 1], [2, 2]))
    assert.isUndefined(since([2, 1], [2, 0]))
    assert.isUndefined(since([1, 1]))
  })
})
