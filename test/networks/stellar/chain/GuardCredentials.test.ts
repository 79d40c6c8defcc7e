// Authorizations of each version, made by published clients, and values that a newer protocol may add: what the guard reads and refuses.
import { Effect, Result } from "effect"
import { assert, describe, it } from "@effect/vitest"
import * as lib from "@stellar/stellar-sdk/base"
import { Operation, xdr } from "@stellar/stellar-sdk/base"
import { belowForward, entryOf as readEntry } from "../../../../src/networks/stellar/chain/StellarDrafts.ts"
import { exceededLimit, sendsOf } from "../../../../src/networks/stellar/rules/Envelope.ts"
import { namesOthers } from "../../../../src/networks/stellar/requests/StellarChecks.ts"
import { expiredAuth, notGranted } from "../../../../src/networks/stellar/rules/Guard.ts"
import {
  addressEntry,
  addressValue,
  amountValue,
  call,
  invocation,
  passphrase,
  sourceEntry
} from "../../../../testkit/stellar/Building.ts"
import { counterContract, forwarderContract, tokenContract } from "../../../../testkit/stellar/Contracts.ts"
import { operationsOf, other, World } from "../../../testkit/stellar/World.ts"
import {
  attacker,
  built,
  channel,
  decoded,
  entryOf,
  envelopeOf,
  native,
  own,
  pay,
  relayer,
  resources,
  sibling,
  terms,
  theirs,
  user,
  verdict
} from "./GuardFixtures.ts"

type Entry = xdr.SorobanAuthorizationEntry

const tree = invocation(counterContract, "go")

const authorize = (key: lib.Keypair, root = tree, until = 100) =>
  Effect.promise(() =>
    lib.authorizeInvocation({
      signer: key,
      validUntilLedgerSeq: until,
      invocation: root,
      networkPassphrase: passphrase
    })
  )

/** The entry of a user with a delegate, which another one signs for. */
const delegated = (entry: Entry, delegate: string, nested: string) =>
  lib.buildWithDelegatesEntry({
    entry,
    validUntilLedgerSeq: 100,
    delegates: [{ address: delegate, nestedDelegates: [{ address: nested }] }]
  })

const calling = (entry: Entry) => call("go", [], { auth: [entry] })

/**
 * `authorize_invocation` of PyPI stellar-sdk 16.1.1, with its default arguments, for `transfer` of 5 stroops from `user` to `other`, until
 * ledger 60,001,000 of the stand-in. The second one is `build_with_delegates_entry` of it: `attacker` signs for `user`, and `relayer` for
 * `attacker`.
 */
const python = {
  v2: "AAAAAgAAAAAAAAAAJe1HHhAb5/1seNwGlTI6Rw9k4JvF9OA9pIM4TY6LZffmPiAf659x+gOTiugAAAAQAAAAAQAAAAEAAAARAAAAAQAAAAIAAAAPAAAACnB1YmxpY19rZXkAAAAAAA0AAAAgJe1HHhAb5/1seNwGlTI6Rw9k4JvF9OA9pIM4TY6LZfcAAAAPAAAACXNpZ25hdHVyZQAAAAAAAA0AAABA6mLN+i0qt0rqKifEwbKnZN0qSYPZAQdCVZo91iZGz7fsdQfHWxyoI2ehp+MVB8IfOyfGuWdakAYlKmIemAIIAgAAAAAAAAAB2LKxTGD+y2X7KqgcvqedCDXK/A4NhR+GESV8HltB4cIAAAAIdHJhbnNmZXIAAAADAAAAEgAAAAAAAAAAJe1HHhAb5/1seNwGlTI6Rw9k4JvF9OA9pIM4TY6LZfcAAAASAAAAAAAAAADiCWh1wmigmT8g+ktm4V/2UenlXNLAjfuyTh9AecFFugAAAAoAAAAAAAAAAAAAAAAAAAAFAAAAAA==",
  delegated:
    "AAAAAwAAAAAAAAAAJe1HHhAb5/1seNwGlTI6Rw9k4JvF9OA9pIM4TY6LZffmPiAf659x+gOTiugAAAABAAAAAQAAAAAAAAAABdaCvuwDvrcsrjNzgRRxx2tqKmSOskylBMp+mCshKXIAAAABAAAAAQAAAAAAAAAAUrr0lBrD1WMJt5UFiCO+GCpJj73zw7748vuxqEhysPAAAAABAAAAAAAAAAAAAAAB2LKxTGD+y2X7KqgcvqedCDXK/A4NhR+GESV8HltB4cIAAAAIdHJhbnNmZXIAAAADAAAAEgAAAAAAAAAAJe1HHhAb5/1seNwGlTI6Rw9k4JvF9OA9pIM4TY6LZfcAAAASAAAAAAAAAADiCWh1wmigmT8g+ktm4V/2UenlXNLAjfuyTh9AecFFugAAAAoAAAAAAAAAAAAAAAAAAAAFAAAAAA=="
} as const

const parsed = (text: string) => xdr.SorobanAuthorizationEntry.fromXdr(text, "base64")

describe("authorizations of protocol 27", () => {
  it.effect("row 43: of a user are accepted, in envelopes of the relayer and of users", () =>
    Effect.gen(function* () {
      const v2 = yield* authorize(user)
      assert.strictEqual(v2.credentials.type, "sorobanCredentialsAddressV2")
      for (const entry of [v2, delegated(v2, attacker.publicKey(), counterContract), parsed(python.v2)]) {
        assert.strictEqual(verdict("unsigned", own([calling(entry)], resources)), "accepted")
        assert.strictEqual(verdict("bump", theirs([calling(entry)], resources)), "accepted")
      }
    })
  )

  it.effect(
    "row 43: are refused if an account of the service is their address, a delegate or the delegate of one",
    () =>
      Effect.gen(function* () {
        const entries: ReadonlyArray<Entry> = [
          parsed(python.delegated),
          ...(yield* Effect.forEach([relayer, channel, sibling], (key) => authorize(key))),
          ...(yield* Effect.forEach([relayer, channel, sibling], (key) =>
            Effect.map(authorize(user), (entry) => delegated(entry, key.publicKey(), attacker.publicKey()))
          )),
          ...(yield* Effect.forEach([relayer, channel, sibling], (key) =>
            Effect.map(authorize(user), (entry) => delegated(entry, attacker.publicKey(), key.publicKey()))
          ))
        ]
        for (const entry of entries) {
          assert.strictEqual(verdict("unsigned", own([calling(entry)], resources)), "auth_of_own_account")
          assert.strictEqual(verdict("sign", own([calling(entry)], resources)), "auth_of_own_account")
          assert.strictEqual(verdict("bump", theirs([calling(entry)], resources)), "auth_of_own_account")
          assert.strictEqual(verdict("built", theirs([calling(entry)], resources)), "auth_of_own_account")
        }
      })
  )

  it.effect("row 43: are not granted if only the simulation asks for them, and count for the limits of a key", () =>
    Effect.gen(function* () {
      const args = [addressValue(relayer), addressValue(attacker), amountValue(9n)]
      const transfer = invocation(native, "transfer", args)
      const entry = delegated(yield* authorize(user, transfer), attacker.publicKey(), relayer.publicKey())
      const found = { resourceFee: 1n, administered: [], auth: [entryOf(entry)], changes: [], unshown: [] }
      assert.strictEqual(notGranted(envelopeOf(own([call("go")], resources)), found, terms)?.code, "auth_not_granted")
      const given = envelopeOf(own([calling(entry)], resources))
      assert.strictEqual(sendsOf(given, terms).value, 9n)
      assert.strictEqual(exceededLimit(given, terms, { maxValue: 8n })?.code, "key_limits")
    })
  )

  it.effect("row 43: expire at the ledger that they name", () =>
    Effect.gen(function* () {
      const v2 = yield* authorize(user)
      for (const entry of [v2, delegated(v2, attacker.publicKey(), counterContract)]) {
        const envelope = envelopeOf(built(user, [calling(entry)], { ...resources, signers: [user] }))
        assert.strictEqual(expiredAuth(envelope, 98)?.code, "auth_expired")
        assert.isUndefined(expiredAuth(envelope, 97))
      }
    })
  )

  it("are applied once on the stand-in if the user has signed them, and not with the payload of the former version", () => {
    const args = [addressValue(user), addressValue(other), amountValue(5n)]
    const world = new World()
    const apply = (entry: Entry) =>
      operationsOf(
        world.apply(
          world.envelope(relayer, [call("transfer", args, { contract: native, auth: [entry] })], {
            resourceFee: 100_000n
          })
        )
      )
    const v2 = parsed(python.v2)
    if (v2.credentials.type !== "sorobanCredentialsAddressV2") return assert.fail(v2.credentials.type)
    const former = new xdr.SorobanAuthorizationEntry({
      credentials: xdr.SorobanCredentials.sorobanCredentialsAddress(v2.credentials.addressV2),
      rootInvocation: v2.rootInvocation
    })
    assert.deepStrictEqual(apply(former), ["invokeHostFunctionTrapped"])
    const before = world.account(other).balance
    assert.deepStrictEqual(apply(v2), ["invokeHostFunctionSuccess"])
    assert.strictEqual(world.account(other).balance - before, 5n)
    assert.deepStrictEqual(apply(v2), ["invokeHostFunctionTrapped"])
  })

  it.effect("of a user below a forward are accepted as the simulation records them, without delegates", () =>
    Effect.gen(function* () {
      const forward = {
        forwarder: forwarderContract,
        token: tokenContract,
        fee: 1n,
        maxFee: 1n,
        untilLedger: 100,
        target: new xdr.InvokeContractArgs({
          contractAddress: lib.Address.fromString(counterContract).toScAddress(),
          functionName: "go",
          args: []
        }),
        user: user.publicKey(),
        relayer: relayer.publicKey()
      }
      const root = invocation(forwarderContract, "forward")
      const ofRelayer = entryOf(sourceEntry(root))
      const versionOf = (entry: Entry) => {
        const below = belowForward(lib, forward, [entryOf(entry), ofRelayer])
        return Result.isSuccess(below) ? (below.success.isV2 ? 2 : 1) : below.failure.code
      }
      const v2 = yield* authorize(user, root)
      assert.strictEqual(versionOf(v2), 2)
      assert.strictEqual(versionOf(addressEntry(user, root)), 1)
      assert.strictEqual(versionOf(delegated(v2, attacker.publicKey(), counterContract)), "auth_not_granted")
    })
  )
})

/** The bytes of an envelope after a number in it was replaced. `before`: the bytes in front of the number. */
const renumbered = (text: string, before: string, from: number, to: number, prefix = 0): string => {
  const bytes = Buffer.from(text, "base64")
  const number = Buffer.alloc(4)
  number.writeInt32BE(from)
  const at = bytes.indexOf(Buffer.concat([Buffer.from(before, "hex"), number]), prefix)
  if (at < 0) throw new Error("the number was not found")
  bytes.writeInt32BE(to, at + before.length / 2)
  return bytes.toString("base64")
}

const refusalOf = (text: string): string => {
  const result = decoded(text)
  return Result.isFailure(result) ? `${result.failure.code}: ${result.failure.detail}` : "accepted"
}

/** A count of one, and no source of the operation. */
const firstOperation = "0000000100000000"

const withEntry = own([calling(addressEntry(user, tree))], resources)
/** A count of one: the entries of the call. */
const oneEntry = "00000001"

describe("a value that this version does not know", () => {
  it.each([
    ["a kind of envelope", renumbered(own([pay()]), "", 2, 11), "xdr_kind: envelope type 11 is not known"],
    ["a known kind that is no envelope", renumbered(own([pay()]), "", 2, 9), "xdr_kind: envelope type 9 is not known"],
    [
      "an operation",
      renumbered(own([pay()]), firstOperation, 1, 27),
      "operation_not_allowed: operation 27 is not known to this version, at TransactionEnvelope.envelopeTypeTx.v1.tx.operations[0].body"
    ],
    [
      "preconditions",
      renumbered(own([Operation.inflation({})]), sequenceBytes(), 1, 3),
      "preconditions_unsupported: precondition type 3 is not known"
    ],
    [
      "credentials",
      renumbered(withEntry, oneEntry, 1, 4, Buffer.from(withEntry, "base64").indexOf("go")),
      "auth_kind_unsupported: credentials type 4 is not known"
    ],
    [
      "the address of a contract",
      renumbered(own([call("go")], resources), "0000001800000000", 1, 5),
      "xdr_invalid: address type 5 is not known"
    ]
  ])("row 44: %s is refused by its name and number", (_, text, expected) => {
    assert.include(refusalOf(text), expected)
  })

  it("row 44: is named in an authorization that a request gives", () => {
    const text = renumbered(addressEntry(user, tree).toXdr("base64"), "", 1, 4)
    const read = readEntry(lib, text)
    assert.strictEqual(
      Result.isFailure(read) ? read.failure.detail : "accepted",
      "credentials type 4 is not known to this version, at SorobanAuthorizationEntry.credentials.type"
    )
    const none = readEntry(lib, "AAAA")
    assert.strictEqual(Result.isFailure(none) ? none.failure.detail : "", "is not the XDR of an authorization entry")
  })
})

/** The sequence of the fixtures, which is in front of the preconditions. */
function sequenceBytes(): string {
  return envelopeOf(own([pay()]))
    .sequence.toString(16)
    .padStart(16, "0")
}

describe("accounts of the service", () => {
  it("are looked for in all that others have made, and not in what the service builds of operations alone", () => {
    const go = { type: "invoke_contract" as const, contract_address: counterContract, function_name: "go", args: [] }
    const paying = {
      type: "payment" as const,
      destination: user.publicKey(),
      asset: { type: "native" as const },
      amount: 1n
    }
    const given = { ...go, auth: { type: "xdr" as const, entries: [python.v2] } }
    assert.isFalse(namesOthers("operations", { operations: [paying, paying] }))
    assert.isFalse(namesOthers("operations", { operations: [go] }))
    assert.isFalse(namesOthers("operations", { operations: [{ ...go, auth: { type: "source_account" } }] }))
    assert.isTrue(namesOthers("operations", { operations: [given] }))
    for (const mode of ["unsigned", "sign", "bump", "built", "forward"] as const) assert.isTrue(namesOthers(mode, {}))
  })
})
