// What a provider says about envelopes that its look-up by hash does not find: the contents of its ledgers decide.
import { Effect, Random } from "effect"
import { assert } from "@effect/vitest"
import * as lib from "@stellar/stellar-sdk/base"
import { RelayerId } from "../../../../src/domain/relayer/Relayer.ts"
import { SignerId } from "../../../../src/domain/signer/Signer.ts"
import * as StellarLooks from "../../../../src/networks/stellar/chain/StellarLooks.ts"
import * as StellarNodes from "../../../../src/networks/stellar/chain/StellarNodes.ts"
import { makeStellarMemory, prove } from "../../../../src/networks/stellar/lane/StellarContext.ts"
import type { StellarContext } from "../../../../src/networks/stellar/lane/StellarContext.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { envelope, keyNamed, payment } from "../../../../testkit/stellar/Building.ts"
import { accountIn } from "../../../../testkit/stellar/Entries.ts"
import { node as nodeOf } from "../../../../testkit/stellar/Node.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import { attempt, submitted } from "../rules/Situations.ts"
import * as World from "./World.ts"

const url = "http://one.example"

const [user, other] = [keyNamed("user"), keyNamed("other")]

type Attempts = ReadonlyArray<{ readonly hash: string; readonly maxTime: number }>

const make = Effect.gen(function* () {
  const world = yield* World.make()
  const { network } = world
  for (const key of [user, other]) network.grant(key.publicKey(), 1000n * World.xlm)
  network.close()
  const [provider] = world.nodes
  if (provider === undefined) return assert.fail("no node")
  const rpc = nodeOf(provider, url)
  const from = network.latest.number

  /** The next envelope of an account. */
  const next = (key: typeof user) => {
    const sequence = (accountIn(network.reads, key.publicKey())?.sequence ?? 0n) + 1n
    const text = envelope(key, [payment(World.receiver, 1n)], { sequence, maxTime: network.latest.closeTime + 60 })
    return { sequence, text }
  }
  const apply = (text: string) => {
    network.submit(0, text)
    network.close()
  }

  /** The proof of envelopes at a place, after the provider was polled. From now on it finds no hash. */
  const proofOf = Effect.fnUntraced(function* (place: { account: string; sequence: bigint }, attempts: Attempts) {
    const newest = yield* StellarLooks.newest(rpc)
    const accounts = yield* StellarLooks.accounts(lib, rpc, [place.account], newest)
    const memory = makeStellarMemory()
    memory.sightings.set(url, { newest, movedAt: 0, accounts, asked: new Set([place.account]) })
    provider.faults.replaced = { getTransaction: { status: "NOT_FOUND" } }
    const made = yield* StellarNodes.make(() => rpc)
    const context: StellarContext = {
      address: world.address,
      nodes: {
        providers: (given, passphrase) =>
          Effect.provideService(made.providers(given, passphrase), Random.Random, {
            nextDoubleUnsafe: () => 0.5,
            nextIntUnsafe: () => 0
          })
      },
      prices: { rate: () => Effect.die("there is no price") },
      ownAccounts: () => Effect.succeed(new Set([world.address])),
      memory
    }
    const relayer = {
      target: world.target,
      signerId: SignerId.make("s1"),
      urls: [{ url, weight: 100 }],
      urlsKey: "",
      id: RelayerId.make("r1"),
      hasOwnUrls: false,
      blockTime: 5000,
      isPaused: false,
      disabled: undefined
    }
    const transaction = {
      ...submitted,
      place,
      attempts: attempts.map(({ hash, maxTime }, index) => ({
        ...attempt,
        ordinal: index + 1,
        place,
        hash,
        offer: { ...attempt.offer, maxTime, seenLedger: from }
      }))
    }
    const proofs = yield* prove(context, { transaction, relayer }, () => Effect.succeed(new Set()))
    return proofs.get(url)
  })
  return { world, network, next, apply, proofOf }
})

layerEach(memory)("the proof of a provider", (it) => {
  it.effect("has the later one of two envelopes, which was applied after the maxTime of the first one [43]", () =>
    Effect.gen(function* () {
      const { apply, network, next, proofOf, world } = yield* make
      const first = network.latest.closeTime + 2
      const { sequence, text } = next(user)
      // More than one page of transactions is between them.
      for (let count = 0; count < 220; count++) apply(next(other).text)
      apply(envelope(user, [payment(World.receiver, 1n)], { sequence, maxTime: network.latest.closeTime + 60 }))
      const { hash = "" } = network.latest.transactions[0] ?? {}
      const place = { account: user.publicKey(), sequence }
      const found = yield* proofOf(place, [
        { hash: world.hashOf(text), maxTime: first },
        { hash, maxTime: network.latest.closeTime + 60 }
      ])
      assert.strictEqual(found?.scan?.use?.hashes[0], hash)
    })
  )

  it.effect(
    "has read the ledgers if the account does not exist any more, and nothing follows if they do not show why [41]",
    () =>
      Effect.gen(function* () {
        const { apply, network, next, proofOf } = yield* make
        apply(next(other).text)
        const place = { account: keyNamed("gone").publicKey(), sequence: 5n }
        const found = yield* proofOf(place, [{ hash: "ab".repeat(32), maxTime: network.latest.closeTime + 60 }])
        assert.deepStrictEqual(found?.scan, {})
      })
  )
})
