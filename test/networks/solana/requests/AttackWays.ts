// The ways in for attacks on the fee payer of a solana relayer, and what is left of the relayer afterwards.
import { Effect } from "effect"
import { assert } from "@effect/vitest"
import { systemProgram } from "../../../../src/networks/solana/rules/Programs.ts"
import type { BuiltInstruction } from "../../../../src/networks/solana/rules/Wire.ts"
import type * as TestApi from "../../../../testkit/TestApi.ts"
import type { Given } from "../../../../testkit/solana/Messages.ts"
import * as RawAttacks from "../../../../testkit/solana/RawAttacks.ts"
import type { Reply } from "../../evm/requests/wallet/fixtures.ts"
import { sol } from "../lane/World.ts"
import { recent, relayerAt } from "./Relayers.ts"

/** JSON-RPC has two methods that sign. Each attack tries both. */
export const ways = ["send", "batch", "sign-transaction", "rpc signTransaction", "rpc signAndSendTransaction"] as const

export type Way = (typeof ways)[number]

/** Whether a way signs before it answers. The others accept a transaction, which fails before it is signed. */
export const signsAtOnce = (way: Way): boolean => way === "sign-transaction" || way === "rpc signTransaction"

/** Whether a way takes own instructions. The others take bytes only. */
export const takesInstructions = (way: Way): boolean => way === "send" || way === "batch"

interface Answered {
  readonly isRefused: boolean
  readonly text: string
}

/** The code of JSON-RPC for what REST answers with 400. */
const invalidParams = -32_602

/** A relayer under attack. */
export const attacked = Effect.fnUntraced(function* (
  policies: object = {},
  blockMs = 50,
  version: RawAttacks.Version = "legacy"
) {
  const relayer = yield* relayerAt(policies, { blockMs })
  const { address, becomes, call, cluster, path, post, send } = relayer

  /** What a way answers to a body. */
  const by = Effect.fnUntraced(function* (way: Way, body: object, more: TestApi.Call = {}) {
    if (way === "rpc signTransaction" || way === "rpc signAndSendTransaction") {
      const { text } = yield* post("/rpc", { method: way.slice("rpc ".length), params: body }, more)
      const { error }: Reply = JSON.parse(text)
      return { isRefused: error !== undefined, isInvalid: error?.code === invalidParams, text }
    }
    const { status, text } = yield* way === "send"
      ? send(body, more)
      : way === "batch"
        ? post("/transactions/batch", { transactions: [body] }, more)
        : post("/sign-transaction", body, more)
    return { isRefused: status >= 400, isInvalid: status === 400, text }
  })

  const refuses = Effect.fnUntraced(function* (way: Way, body: object, code: string, more: TestApi.Call = {}) {
    const { isRefused, text } = yield* by(way, body, more)
    assert.isTrue(isRefused, `${way}: ${text}`)
    assert.include(text, code, way)
  })

  /** It is refused as invalid, and the rule is named. */
  const isInvalid = Effect.fnUntraced(function* (way: Way, body: object, code: string) {
    const answer = yield* by(way, body)
    assert.isTrue(answer.isInvalid, `${way}: ${answer.text}`)
    assert.include(answer.text, code, way)
  })

  /** A prebuilt transaction of the version. */
  const bytes = (instructions: ReadonlyArray<BuiltInstruction>): string =>
    RawAttacks.prebuilt(address, recent(cluster), instructions, version)

  const raw = (given: Given): string => bytes([RawAttacks.built(given, address)])

  /** A request with own instructions that asks for the version. */
  const asking = (body: object): object => (version === 1 ? { ...body, version } : body)

  const ids = Effect.map(call(`${path}?per_page=100`), ({ json }) =>
    (json.data as ReadonlyArray<{ readonly id: string }>).map(({ id }) => id)
  )

  /** What a way accepts, and the ids of the transactions that were stored. */
  const accepts = Effect.fnUntraced(function* (way: Way, body: object, more: TestApi.Call = {}) {
    const before = new Set(yield* ids)
    const answer: Answered = yield* by(way, body, more)
    return { ...answer, accepted: (yield* ids).filter((id) => !before.has(id)) }
  })

  /** It is accepted, if the way does not sign at once, and fails with this code without a signature. */
  const endsUnsigned = Effect.fnUntraced(function* (way: Way, body: object, code: string) {
    const { accepted, isRefused, text } = yield* accepts(way, body)
    if (signsAtOnce(way)) assert.isTrue(isRefused, `${way}: ${text}`)
    if (isRefused) assert.include(text, code, way)
    assert.lengthOf(accepted, signsAtOnce(way) ? 0 : 1, way)
    for (const id of accepted) {
      const failed = yield* becomes(id, "failed")
      assert.deepStrictEqual([failed.code, failed.signature], [code, undefined], way)
    }
  })

  /** Nothing was sent, and the relayer's account is as it was. */
  const isSpared = () => {
    assert.strictEqual(cluster.sent.size, 0)
    const account = cluster.accountOf(address)
    assert.deepStrictEqual([account?.lamports, account?.owner, account?.data.length], [10n * sol, systemProgram, 0])
  }

  /** Nothing was stored, either. */
  const isUntouched = Effect.gen(function* () {
    assert.deepStrictEqual(yield* ids, [])
    isSpared()
  })

  return {
    ...relayer,
    by,
    refuses,
    isInvalid,
    accepts,
    endsUnsigned,
    version,
    bytes,
    raw,
    asking,
    ids,
    isSpared,
    isUntouched
  }
})

export type Attacked = Effect.Success<ReturnType<typeof attacked>>
