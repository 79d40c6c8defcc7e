// What policies of stellar relayers allow and limit besides fees. Ledgers close by the clock of the machine.
import { Effect, Layer, Logger } from "effect"
import { assert, layer } from "@effect/vitest"
import { Asset, Operation } from "@stellar/stellar-sdk/base"
import { ledgerTables } from "../../../../src/server/ledger/Claims.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { transaction } from "../../../../testkit/stellar/Building.ts"
import { issuer } from "../../../../testkit/stellar/Credits.ts"
import { dataOf, relayerAt, xlm } from "../../../../testkit/stellar/Relayers.ts"

const api = Layer.provideMerge(ledgerTables(), TestApi.layer({ jobs: true, healthCheckInterval: "1 hour" })).pipe(
  Layer.provideMerge(Logger.layer([]))
)

layer(api, { excludeTestServices: true })("the policy of a stellar relayer", (it) => {
  it.effect("allows further operations, but none that gives the account away, and limits its entries", () =>
    Effect.gen(function* () {
      const { address, becomes, id, network, passphrase, path, send } = yield* relayerAt({
        policies: { allowed_operations: ["manageData"], max_subentries: 1 }
      })
      network.grant(issuer.publicKey(), 10n * xlm)
      const unsigned = (...operations: Parameters<typeof transaction>[1]) => ({
        transaction_xdr: transaction(address, operations, { sequence: 1n, network: passphrase }).toXDR()
      })
      const { call } = yield* TestApi.TestApi
      const data = yield* call(`${path}/simulate`, {
        method: "POST",
        body: { network: id, ...unsigned(Operation.manageData({ name: "a", value: "b" })) }
      })
      assert.strictEqual(data.status, 200, data.text)
      const offer = { selling: Asset.native(), buying: new Asset("USD", issuer.publicKey()), amount: "1", price: 1 }
      const sold = yield* send(unsigned(Operation.manageSellOffer(offer)))
      assert.include(sold.json.error ?? "", "operation_not_allowed")
      const lines = ["AAA", "BBB"].map((code) => Operation.changeTrust({ asset: new Asset(code, issuer.publicKey()) }))
      assert.include((yield* send(unsigned(...lines))).json.error ?? "", "too_many_subentries")
      yield* becomes(dataOf(yield* send(unsigned(...lines.slice(0, 1)))).id, "confirmed")
      const second = yield* send(unsigned(...lines.slice(1)))
      assert.strictEqual((yield* becomes(dataOf(second).id, "failed")).code, "too_many_subentries")
      const never = yield* call(`/api/v1/relayers/${id}`, {
        method: "PATCH",
        body: { policies: { allowed_operations: ["accountMerge"] } }
      })
      assert.strictEqual(never.status, 400)
      assert.include(never.json.error ?? "", "policies.allowed_operations.0")
    })
  )
})
