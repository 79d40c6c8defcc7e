// The commands for transactions of a solana relayer beside a service with a cluster in memory. Processes run by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ran } from "../../testkit/process/Commands.ts"
import { folder } from "../../testkit/process/Folder.ts"
import * as TestApi from "../../testkit/TestApi.ts"
import { memo } from "../networks/solana/lane/World.ts"
import * as Paying from "../networks/solana/requests/Paying.ts"
import { api, relayerAt } from "../networks/solana/requests/Relayers.ts"

const commands = Effect.fnUntraced(function* (policies: object = {}) {
  const relayer = yield* relayerAt(policies)
  const { baseUrl } = yield* TestApi.TestApi
  const home = yield* folder
  const run = (...flags: ReadonlyArray<string>) =>
    ran({ folder: home, flags, env: { API_KEY: TestApi.apiKey, RELAYER_URL: baseUrl } })
  const data = Effect.fnUntraced(function* (...flags: ReadonlyArray<string>) {
    const { code, stderr, stdout } = yield* run(...flags, "-o", "json")
    assert.strictEqual(code, 0, stderr)
    const read: Readonly<Record<string, string>> = JSON.parse(stdout)
    return read
  })
  const send = (request: object) =>
    data("transactions", "send", relayer.id, "--network-type", "solana", "--data", JSON.stringify(request))
  return { ...relayer, run, data, send }
})

layer(api, { excludeTestServices: true })("the commands for solana", (it) => {
  it.effect("send instructions, wait for the confirmation, and explain it", () =>
    Effect.gen(function* () {
      const { data, id, run, send } = yield* commands()
      const sent = yield* send(memo("from a terminal"))
      const waited = yield* run("transactions", "wait", id, sent.id ?? "")
      assert.strictEqual(waited.code, 0, waited.stderr)
      assert.match(waited.stdout, /^status +confirmed$/m)
      assert.match(waited.stdout, /^fee_paid +5000 lamports \(0\.000005 SOL\)$/m)
      const explained = yield* data("transactions", "explain", id, sent.id ?? "")
      assert.match(explained.reason ?? "", /^The transaction was executed in slot \d+, which is finalized\.$/u)
    })
  )

  it.effect("quote and build a transaction whose user pays, and send what the user has signed", () =>
    Effect.gen(function* () {
      const { address, becomes, cluster, data, id, send } = yield* commands(Paying.policies)
      Paying.prepare(cluster, address)
      const asked = ["--transaction", Paying.wanted("cli"), "--fee-token", Paying.mint]
      const quoted = yield* data("relayers", "sponsored-quote", id, ...asked)
      assert.deepStrictEqual(quoted, { estimated_fee: "0.0015", conversion_rate: "150" })
      const built = yield* data("relayers", "sponsored-build", id, ...asked)
      assert.strictEqual(built.fee_in_spl, String(Paying.fee.units))
      const transaction = Paying.signedByUser(built.transaction ?? "")
      const sent = yield* send({ transaction })
      yield* becomes(sent.id ?? "", "confirmed")
    })
  )

  it.effect("say which field of a quote is invalid", () =>
    Effect.gen(function* () {
      const { id, run } = yield* commands(Paying.policies)
      const { code, stderr } = yield* run(
        "relayers",
        "sponsored-quote",
        id,
        "--transaction",
        "AQ=",
        "--fee-token",
        Paying.mint
      )
      assert.strictEqual(code, 2)
      assert.strictEqual(
        stderr,
        "effect-relayer: --transaction: Expected base64 with padding (read as a request of solana: --network-type names another type)\n"
      )
    })
  )
})
