// The rows of the table of attacks that need the chain, on the stand-in ledger where it matters.
import { Result } from "effect"
import { assert, describe, it } from "@effect/vitest"
import * as lib from "@stellar/stellar-sdk/base"
import { Asset, Operation, xdr } from "@stellar/stellar-sdk/base"
import { decodeWith } from "../../../../src/networks/stellar/chain/StellarDecoding.ts"
import { networkIdOf } from "../../../../src/networks/stellar/chain/StellarLibrary.ts"
import { violationOf } from "../../../../src/networks/stellar/rules/Envelope.ts"
import type { AuthEntry } from "../../../../src/networks/stellar/rules/Envelope.ts"
import {
  declaredFee,
  expiredAuth,
  guard,
  guestPlace,
  notGranted,
  outerFeeOf,
  subentriesOnChain,
  usedSequence,
  wouldFail
} from "../../../../src/networks/stellar/rules/Guard.ts"
import type { SimulationFindings } from "../../../../src/networks/stellar/rules/Guard.ts"
import {
  addressEntry,
  addressValue,
  amountValue,
  call,
  feeBump,
  invocation,
  payment,
  sourceEntry
} from "../../../../testkit/stellar/Building.ts"
import { counterContract } from "../../../../testkit/stellar/Contracts.ts"
import { World, xlm } from "../../../testkit/stellar/World.ts"
import {
  attacker,
  built,
  channel,
  entryOf,
  envelopeOf,
  native,
  relayer,
  terms,
  user,
  verdict
} from "./GuardFixtures.ts"

const resources = { resourceFee: 100_000n }
const simulated: SimulationFindings = { resourceFee: 100_000n, administered: [], auth: [], changes: [], unshown: [] }

const usd = new Asset("USD", attacker.publicKey())

const transferArgs = (amount: bigint) => [addressValue(relayer), addressValue(attacker), amountValue(amount)]

/** A call of the attacker's contract, with what the relayer authorizes. */
const attack = (auth: ReadonlyArray<xdr.SorobanAuthorizationEntry>) =>
  envelopeOf(built(relayer, [call("go", [], { auth })], resources))

const tree = invocation(counterContract, "go", [], [invocation(native, "transfer", transferArgs(5n))])

describe("the guard of stellar, with what the chain says", () => {
  it("row 15: refuses an authorization that only the simulation asks for", () => {
    const world = new World()
    world.provider.faults.script = { auth: [sourceEntry(tree).toXdr("base64")] }
    const text = world.envelope(relayer, [call("increment")], { signers: [], ...resources })
    const [result] = [world.call("simulateTransaction", { transaction: text }).results].flat()
    const entries: ReadonlyArray<string> = Object(result).auth
    const auth: ReadonlyArray<AuthEntry> = entries.map((entry) =>
      entryOf(xdr.SorobanAuthorizationEntry.fromXdr(entry, "base64"))
    )
    const found = notGranted(envelopeOf(text), { ...simulated, auth }, terms)
    assert.strictEqual(found?.code, "auth_not_granted")
    assert.isUndefined(notGranted(attack([sourceEntry(tree)]), { ...simulated, auth }, terms))
    assert.isUndefined(notGranted(attack([]), { ...simulated, auth: [entryOf(addressEntry(user, tree))] }, terms))
    const ofChannel = [entryOf(addressEntry(channel, tree))]
    assert.strictEqual(notGranted(attack([]), { ...simulated, auth: ofChannel }, terms)?.code, "auth_not_granted")
  })

  it("row 25: refuses a declared fee of resources above 1.5 times the simulated one", () => {
    const declare = (resourceFee: bigint) => envelopeOf(built(user, [call("go")], { signers: [user], resourceFee }))
    assert.strictEqual(declaredFee(declare(1_000_000_000n), simulated)?.code, "resource_fee_too_high")
    assert.strictEqual(declaredFee(declare(150_001n), simulated)?.code, "resource_fee_too_high")
    assert.isUndefined(declaredFee(declare(150_000n), simulated))
  })

  it("row 29: refuses a used sequence, waits for a gap, and lets no single provider decide", () => {
    const envelope = envelopeOf(built(user, [payment(attacker, 1n)], { signers: [user] }))
    const next = envelope.sequence
    assert.strictEqual(usedSequence(envelope, [next, next + 4n])?.code, "sequence_used")
    assert.deepStrictEqual(
      [[next - 1n], [next - 1n, next - 1n], [next - 3n, next - 2n], [next, next - 1n], []].map((shown) =>
        guestPlace(envelope, shown)
      ),
      ["next", "next", "waits", "unclear", "unclear"]
    )
  })

  it("row 30: gives the same inner envelope one identity, whatever its signatures", () => {
    const one = envelopeOf(built(user, [payment(attacker, 1n)], { signers: [user] }))
    const two = envelopeOf(built(user, [payment(attacker, 1n)], { signers: [attacker, user] }))
    assert.strictEqual(one.hash, two.hash)
    assert.notStrictEqual(one.hash, envelopeOf(built(user, [payment(attacker, 2n)], { signers: [user] })).hash)
  })

  it("row 31: applies the inner envelope once if the user sends it, too", () => {
    const world = new World()
    const inner = world.envelope(user, [payment(attacker, 5n)])
    world.network.grant(attacker.publicKey(), xlm)
    const before = world.account(relayer).balance
    assert.strictEqual(world.answer(inner), "PENDING")
    world.close()
    assert.strictEqual(world.answer(feeBump(relayer, inner, 1000n)), "txFeeBumpInnerFailed")
    assert.strictEqual(world.account(attacker).balance - xlm, 5n)
    assert.strictEqual(world.account(relayer).balance, before)
  })

  it("row 32: charges nothing if the user has used the sequence", () => {
    const world = new World()
    const inner = world.envelope(user, [payment(relayer, 5n)])
    world.apply(world.envelope(user, [payment(relayer, 7n)]))
    const before = world.account(relayer).balance
    assert.strictEqual(world.answer(feeBump(relayer, inner, 1000n)), "txFeeBumpInnerFailed")
    world.close()
    assert.strictEqual(world.account(relayer).balance, before)
  })

  it("row 33: refuses a call that the simulation fails", () => {
    const world = new World()
    const { error } = world.call("simulateTransaction", {
      transaction: world.envelope(user, [call("fail")], resources)
    })
    assert.strictEqual(wouldFail({ ...simulated, error: String(error) })?.code, "would_fail")
    assert.isUndefined(wouldFail(simulated))
  })

  it("row 8: counts the account's own entries before the signature", () => {
    const envelope = envelopeOf(built(relayer, [Operation.changeTrust({ asset: usd })]))
    assert.strictEqual(subentriesOnChain(envelope, 20, terms)?.code, "too_many_subentries")
    assert.isUndefined(subentriesOnChain(envelope, 19, terms))
    assert.isUndefined(subentriesOnChain(attack([]), 500, terms))
  })

  it("refuses an authorization that expires within two ledgers", () => {
    const envelope = envelopeOf(built(user, [call("go", [], { auth: [addressEntry(user, tree, 100)] })], resources))
    assert.strictEqual(expiredAuth(envelope, 98)?.code, "auth_expired")
    assert.isUndefined(expiredAuth(envelope, 97))
  })
})

describe("refusals", () => {
  it("name the field, the code and the operation", () => {
    const text = built(relayer, [payment(attacker, 1n), Operation.accountMerge({ destination: attacker.publicKey() })])
    const envelope = Result.getOrThrow(decodeWith(lib, text, { networkId: networkIdOf("any"), known: [] }))
    const result = guard("unsigned", envelope, terms)
    assert.deepStrictEqual(violationOf(Result.isFailure(result) ? result.failure : { code: "memo", detail: "" }), {
      field: "transaction_xdr",
      message: "operation_not_allowed: operation 2 is accountMerge"
    })
  })

  it("name the fee bump that the cap is too low for", () => {
    const envelope = envelopeOf(built(user, [payment(attacker, 1n)], { signers: [user] }))
    assert.strictEqual(outerFeeOf(envelope, terms), 400n)
    assert.strictEqual(
      verdict("bump", built(user, [payment(attacker, 1n)], { signers: [user] }), { cap: 399n }),
      "fee_above_cap"
    )
  })
})
