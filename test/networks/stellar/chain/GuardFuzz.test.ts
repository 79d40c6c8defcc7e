// Mutated envelopes through the guard: 3,000, and in the long form 100,000, which take five seconds.
import { Result } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { Asset, Operation, StrKey, xdr } from "@stellar/stellar-sdk/base"
import { exceededLimit } from "../../../../src/networks/stellar/rules/Envelope.ts"
import { guard } from "../../../../src/networks/stellar/rules/Guard.ts"
import type { GuardMode } from "../../../../src/networks/stellar/rules/Guard.ts"
import { isLong } from "../../../../testkit/Depth.ts"
import { addressEntry, call, feeBump, invocation, payment, sourceEntry } from "../../../../testkit/stellar/Building.ts"
import { counterContract } from "../../../../testkit/stellar/Contracts.ts"
import { attacker, built, channel, decoded, native, relayer, terms, user } from "./GuardFixtures.ts"

const runs = isLong ? 100_000 : 3000

/** Bytes by which the heap may grow over all runs. */
const allowedGrowth = 200 * 2 ** 20

/** A small generator of numbers (mulberry32). */
const randomOf = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const usd = new Asset("USD", attacker.publicKey())
const resources = { resourceFee: 1000n }
const tree = invocation(counterContract, "go", [], [invocation(native, "transfer", [])])
const inner = built(user, [payment(attacker, 5n)], { signers: [user] })

/** Envelopes of all kinds, each as its bytes. */
const seeds = [
  inner,
  built(user, [payment(attacker, 5n, attacker), payment(user, 6n)], { signers: [user, attacker] }),
  built(user, [Operation.changeTrust({ asset: usd }), Operation.manageData({ name: "k", value: "v" })], {
    signers: [user]
  }),
  built(user, [call("go", [], { auth: [addressEntry(user, tree), sourceEntry(tree)] })], {
    signers: [user],
    ...resources
  }),
  built(user, [payment(attacker, 5n)], { signers: [user], conditions: { minAccountSequence: "1" } }),
  built(relayer, [payment(attacker, 5n)]),
  built(relayer, [call("go", [], { auth: [sourceEntry(tree)] })], resources),
  built(relayer, [Operation.accountMerge({ destination: attacker.publicKey() })]),
  built(channel, [payment(attacker, 5n, relayer)], { signers: [user] }),
  feeBump(user, inner, 1000n)
].map((text) => Buffer.from(text, "base64"))

/** Bytes that mean something: keys of own accounts, enumerations, lengths. */
const pieces = [
  relayer.rawPublicKey(),
  channel.rawPublicKey(),
  Buffer.from("00000100", "hex"),
  Buffer.from("00000000", "hex"),
  Buffer.from("00000001", "hex"),
  Buffer.from("00000002", "hex"),
  Buffer.from("00000005", "hex"),
  Buffer.from("00000008", "hex"),
  Buffer.from("00000018", "hex"),
  Buffer.from("ffffffff", "hex"),
  Buffer.from("7fffffffffffffff", "hex")
]

const mutate = (random: () => number): Buffer => {
  const below = (limit: number) => Math.floor(random() * limit)
  let bytes = Buffer.from(seeds[below(seeds.length)] ?? [])
  for (let left = 1 + below(3); left > 0; left--) {
    const word = 4 * below(Math.max(1, bytes.length / 4))
    const piece = pieces[below(pieces.length)] ?? Buffer.alloc(4)
    switch (below(5)) {
      case 0:
        bytes[below(bytes.length)] = below(256)
        break
      case 1:
        bytes = Buffer.concat([bytes.subarray(0, word), piece, bytes.subarray(word + piece.length)])
        break
      case 2:
        bytes = Buffer.concat([bytes.subarray(0, word), piece, bytes.subarray(word)])
        break
      case 3:
        bytes = bytes.subarray(0, word)
        break
      default:
        bytes = Buffer.concat([bytes.subarray(0, word), bytes.subarray(word + 4 * below(4))])
    }
  }
  return bytes
}

const modes: ReadonlyArray<GuardMode> = ["bump", "unsigned", "sign", "operations"]

const addressOf = (account: xdr.MuxedAccount): string =>
  StrKey.encodeEd25519PublicKey(
    account.type === "keyTypeEd25519" ? account.ed25519.value : account.med25519.ed25519.value
  )

/** Read by the library alone, not by the code under test. */
const sourcesOf = (text: string): ReadonlyArray<string> => {
  const envelope = xdr.TransactionEnvelope.fromXdr(text, "base64")
  if (envelope.type !== "envelopeTypeTx") return ["another kind"]
  const { operations, sourceAccount } = envelope.v1.tx
  return [sourceAccount, ...operations.flatMap((operation) => operation.sourceAccount ?? [])].map(addressOf)
}

describe("the guard of stellar", () => {
  it(`survives ${runs} mutated envelopes, and accepts no own account as the source of somebody's envelope`, () => {
    const random = randomOf(28)
    const codes = new Map<string, number>()
    const before = process.memoryUsage().heapUsed
    for (let run = 0; run < runs; run++) {
      const text = mutate(random).toString("base64")
      const mode = modes[run % 2 === 0 ? 0 : Math.floor(random() * modes.length)] ?? "bump"
      const result = Result.flatMap(decoded(text), (envelope) => guard(mode, envelope, terms))
      const code = Result.isSuccess(result) ? "accepted" : result.failure.code
      codes.set(code, (codes.get(code) ?? 0) + 1)
      if (Result.isFailure(result)) continue
      const sources = sourcesOf(text)
      if (mode === "bump")
        assert.isFalse(
          sources.some((source) => terms.own.has(source)),
          text
        )
      else
        assert.isTrue(
          sources.every((source) => source === relayer.publicKey()),
          text
        )
      exceededLimit(result.success, terms, { maxValue: 0n, receivers: [] })
    }
    assert.includeMembers(
      [...codes.keys()],
      ["accepted", "xdr_invalid", "source_is_own", "operation_source", "operation_not_allowed"]
    )
    assert.isBelow(process.memoryUsage().heapUsed - before, allowedGrowth)
  })
})
