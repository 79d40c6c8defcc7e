// Sends of solana relayers over HTTP: what is accepted and refused, and that what is accepted lands.
// The cluster makes blocks by the clock of the machine.
import { Effect } from "effect"
import { assert, layer } from "@effect/vitest"
import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { promisify } from "node:util"
import { nativeToken } from "../../../../src/networks/solana/rules/Guard.ts"
import { memoProgram, systemProgram, tokenProgram } from "../../../../src/networks/solana/rules/Programs.ts"
import { base64Of } from "../../../../src/networks/solana/rules/SolanaExchanges.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { u64 } from "../../../../testkit/solana/Messages.ts"
import * as Tokens from "../../../../testkit/solana/Tokens.ts"
import { makeKey } from "../../../server/transactions/Fixtures.ts"
import { addressOf } from "../../../testkit/solana/World.ts"
import { memo, receiver, sol, transfer } from "../lane/World.ts"
import { api, dataOf, memoOf, prebuilt, recent, relayerAt } from "./Relayers.ts"

layer(api, { excludeTestServices: true, concurrent: true })("a solana relayer", (it) => {
  it.effect("sends instructions: they are confirmed with slot and fee, and the balance shows what they cost", () =>
    Effect.gen(function* () {
      const { address, becomes, cluster, get, send } = yield* relayerAt()
      const answer = yield* send(transfer(address, sol))
      assert.strictEqual(answer.status, 200, answer.text)
      const accepted = dataOf(answer)
      assert.strictEqual(accepted.network_type, "solana")
      assert.strictEqual(accepted.transaction, "")
      const confirmed = yield* becomes(accepted.id, "confirmed")
      assert.strictEqual(confirmed.code, "confirmed")
      assert.isAbove(confirmed.slot ?? 0, 40)
      assert.isAbove(confirmed.transaction.length, 100)
      assert.lengthOf(confirmed.attempts ?? [], 1)
      assert.strictEqual(cluster.balanceOf(receiver), sol)
      assert.strictEqual(cluster.balanceOf(address), 9n * sol - BigInt(confirmed.fee_paid ?? 0))
      const explained = yield* get(accepted.id, "/explain")
      assert.include(JSON.stringify(explained), "which is finalized")
    })
  )

  it.effect("sends the command of docs/solana.md", () =>
    Effect.gen(function* () {
      const { baseUrl } = yield* TestApi.TestApi
      const { becomes, id } = yield* relayerAt()
      const text = yield* Effect.promise(() => readFile("docs/solana.md", "utf8"))
      const [, command = ""] = /```sh\n(curl [^]+?)\n```/.exec(text) ?? []
      const here = command.replace("http://127.0.0.1:8080", baseUrl).replace("/relayers/payouts/", `/relayers/${id}/`)
      const { stdout } = yield* Effect.promise(() =>
        promisify(execFile)("bash", ["-e", "-c", here], { env: { PATH: process.env.PATH, API_KEY: TestApi.apiKey } })
      )
      const { data }: { readonly data: { readonly id: string } } = JSON.parse(stdout)
      const confirmed = yield* becomes(data.id, "confirmed")
      assert.isNumber(confirmed.slot)
      assert.match(confirmed.fee_paid ?? "", /^5\d{3}$/)
    })
  )

  it.effect("sends a prebuilt transaction with its own blockhash, and does not change its bytes", () =>
    Effect.gen(function* () {
      const { address, becomes, cluster, send } = yield* relayerAt()
      const blockhash = recent(cluster)
      const raw = prebuilt(address, blockhash, memoOf("hello"))
      const { id } = dataOf(yield* send({ transaction: raw }))
      const confirmed = yield* becomes(id, "confirmed")
      assert.strictEqual(confirmed.transaction.slice(-100), raw.slice(-100))
      assert.strictEqual(cluster.successes(address), 1)
    })
  )

  it.effect("accepts equal prebuilt bytes once, also while they are pending, and again if they had no effect", () =>
    Effect.gen(function* () {
      const { address, cluster, path, send } = yield* relayerAt()
      const { call } = yield* TestApi.TestApi
      const raw = prebuilt(address, recent(cluster), memoOf("equal"))
      const waiting = {
        transaction: raw,
        external_id: "one",
        not_before: new Date(Date.now() + 3_600_000).toISOString()
      }
      const first = yield* send(waiting)
      assert.strictEqual(first.status, 200, first.text)
      const again = yield* send(waiting)
      assert.deepStrictEqual([again.status, dataOf(again).id], [200, dataOf(first).id])
      const other = yield* send({ transaction: raw })
      assert.strictEqual(other.status, 409)
      assert.include(other.json.error ?? "", `already_accepted: transaction ${dataOf(first).id}`)
      yield* call(`${path}/${dataOf(first).id}`, { method: "DELETE" })
      assert.strictEqual((yield* send({ transaction: raw })).status, 200)
    })
  )

  it.effect("refuses what the limits of an API key forbid", () =>
    Effect.gen(function* () {
      const { address, becomes, send } = yield* relayerAt()
      const limited = yield* makeKey(["transactions:write", "transactions:read"], {
        transaction_limits: { solana: { max_value: "1000000", receivers: [receiver] } }
      })
      const none = yield* makeKey(["transactions:write"], { transaction_limits: { max_value: "1" } })
      const above = yield* send(transfer(address, 1_000_001n), { key: limited })
      assert.strictEqual(above.status, 403)
      const elsewhere = yield* send(transfer(address, 1_000_000n, memoProgram), { key: limited })
      assert.strictEqual(elsewhere.status, 403)
      assert.include(elsewhere.json.error ?? "", "receiver_not_allowed")
      assert.strictEqual((yield* send(memo("x"), { key: none })).status, 403)
      const allowed = yield* send(transfer(address, 1_000_000n), { key: limited })
      assert.strictEqual(allowed.status, 200, allowed.text)
      yield* becomes(dataOf(allowed).id, "confirmed")
    })
  )

  it.effect("refuses a token transfer without its mint for an API key with receivers, and says what to use", () =>
    Effect.gen(function* () {
      const { address, send } = yield* relayerAt()
      const token = (data: ReadonlyArray<number>, accounts: ReadonlyArray<string>) => ({
        instructions: [
          {
            program_id: tokenProgram,
            accounts: [...accounts, address].map((pubkey) => ({
              pubkey,
              is_signer: pubkey === address,
              is_writable: pubkey !== address
            })),
            data: base64Of(Uint8Array.from(data))
          }
        ]
      })
      const [source, mint] = [addressOf(20), addressOf(21)]
      const transfer = token([3, ...u64(1)], [source, receiver])
      const keyWith = (solana: object) => makeKey(["transactions:write"], { transaction_limits: { solana } })
      const listed = yield* keyWith({ receivers: [receiver] })
      const refused = yield* send(transfer, { key: listed })
      assert.strictEqual(refused.status, 403, refused.text)
      assert.include(refused.json.error ?? "", "instructions: receiver_not_allowed")
      assert.include(refused.json.error ?? "", "use TransferChecked with an API key that has receivers")
      // TransferChecked names its mint, and a key without receivers may send either.
      const checked = yield* send(token([12, ...u64(1), 6], [source, mint, receiver]), { key: listed })
      assert.strictEqual(checked.status, 200, checked.text)
      const other = yield* send(transfer, { key: yield* keyWith({ max_value: "1" }) })
      assert.strictEqual(other.status, 200, other.text)
    })
  )

  it.effect(
    "counts wrapped lamports against max_value of an API key if only the chain says what a transfer moves",
    () =>
      Effect.gen(function* () {
        const { address, becomes, cluster, post, send } = yield* relayerAt()
        const [source, destination] = [addressOf(30), addressOf(31)]
        const holding = { mint: nativeToken, amount: sol, isNative: true }
        cluster.put({
          [source]: Tokens.holding({ ...holding, owner: address }),
          [destination]: Tokens.holding({ ...holding, owner: receiver })
        })
        cluster.produce(2)
        const wrapped = (lamports: number) => ({
          instructions: [
            {
              program_id: tokenProgram,
              accounts: [source, destination, address].map((pubkey) => ({
                pubkey,
                is_signer: pubkey === address,
                is_writable: pubkey !== address
              })),
              data: base64Of(Uint8Array.from([3, ...u64(lamports)]))
            }
          ]
        })
        const key = yield* makeKey(["transactions:write", "transactions:read"], {
          transaction_limits: { solana: { max_value: "1000" } }
        })
        const simulated = yield* post("/transactions/simulate", wrapped(1001), { key })
        assert.include(simulated.text, '"verdict":["transaction_limits"]')
        const above = dataOf(yield* send(wrapped(1001), { key }))
        const allowed = dataOf(yield* send(wrapped(1000), { key }))
        assert.strictEqual((yield* becomes(above.id, "failed")).code, "value_above_cap")
        yield* becomes(allowed.id, "confirmed")
        assert.strictEqual(Tokens.amountOf(cluster.accountOf(source)), sol - 1000n)
      })
  )

  it.effect("simulates everything that lists the relayer, also prebuilt transactions that a policy allows", () =>
    Effect.gen(function* () {
      const { address, cluster, send } = yield* relayerAt({
        fee_payer_as_authority: "always",
        authority_programs: [addressOf(32)]
      })
      const accounts = [
        { address, isWritable: true },
        { address: receiver, isWritable: true }
      ]
      const instruction = { program: systemProgram, accounts, data: Uint8Array.from([2, 0, 0, 0, ...u64(1)]) }
      const transaction = prebuilt(address, recent(cluster), [instruction])
      const refused = yield* send({ transaction, simulate: false })
      assert.strictEqual(refused.status, 400, refused.text)
      assert.include(refused.json.error ?? "", "simulate: cannot be false if an instruction lists the relayer")
      const unlisted = prebuilt(address, recent(cluster), memoOf("x"))
      assert.strictEqual((yield* send({ transaction: unlisted, simulate: false })).status, 200)
    })
  )
})
