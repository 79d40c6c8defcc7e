// The guard of envelopes that make and end channels, on real bytes: it allows the work on the given channels, and nothing else.
import { assert, describe, it } from "@effect/vitest"
import * as lib from "@stellar/stellar-sdk/base"
import { Operation, xdr } from "@stellar/stellar-sdk/base"
import { channelWorkOf, onChannel } from "../../../../src/networks/stellar/chain/StellarEncoding.ts"
import { networkIdOf } from "../../../../src/networks/stellar/chain/StellarLibrary.ts"
import type { ChannelWork } from "../../../../src/networks/stellar/rules/Stellar.ts"
import { workRefusal } from "../../../../src/networks/stellar/rules/StellarTerms.ts"
import { call, invocation, keyNamed, passphrase, payment, sourceEntry } from "../../../../testkit/stellar/Building.ts"
import { counterContract } from "../../../../testkit/stellar/Contracts.ts"
import { attacker, built, channel, envelopeOf, now, relayer, sequence, verdict } from "./GuardFixtures.ts"

const networkId = networkIdOf(passphrase)
const other = keyNamed("other channel").publicKey()
const addresses = [channel.publicKey(), other]
const work = (kind: ChannelWork["kind"]): ChannelWork => ({ kind, addresses })

const textOf = (kind: ChannelWork["kind"]) =>
  channelWorkOf(lib, relayer.publicKey(), work(kind), { sequence, fee: 800n, maxTime: BigInt(now + 60) }, networkId)
    .envelope

/** The operations of an envelope. */
const operationsOf = (text: string): ReadonlyArray<xdr.Operation> => {
  const envelope = xdr.TransactionEnvelope.fromXdr(text, "base64")
  return envelope.type === "envelopeTypeTx" ? envelope.v1.tx.operations : assert.fail("is no transaction")
}

const codeOf = (text: string, kind: ChannelWork["kind"]) =>
  workRefusal(envelopeOf(text), work(kind), relayer.publicKey())?.code ?? "accepted"

const changed = (kind: ChannelWork["kind"], change: (operations: Array<xdr.Operation>) => Array<xdr.Operation>) =>
  codeOf(built(relayer, change([...operationsOf(textOf(kind))])), kind)

const replaced = (kind: ChannelWork["kind"], index: number, operation: xdr.Operation) =>
  changed(kind, (operations) => operations.with(index, operation))

describe("the work on channels", () => {
  it.each(["create", "merge"] as const)("is allowed as the service builds it: %s", (kind) => {
    assert.strictEqual(codeOf(textOf(kind), kind), "accepted")
    assert.lengthOf(operationsOf(textOf(kind)), kind === "create" ? 8 : 2)
  })

  it("gives a channel no XLM, and the relayer no other signer or settings", () => {
    const destination = channel.publicKey()
    const funded = Operation.createAccount({ destination, startingBalance: "1" })
    assert.strictEqual(replaced("create", 1, funded), "operation_not_allowed")
    const ofRelayer = Operation.setOptions({ signer: { ed25519PublicKey: attacker.publicKey(), weight: 1 } })
    assert.strictEqual(replaced("create", 2, ofRelayer), "operation_not_allowed")
    assert.strictEqual(replaced("create", 1, payment(attacker, 1n)), "operation_not_allowed")
  })

  it("ends only the given channels, and into the relayer", () => {
    const source = channel.publicKey()
    const toAttacker = Operation.accountMerge({ destination: attacker.publicKey(), source })
    assert.strictEqual(replaced("merge", 0, toAttacker), "operation_not_allowed")
    const ofRelayer = Operation.accountMerge({ destination: relayer.publicKey() })
    assert.strictEqual(replaced("merge", 0, ofRelayer), "operation_not_allowed")
    assert.strictEqual(codeOf(textOf("merge"), "create"), "operation_not_allowed")
  })

  it("has exactly the expected operations, and the relayer as its source", () => {
    assert.strictEqual(
      changed("create", (all) => [...all, payment(attacker, 1n)]),
      "operation_not_allowed"
    )
    assert.strictEqual(
      changed("create", (all) => all.slice(0, 4)),
      "operation_count"
    )
    assert.strictEqual(codeOf(built(channel, operationsOf(textOf("merge"))), "merge"), "source_account_mismatch")
    assert.strictEqual(workRefusal({ kind: "feeBump" }, work("merge"), relayer.publicKey())?.code, "xdr_kind")
  })
})

const moved = (operations: ReadonlyArray<xdr.Operation>) =>
  onChannel(
    lib,
    built(relayer, operations),
    { relayer: relayer.publicKey(), channel: channel.publicKey(), fee: (count) => 100n * BigInt(count) },
    networkId
  )

describe("a transaction of the relayer at the sequence of a channel", () => {
  it("has the channel as its source, and passes the guard only for this channel", () => {
    const { envelope, needsRelayer } = moved([payment(attacker, 1n), payment(attacker, 2n)])
    assert.isTrue(needsRelayer)
    const { fee, operations, source } = envelopeOf(envelope)
    assert.deepStrictEqual([source.address, fee], [channel.publicKey(), 200n])
    for (const operation of operations) assert.strictEqual(operation.source?.address, relayer.publicKey())
    assert.strictEqual(verdict("operations", envelope, { channel: channel.publicKey() }), "accepted")
    assert.strictEqual(verdict("operations", envelope, { channel: other }), "source_account_mismatch")
    assert.strictEqual(verdict("operations", envelope), "source_account_mismatch")
  })

  it("needs the relayer's signature for its credentials, and not for a call without them", () => {
    const auth = [sourceEntry(invocation(counterContract, "increment"))]
    assert.isTrue(moved([call("increment", [], { auth })]).needsRelayer)
    const without = moved([call("increment")])
    assert.isFalse(without.needsRelayer)
    assert.isUndefined(envelopeOf(without.envelope).operations[0]?.source)
  })
})
