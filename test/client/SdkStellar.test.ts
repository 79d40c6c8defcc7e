// The published SDK of another relayer service works with stellar relayers unchanged. The ledger is a stand-in.
// Ledgers close by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { AssetSpecOneOfTypeEnum, OperationSpecOneOfTypeEnum, RelayerNetworkType } from "@openzeppelin/relayer-sdk"
import type {
  CreateRelayerRequest,
  NetworkTransactionRequest,
  SignTransactionResponseStellar,
  StellarFeeEstimateResult,
  StellarPrepareTransactionResult,
  StellarTransactionRequest,
  StellarTransactionResponse
} from "@openzeppelin/relayer-sdk"
import { Effect, Layer, Logger } from "effect"
import { randomUUID } from "node:crypto"
import { ledgerTables } from "../../src/server/ledger/Claims.ts"
import * as Prepared from "../../testkit/Prepared.ts"
import { call, envelope, keyNamed, payment, transaction } from "../../testkit/stellar/Building.ts"
import * as Credits from "../../testkit/stellar/Credits.ts"
import { counterContract, tokenContract } from "../../testkit/stellar/Contracts.ts"
import { keyOf } from "../../testkit/stellar/Entries.ts"
import * as Forwards from "../../testkit/stellar/Forwards.ts"
import { relayerAt, xlm } from "../../testkit/stellar/Relayers.ts"
import * as TestApi from "../../testkit/TestApi.ts"
import { callsOf } from "./SdkCalls.ts"

const api = Layer.provideMerge(ledgerTables(), TestApi.layer({ jobs: true, healthCheckInterval: "1 hour" })).pipe(
  Layer.provideMerge(Logger.layer([]))
)

const [receiver, user] = [keyNamed("receiver"), keyNamed("user")]

const soon = () => Math.floor((performance.timeOrigin + performance.now()) / 1000) + 100

const make = Effect.fnUntraced(function* (given: Parameters<typeof relayerAt>[0] = {}) {
  const relayer = yield* relayerAt(given)
  for (const key of [receiver, user]) relayer.network.grant(key.publicKey(), 10n * xlm)
  const { answer, refusal, sdk } = yield* callsOf(relayer.id)
  const bodyOf = (body: Omit<StellarTransactionRequest, "network">): NetworkTransactionRequest => ({
    network: relayer.id,
    ...body
  })
  const post = (body: Omit<StellarTransactionRequest, "network">) =>
    Effect.map(
      answer((one, id) => one.sendTransaction(id, bodyOf(body))),
      (sent) => sent as StellarTransactionResponse
    )
  return { ...relayer, answer, bodyOf, refusal, post, sdk }
})

const pays = (amount: number): Pick<StellarTransactionRequest, "operations"> => ({
  operations: [{ type: "payment", destination: receiver.publicKey(), amount, asset: { type: "native" } }]
})

layer(api, { excludeTestServices: true, concurrent: true })("the SDK with a stellar relayer", (it) => {
  it.effect("sends operations with a memo, and reads the transaction until it is confirmed", () =>
    Effect.gen(function* () {
      const { account, address, answer, becomes, post } = yield* make()
      const sent = yield* post({ ...pays(5), memo: { type: "text", value: "invoice" }, max_fee: 1000 })
      assert.deepStrictEqual([sent.status, sent.fee, sent.source_account], ["pending", 0, address])
      yield* becomes(sent.id, "confirmed")
      const read = (yield* answer((sdk, id) => sdk.getTransactionById(id, sent.id))) as StellarTransactionResponse
      assert.strictEqual(read.status, "confirmed")
      assert.strictEqual(String(read.sequence_number), String(account()?.sequence))
      assert.strictEqual(account(receiver.publicKey())?.balance, 10n * xlm + 5n)
    })
  )

  it.effect("calls a contract", () =>
    Effect.gen(function* () {
      const { becomes, post } = yield* make()
      const { id } = yield* post({
        operations: [
          { type: "invoke_contract", contract_address: counterContract, function_name: "increment", args: [] }
        ]
      })
      yield* becomes(id, "confirmed")
    })
  )

  it.effect("uploads the code of a contract, and creates one", () =>
    Effect.gen(function* () {
      const { address, becomes, post } = yield* make()
      const upload = { type: "upload_wasm", wasm: { type: "hex", hex: "0061736d01000000" } } as const
      yield* becomes((yield* post({ operations: [upload] })).id, "confirmed")
      const create = {
        type: "create_contract",
        source: { from: "address", address },
        wasm_hash: "5c".repeat(32),
        salt: "6d".repeat(32)
      } as const
      yield* becomes((yield* post({ operations: [create] })).id, "confirmed")
    })
  )

  it.effect("reads a transaction by its sequence, which needs a text above 2^53", () =>
    Effect.gen(function* () {
      const [small, large] = [6n, 2n ** 62n]
      const found = yield* Effect.forEach([small, large], (sequence) =>
        Effect.gen(function* () {
          // Before its first transaction: later on, only transactions move the sequence of an account.
          const { account, address, answer, becomes, network, post } = yield* make()
          const entry = account()
          if (entry !== undefined) network.put(keyOf.account(address), { ...entry, sequence })
          const { id } = yield* post(pays(1))
          yield* becomes(id, "confirmed")
          // The type of the SDK is a number, which cannot have the digits of the sequences of a real network.
          const asked: number = sequence === small ? Number(small + 1n) : JSON.parse(`"${sequence + 1n}"`)
          const read = yield* answer((sdk, relayer) => sdk.getTransactionByNonce(relayer, asked))
          assert.strictEqual((read as StellarTransactionResponse).id, id)
          return String((read as StellarTransactionResponse).sequence_number)
        })
      )
      assert.deepStrictEqual(found, [String(small + 1n), String(large + 1n)])
    })
  )

  it.effect("sends unsigned envelopes, and envelopes that a user has signed", () =>
    Effect.gen(function* () {
      const { account, address, becomes, passphrase, post } = yield* make()
      const unsigned = transaction(address, [payment(receiver, 1n)], { sequence: 1n, network: passphrase }).toXDR()
      yield* becomes((yield* post({ transaction_xdr: unsigned })).id, "confirmed")
      const sequence = (account(user.publicKey())?.sequence ?? 0n) + 1n
      const inner = envelope(user, [payment(receiver, 1n)], { sequence, maxTime: soon(), network: passphrase })
      const { id } = yield* post({ transaction_xdr: inner, fee_bump: true, max_fee: 10_000 })
      const confirmed = yield* becomes(id, "confirmed")
      assert.strictEqual(confirmed.source_account, user.publicKey())
    })
  )

  it.effect("lists, replaces and cancels transactions that are not signed, one and all", () =>
    Effect.gen(function* () {
      const { answer, bodyOf, post, standIn } = yield* make()
      standIn.control({ faults: { provider: 0, set: { throttled: ["getTransaction"] } } })
      const [first, second] = [yield* post(pays(1)), yield* post(pays(2))]
      const listed = yield* answer((sdk, id) => sdk.listTransactions(id))
      assert.sameMembers(
        listed.map(({ id }) => id),
        [first.id, second.id]
      )
      const replaced = yield* answer((sdk, id) => sdk.replaceTransaction(id, first.id, bodyOf(pays(3))))
      assert.strictEqual((replaced as StellarTransactionResponse).id, first.id)
      const canceled = yield* answer((sdk, id) => sdk.cancelTransaction(id, first.id))
      assert.strictEqual((canceled as StellarTransactionResponse).status, "canceled")
      const all = yield* answer((sdk, id) => sdk.deletePendingTransactions(id))
      assert.deepStrictEqual(all.queued_for_cancellation_transaction_ids, [second.id])
    })
  )

  it.effect("gets an envelope signed, and sends it itself", () =>
    Effect.gen(function* () {
      const { account, address, answer, network, passphrase } = yield* make({ ledgerMs: 0 })
      network.close()
      const sequence = (account()?.sequence ?? 0n) + 1n
      const given = { sequence, maxTime: soon(), network: passphrase }
      const unsigned_xdr = transaction(address, [payment(receiver, 7n)], given).toXDR()
      const signed = (yield* answer((sdk, id) =>
        sdk.signTransaction(id, { unsigned_xdr })
      )) as SignTransactionResponseStellar
      network.submit(0, signed.signedXdr)
      network.close()
      assert.strictEqual(account(receiver.publicKey())?.balance, 10n * xlm + 7n)
    })
  )

  it.effect("quotes and builds a transaction whose user pays in a token, and sends it", () =>
    Effect.gen(function* () {
      const { account, address, answer, becomes, network, passphrase, post } = yield* make({
        policies: Credits.policies
      })
      network.grant(Credits.issuer.publicKey(), 10n * xlm)
      Credits.trust(network, user.publicKey(), 1_000_000n)
      Credits.trust(network, address, 0n)
      const paid = {
        type: OperationSpecOneOfTypeEnum.PAYMENT,
        destination: receiver.publicKey(),
        amount: 5,
        asset: { type: AssetSpecOneOfTypeEnum.NATIVE }
      }
      const request = { operations: [paid], source_account: user.publicKey(), fee_token: Credits.creditName }
      const quoted = (yield* answer((sdk, id) =>
        sdk.quoteSponsoredTransaction(id, request)
      )) as StellarFeeEstimateResult
      assert.deepInclude(quoted, { fee_in_token: "9", fee_in_token_ui: "0.0000009", conversion_rate: "0.03" })
      const built = (yield* answer((sdk, id) =>
        sdk.buildSponsoredTransaction(id, request)
      )) as StellarPrepareTransactionResult
      assert.deepInclude(built, { fee_in_token: "9", fee_in_stroops: "300", fee_token: Credits.creditName })
      assert.isAbove(Date.parse(built.valid_until), performance.timeOrigin)
      const signed = Credits.signedBy(user, built.transaction, passphrase)
      const { id } = yield* post({ transaction_xdr: signed, fee_bump: true })
      yield* becomes(id, "confirmed")
      assert.strictEqual(account(receiver.publicKey())?.balance, 10n * xlm + 5n)
      assert.strictEqual(Credits.creditOf(network, address), 9n)
    })
  )

  it.effect(
    "quotes and builds a call of a contract whose user pays in a token, and sends it with the user's entry",
    () =>
      Effect.gen(function* () {
        const { address, answer, becomes, network, passphrase, post } = yield* make({
          policies: Forwards.policies,
          fields: Forwards.fields
        })
        Forwards.hold(network, user.publicKey(), 1_000_000n)
        const given = { sequence: 1n, network: passphrase }
        const transaction_xdr = transaction(user, [call("increment")], given).toXDR()
        const request = { transaction_xdr, fee_token: tokenContract }
        const quoted = (yield* answer((sdk, id) =>
          sdk.quoteSponsoredTransaction(id, request)
        )) as StellarFeeEstimateResult
        const fee = { fee_in_token: "1728", max_fee_in_token: "1746", max_fee_in_token_ui: "0.001746" }
        assert.deepInclude(quoted, fee)
        const built = (yield* answer((sdk, id) =>
          sdk.buildSponsoredTransaction(id, request)
        )) as StellarPrepareTransactionResult
        assert.deepInclude(built, { ...fee, fee_in_stroops: "57600", fee_token: tokenContract })
        const signed_auth_entry = yield* Forwards.signedEntry(user, built.user_auth_entry ?? "", passphrase)
        // The SDK has no type for the field, and sends it as it is.
        const signed = { transaction_xdr: built.transaction, signed_auth_entry }
        const { id } = yield* post(signed)
        yield* becomes(id, "confirmed")
        assert.strictEqual(Forwards.heldBy(network, address), 1728n)
      })
  )

  it.effect("creates, reads, lists, changes and deletes a relayer", () =>
    Effect.gen(function* () {
      const { id: network, sdk } = yield* make()
      const id = randomUUID()
      yield* Prepared.create("signers", { id, type: "plain" })
      const request: CreateRelayerRequest = {
        id,
        name: "Made by the SDK",
        network,
        network_type: RelayerNetworkType.STELLAR,
        signer_id: id,
        paused: false,
        policies: { max_fee: 5000, concurrent_transactions: true }
      }
      const made = yield* Effect.promise(() => sdk.createRelayer(request))
      assert.strictEqual(made.status, 201)
      assert.match(made.data.data?.address ?? "", /^G[A-Z2-7]{55}$/)
      const read = yield* Effect.promise(() => sdk.getRelayer(id))
      assert.deepStrictEqual(read.data.data, made.data.data)
      const listed = yield* Effect.promise(() => sdk.listRelayers(1, 100))
      assert.isTrue(listed.data.data?.some((one) => one.id === id))
      const changed = yield* Effect.promise(() => sdk.updateRelayer(id, { paused: true, policies: { max_fee: 6000 } }))
      assert.deepInclude(changed.data.data, { paused: true })
      assert.deepInclude(changed.data.data?.policies, { max_fee: 6000, concurrent_transactions: true })
      yield* Effect.promise(() => sdk.deleteRelayer(id))
      const gone = yield* Effect.promise(() => sdk.listRelayers(1, 100))
      assert.isFalse(gone.data.data?.some((one) => one.id === id))
    })
  )

  it.effect("reads status and balance, and calls methods of the node", () =>
    Effect.gen(function* () {
      const { answer, id, passphrase, sdk } = yield* make()
      const status = yield* answer((one, relayer) => one.getRelayerStatus(relayer))
      assert.deepStrictEqual([status.network_type, String(status.balance)], ["stellar", String(1000n * xlm)])
      const balance = yield* answer((one, relayer) => one.getRelayerBalance(relayer))
      assert.strictEqual(String(balance.balance), String(1000n * xlm))
      const { data } = yield* Effect.promise(() =>
        sdk.rpc(id, { jsonrpc: "2.0", id: 1, method: "getNetwork", params: {} })
      )
      assert.include(JSON.stringify(data), passphrase)
    })
  )

  it.effect("is refused signatures of messages and of typed data, and finds nothing under an unused sequence", () =>
    Effect.gen(function* () {
      const { refusal } = yield* make()
      const statuses = [
        yield* refusal((sdk, id) => sdk.sign(id, { message: "hello" })),
        yield* refusal((sdk, id) =>
          sdk.signTypedData(id, { domain_separator: "5c".repeat(32), hash_struct_message: "6d".repeat(32) })
        ),
        yield* refusal((sdk, id) => sdk.getTransactionByNonce(id, 7))
      ]
      assert.deepStrictEqual(statuses, [400, 400, 404])
    })
  )
})
