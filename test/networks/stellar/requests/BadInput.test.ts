// What relayers of stellar networks refuse: 400 with field and code. Nothing is stored, and neither signer nor provider is asked.
// Ledgers close by the clock of the machine.
import { Effect, Layer, Logger } from "effect"
import { assert, layer } from "@effect/vitest"
import { Asset, decodeAddressToMuxedAccount, Operation, StrKey } from "@stellar/stellar-sdk/base"
import { ledgerTables } from "../../../../src/server/ledger/Claims.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { Vault } from "../../../../testkit/Vault.ts"
import {
  addressEntry,
  call as callOf,
  envelope,
  feeBump,
  invocation,
  keyNamed,
  payment,
  transaction
} from "../../../../testkit/stellar/Building.ts"
import { counterContract } from "../../../../testkit/stellar/Contracts.ts"
import { pay, relayerAt, xlm } from "../../../../testkit/stellar/Relayers.ts"
import { prepared, transitConfig } from "../../../server/signers/fixtures.ts"
import { makeKey } from "../../../server/transactions/Fixtures.ts"
import { altered, nested, v0 } from "../chain/GuardFixtures.ts"

// No lane and no health check runs: only requests could ask a signer or a provider.
const api = Layer.provideMerge(ledgerTables(), TestApi.layer()).pipe(
  Layer.provideMerge(Vault.layer),
  Layer.provideMerge(Logger.layer([]))
)

const [receiver, user, attacker] = [keyNamed("receiver"), keyNamed("user"), keyNamed("attacker")]
const to = receiver.publicKey()

const now = () => Math.floor((performance.timeOrigin + performance.now()) / 1000)

const native = { type: "native" }
const one = (given: object) => ({
  operations: [{ type: "payment", destination: to, amount: "1", asset: native, ...given }]
})
const invoke = (given: object = {}) => ({
  type: "invoke_contract",
  contract_address: counterContract,
  function_name: "increment",
  args: [],
  ...given
})

const levels = (depth: number): object => (depth === 0 ? { u32: 1 } : { vec: [levels(depth - 1)] })

const muxed = (address: string) =>
  StrKey.encodeMed25519PublicKey(
    Buffer.concat([Buffer.from(StrKey.decodeEd25519PublicKey(address)), Buffer.alloc(8, 1)])
  )

type Case = readonly [body: object, expected: string]

const operations: ReadonlyArray<Case> = [
  [{ operations: [] }, "operations: Transaction must have at least one operation"],
  [{ operations: Array.from({ length: 101 }, () => one({}).operations[0]) }, "operations: Transaction has 101"],
  [{ operations: [{ type: "account_merge" }] }, "operations.0"],
  [one({ amount: "0" }), "operations.0.amount"],
  [one({ amount: "-1" }), "operations.0.amount"],
  [one({ amount: String(2n ** 63n) }), "operations.0.amount"],
  [one({ amount: 1.5 }), "operations.0.amount"],
  [one({ amount: "1.5e0" }), "operations.0.amount"],
  [one({ destination: `${to.slice(0, -1)}${to.endsWith("A") ? "B" : "A"}` }), "operations.0.destination"],
  [one({ destination: counterContract }), "operations.0.destination"],
  [one({ asset: { type: "credit4", code: "", issuer: to } }), "operations.0.asset"],
  [one({ asset: { type: "credit4", code: "ABCDE", issuer: to } }), "operations.0.asset"],
  [one({ asset: { type: "credit12", code: "A".repeat(13), issuer: to } }), "operations.0.asset"],
  [one({ asset: { type: "credit4", code: "USD" } }), "operations.0.asset"],
  [{ ...one({}), memo: { type: "text", value: "x".repeat(29) } }, "memo"],
  [{ ...one({}), memo: { type: "id", value: String(2n ** 64n) } }, "memo"],
  [{ ...one({}), memo: { type: "hash", value: "ab".repeat(31) } }, "memo"],
  [{ operations: [invoke()], memo: { type: "text", value: "x" } }, "memo: Soroban operations cannot have a memo"],
  [{ operations: [invoke({ args: [levels(33)] })] }, "operations.0.args"],
  [{ operations: [invoke({ args: [{ u64: String(2n ** 64n) }] })] }, "operations.0.args"],
  [{ operations: [invoke({ args: [{ word: 1 }] })] }, "operations.0.args"],
  [{ operations: [invoke(), invoke()] }, "operations: Transaction can contain at most one Soroban operation"],
  [{ operations: [invoke({ auth: { type: "xdr", entries: ["AAAA"] } })] }, "operations: xdr_invalid"],
  [
    { operations: [invoke({ auth: { type: "xdr", entries: ["AAAABA=="] } })] },
    "operations: auth_kind_unsupported: credentials type 4 is not known to this version"
  ],
  [
    { operations: [invoke({ auth: { type: "addresses", signers: [counterContract, to] } })] },
    `operations: auth of the type addresses is not signed, and the account ${to} has to sign`
  ]
]

const limits: ReadonlyArray<Case> = [
  [{ ...one({}), max_fee: 0 }, "max_fee"],
  [{ ...one({}), max_fee: -1 }, "max_fee"],
  [{ ...one({}), max_fee: 1_000_001 }, "max_fee: must be at most 1000000"],
  [{ ...one({}), valid_until: "2020-01-01T00:00:00Z" }, "valid_until: must be in the future"],
  [{ ...one({}), valid_until: "soon" }, "valid_until"],
  [{ ...one({}), valid_until: 10_000_000_000 }, "valid_until"],
  [{ ...one({}), network: "another" }, "network: must be"],
  [{ ...one({}), source_account: to }, "source_account: must be"],
  [{ ...one({}), unknown: 1 }, "unknown"],
  [{ ...one({}), transaction_xdr: "AAAA" }, "operations: Cannot provide both"],
  [{}, "operations: Must provide either"],
  [{ ...one({}), signed_auth_entry: "AAAA" }, "signed_auth_entry requires transaction_xdr"],
  [{ transaction_xdr: "AAAA", fee_bump: true, signed_auth_entry: "AAAA" }, "Cannot use both"],
  [{ ...one({}), fee_bump: true }, "fee_bump: Cannot request fee_bump with operations mode"],
  [{ transaction_xdr: "AAAA", sequence: "5", fee_bump: true }, "sequence: cannot be given"]
]

/** A relayer whose key is in Vault. `asked`: what Vault and the provider have been asked, and what is stored. */
const counting = Effect.fnUntraced(function* (given: Parameters<typeof relayerAt>[0] = {}) {
  const vault = yield* prepared
  const signer = { type: "vault_transit", config: transitConfig(vault) }
  const relayer = yield* relayerAt({ ledgerMs: 0, signer, ...given })
  const { call } = yield* TestApi.TestApi
  const asked = Effect.map(call(relayer.path), ({ json }) => ({
    signer: vault.seen.length,
    provider: relayer.standIn.control({}).counts,
    stored: json.data
  }))
  const nothing = { ...(yield* asked), stored: [] }
  /** Each body is refused with 400 and its text, and then nothing was stored, and nobody was asked. */
  const refuses = Effect.fnUntraced(function* (cases: ReadonlyArray<Case>) {
    for (const [body, expected] of cases) {
      const { json, status, text } = yield* relayer.send(body)
      assert.strictEqual(status, 400, `${expected} ${text} ${JSON.stringify(body).slice(0, 200)}`)
      assert.include(json.error ?? "", expected)
    }
    assert.deepStrictEqual(yield* asked, nothing)
  })
  return { ...relayer, asked, refuses }
})

layer(api, { excludeTestServices: true })("a stellar relayer", (it) => {
  it.effect("refuses invalid fields with their names", () =>
    Effect.gen(function* () {
      const { refuses } = yield* counting({ policies: { max_fee: 1_000_000 } })
      yield* refuses([...operations, ...limits])
    })
  )

  it.effect("never echoes a seed", () =>
    Effect.gen(function* () {
      const { refuses, send } = yield* counting()
      const seed = attacker.secret()
      const bodies = [one({ destination: seed }), one({ asset: { type: "credit4", code: "USD", issuer: seed } })]
      for (const body of [...bodies, { ...one({}), source_account: seed }]) {
        const { json, status } = yield* send(body)
        assert.strictEqual(status, 400)
        assert.notInclude(JSON.stringify(json), seed.slice(0, 12))
      }
      yield* refuses([])
    })
  )

  it.effect("refuses envelopes that the guard does not allow with its codes, and stores nothing", () =>
    Effect.gen(function* () {
      const { address, asked, id, passphrase, refuses } = yield* counting({ policies: { max_fee: 1000 } })
      const at = { sequence: 7n, network: passphrase }
      const soon = { ...at, maxTime: now() + 100 }
      const own = (...given: Parameters<typeof transaction>[1]) => transaction(address, given, at).toXDR()
      const theirs = (given: object = {}) => envelope(user, [payment(receiver, xlm)], { ...soon, ...given })
      const paid = own(payment(receiver, xlm))
      const go = callOf("increment")
      const cases: ReadonlyArray<Case> = [
        [{ transaction_xdr: "" }, "xdr_encoding"],
        [{ transaction_xdr: `${paid} ` }, "xdr_encoding"],
        [{ transaction_xdr: `${paid.slice(0, 8)} ${paid.slice(8)}` }, "xdr_encoding"],
        [{ transaction_xdr: "ab-_" }, "xdr_encoding"],
        [{ transaction_xdr: nested(500) }, "xdr_invalid"],
        [{ transaction_xdr: v0 }, "xdr_kind"],
        [{ transaction_xdr: v0, fee_bump: true }, "xdr_kind"],
        [{ transaction_xdr: transaction(address, [go, go], { ...at, resourceFee: 1n }).toXDR() }, "soroban_not_alone"],
        ...[
          { minAccountSequence: "1" },
          { minAccountSequenceAge: 1n },
          { minAccountSequenceLedgerGap: 1 },
          { extraSigners: [to] },
          { ledgerbounds: { minLedger: 9, maxLedger: 0 } }
        ].flatMap((conditions): ReadonlyArray<Case> => [
          [
            { transaction_xdr: transaction(address, [payment(receiver, xlm)], { ...at, conditions }).toXDR() },
            "preconditions_unsupported"
          ],
          [{ transaction_xdr: theirs({ conditions }), fee_bump: true }, "preconditions_unsupported"]
        ]),
        [{ transaction_xdr: theirs({ minTime: now() + 50 }), fee_bump: true }, "time_bounds_future"],
        [{ transaction_xdr: theirs({ fee: 501n }), fee_bump: true }, "fee_above_cap"],
        [{ transaction_xdr: theirs({ fee: 200n }), fee_bump: true, max_fee: 399 }, "fee_above_cap"],
        [{ transaction_xdr: paid.slice(0, 40) }, "xdr_invalid"],
        [
          { transaction_xdr: Buffer.concat([Buffer.from(paid, "base64"), Buffer.alloc(3)]).toString("base64") },
          "xdr_invalid"
        ],
        [{ transaction_xdr: "A".repeat(176_132) }, "xdr_encoding"],
        [{ transaction_xdr: theirs() }, "xdr_signed"],
        [
          { transaction_xdr: transaction(user, [payment(receiver, xlm)], soon).toXDR(), fee_bump: true },
          "xdr_unsigned"
        ],
        [{ transaction_xdr: feeBump(attacker, theirs(), 400n, { network: passphrase }), fee_bump: true }, "xdr_kind"],
        [{ transaction_xdr: transaction(user, [payment(receiver, xlm)], at).toXDR() }, "source_account_mismatch"],
        [
          { transaction_xdr: altered(paid, { sourceAccount: decodeAddressToMuxedAccount(muxed(address)) }) },
          "muxed_source"
        ],
        [{ transaction_xdr: theirs({ network: "Another network" }), fee_bump: true }, "signature_invalid"],
        [{ transaction_xdr: theirs({ maxTime: 0 }), fee_bump: true }, "time_bounds_missing"],
        [{ transaction_xdr: theirs({ maxTime: now() + 400 }), fee_bump: true }, "time_bounds_too_long"],
        [{ transaction_xdr: theirs({ maxTime: now() - 1 }), fee_bump: true }, "time_bounds_past"],
        [{ transaction_xdr: own(Operation.accountMerge({ destination: to })) }, "operation_not_allowed"],
        [{ transaction_xdr: own(Operation.bumpSequence({ bumpTo: "9223372036854775807" })) }, "operation_not_allowed"],
        [{ transaction_xdr: own(payment(receiver, xlm, attacker)) }, "operation_source"],
        [{ transaction_xdr: theirs(), fee_bump: true, valid_until: now() + 50 }, "valid_until: must be the maxTime"],
        [{ transaction_xdr: paid, source_account: to }, "source_account: must be the source"],
        [{ transaction_xdr: paid, signed_auth_entry: "AAAA" }, "not_built_here"],
        [{ transaction_xdr: paid, memo: { type: "text", value: "x" } }, "memo: is only valid with operations"]
      ]
      yield* refuses(cases)
      // An envelope that is signed asks both.
      const before = yield* asked
      const unsigned_xdr = transaction(address, [payment(receiver, 1n)], soon).toXDR()
      const { call } = yield* TestApi.TestApi
      const signed = yield* call(`/api/v1/relayers/${id}/sign-transaction`, { method: "POST", body: { unsigned_xdr } })
      assert.strictEqual(signed.status, 200, signed.text)
      const after = yield* asked
      assert.isAbove(after.signer, before.signer)
      assert.notDeepEqual(after.provider, before.provider)
    })
  )

  it.effect("does not pay for envelopes in which an account of the service acts, also one that never sent", () =>
    Effect.gen(function* () {
      const { passphrase, send } = yield* relayerAt({ ledgerMs: 0 })
      const { address: other } = yield* relayerAt({ ledgerMs: 0 })
      const soon = { sequence: 7n, network: passphrase, maxTime: now() + 100 }
      const asSource = transaction(other, [payment(receiver, xlm)], { ...soon, signers: [user] }).toXDR()
      const source = yield* send({ transaction_xdr: asSource, fee_bump: true })
      assert.include(source.json.error ?? "", "source_is_own")
      const inside = envelope(user, [payment(receiver, xlm, muxed(other))], soon)
      const operation = yield* send({ transaction_xdr: inside, fee_bump: true })
      assert.include(operation.json.error ?? "", "operation_source")
    })
  )

  it.effect("refuses operations with an authorization of an account of the service, also one that never sent", () =>
    Effect.gen(function* () {
      const { address, send } = yield* relayerAt({ ledgerMs: 0 })
      const { address: other } = yield* relayerAt({ ledgerMs: 0 })
      for (const one of [address, other]) {
        const entry = addressEntry(one, invocation(counterContract, "increment")).toXdr("base64")
        const { json } = yield* send({ operations: [invoke({ auth: { type: "xdr", entries: [entry] } })] })
        assert.include(json.error ?? "", "auth_of_own_account")
      }
    })
  )

  it.effect("refuses what the limits of an API key forbid with 403", () =>
    Effect.gen(function* () {
      const { address, passphrase, send } = yield* relayerAt({ ledgerMs: 0 })
      const limited = yield* makeKey(["transactions:write", "transactions:read"], {
        transaction_limits: { stellar: { max_value: "100", receivers: [to] } }
      })
      const none = yield* makeKey(["transactions:write"], { transaction_limits: { max_value: "1" } })
      const above = yield* send(pay(to, 101n), { key: limited })
      assert.strictEqual(above.status, 403)
      assert.include(above.json.error ?? "", "max_value")
      const elsewhere = yield* send(pay(user.publicKey(), 1n), { key: limited })
      assert.strictEqual(elsewhere.status, 403)
      const lines = Operation.changeTrust({ asset: new Asset("USD", attacker.publicKey()) })
      const xdr = transaction(address, [lines], { sequence: 7n, network: passphrase }).toXDR()
      assert.strictEqual((yield* send({ transaction_xdr: xdr }, { key: limited })).status, 403)
      const missing = yield* send(pay(to, 1n), { key: none })
      assert.strictEqual(missing.status, 403)
      assert.include(missing.json.error ?? "", "stellar")
      assert.strictEqual((yield* send(pay(to, 100n), { key: limited })).status, 200)
    })
  )
})
