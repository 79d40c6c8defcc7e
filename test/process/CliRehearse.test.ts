// `effect-relayer plan --rehearse` beside a service with past transactions: one line for each changed policy, after the plan.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { layerEach } from "../../testkit/layerEach.ts"
import * as TestApi from "../../testkit/TestApi.ts"
import { ran } from "../../testkit/process/Commands.ts"
import { folder } from "../../testkit/process/Folder.ts"
import { dataOf, receiver, send } from "../server/transactions/Fixtures.ts"
import { confirm, prepareAt } from "../server/transactions/Past.ts"

/** The transaction, and as many copies of it as give the count. */
const copies = Effect.fnUntraced(function* (id: string, count: number) {
  const sql = yield* SqlClient.SqlClient
  const made = yield* sql<{ id: string }>`
    INSERT INTO transactions (id, relayer_id, relayer_number, lane_id, request, state, code_since, valid_until, created_at)
    SELECT gen_random_uuid(), relayer_id, relayer_number, lane_id, request, state, code_since, valid_until, created_at
    FROM transactions, generate_series(2, ${count}::int) WHERE id = ${id}::uuid
    RETURNING id`
  return [id, ...made.map((row) => row.id)]
})

const stranger = "0x90f79bf6eb2c4f870365e785982e1f101e93b906"

/** Policies as a file may write them: amounts as numbers and as text. */
const fileOf = (cap: string) => `version: 1
name: payments
relayers:
  sender:
    name: sender
    network_type: evm
    network: nowhere
    signer_id: hot
    policies: {gas_price_cap: ${cap}, whitelist_receivers: ["${receiver}"]}
  other: {name: other, network_type: evm, network: nowhere, signer_id: hot, policies: {min_balance: "1"}}
  sol: {name: sol, network_type: solana, network: devnet, signer_id: hot, policies: {max_allowed_fee_lamports: 5}}
  new: {name: new, network_type: evm, network: nowhere, signer_id: hot, policies: {gas_price_cap: 1}}
`

/** Final transactions of `sender`: 37 of them at a price above the cap of the file, and 2 to a receiver that it does not allow. */
const sent = Effect.gen(function* () {
  const idOf = (to: string) => Effect.map(send({ to }), (answer) => dataOf(answer).id)
  const dear = yield* idOf(receiver)
  const cheap = yield* idOf(receiver)
  const refused = yield* idOf(stranger)
  const all = yield* Effect.forEach(
    [
      [dear, 37],
      [cheap, 961],
      [refused, 2]
    ] as const,
    ([id, count]) => copies(id, count)
  )
  const [dearIds = [], ...others] = all
  yield* confirm(dearIds, 60n)
  yield* confirm(others.flat(), 20n)
})

const prepared = Effect.gen(function* () {
  yield* prepareAt({ min_balance: "7" })
  yield* sent
  const { baseUrl } = yield* TestApi.TestApi
  const home = yield* folder
  const write = (text: string) => Effect.promise(() => fs.writeFile(path.join(home, "relayers.yaml"), text))
  yield* write(fileOf("50000000000"))
  const plan = Effect.fnUntraced(function* (...flags: ReadonlyArray<string>) {
    const env = { API_KEY: TestApi.apiKey, RELAYER_URL: baseUrl }
    const ended = yield* ran({ folder: home, flags: ["plan", "-f", "relayers.yaml", ...flags], env })
    assert.strictEqual(ended.code, 0, ended.stderr)
    return ended
  })
  return { plan, write }
})

const parsed = ({ stdout }: { readonly stdout: string }) =>
  JSON.parse(stdout) as { readonly digest: string; readonly rehearsals?: ReadonlyArray<string> }

const tried = "relayers.sender: of 1,000 transactions of 30 days it would have held 37 and refused 2"

const none = (id: string) => `relayers.${id}: of 0 transactions of 30 days it would have held 0 and refused 0`

layerEach(TestApi.layer())("plan --rehearse", (it) => {
  it.effect("adds a line for each evm relayer whose policy changes, and changes nothing else of the plan", () =>
    Effect.gen(function* () {
      const { plan, write } = yield* prepared
      const { digest } = parsed(yield* plan("-o", "json"))
      const json = parsed(yield* plan("-o", "json", "--rehearse", "30"))
      assert.strictEqual(json.digest, digest)
      assert.deepStrictEqual(json.rehearsals, [none("other"), tried])
      yield* write(fileOf('"50000000000"'))
      const text = yield* plan("--rehearse", "30")
      assert.isTrue(text.stdout.endsWith(`\n\n${none("other")}\n${tried}\n`), text.stdout)
      const markdown = yield* plan("-o", "markdown", "--rehearse", "30")
      assert.isTrue(markdown.stdout.endsWith(`\n\n- ${none("other")}\n- ${tried}\n`), markdown.stdout)
      yield* write(fileOf("50000000000").replace(/policies: {gas_price_cap: 5.*/, ""))
      assert.deepStrictEqual(parsed(yield* plan("-o", "json", "--rehearse", "30")).rehearsals, [
        none("other"),
        "relayers.sender: of 1,000 transactions of 30 days it would have held 0 and refused 0"
      ])
    }).pipe(Effect.scoped)
  )

  it.effect("days that no rehearsal reads are refused before the plan", () =>
    Effect.gen(function* () {
      const home = yield* folder
      for (const days of ["0", "31"]) {
        const { code, stderr, stdout } = yield* ran({ folder: home, flags: ["plan", "--rehearse", days], env: {} })
        assert.strictEqual(code, 2, stderr)
        assert.include(stderr + stdout, "between 1 and 30")
      }
    }).pipe(Effect.scoped)
  )
})
