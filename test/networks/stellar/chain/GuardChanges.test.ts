// What the guard makes of the changes that a simulation shows, by answers of the stand-in and by changes that a node could show.
import { Schema } from "effect"
import { assert, describe, it } from "@effect/vitest"
import * as lib from "@stellar/stellar-sdk/base"
import { Asset, Operation, xdr } from "@stellar/stellar-sdk/base"
import * as Calls from "../../../../src/networks/stellar/chain/StellarCalls.ts"
import { simulatedIn } from "../../../../src/networks/stellar/chain/StellarCalls.ts"
import { exceededLimit, sendsOf } from "../../../../src/networks/stellar/rules/Envelope.ts"
import {
  addedSubentries,
  administers,
  beyondValue,
  ownChanges,
  subentriesOnChain,
  takenByCall
} from "../../../../src/networks/stellar/rules/Guard.ts"
import type { AccountState, EntryChange, SimulationFindings } from "../../../../src/networks/stellar/rules/Guard.ts"
import { baseReserve } from "../../../../src/networks/stellar/rules/StellarNumbers.ts"
import {
  addressValue,
  amountValue,
  call,
  invocation,
  keyNamed,
  sourceEntry
} from "../../../../testkit/stellar/Building.ts"
import { creditContract } from "../../../../testkit/stellar/Calls.ts"
import { counterContract } from "../../../../testkit/stellar/Contracts.ts"
import { creditName, issuer } from "../../../../testkit/stellar/Credits.ts"
import { dataOf, newAccount, publicKeyOf } from "../../../../testkit/stellar/Entries.ts"
import type { Account } from "../../../../testkit/stellar/Entries.ts"
import type { Script } from "../../../../testkit/stellar/Simulation.ts"
import { World, xlm } from "../../../testkit/stellar/World.ts"
import { attacker, built, channel, envelopeOf, native, own, relayer, sibling, terms, user } from "./GuardFixtures.ts"

const usd = creditContract("Standalone Network ; February 2017")

const relayerAlone = { actor: relayer.publicKey(), maxValue: undefined }

const decodeAnswer = Schema.decodeUnknownSync(Calls.simulate("", "record").result)

/** What the service reads of the stand-in's answer about an envelope of the relayer. */
const simulate = (operation: xdr.Operation, script: Script = {}, world = new World()): SimulationFindings => {
  world.network.grant(issuer.publicKey(), 10n * xlm)
  world.provider.faults.script = script
  const transaction = world.envelope(relayer, [operation], { signers: [], resourceFee: 100_000n })
  const answer = world.call("simulateTransaction", { transaction, authMode: "record" })
  return simulatedIn(lib, decodeAnswer(answer)) ?? assert.fail("the answer cannot be read")
}

const trust = call("trust", [addressValue(relayer)], { contract: usd })

const transfer = (to: lib.Keypair, amount: bigint) =>
  call("transfer", [addressValue(relayer), addressValue(to), amountValue(amount)], { contract: native })

const code = (simulated: SimulationFindings, given: Partial<Parameters<typeof ownChanges>[2]> = {}, over = {}) =>
  ownChanges(simulated, { ...terms, ...over }, { ...relayerAlone, ...given })?.code

const account = (key: lib.Keypair, over: Partial<Account> = {}): string =>
  new xdr.LedgerEntry({
    lastModifiedLedgerSeq: 1,
    data:
      dataOf({ ...newAccount(key.publicKey(), 5n * xlm, 1), ...over }, () => assert.fail("is no trust line")) ??
      assert.fail("is no entry"),
    ext: xdr.LedgerEntryExt.v0()
  }).toXdr("base64")

const increment = call("increment")

const manySubentries = "too_many_subentries"

describe("what a call changes of accounts of the service", () => {
  it("row 45: is read of a trust line that the contract of an asset makes, with the reserve that it locks", () => {
    const simulated = simulate(trust)
    const lines = simulated.changes.filter(({ kind }) => kind === "trustline")
    assert.deepStrictEqual(lines, [
      { kind: "trustline", address: relayer.publicKey(), asset: creditName, after: 0n } satisfies EntryChange
    ])
    assert.strictEqual(takenByCall(simulated, terms), baseReserve)
  })

  it("row 45: ends a trust line of a contract above max_subentries", () => {
    const simulated = simulate(trust)
    assert.strictEqual(code(simulated, {}, { maxSubentries: 0 }), "too_many_subentries")
    assert.isUndefined(code(simulated, {}, { maxSubentries: 1 }))
  })

  it("row 45: counts a reserve for max_value, as that of an operation", () => {
    const simulated = simulate(trust)
    assert.strictEqual(code(simulated, { maxValue: baseReserve - 1n }), "balance_change")
    assert.isUndefined(code(simulated, { maxValue: baseReserve }))
  })

  it("row 45: counts the reserve of the network for max_value, of a call and of an operation", () => {
    const standalone = { ...terms, baseReserve: 100_000_000n }
    assert.strictEqual(code(simulate(trust), { maxValue: 99_999_999n }, standalone), "balance_change")
    assert.isUndefined(code(simulate(trust), { maxValue: 100_000_000n }, standalone))
    const envelope = envelopeOf(own([Operation.changeTrust({ asset: new Asset("USD", issuer.publicKey()) })]))
    assert.strictEqual(beyondValue(envelope, standalone, 99_999_999n)?.code, "balance_change")
    assert.isUndefined(beyondValue(envelope, standalone, 100_000_000n))
    assert.isUndefined(beyondValue(envelope, standalone, undefined))
  })

  it("row 45: is counted by what the relayer authorizes, also if a simulation shows less", () => {
    const root = invocation(usd, "trust", [addressValue(relayer)])
    const below = invocation(counterContract, "go", [], [root, root])
    for (const [tree, count] of [
      [root, 1],
      [below, 2]
    ] as const) {
      const envelope = envelopeOf(own([call("go", [], { auth: [sourceEntry(tree)] })], { resourceFee: 1000n }))
      const read = { ...terms, assetContracts: new Set([usd]) }
      assert.strictEqual(addedSubentries(envelope, read), count)
      assert.strictEqual(sendsOf(envelope, read).value, BigInt(count) * baseReserve)
      assert.strictEqual(beyondValue(envelope, read, 1n)?.code, "balance_change")
      assert.isUndefined(beyondValue(envelope, read, BigInt(count) * baseReserve))
      assert.strictEqual(subentriesOnChain(envelope, 0, { ...read, maxSubentries: count - 1 })?.code, manySubentries)
      // Another contract may have a function of that name.
      const ofOther = { ...terms, assetContracts: new Set<string>() }
      assert.strictEqual(addedSubentries(envelope, ofOther), 0)
      assert.isUndefined(beyondValue(envelope, ofOther, 0n))
      assert.isUndefined(exceededLimit(envelope, terms, { maxValue: 0n, receivers: [counterContract, usd] }))
    }
  })

  it("row 17: is XLM that it takes, whatever the relayer authorizes", () => {
    const simulated = simulate(transfer(user, 60n))
    assert.strictEqual(code(simulated, { maxValue: 59n }), "balance_change")
    assert.isUndefined(code(simulated, { maxValue: 60n }))
  })

  it("row 46: is an account that it creates with XLM of the relayer, which needs the policy", () => {
    const simulated = simulate(transfer(keyNamed("fresh"), 2n * xlm))
    assert.strictEqual(code(simulated), "balance_change")
    assert.isUndefined(code(simulated, {}, { allowedOperations: ["createAccount"] }))
    assert.isUndefined(code(simulate(transfer(user, 2n * xlm))))
  })

  it("row 46: may be an account that somebody else creates", () => {
    const created = { after: account(keyNamed("fresh")) }
    assert.isUndefined(code(simulate(increment, { changes: [created] })))
  })

  it.each([
    ["XLM that it loses", { balance: 4n * xlm }],
    ["an entry that it gets", { subEntries: 1 }],
    ["a reserve that it locks for another account", { sponsoring: 1 }]
  ])("row 47: is refused of an account that does not act in it: %s", (_, after) => {
    for (const key of [channel, sibling, relayer]) {
      const change = { before: account(key), after: account(key, after) }
      const simulated = simulate(increment, { changes: [change] })
      assert.strictEqual(code(simulated, { actor: undefined }), "balance_change")
      assert.strictEqual(code(simulated), key === relayer ? undefined : "balance_change")
    }
  })

  it("row 47: may be XLM that an account of the service gets", () => {
    const change = { before: account(channel), after: account(channel, { balance: 6n * xlm }) }
    assert.isUndefined(code(simulate(increment, { changes: [change] }), { actor: undefined }))
  })

  it.each([
    ["the end of the account", { before: account(relayer) }],
    ["a signer", { before: account(relayer), after: account(relayer, { signers: [signer()] }) }],
    ["the weight of the master key", { before: account(relayer), after: account(relayer, { masterWeight: 0 }) }],
    [
      "a threshold",
      { before: account(relayer), after: account(relayer, { thresholds: { low: 0, medium: 2, high: 0 } }) }
    ],
    ["a sequence", { before: account(relayer), after: account(relayer, { sequence: 7n }) }]
  ])("row 47: is refused whatever the policy says: %s", (_, change) => {
    assert.strictEqual(code(simulate(increment, { changes: [change] })), "balance_change")
  })

  it("row 47: is refused of an entry that no call is known to change", () => {
    const offer = new xdr.LedgerEntry({
      lastModifiedLedgerSeq: 1,
      data: xdr.LedgerEntryData.offer(
        new xdr.OfferEntry({
          sellerId: publicKeyOf(user.publicKey()),
          offerId: 1n,
          selling: Asset.native().toXDRObject(),
          buying: new Asset("USD", issuer.publicKey()).toXDRObject(),
          amount: 1n,
          price: new xdr.Price({ n: 1, d: 1 }),
          flags: 0,
          ext: xdr.OfferEntryExt.v0()
        })
      ),
      ext: xdr.LedgerEntryExt.v0()
    })
    const found = ownChanges(simulate(increment, { changes: [{ after: offer.toXdr("base64") }] }), terms, relayerAlone)
    assert.include(found?.detail, "of the type offer")
  })

  it("row 47: is refused of the trust line of a token that users pay with", () => {
    const removed: EntryChange = { kind: "trustline", address: relayer.publicKey(), asset: creditName, before: 0n }
    const simulated: SimulationFindings = {
      resourceFee: 1n,
      administered: [],
      auth: [],
      changes: [removed],
      unshown: []
    }
    assert.strictEqual(code(simulated, {}, { allowedTokens: [creditName] }), "balance_change")
    assert.isUndefined(code(simulated))
  })

  it.each([
    ["set_admin", []],
    ["set_authorized", ["setTrustLineFlags" as const]],
    ["clawback", ["clawback" as const]]
  ])("row 49: is %s of an asset, which needs the policy as the operation does", (name, allowed) => {
    const event = (contract: string, topic: string) =>
      new xdr.DiagnosticEvent({
        inSuccessfulContractCall: true,
        event: new xdr.ContractEvent({
          ext: xdr.ExtensionPoint.v0(),
          contractId: new xdr.ContractId(lib.StrKey.decodeContract(contract)),
          type: xdr.ContractEventType.contract,
          body: xdr.ContractEventBody.v0(
            new xdr.ContractEventV0({
              topics: [xdr.ScVal.scvSymbol(name), addressValue(user), xdr.ScVal.scvString(topic)],
              data: xdr.ScVal.scvVoid()
            })
          )
        })
      }).toXdr("base64")
    const of = (events: ReadonlyArray<string>, root: xdr.SorobanAuthorizedInvocation, policy: ReadonlyArray<string>) =>
      administers(
        envelopeOf(own([call("go", [], { auth: [sourceEntry(root)] })], { resourceFee: 1000n })),
        simulate(increment, { events }),
        { ...terms, allowedOperations: policy }
      )?.code
    const events = [event(usd, creditName)]
    for (const root of [invocation(usd, name), invocation(counterContract, "go", [], [invocation(usd, name)])]) {
      assert.strictEqual(of(events, root, []), "balance_change")
      assert.strictEqual(of(events, root, allowed), allowed.length === 0 ? "balance_change" : undefined)
    }
    // Somebody else administers it, or it is a function of another contract.
    assert.isUndefined(of(events, invocation(counterContract, name), []))
    assert.isUndefined(of([event(usd, "a token")], invocation(usd, name), []))
    assert.isUndefined(of([], invocation(usd, name), []))
  })

  it("row 48: is refused if the simulation hides it", () => {
    for (const operation of [transfer(user, 5n), trust]) {
      const hidden = simulate(operation, { hidesChanges: true })
      assert.include(hidden.unshown, relayer.publicKey())
      assert.include(ownChanges(hidden, terms, relayerAlone)?.detail, "does not show what the call changes")
    }
    // No account of the service is in it.
    assert.isUndefined(code(simulate(transfer(user, 5n), { hidesChanges: true }), {}, { own: new Set() }))
  })

  it("row 48: is refused if it cannot be read, by its number", () => {
    const unknown = Buffer.from(account(user), "base64")
    unknown.writeInt32BE(11, 4)
    const entry = Buffer.from(sourceEntry(invocation(counterContract, "go")).toXdr())
    entry.writeInt32BE(4)
    for (const [script, expected] of [
      [
        { changes: [{ before: unknown.toString("base64") }] },
        "value 11 is not known to this version, at LedgerEntry.data"
      ],
      [{ auth: [entry.toString("base64")] }, "credentials type 4 is not known to this version"],
      [{ auth: ["AAAA"] }, "is not the XDR of what a simulation finds"]
    ] as const) {
      const found = ownChanges(simulate(increment, script), terms, { ...relayerAlone, actor: undefined })
      assert.strictEqual(found?.code, "balance_change")
      assert.include(found?.detail, expected)
    }
  })

  it("is nothing of a call that only changes data of contracts", () => {
    assert.isUndefined(code(simulate(increment), { maxValue: 0n }))
    const state: AccountState = { balance: 5n, subentries: 0, reserves: 0, rest: "" }
    const made: EntryChange = { kind: "account", address: relayer.publicKey(), after: state }
    assert.isUndefined(
      code({ resourceFee: 1n, administered: [], auth: [], changes: [made], unshown: [] }, { maxValue: 0n })
    )
  })
})

describe("a change of trust lines", () => {
  it("counts as before", () => {
    const line = Operation.changeTrust({ asset: new Asset("USD", attacker.publicKey()) })
    assert.strictEqual(addedSubentries(envelopeOf(built(relayer, [line, line])), terms), 2)
  })
})

function signer(): Account["signers"][number] {
  return { address: attacker.publicKey(), weight: 1 }
}
