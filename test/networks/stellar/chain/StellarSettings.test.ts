// What counts as the votes of a network: what providers agree on, within bounds.
import { Effect, Random } from "effect"
import { TestClock } from "effect/testing"
import { assert, describe, it } from "@effect/vitest"
import * as StellarNodes from "../../../../src/networks/stellar/chain/StellarNodes.ts"
import { believedReserve, publicSettings } from "../../../../src/networks/stellar/rules/StellarNumbers.ts"
import { passphrase } from "../../../../testkit/stellar/Building.ts"
import { node as nodeOf } from "../../../../testkit/stellar/Node.ts"
import { genesisVote, publicVote } from "../../../../testkit/stellar/Voted.ts"
import { World, xlm } from "../../../testkit/stellar/World.ts"

/** The first that is given is asked first. */
const inOrder = { nextDoubleUnsafe: () => 0.5, nextIntUnsafe: () => 0 }

/** Providers that name these reserves in stroops. Undefined: the provider does not answer. */
const naming = Effect.fnUntraced(function* (...reserves: ReadonlyArray<bigint | undefined>) {
  const named = [...reserves]
  const worlds = reserves.map(() => new World())
  const urls = reserves.map((_, index) => ({ url: `http://node-${index}.example`, weight: 100 }))
  const nodes = new Map(
    worlds.map(({ provider }, index) => {
      const { url = "" } = urls[index] ?? {}
      return [url, nodeOf(provider, url, () => named[index] === undefined)]
    })
  )
  const say = (...wanted: ReadonlyArray<bigint | undefined>) => {
    for (const [index, { network }] of worlds.entries()) {
      named[index] = wanted[index]
      network.store.voted = { ...publicVote, baseReserve: wanted[index] ?? publicVote.baseReserve }
    }
  }
  say(...reserves)
  const made = yield* StellarNodes.make((url) => nodes.get(url) ?? assert.fail(`no node has ${url}`))
  const providers = yield* Effect.provideService(made.providers(urls, passphrase), Random.Random, inOrder)
  const reserve = Effect.map(providers.settings, ({ baseReserve }) => baseReserve)
  return { known: providers.known, reserve, say, worlds }
})

const half = publicSettings.baseReserve
const ten = genesisVote.baseReserve

describe("the base reserve of a network", () => {
  for (const [what, named, expected] of [
    ["the only provider names it", [ten], ten],
    ["two providers name it", [ten, ten], ten],
    ["two of three name it, and not the first one", [half, ten, ten], ten],
    ["one of two names it, and the other one that of the public network", [ten, half], half],
    ["one of two names it, and the other one does not answer", [ten, undefined], ten],
    ["the only provider names more than any network begins with", [believedReserve.most + 1n], half],
    ["the only provider names none", [0n], half],
    ["one of two names more than any network begins with", [400n * xlm, ten], ten]
  ] as const) {
    it.effect(`is ${expected} stroops if ${what}`, () =>
      Effect.gen(function* () {
        const { reserve } = yield* naming(...named)
        assert.strictEqual(yield* reserve, expected)
      })
    )
  }

  it.effect("stays what it was while providers contradict each other, and follows them when they agree again", () =>
    Effect.gen(function* () {
      const { reserve, say } = yield* naming(ten, ten)
      assert.strictEqual(yield* reserve, ten)
      for (const named of [
        [half, ten],
        [undefined, 1n],
        [half, 1n]
      ]) {
        say(...named)
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* reserve, ten)
      }
      say(half, half)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* reserve, half)
    })
  )

  it.effect("is that of the public network as soon as another provider contradicts one that was alone", () =>
    Effect.gen(function* () {
      const { reserve, say } = yield* naming(ten, undefined)
      assert.strictEqual(yield* reserve, ten)
      for (const named of [
        [ten, half],
        [half, ten]
      ]) {
        say(...named)
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* reserve, half)
      }
    })
  )

  it.effect("is what one provider names, although nobody named any before", () =>
    Effect.gen(function* () {
      const { reserve, say } = yield* naming(0n, undefined)
      assert.strictEqual(yield* reserve, half)
      say(0n, ten)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* reserve, ten)
    })
  )

  it.effect("is known without a question after it was read", () =>
    Effect.gen(function* () {
      const { known, reserve, worlds } = yield* naming(ten)
      assert.isUndefined(yield* known)
      yield* reserve
      const counts = new Map(worlds[0]?.provider.counts)
      assert.strictEqual((yield* known)?.baseReserve, ten)
      assert.deepStrictEqual(worlds[0]?.provider.counts, counts)
    })
  )
})
