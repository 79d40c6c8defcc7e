// Attacks on the funds of a stellar relayer over HTTP, many at a time, by a key with limits: the account loses what the limits allow, to the stroop.
// Ledgers close by the clock of the machine.
import { Effect, Layer, Logger } from "effect"
import { assert, layer } from "@effect/vitest"
import { Asset, Operation } from "@stellar/stellar-sdk/base"
import type { xdr } from "@stellar/stellar-sdk/base"
import { ledgerTables } from "../../../../src/server/ledger/Claims.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import {
  addressValue,
  amountValue,
  call as callOf,
  envelope,
  invocation,
  keyNamed,
  payment,
  sourceEntry,
  transaction
} from "../../../../testkit/stellar/Building.ts"
import { creditContract } from "../../../../testkit/stellar/Calls.ts"
import { counterContract, nativeContract } from "../../../../testkit/stellar/Contracts.ts"
import { dataOf, relayerAt, xlm } from "../../../../testkit/stellar/Relayers.ts"
import { makeKey } from "../../../server/transactions/Fixtures.ts"

const api = Layer.provideMerge(ledgerTables(), TestApi.layer({ jobs: true, healthCheckInterval: "1 hour" })).pipe(
  Layer.provideMerge(Logger.layer([]))
)

const [attacker, receiver] = [keyNamed("attacker"), keyNamed("receiver")]

/** Stroops that the key may send at once. */
const maxValue = 1000n

/** Requests at a time. */
const atOnce = 50

/** How often each attack is tried. */
const rounds = 3

const destination = attacker.publicKey()

/** Operations that no envelope of the relayer may have for this key. */
const attacksOn = (address: string, passphrase: string): ReadonlyArray<ReadonlyArray<xdr.Operation>> => {
  const native = nativeContract(passphrase)
  const credit = creditContract(passphrase)
  const own = [addressValue(address)]
  const asset = new Asset("EVIL", destination)
  const all = [addressValue(address), addressValue(attacker), amountValue(100n * xlm)]
  const tree = (contract: string, name: string, below: ReadonlyArray<xdr.SorobanAuthorizedInvocation> = []) =>
    sourceEntry(invocation(contract, name, all, below))
  return [
    [payment(attacker, maxValue + 1n)],
    [payment(attacker, 600n), payment(attacker, 600n)],
    [payment(attacker, 1n), Operation.accountMerge({ destination })],
    [Operation.setOptions({ signer: { ed25519PublicKey: destination, weight: 255 } })],
    [Operation.setOptions({ masterWeight: 0 })],
    [Operation.bumpSequence({ bumpTo: "9223372036854775807" })],
    [Operation.beginSponsoringFutureReserves({ sponsoredId: destination })],
    [Operation.createAccount({ destination: keyNamed("fresh").publicKey(), startingBalance: "5" })],
    [Operation.manageData({ name: "x", value: "y" })],
    Array.from({ length: 21 }, (_, index) => Operation.changeTrust({ asset: new Asset(`T${index}`, destination) })),
    [Operation.manageSellOffer({ selling: Asset.native(), buying: asset, amount: "500", price: "0.0000001" })],
    [
      Operation.pathPaymentStrictReceive({
        sendAsset: Asset.native(),
        sendMax: "500",
        destination,
        destAsset: asset,
        destAmount: "1",
        path: []
      })
    ],
    [payment(attacker, 1n, attacker)],
    [callOf("transfer", all, { contract: native, auth: [tree(native, "transfer")] })],
    [callOf("approve", all, { contract: native, auth: [tree(native, "approve")] })],
    [callOf("transfer", all, { auth: [tree(counterContract, "transfer", [invocation(native, "transfer", all)])] })],
    [callOf("trust", own, { contract: credit, auth: [sourceEntry(invocation(credit, "trust", own))] })],
    // The simulation asks for an authorization of the relayer that the envelope does not give.
    [callOf("transfer", all)]
  ]
}

layer(api, { excludeTestServices: true })("the account of a stellar relayer", (it) => {
  it.effect("loses what the limits of the key allow and the fees of it, whatever is tried and by which endpoint", () =>
    Effect.gen(function* () {
      const { account, address, becomes, get, id, network, passphrase, path, send } = yield* relayerAt()
      const { call } = yield* TestApi.TestApi
      for (const key of [attacker, receiver]) network.grant(key.publicKey(), 10n * xlm)
      network.close()
      const before = account()?.balance ?? 0n
      const sequence = (account()?.sequence ?? 0n) + 500n
      const key = yield* makeKey(["transactions:*", "transactions:sign"], {
        transaction_limits: { stellar: { max_value: String(maxValue) } }
      })
      const maxTime = Math.floor((performance.timeOrigin + performance.now()) / 1000) + 200
      const given = { sequence, maxTime, network: passphrase }
      const texts = attacksOn(address, passphrase).map((operations) => {
        const resourceFee = operations.length === 1 && operations[0]?.body.type === "invokeHostFunction"
        return transaction(address, operations, { ...given, ...(resourceFee ? { resourceFee: 50_000n } : {}) }).toXDR()
      })
      const bumps = [payment(attacker, 5n * xlm, address), Operation.accountMerge({ destination, source: address })]
      const bumped = bumps.map((operation) => envelope(attacker, [operation], { ...given, sequence: 1n }))
      const tries = Array.from({ length: rounds }, () => [
        ...texts.map((unsigned_xdr) => ({ url: `/api/v1/relayers/${id}/sign-transaction`, body: { unsigned_xdr } })),
        ...texts.map((transaction_xdr) => ({ url: path, body: { network: id, transaction_xdr } })),
        ...bumped.map((transaction_xdr) => ({ url: path, body: { network: id, transaction_xdr, fee_bump: true } }))
      ]).flat()
      const answers = yield* Effect.forEach(tries, ({ url, body }) => call(url, { method: "POST", key, body }), {
        concurrency: atOnce
      })
      const accepted = answers.filter(({ status }) => status === 200)
      assert.lengthOf(
        accepted.filter(({ text }) => text.includes("signedXdr")),
        0
      )
      for (const { status, text } of answers) assert.include([200, 400, 403], status, text)
      // Two calls need the chain to be refused: `trust` of an asset's contract, and one whose authorization the simulation asks for.
      assert.lengthOf(accepted, 2 * rounds)
      const codes = yield* Effect.forEach(accepted, (answer) =>
        Effect.gen(function* () {
          const failed = yield* becomes(dataOf(answer).id, "failed")
          assert.lengthOf((yield* get(failed.id)).attempts ?? [], 0)
          return failed.code
        })
      )
      const refused = ["auth_not_granted", "balance_change"]
      assert.deepStrictEqual(
        codes.toSorted(),
        refused.flatMap((code) => Array.from({ length: rounds }, () => code))
      )
      const allowed = transaction(address, [payment(receiver, maxValue)], given).toXDR()
      const { id: last } = dataOf(yield* send({ transaction_xdr: allowed }, { key }))
      const { fee_paid = "" } = yield* becomes(last, "confirmed")
      assert.strictEqual(account()?.balance, before - maxValue - BigInt(fee_paid))
    })
  )
})
