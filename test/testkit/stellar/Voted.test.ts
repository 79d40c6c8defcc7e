// What the stand-in ledger does as the network has voted, and the answers of nodes that differ from its usual ones.
import { assert, describe, it } from "@effect/vitest"
import { xdr } from "@stellar/stellar-sdk/base"
import { Effect } from "effect"
import { call, feeBump, payment } from "../../../testkit/stellar/Building.ts"
import { callCost } from "../../../testkit/stellar/Contracts.ts"
import { minimumBalance } from "../../../testkit/stellar/Entries.ts"
import { RpcError } from "../../../testkit/stellar/Methods.ts"
import { Network } from "../../../testkit/stellar/Network.ts"
import { serve } from "../../../testkit/stellar/Serving.ts"
import { genesisVote, publicVote } from "../../../testkit/stellar/Voted.ts"
import { operationsOf, other, relayer, start, user, World, xlm } from "./World.ts"

const resourceFee = callCost.nonRefundable + callCost.refundable

/** The code of the result of the first operation of a look-up, or of the transaction. */
const codeIn = (result: unknown, at: "transaction" | "operation"): number =>
  Buffer.from(String(result), "base64").readInt32BE(at === "transaction" ? 8 : 24)

const configured = (world: World, id: keyof typeof xdr.ConfigSettingId & `configSetting${string}`) => {
  const key = xdr.LedgerKey.configSetting(
    new xdr.LedgerKeyConfigSetting({ configSettingId: xdr.ConfigSettingId.fromName(id) })
  )
  const { entries } = world.call("getLedgerEntries", { keys: [key.toXdr("base64")] })
  const [entry] = Array.isArray(entries) ? entries : []
  const data = xdr.LedgerEntryData.fromXdr(String(entry.xdr), "base64")
  return data.type === "configSetting" ? data.configSetting : assert.fail(data.type)
}

describe("the stand-in ledger, as its validators have voted", () => {
  it("shows reserve, fee and protocol in the header of its newest ledger", () => {
    const world = new World()
    world.network.store.voted = genesisVote
    const { headerXdr, metadataXdr, protocolVersion } = world.call("getLatestLedger")
    const { baseFee, baseReserve, ledgerSeq, ledgerVersion } = xdr.LedgerHeader.fromXdr(String(headerXdr), "base64")
    assert.deepStrictEqual([baseFee, baseReserve, ledgerVersion], [100, 100_000_000, 28])
    assert.deepStrictEqual([ledgerSeq, protocolVersion], [world.network.latest.number, 28])
    assert.strictEqual(xdr.LedgerCloseMeta.fromXdr(String(metadataXdr), "base64").type, "v0")
  })

  it("shows its limits of calls and its close time as entries", () => {
    const world = new World()
    world.network.store.voted = { ...publicVote, closeTime: 4000 }
    const compute = configured(world, "configSettingContractComputeV0")
    const lanes = configured(world, "configSettingContractExecutionLanes")
    const timing = configured(world, "configSettingScpTiming")
    assert.strictEqual(
      compute.type === "configSettingContractComputeV0" && compute.contractCompute.txMaxInstructions,
      400_000_000n
    )
    assert.strictEqual(
      lanes.type === "configSettingContractExecutionLanes" && lanes.contractExecutionLanes.ledgerMaxTxCount,
      1000
    )
    assert.strictEqual(
      timing.type === "configSettingScpTiming" && timing.contractScpTiming.ledgerTargetCloseTimeMilliseconds,
      4000
    )
  })

  it("locks the reserve for each entry", () => {
    const world = new World()
    world.network.store.voted = genesisVote
    assert.strictEqual(minimumBalance(world.account(user), world.network.reads), 20n * xlm)
    const all = world.account(user).balance
    const pays = (amount: bigint) => operationsOf(world.apply(world.envelope(user, [payment(other, amount)])))
    assert.deepStrictEqual(pays(all - 19n * xlm), ["paymentUnderfunded"])
    assert.deepStrictEqual(pays(all - 21n * xlm), ["paymentSuccess"])
  })

  it("refuses a call beyond a limit of one transaction, and takes one at it", () => {
    const world = new World()
    const limit = publicVote.calls.instructions
    const of = (instructions: number) =>
      world.envelope(user, [call("increment")], { resourceFee, fee: 100_000n, instructions })
    assert.strictEqual(world.answer(of(limit + 1)), "txSorobanInvalid")
    assert.strictEqual(world.answer(of(limit)), "PENDING")
  })

  it("has room for one call in a ledger of a new network, and a fee bump counts as two", () => {
    const world = new World()
    world.network.store.voted = { ...genesisVote, baseReserve: publicVote.baseReserve }
    const inner = world.envelope(user, [call("increment")], { resourceFee, fee: 100_000n })
    const bump = world.send(feeBump(relayer, inner, 400_000n))
    world.close()
    assert.isUndefined(world.network.find(bump.hash))
    const own = world.send(world.envelope(other, [call("increment")], { resourceFee, fee: 100_000n }))
    world.close()
    assert.isDefined(world.network.find(own.hash))
  })

  it("refuses transactions that touch a frozen account", () => {
    const world = new World()
    world.network.store.voted = { ...publicVote, frozen: [other.publicKey()] }
    assert.strictEqual(world.answer(world.envelope(user, [payment(other, 1n)])), "txFrozenKeyAccessed")
    assert.strictEqual(world.answer(world.envelope(other, [payment(user, 1n)])), "txFrozenKeyAccessed")
    assert.strictEqual(world.answer(world.envelope(user, [payment(relayer, 1n)])), "PENDING")
  })

  it("expects a ledger after the close time that was voted", () => {
    const world = new World()
    world.network.store.voted = { ...publicVote, closeTime: 4000 }
    const of = (maxTime: number) => world.answer(world.envelope(user, [payment(other, 1n)], { maxTime }))
    assert.strictEqual(of(world.seconds + 7), "txTooLate")
    assert.strictEqual(of(world.seconds + 8), "PENDING")
  })

  it("begins at the ledger that is given, such as that of a new network", () => {
    const network = new Network({ passphrase: "new", now: () => start, first: { number: 1, closeTime: start / 1000 } })
    network.grant(user.publicKey(), xlm)
    network.close()
    assert.strictEqual(network.latest.number, 2)
  })
})

describe("the answers of a stand-in provider", () => {
  it("have fees of zero in ledgers without transactions, and twice the fee of a fee bump with one operation", () => {
    const world = new World()
    world.close(11)
    const shown = () => Object(world.call("getFeeStats").inclusionFee)
    assert.deepStrictEqual([shown().max, shown().min, shown().p95], ["0", "0", "0"])
    world.apply(feeBump(relayer, world.envelope(user, [payment(other, 1n)]), 400n))
    assert.deepStrictEqual([shown().max, shown().transactionCount], ["200", "1"])
  })

  it("call a simulation of what is no XDR an error of the request, at no ledger", () => {
    const world = new World()
    const answer = world.call("simulateTransaction", { transaction: "AAAA" })
    assert.deepStrictEqual(answer, { error: "Could not unmarshal transaction", latestLedger: 0 })
  })

  it("have the close times of the oldest and the newest ledger in getHealth", () => {
    const { latestLedgerCloseTime, oldestLedgerCloseTime } = new World().call("getHealth")
    assert.deepStrictEqual([latestLedgerCloseTime, oldestLedgerCloseTime], [String(start / 1000), String(start / 1000)])
  })

  it("are an internal error for the accounts that stellar-core filters", () => {
    const world = new World()
    world.provider.faults.filtered = [user.publicKey()]
    assert.throws(
      () => world.send(world.envelope(user, [payment(other, 1n)])),
      RpcError,
      "invalid status from stellar-core"
    )
    assert.strictEqual(world.answer(world.envelope(other, [payment(user, 1n)])), "PENDING")
  })

  it("can have codes that the library does not know", () => {
    const world = new World()
    const { hash } = world.send(world.envelope(user, [payment(other, 1n)]))
    world.close()
    const shown = (of: "transaction" | "operation") => {
      world.provider.faults.unknownCode = { of, code: -42 }
      return world.call("getTransaction", { hash })
    }
    assert.deepStrictEqual(
      [codeIn(shown("transaction").resultXdr, "transaction"), shown("transaction").status],
      [-42, "SUCCESS"]
    )
    assert.strictEqual(codeIn(shown("operation").resultXdr, "operation"), -42)
  })

  it("can lack all fields but those of the store if nothing is found", () => {
    const world = new World()
    world.provider.faults.isBare = true
    const answer = world.call("getTransaction", { hash: "ab".repeat(32) })
    const store = ["latestLedger", "latestLedgerCloseTime", "oldestLedger", "oldestLedgerCloseTime"]
    assert.sameMembers(Object.keys(answer), [...store, "status"])
  })

  const post = (url: string, body: string) => Effect.promise(() => fetch(url, { method: "POST", body }))

  it.effect("are an error of HTTP for more than 512 kB, and one error of JSON-RPC for a batch that is refused", () =>
    Effect.gen(function* () {
      const { standIn, url } = yield* serve(new Network({ passphrase: "HTTP", now: () => start }))
      const one = { jsonrpc: "2.0", id: 1, method: "getNetwork" }
      const large = yield* post(url(), JSON.stringify([{ ...one, params: { text: "x".repeat(524_288) } }]))
      assert.strictEqual(large.status, 500)
      assert.strictEqual(yield* Effect.promise(() => large.text()), "http: request body too large")
      for (const provider of standIn.providers) provider.faults.refusesBatches = true
      const batch = yield* post(url(), JSON.stringify([one, one]))
      const answer = yield* Effect.promise(() => batch.json())
      assert.deepStrictEqual([batch.status, answer.id, answer.error.code], [200, null, -32600])
      assert.strictEqual((yield* post(url(), JSON.stringify(one))).status, 200)
    })
  )
})
