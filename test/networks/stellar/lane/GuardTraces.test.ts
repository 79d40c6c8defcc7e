// The guard before signatures. It has the verdict of the admission for each attack, also if no admission has read the envelope.
import { Cause, Effect, Exit, Result } from "effect"
import { TestClock } from "effect/testing"
import { assert } from "@effect/vitest"
import * as lib from "@stellar/stellar-sdk/base"
import { RelayerId } from "../../../../src/domain/relayer/Relayer.ts"
import { SignerId } from "../../../../src/domain/signer/Signer.ts"
import { decodeWith, termsOf } from "../../../../src/networks/stellar/chain/StellarDecoding.ts"
import { networkIdOf } from "../../../../src/networks/stellar/chain/StellarLibrary.ts"
import { makeSigner } from "../../../../src/networks/stellar/lane/StellarLane.ts"
import type { Refusal } from "../../../../src/networks/stellar/rules/Envelope.ts"
import { guard } from "../../../../src/networks/stellar/rules/Guard.ts"
import type { Stellar, StellarFacts, StellarRequest } from "../../../../src/networks/stellar/rules/Stellar.ts"
import { stellarRules } from "../../../../src/networks/stellar/rules/StellarRules.ts"
import { isLaneOf } from "../../../../src/server/ledger/LedgerEntries.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { attacks } from "../../../../testkit/stellar/Attacks.ts"
import type { Attack } from "../../../../testkit/stellar/Attacks.ts"
import { envelope, keyNamed, passphrase, payment } from "../../../../testkit/stellar/Building.ts"
import { accountIn } from "../../../../testkit/stellar/Entries.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import * as World from "./World.ts"

const [user, sibling] = [keyNamed("user"), keyNamed("sibling")]

type Made = Effect.Success<ReturnType<typeof World.make>>

/** Milliseconds. */
const hour = 3_600_000

/** Rows about signatures, time bounds and preconditions of unsigned envelopes, which the service replaces. */
const replaced: ReadonlySet<number> = new Set([19, 34, 38])

/** Rows about texts and kinds of envelopes that the service cannot put into an envelope of its own. */
const unreadable: ReadonlySet<number> = new Set([35, 36])

const networkId = networkIdOf(passphrase)

/** Accounts of the service: the relayer, and another one, which has signed an envelope of the user. */
const ownOf = ({ address, siblings }: Made) => new Set([address, ...siblings])

const makeWorld = Effect.gen(function* () {
  // The library builds no envelope with a time before 1970.
  yield* TestClock.adjust("1 hour")
  const world = yield* World.make()
  world.siblings.add(sibling.publicKey())
  world.network.grant(user.publicKey(), 10n * World.xlm)
  return world
})

/** The next sequence of the user. */
const nextOf = ({ network }: Made): bigint => (accountIn(network.reads, user.publicKey())?.sequence ?? 0n) + 1n

const attacksOn = (world: Made): ReadonlyArray<Attack> => {
  const now = world.network.latest.closeTime
  const sequence = nextOf(world)
  const given = { sequence, maxTime: now + 100, signers: [user, sibling] }
  return attacks({
    address: world.address,
    other: sibling.publicKey(),
    passphrase,
    now,
    sequence: world.sequence() + 500n,
    user: { key: user, sequence },
    signed: [envelope(user, [payment(user, 1n)], given)]
  })
}

/** Why the admission refuses it. Undefined: it does not. */
const refusalOf = (world: Made, { form, xdr }: Attack): Refusal | undefined => {
  const own = ownOf(world)
  const now = world.network.latest.closeTime * 1000
  const terms = termsOf(lib, { target: world.target, own, maxFee: undefined, now })
  const decoded = decodeWith(lib, xdr, { networkId, known: own })
  const guarded = Result.flatMap(decoded, (read) => guard(form, read, terms))
  return Result.isSuccess(guarded) ? undefined : guarded.failure
}

/** The guard reads the bytes, and not what the admission stored of them. */
const factsOf = (world: Made, { form }: Attack): StellarFacts => {
  if (form === "unsigned") return {}
  const maxTime = world.network.latest.closeTime + 100
  return { guest: { account: user.publicKey(), sequence: nextOf(world), innerHash: "ab".repeat(32), maxTime } }
}

/** Refused for good, and not only since its time has come. */
const refusedOn = (world: Made): ReadonlyArray<readonly [attack: Attack, refusal: Refusal]> =>
  attacksOn(world).flatMap((attack) => {
    const refusal = refusalOf(world, attack)
    return refusal === undefined || refusal.code === "time_bounds_past" ? [] : [[attack, refusal] as const]
  })

/** A signer of the lane that counts its signatures, and how the lane asks it for one at the next sequence of the relayer. */
const countingSigner = Effect.fnUntraced(function* (world: Made) {
  let signatures = 0
  const sign = () =>
    Effect.sync(() => {
      signatures++
      return { signature: new Uint8Array(64), isChecked: true }
    })
  const signer = makeSigner({
    address: world.address,
    ownAccounts: () => Effect.succeed(ownOf(world)),
    own: { sign },
    channelKeys: { sign: (address) => Effect.map(sign(), ({ signature }) => ({ address, signature })) }
  })
  yield* world.accept()
  yield* world.finish
  const { stored } = yield* world.contents
  if (!isLaneOf<Stellar>(stellarRules, stored)) return assert.fail("is no lane of stellar")
  const channel = { address: sibling.publicKey(), nextSequence: 1n, chainSequence: 1n, settledSequence: 1n }
  const lane = {
    ...stored.lane,
    accounts: [stored.lane.accounts[0], { ...channel, counters: { stage: "draining" } }] as const
  }
  const relayer = {
    target: world.target,
    signerId: SignerId.make("s1"),
    urls: [],
    urlsKey: "",
    id: RelayerId.make("r1"),
    hasOwnUrls: false,
    blockTime: 5000,
    isPaused: false,
    disabled: undefined
  }
  const offer = { fee: 100_000n, rate: 100n, out: 0n, maxTime: world.network.latest.closeTime + 60, seenLedger: 1 }
  const exitOf = (request: StellarRequest, account = world.address, fee = offer.fee) =>
    Effect.exit(
      signer({
        lane,
        relayer,
        request,
        place: account === world.address ? { account, sequence: 5n } : { account },
        sign: { kind: "original", offer: { ...offer, fee } }
      })
    )
  return { exitOf, signatures: () => signatures }
})

const errorOf = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "signed"

/** The library builds merges of accounts into the account of the user, whatever it is asked for. */
const mergesIntoUser = Effect.acquireRelease(
  Effect.sync(() => {
    const { accountMerge } = lib.xdr.OperationBody
    const destination = lib.decodeAddressToMuxedAccount(user.publicKey())
    lib.xdr.OperationBody.accountMerge = () => accountMerge(destination)
    return accountMerge
  }),
  (accountMerge) => Effect.sync(() => (lib.xdr.OperationBody.accountMerge = accountMerge))
)

layerEach(memory)("what the admission refuses", (it) => {
  it.effect("ends before its first signature for the same reason, if it was stored all the same", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld
      const refused = refusedOn(world).filter(([, { code }]) => code !== "fee_above_cap")
      const stored = yield* Effect.forEach(refused, ([attack, { detail }]) =>
        Effect.map(
          world.accept({ transaction_xdr: attack.xdr }, 1, { facts: factsOf(world, attack), validUntil: 3 * hour }),
          ([id]) => ({ id, row: attack.row, detail })
        )
      )
      const before = world.sequence()
      yield* world.finish
      const found = yield* Effect.forEach(stored, ({ id, row }) =>
        Effect.map(world.transaction(id), ({ attempts, cause, state }) => [
          row,
          state,
          cause?.figures.error,
          attempts.length
        ])
      )
      assert.deepStrictEqual(
        found,
        stored.map(({ detail, row }) => [row, "failed", detail, 0])
      )
      assert.strictEqual(world.sequence(), before)
      assert.includeMembers(
        refused.map(([{ row }]) => row),
        [3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 16, 18, 19, 20, 21, 22, 23, 27, 28, 34, 35, 36]
      )
    })
  )

  it.effect("waits for a higher cap, if its fee is above the cap and it was stored all the same", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld
      const refused = refusedOn(world).filter(([, { code }]) => code === "fee_above_cap")
      const rows = yield* Effect.forEach(refused, ([attack]) =>
        Effect.map(
          world.accept({ transaction_xdr: attack.xdr }, 1, { facts: factsOf(world, attack), validUntil: 3 * hour }),
          ([id]) => ({ id, row: attack.row })
        )
      )
      assert.includeMembers(
        rows.map(({ row }) => row),
        [24, 26]
      )
      yield* world.poll(2)
      for (const { id, row } of rows) {
        const { attempts, cause, state } = yield* world.transaction(id)
        // What row 25 declares is refused whatever the cap is.
        const expected = row === 25 ? ["failed", "resource_fee_too_high", 0] : ["pending", "fee_above_cap", 0]
        assert.deepStrictEqual([state, cause?.code, attempts.length], expected)
      }
    })
  )

  it.effect("is not signed if only the final bytes are read", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld
      const { exitOf, signatures } = yield* countingSigner(world)
      const signed = ({ form, xdr }: Attack, fee?: bigint) =>
        exitOf({ transaction_xdr: xdr }, form === "bump" ? user.publicKey() : world.address, fee)
      const refused = refusedOn(world).filter(([{ row }]) => !replaced.has(row))
      for (const [attack, { code }] of refused) {
        const error = errorOf(yield* signed(attack))
        assert.include(error, unreadable.has(attack.row) ? "Error" : code, `row ${attack.row}`)
      }
      const allowed = attacksOn(world).find(({ row }) => row === 1) ?? assert.fail()
      assert.include(errorOf(yield* signed(allowed, 1_000_001n)), "its fee is above the cap")
      assert.strictEqual(signatures(), 0)
      assert.strictEqual(errorOf(yield* signed(allowed)), "signed")
      assert.strictEqual(signatures(), 1)
    })
  )

  it.effect("includes an end of channels that gives their account to somebody else than the relayer", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld
      const { exitOf, signatures } = yield* countingSigner(world)
      const work = { channels: { kind: "merge", addresses: [sibling.publicKey()] } } as const
      const changed = yield* Effect.scoped(Effect.andThen(mergesIntoUser, exitOf(work)))
      assert.include(errorOf(changed), "is not signed: operation_not_allowed")
      assert.strictEqual(signatures(), 0)
      assert.strictEqual(errorOf(yield* exitOf(work)), "signed")
      assert.strictEqual(signatures(), 2)
    })
  )
})
