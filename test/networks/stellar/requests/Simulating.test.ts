// `POST …/transactions/simulate` of stellar relayers: what a send would do and cost, and what keeps it from being signed.
// Ledgers close by the clock of the machine.
import { Effect, Layer, Logger } from "effect"
import { assert, layer } from "@effect/vitest"
import { Operation, scValToNative, xdr } from "@stellar/stellar-sdk/base"
import { ledgerTables } from "../../../../src/server/ledger/Claims.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { envelope, keyNamed, payment, transaction } from "../../../../testkit/stellar/Building.ts"
import { creditContract } from "../../../../testkit/stellar/Calls.ts"
import { counterContract, counterKey, nativeContract } from "../../../../testkit/stellar/Contracts.ts"
import { issuer } from "../../../../testkit/stellar/Credits.ts"
import { accountIn, keyOf } from "../../../../testkit/stellar/Entries.ts"
import { pay, relayerAt, xlm } from "../../../../testkit/stellar/Relayers.ts"
import { makeKey } from "../../../server/transactions/Fixtures.ts"

const api = Layer.provideMerge(ledgerTables(), TestApi.layer()).pipe(Layer.provideMerge(Logger.layer([])))

const [receiver, user] = [keyNamed("receiver"), keyNamed("user")]

interface Simulated {
  readonly fee?: string
  readonly inclusion_fee: string
  readonly resource_fee: string
  readonly max_fee: string
  readonly fits: boolean
  readonly out: string
  readonly auth: ReadonlyArray<string>
  readonly return_value?: string
  readonly needs_restore: boolean
  readonly balance_change?: string
  readonly verdict: ReadonlyArray<string>
}

/** A relayer whose ledger stands still, and its simulations. */
const simulating = Effect.fnUntraced(function* (given: Parameters<typeof relayerAt>[0] = {}) {
  const relayer = yield* relayerAt({ ledgerMs: 0, ...given })
  const { call } = yield* TestApi.TestApi
  const ask = (body: object, more: TestApi.Call = {}) =>
    call(`${relayer.path}/simulate`, { ...more, method: "POST", body: { network: relayer.id, ...body } })
  const simulate = Effect.fnUntraced(function* (body: object, more: TestApi.Call = {}) {
    const answer = yield* ask(body, more)
    assert.strictEqual(answer.status, 200, answer.text)
    return answer.json.data as Simulated
  })
  const refusal = Effect.fnUntraced(function* (body: object) {
    const { json, status } = yield* ask(body)
    assert.strictEqual(status, 400, JSON.stringify(json))
    return json.error ?? ""
  })
  const stored = Effect.map(call(relayer.path), ({ json }) => json.data)
  return { ...relayer, ask, simulate, refusal, stored }
})

const counts = (name: string) => ({
  operations: [{ type: "invoke_contract", contract_address: counterContract, function_name: name, args: [] }]
})

layer(api, { excludeTestServices: true })("a simulation of a stellar relayer", (it) => {
  it.effect("shows the fee of a payment and what it takes, and stores nothing", () =>
    Effect.gen(function* () {
      const { account, simulate, stored } = yield* simulating({ policies: { max_fee: 5000 } })
      const before = account()
      assert.deepStrictEqual(yield* simulate(pay(receiver.publicKey(), 5n * xlm)), {
        fee: "100",
        inclusion_fee: "100",
        resource_fee: "0",
        max_fee: "5000",
        fits: true,
        out: String(5n * xlm),
        auth: [],
        needs_restore: false,
        verdict: []
      })
      assert.deepStrictEqual(yield* stored, [])
      assert.deepStrictEqual(account(), before)
    })
  )

  it.effect("shows what a call returns and what its resources cost", () =>
    Effect.gen(function* () {
      const { simulate, standIn } = yield* simulating()
      standIn.control({ faults: { provider: 0, set: { script: { resourceFee: 1000n } } } })
      const shown = yield* simulate(counts("increment"))
      assert.deepStrictEqual([shown.resource_fee, shown.fee, shown.balance_change], ["1150", "1250", "0"])
      assert.strictEqual(scValToNative(xdr.ScVal.fromXdr(shown.return_value ?? "", "base64")), 1)
      assert.deepStrictEqual(shown.verdict, [])
    })
  )

  it.effect("refuses a call that fails, and one that needs an authorization which the request does not give", () =>
    Effect.gen(function* () {
      const { address, network, refusal, stored } = yield* simulating()
      network.grant(receiver.publicKey(), 10n * xlm)
      network.close()
      assert.include(yield* refusal(counts("fail")), "operations: would_fail: HostError")
      const [call] = counts("transfer").operations
      const args = [{ address }, { address: receiver.publicKey() }, { i128: { hi: "0", lo: "1" } }]
      const drain = { operations: [{ ...call, args, auth: { type: "none" } }] }
      assert.include(yield* refusal(drain), "operations: auth_not_granted")
      assert.deepStrictEqual(yield* stored, [])
    })
  )

  it.effect("needs a second provider for a failure, and names a restore that is missing", () =>
    Effect.gen(function* () {
      const { address, simulate, standIn } = yield* simulating({ providers: 2 })
      standIn.control({ faults: { provider: 0, set: { script: { error: "HostError: behind" } } } })
      for (const [method, expected] of [
        // The provider that has answered for the accounts is asked first.
        ["getTransaction", "providers_disagree"],
        ["simulateTransaction", "second_provider_missing"]
      ] as const) {
        standIn.control({ faults: { provider: 1, set: { replaced: { [method]: {} } } } })
        assert.deepStrictEqual((yield* simulate(counts("increment"))).verdict, [expected])
      }
      standIn.control({ faults: { provider: 1, set: { replaced: {} } } })
      for (const provider of [0, 1]) {
        standIn.control({ faults: { provider, set: { script: { needsRestore: true } } } })
      }
      assert.isFalse((yield* simulate(counts("increment"))).needs_restore)
      const extend = transaction(address, [Operation.extendFootprintTtl({ extendTo: 9 })], {
        sequence: 1n,
        resourceFee: 1000n,
        footprint: [counterKey]
      })
      const { needs_restore, verdict } = yield* simulate({ transaction_xdr: extend.toXDR() })
      assert.deepStrictEqual([needs_restore, verdict], [true, ["needs_restore"]])
    })
  )

  it.effect("refuses what a call would change of the relayer against its policy or the API key", () =>
    Effect.gen(function* () {
      const { address, network, passphrase, refusal, simulate } = yield* simulating({ policies: { max_subentries: 1 } })
      for (const key of [issuer, user]) network.grant(key.publicKey(), 10n * xlm)
      network.close()
      const native = nativeContract(passphrase)
      const to = (key: typeof user) => ({
        operations: [
          {
            type: "invoke_contract",
            contract_address: native,
            function_name: "transfer",
            args: [{ address }, { address: key.publicKey() }, { i128: { hi: "0", lo: String(2n * xlm) } }]
          }
        ]
      })
      assert.strictEqual((yield* simulate(to(user))).out, String(2n * xlm))
      assert.include(yield* refusal(to(keyNamed("fresh"))), "operations: balance_change: the call creates the account")
      const trust = {
        operations: [
          {
            type: "invoke_contract",
            contract_address: creditContract(passphrase),
            function_name: "trust",
            args: [{ address }]
          }
        ]
      }
      assert.strictEqual((yield* simulate(trust)).out, "5000000")
      const of = accountIn(network.reads, address)
      if (of !== undefined) network.put(keyOf.account(address), { ...of, subEntries: 1 })
      network.close()
      assert.include(yield* refusal(trust), "operations: too_many_subentries: the account would have 2 entries")
    })
  )

  it.effect("names what makes a send wait or be refused: the cap, funds, and the limits of the API key", () =>
    Effect.gen(function* () {
      const { address, network, simulate } = yield* simulating()
      const one = pay(receiver.publicKey(), 1n)
      const capped = yield* simulate({ operations: [...one.operations, ...one.operations], max_fee: 199 })
      assert.deepStrictEqual([capped.fee, capped.fits, capped.verdict], ["200", false, ["fee_above_cap"]])
      const all = yield* simulate(pay(receiver.publicKey(), 1000n * xlm))
      assert.deepStrictEqual(all.verdict, ["insufficient_funds"])
      network.grant(address, 10n * xlm)
      network.close()
      assert.deepStrictEqual((yield* simulate(pay(receiver.publicKey(), 1000n * xlm))).verdict, [])
      const limited = yield* makeKey(["transactions:read"], { transaction_limits: { stellar: { max_value: "1" } } })
      assert.deepStrictEqual((yield* simulate(one, { key: limited })).verdict, [])
      const two = pay(receiver.publicKey(), 2n)
      assert.deepStrictEqual((yield* simulate(two, { key: limited })).verdict, ["transaction_limits"])
      const other = yield* makeKey(["transactions:read"], { transaction_limits: { max_value: "1" } })
      assert.deepStrictEqual((yield* simulate(one, { key: other })).verdict, ["transaction_limits"])
    })
  )

  it.effect("shows the fee around an envelope that a user has signed, and refuses one whose sequence is used", () =>
    Effect.gen(function* () {
      const { account, network, passphrase, refusal, simulate } = yield* simulating()
      for (const key of [user, receiver]) network.grant(key.publicKey(), 10n * xlm)
      network.close()
      const used = account(user.publicKey())?.sequence ?? 0n
      const maxTime = Math.floor((performance.timeOrigin + performance.now()) / 1000) + 100
      const at = (sequence: bigint) => ({
        transaction_xdr: envelope(user, [payment(receiver, xlm)], { sequence, maxTime, network: passphrase }),
        fee_bump: true
      })
      const { fee, out, verdict } = yield* simulate(at(used + 1n))
      assert.deepStrictEqual([fee, out, verdict], ["200", "0", []])
      assert.include(yield* refusal(at(used)), "transaction_xdr: sequence_used")
    })
  )

  it.effect("refuses what the guard refuses, and fails without a provider", () =>
    Effect.gen(function* () {
      const { ask, refusal, standIn } = yield* simulating()
      assert.include(yield* refusal({ transaction_xdr: "AAAA" }), "transaction_xdr: xdr_invalid")
      standIn.control({ faults: { provider: 0, set: { throttled: ["getTransaction"] } } })
      const { json, status } = yield* ask(pay(receiver.publicKey(), 1n))
      assert.strictEqual(status, 502)
      assert.include(json.error ?? "", "http://127.0.0.1")
    })
  )
})
