// Accounts that lookup tables load: what lanes do with them before a signature is what they do with the keys of a message.
import { Effect } from "effect"
import { assert } from "@effect/vitest"
import { base64Of, bytesOf } from "../../../../src/networks/solana/rules/SolanaExchanges.ts"
import * as Wire from "../../../../src/networks/solana/rules/Wire.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { lookupTable } from "../../../../testkit/solana/Accounts.ts"
import * as Tokens from "../../../../testkit/solana/Tokens.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import { addressOf } from "../../../testkit/solana/World.ts"
import * as Paying from "../requests/Paying.ts"
import { changing, endsAs, prebuilt, tokensOf, withTokens } from "./Ends.ts"
import * as World from "./World.ts"

const table = addressOf(70)

/** A table that loads accounts. */
const withTable = ({ cluster }: Effect.Success<ReturnType<typeof World.make>>, addresses: ReadonlyArray<string>) => {
  cluster.put({ [table]: lookupTable(addresses) })
  cluster.produce(2)
}

layerEach(memory)("a lookup table", (it) => {
  it.effect("may load the token accounts that instructions of the relayer name", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      withTokens(world)
      const [own, others] = [world.address, Paying.user].map((owner) => Paying.accountOf(owner))
      withTable(world, [own ?? "", others ?? ""])
      const before = Tokens.amountOf(world.cluster.accountOf(own ?? ""))
      const [id] = yield* world.accept({ ...tokensOf(world), address_lookup_tables: [table] })
      yield* endsAs(world, id, "confirmed", "confirmed", 1)
      assert.strictEqual(Tokens.amountOf(world.cluster.accountOf(own ?? "")), before - 1n)
    })
  )

  it.effect("32: that is deactivated after the acceptance ends the transaction, and nothing is signed", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      withTokens(world)
      const accounts = [world.address, Paying.user].map((owner) => Paying.accountOf(owner))
      withTable(world, accounts)
      const [id] = yield* world.accept({ ...tokensOf(world), address_lookup_tables: [table] })
      const active = lookupTable(accounts)
      const data = active.data.slice()
      // The slot of the deactivation. Before, it is the highest number.
      new DataView(data.buffer).setBigUint64(4, 60n, true)
      world.cluster.put({ [table]: { ...active, data } })
      world.cluster.produce(2)
      yield* endsAs(world, id, "failed", "lookup_table_unresolved", 0)
      assert.strictEqual(world.signatures(), 0)
    })
  )

  it.effect("does not hide a token account of the relayer whose authority the simulation changes (S12)", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      withTokens(world)
      const own = Paying.accountOf(world.address)
      withTable(world, [own])
      changing(world, own, (account) => ({
        ...account,
        data: Tokens.holding({ mint: Paying.mint, owner: World.receiver, amount: 1n }).data
      }))
      // A program of the relayer's choice writes the account.
      const request = {
        ...World.memo("writes"),
        address_lookup_tables: [table]
      }
      const [instruction = assert.fail("no instruction")] = request.instructions ?? []
      const accounts = [{ pubkey: own, is_signer: false, is_writable: true }]
      const [id] = yield* world.accept({ ...request, instructions: [{ ...instruction, accounts }] })
      yield* endsAs(world, id, "failed", "authority_changed", 0)
    })
  )

  it.effect("may load the account that a user pays to", () =>
    Effect.gen(function* () {
      const world = yield* World.make({
        policies: { ...Paying.policies, allowed_tokens: [{ mint: Paying.mint, decimals: 6 }] }
      })
      world.rate = Effect.succeed({ ...Paying.price, at: 0 })
      Paying.prepare(world.cluster, world.address)
      const paid = Paying.accountOf(world.address)
      withTable(world, [paid])
      const message = Wire.messageBytes(
        Wire.buildMessage({
          payer: world.address,
          instructions: [Paying.payment({ relayer: world.address, amount: Paying.fee.units })],
          blockhash: world.cluster.blocks.at(-2)?.blockhash ?? "",
          tables: new Map([[table, [paid]]])
        })
      )
      const transaction = Paying.signedByUser(base64Of(Wire.transactionBytes([undefined, undefined], message)))
      assert.isBelow(bytesOf(transaction).length, 400)
      const [id] = yield* world.accept({ transaction }, 1, prebuilt)
      yield* endsAs(world, id, "confirmed", "confirmed", 1)
      assert.strictEqual(Tokens.amountOf(world.cluster.accountOf(paid)), Paying.fee.units)
    })
  )
})
