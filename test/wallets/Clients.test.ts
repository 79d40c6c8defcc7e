// What wallet clients do besides sending: they deploy, sign, decode a custom error, and learn that a policy refuses a send.
// Programs run by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { getContractAddress, toFunctionSelector } from "viem"
import * as TestApi from "../../testkit/TestApi.ts"
import { api, receiver } from "../server/lanes/fixtures.ts"
import { connect, output, python, tools, web3 } from "./Setup.ts"

const selector = toFunctionSelector("Denied(uint256)").slice(2)

/** Init code of a contract that answers every call with `Denied(42)`. */
const denying = `0x6015600c60003960156000f363${selector}60e01b600052602a60045260246000fd`

const denied42 = `0x${selector}${(42).toString(16).padStart(64, "0")}`

/** The relayer may create contracts and call the first one, and nothing else. */
const restricted = Effect.gen(function* () {
  const { account, env } = yield* connect({ blockTime: 1 })
  const contract = getContractAddress({ from: account.address as `0x${string}`, nonce: 0n })
  const { call } = yield* TestApi.TestApi
  const body = { policies: { whitelist_receivers: ["contract_creation", contract] } }
  const { status, text } = yield* call(`/api/v1/relayers/${account.relayerId}`, { method: "PATCH", body })
  assert.strictEqual(status, 200, text)
  return { account, env }
})

interface Result {
  readonly address: string
  readonly revert: string
  readonly refused: string
  readonly signers: ReadonlyArray<string>
}

const results = Effect.fnUntraced(function* (run: string, script: string, revert: string) {
  const { account, env } = yield* restricted
  const printed = yield* output(tools, env, run, [script, denying, receiver])
  const result: Result = JSON.parse(printed)
  assert.strictEqual(result.revert, revert)
  assert.match(result.refused, /^-32003 to: is not in whitelist_receivers/)
  for (const address of [result.address, ...result.signers]) assert.strictEqual(address.toLowerCase(), account.address)
})

layer(api, { excludeTestServices: true })("through a relayer,", (it) => {
  it.effect("ethers deploys, signs, and decodes errors", () => results(process.execPath, "ethers.mjs", "Denied(42)"))

  it.effect.runIf(python !== undefined)("web3.py deploys, signs, and decodes errors (needs Python 3 with venv)", () =>
    Effect.gen(function* () {
      yield* results(yield* web3, "web3_client.py", denied42)
    })
  )

  it.effect("cast deploys, and shows the data of a custom error", () =>
    Effect.gen(function* () {
      const { account, env } = yield* restricted
      const printed = yield* output(tools, env, "bash", ["cast.sh", denying, receiver])
      const [from, revert, refused] = printed.split("---\n")
      assert.strictEqual(from?.trim().toLowerCase(), account.address)
      assert.include(revert, denied42)
      assert.include(refused, "-32003")
      assert.include(refused, "whitelist_receivers")
    })
  )
})
