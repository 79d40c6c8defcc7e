// What the answers of nodes to a send of solana bytes mean: only nodes that never take the bytes refuse them.
import { assert, describe, it } from "@effect/vitest"
import type { Attempt } from "../../../../src/networks/core/Transaction.ts"
import type { NodeAnswer, Solana } from "../../../../src/networks/solana/rules/Solana.ts"
import { aboutMessage, hear } from "../../../../src/networks/solana/rules/SolanaRules.ts"

const attempt: Attempt<Solana> = {
  ordinal: 1,
  kind: "original",
  generation: 1,
  requestVersion: 1,
  hash: "s1",
  offer: { blockhash: "h1", bound: 300, signedSlot: 100, computeUnitPrice: 0n, fee: 5000n, out: 0n },
  maxFee: 5000n,
  place: { account: "relayer", sequence: 1n },
  signedAt: 999_000,
  sends: 0,
  outcome: "unknown"
}

const at = { at: 1_000_000, height: 200 }

const accepted: NodeAnswer = { _tag: "Signature" }
const silent: NodeAnswer = { _tag: "NoAnswer" }

const error = (code: number, message: string, data?: unknown): NodeAnswer => ({ _tag: "RpcError", code, message, data })

const failing = (err: unknown) => error(-32_002, "Transaction simulation failed", { err })

const outcomeOf = (...answers: ReadonlyArray<NodeAnswer>) => hear(attempt, answers, at).attempt.outcome

describe("an answer to a send", () => {
  it("that does not arrive says nothing about the bytes", () => assert.strictEqual(outcomeOf(silent), "unknown"))

  it("of a node that is busy or behind says nothing about them", () =>
    assert.deepStrictEqual(
      [
        outcomeOf(error(-32_005, "Node is behind by 42 slots")),
        outcomeOf(error(-32_603, "Internal error")),
        outcomeOf(failing("BlockhashNotFound")),
        outcomeOf(error(-32_002, "Transaction simulation failed: Blockhash not found"))
      ],
      ["unknown", "unknown", "unknown", "unknown"]
    ))

  it("of a node that has executed them already accepts them", () =>
    assert.deepStrictEqual([outcomeOf(failing("AlreadyProcessed")), outcomeOf(accepted)], ["accepted", "accepted"]))

  it("refuses bytes that the node can never take", () =>
    assert.deepStrictEqual(
      [
        outcomeOf(failing({ InstructionError: [0, "Custom"] })),
        outcomeOf(error(-32_003, "Transaction signature verification failure")),
        outcomeOf(failing("SignatureFailure")),
        outcomeOf(
          error(-32_602, "invalid transaction: Transaction contains a duplicate instruction (1) that is not allowed")
        )
      ],
      ["refused", "refused", "refused", "refused"]
    ))

  it("of a node that does not know an entry of a lookup table yet says nothing about them", () =>
    assert.strictEqual(
      outcomeOf(error(-32_602, "invalid transaction: Transaction address table lookup uses an invalid index")),
      "unknown"
    ))

  it("gives bytes up only if every node that was asked refuses them", () => {
    const refusal = failing({ InstructionError: [0, "Custom"] })
    assert.deepStrictEqual(
      [outcomeOf(refusal, silent), outcomeOf(refusal, accepted), outcomeOf(refusal, refusal), outcomeOf()],
      ["unknown", "accepted", "refused", "unknown"]
    )
  })
})

describe("an error of a node about a call", () => {
  const about = (message: string, code = -32_602) => aboutMessage({ code, message })

  it("that does not execute such a message is a verdict about the message", () =>
    assert.deepStrictEqual(
      [
        about("invalid transaction: Transaction failed to sanitize accounts offsets correctly"),
        about("decoded solana_transaction::versioned::VersionedTransaction too large: 1233 bytes (max: 1232 bytes)"),
        about("failed to deserialize solana_transaction::versioned::VersionedTransaction: invalid value"),
        about("invalid transaction: Transaction address table lookup uses an invalid index")
      ],
      ["refused", "unread", "unread", "table"]
    ))

  it("about other parameters, or of another code, is none", () =>
    assert.deepStrictEqual(
      [
        about("Too many accounts provided; max 64"),
        about("sigVerify may not be used with replaceRecentBlockhash"),
        about("invalid transaction: of a code that means something else", -32_005)
      ],
      [undefined, undefined, undefined]
    ))
})
