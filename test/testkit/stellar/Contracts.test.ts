// Calls of contracts on the stand-in ledger, and the authorizations that they need.
import { assert, describe, it } from "@effect/vitest"
import { nativeToScVal, Operation, xdr } from "@stellar/stellar-sdk/base"
import {
  addressEntry,
  addressValue,
  altered,
  amountValue,
  call,
  invocation,
  keyNamed,
  sourceEntry
} from "../../../testkit/stellar/Building.ts"
import { creditContract } from "../../../testkit/stellar/Calls.ts"
import { authorizationHash, callCost, nativeContract, restoreCost } from "../../../testkit/stellar/Contracts.ts"
import { issuer, signedBy } from "../../../testkit/stellar/Credits.ts"
import { keyOf } from "../../../testkit/stellar/Entries.ts"
import { operationsOf, other, relayer, user, World, xlm } from "./World.ts"

const resources = { resourceFee: 100_000n }

describe("the contracts of the stand-in", () => {
  it("count calls, and return the unused fee of the resources (InvokeHostFunctionOpFrame, refundSorobanFee)", () => {
    const world = new World()
    const { feeCharged } = world.apply(world.envelope(user, [call("increment")], resources))
    assert.strictEqual(feeCharged, 100n + callCost.nonRefundable + callCost.refundable)
    const counter = world.network.reads.get(keyOf.counter)
    assert.strictEqual(counter?.kind === "counter" ? counter.value : 0, 1)
  })

  it.each([
    ["too few instructions", { ...resources, instructions: 10 }, "invokeHostFunctionResourceLimitExceeded"],
    ["too low a fee for its resources", { resourceFee: 10n }, "invokeHostFunctionInsufficientRefundableFee"]
  ])("fail a call with %s", (_, given, expected) => {
    const world = new World()
    assert.deepStrictEqual(operationsOf(world.apply(world.envelope(user, [call("increment")], given))), [expected])
  })

  it("fail a call of an archived entry until it is restored (RestoreFootprintOpFrame)", () => {
    const world = new World()
    world.network.put(keyOf.counter, { kind: "counter", value: 4, isArchived: true })
    const apply = (operation: xdr.Operation) => operationsOf(world.apply(world.envelope(user, [operation], resources)))
    assert.deepStrictEqual(apply(call("increment")), ["invokeHostFunctionEntryArchived"])
    assert.deepStrictEqual(apply(Operation.restoreFootprint({})), ["restoreFootprintSuccess"])
    assert.deepStrictEqual(apply(call("increment")), ["invokeHostFunctionSuccess"])
  })

  it("restore an archived entry that the call names, for a higher fee (archivedSorobanEntries)", () => {
    const world = new World()
    world.network.put(keyOf.counter, { kind: "counter", value: 4, isArchived: true })
    const { minResourceFee, transactionData } = world.call("simulateTransaction", {
      transaction: world.envelope(user, [call("increment")])
    })
    assert.strictEqual(String(minResourceFee), String(callCost.nonRefundable + callCost.refundable + restoreCost))
    const data = xdr.SorobanTransactionData.fromXdr(String(transactionData), "base64")
    const apply = (resourceFee: bigint) => {
      const ext = xdr.TransactionExt.sorobanData(
        new xdr.SorobanTransactionData({ ext: data.ext, resources: data.resources, resourceFee })
      )
      const bare = world.envelope(user, [call("increment")], { signers: [] })
      const text = altered(bare, { fee: Number(resourceFee) + 100, ext })
      return operationsOf(world.apply(signedBy(user, text, world.network.passphrase)))
    }
    assert.deepStrictEqual(apply(data.resourceFee - 1n), ["invokeHostFunctionInsufficientRefundableFee"])
    assert.deepStrictEqual(apply(data.resourceFee), ["invokeHostFunctionSuccess"])
    const counter = world.network.reads.get(keyOf.counter)
    assert.deepInclude(counter, { value: 5, isArchived: false })
  })

  it("make a trust line by the contract of an asset, for a reserve, and create accounts by that of XLM (CAP-73)", () => {
    const world = new World()
    world.network.grant(issuer.publicKey(), 10n * xlm)
    const contract = creditContract(world.network.passphrase)
    const apply = (name: string, args: ReadonlyArray<xdr.ScVal>, of: string) => {
      const auth = [sourceEntry(invocation(of, name, args))]
      return operationsOf(world.apply(world.envelope(user, [call(name, args, { contract: of, auth })], resources)))
    }
    for (const entries of [1, 1]) {
      assert.deepStrictEqual(apply("trust", [addressValue(user)], contract), ["invokeHostFunctionSuccess"])
      assert.strictEqual(world.account(user).subEntries, entries)
    }
    const native = nativeContract(world.network.passphrase)
    const fresh = keyNamed("fresh")
    const pay = (amount: bigint) =>
      apply("transfer", [addressValue(user), addressValue(fresh), amountValue(amount)], native)
    assert.deepStrictEqual(pay(xlm - 1n), ["invokeHostFunctionTrapped"])
    assert.deepStrictEqual(pay(xlm), ["invokeHostFunctionSuccess"])
    assert.strictEqual(world.account(fresh).balance, xlm)
  })

  it("move XLM by the native asset's contract only with an authorization of its owner", () => {
    const world = new World()
    const contract = nativeContract(world.network.passphrase)
    const args = [addressValue(user), addressValue(other), amountValue(5n)]
    const apply = (given: Parameters<typeof call>[2], source = user) =>
      operationsOf(world.apply(world.envelope(source, [call("transfer", args, { contract, ...given })], resources)))
    const tree = invocation(contract, "transfer", args)
    assert.deepStrictEqual(apply({}), ["invokeHostFunctionTrapped"])
    assert.deepStrictEqual(apply({ auth: [sourceEntry(invocation(contract, "transfer", []))] }), [
      "invokeHostFunctionTrapped"
    ])
    assert.deepStrictEqual(apply({ auth: [sourceEntry(tree)] }, relayer), ["invokeHostFunctionTrapped"])
    const before = world.account(other).balance
    assert.deepStrictEqual(apply({ auth: [sourceEntry(tree)] }), ["invokeHostFunctionSuccess"])
    assert.strictEqual(world.account(other).balance - before, 5n)
  })

  it("take credentials of the operation's source, not of the transaction's (getSourceID)", () => {
    const world = new World()
    const contract = nativeContract(world.network.passphrase)
    const args = [addressValue(user), addressValue(other), amountValue(5n)]
    const operation = call("transfer", args, {
      contract,
      auth: [sourceEntry(invocation(contract, "transfer", args))],
      source: user
    })
    const applied = world.apply(world.envelope(relayer, [operation], { ...resources, signers: [relayer, user] }))
    assert.deepStrictEqual(operationsOf(applied), ["invokeHostFunctionSuccess"])
  })

  it("take the signed entry of an address until its ledger, and once (SorobanAuthorizationEntry, consume_nonce)", () => {
    const world = new World()
    const contract = nativeContract(world.network.passphrase)
    const args = [addressValue(user), addressValue(other), amountValue(5n)]
    const signed = (until: number, nonce: bigint) => {
      const entry = addressEntry(user, invocation(contract, "transfer", args), until, nonce)
      if (entry.credentials.type !== "sorobanCredentialsAddress") throw new Error("unexpected")
      const { address } = entry.credentials
      const hash = authorizationHash(world.network.passphrase, entry)
      const pair = { public_key: user.rawPublicKey(), signature: user.sign(hash) }
      const signature = xdr.ScVal.scvVec([
        nativeToScVal(pair, { type: { public_key: ["symbol", null], signature: ["symbol", null] } })
      ])
      return new xdr.SorobanAuthorizationEntry({
        credentials: xdr.SorobanCredentials.sorobanCredentialsAddress(
          new xdr.SorobanAddressCredentials({
            address: address.address,
            nonce: address.nonce,
            signatureExpirationLedger: until,
            signature
          })
        ),
        rootInvocation: entry.rootInvocation
      })
    }
    const apply = (until: number, nonce: bigint) => {
      const auth = [signed(until, nonce)]
      return operationsOf(
        world.apply(world.envelope(relayer, [call("transfer", args, { contract, auth })], resources))
      ).join()
    }
    const next = world.network.latest.number + 1
    assert.deepStrictEqual(
      [apply(next, 1n), apply(next, 2n), apply(next + 100, 1n), apply(next + 100, 2n), apply(next + 100, 2n)],
      [
        "invokeHostFunctionSuccess",
        "invokeHostFunctionTrapped",
        "invokeHostFunctionTrapped",
        "invokeHostFunctionSuccess",
        "invokeHostFunctionTrapped"
      ]
    )
  })

  it("let a spender take what its owner approved, once (transfer_from)", () => {
    const world = new World()
    const contract = nativeContract(world.network.passphrase)
    const run = (source: typeof user, name: string, args: Parameters<typeof invocation>[2]) =>
      operationsOf(
        world.apply(
          world.envelope(
            source,
            [call(name, args, { contract, auth: [sourceEntry(invocation(contract, name, args))] })],
            resources
          )
        )
      )
    const until = nativeToScVal(world.network.latest.number + 100, { type: "u32" })
    const take = [addressValue(other), addressValue(user), addressValue(other), amountValue(8n)]
    assert.deepStrictEqual(run(other, "transfer_from", take), ["invokeHostFunctionTrapped"])
    assert.deepStrictEqual(run(user, "approve", [addressValue(user), addressValue(other), amountValue(8n), until]), [
      "invokeHostFunctionSuccess"
    ])
    assert.deepStrictEqual(run(other, "transfer_from", take), ["invokeHostFunctionSuccess"])
    assert.deepStrictEqual(run(other, "transfer_from", take), ["invokeHostFunctionTrapped"])
  })
})
