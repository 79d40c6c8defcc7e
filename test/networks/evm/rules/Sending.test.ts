// What the answers of nodes to a broadcast do to an attempt, and to its transaction.
import { Arbitrary, Schema } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { cause } from "../../../../src/networks/core/Cause.ts"
import type { Attempt } from "../../../../src/networks/core/Transaction.ts"
import { withSent } from "../../../../src/networks/core/Transition.ts"
import type { Evm } from "../../../../src/networks/evm/rules/Evm.ts"
import { hear as record } from "../../../../src/networks/evm/rules/EvmRules.ts"
import type { NodeAnswer } from "../../../../src/networks/evm/rules/Refusal.ts"
import { summary, unsent } from "./DecisionTable.ts"
import { attempt, mined, now, request, submitted } from "./Fixtures.ts"

const says = (message: string): NodeAnswer => ({ _tag: "RpcError", code: -32000, message })
const hash: NodeAnswer = { _tag: "Hash" }
const silence: NodeAnswer = { _tag: "NoAnswer" }
const at = { at: now + 500, height: 101 }

const signed = submitted({ state: "signed", attempts: [unsent(attempt(1))] })
const send = (answers: ReadonlyArray<NodeAnswer>, transaction = signed, ordinal = 1) => {
  const one = transaction.attempts.find((other) => other.ordinal === ordinal) ?? attempt(ordinal)
  return record(transaction, one, answers, at)
}

describe("a broadcast", () => {
  it("is accepted if one node has the transaction, and then it is submitted", () => {
    const sent = send([says("nonce too high"), hash])
    assert.strictEqual(sent.attempt.outcome, "accepted")
    assert.strictEqual(withSent(signed, sent).state, "submitted")
    assert.strictEqual(send([says("already known"), silence]).attempt.outcome, "accepted")
  })

  it("that is accepted changes the code from sending to in_pool, and no other", () => {
    const sending = { ...signed, cause: cause("sending", { sends: 0 }), causeSince: now }
    const sent = withSent(sending, send([hash], sending))
    assert.deepStrictEqual([sent.cause, sent.causeSince], [cause("in_pool", { sends: 1 }), now + 500])
    assert.strictEqual(withSent(sending, send([silence], sending)).cause?.code, "sending")
    const canceling = { ...sending, cause: cause("canceling") }
    assert.strictEqual(withSent(canceling, send([hash], canceling)).cause?.code, "canceling")
  })

  it("changes the state only of a transaction that is signed", () => {
    assert.strictEqual(withSent(mined(), send([hash], mined())).state, "mined")
    assert.strictEqual(withSent(signed, send([silence])).state, "signed")
  })

  it("counts, and remembers the first and the newest", () => {
    const { attempt: sent } = send([silence])
    assert.deepStrictEqual(
      [sent.sends, sent.firstSent, sent.lastSentAt],
      [1, { at: now + 500, height: 101 }, now + 500]
    )
    const again = record(signed, sent, [hash], { at: now + 900, height: 105 }).attempt
    assert.deepStrictEqual([again.sends, again.firstSent?.height, again.lastSentAt], [2, 101, now + 900])
  })

  it("has an unknown outcome if a node did not answer, or not in a known way", () => {
    for (const answers of [
      [],
      [silence],
      [silence, says("intrinsic gas too low")],
      [says("what"), says("fee too low")]
    ]) {
      assert.strictEqual(send(answers).attempt.outcome, "unknown")
      assert.isUndefined(send(answers).follows)
    }
  })

  it("that every node refuses in unknown words keeps them, counts such broadcasts in a row, and ends nothing", () => {
    const said = says("Sender is on\na list")
    const first = send([said, says("other")])
    assert.strictEqual(first.attempt.outcome, "refused")
    assert.deepStrictEqual(first.attempt.refusal, { class: "unknown", words: "Sender is on a list", times: 1 })
    assert.isUndefined(first.follows)
    assert.isTrue(first.triesOlder)
    const again = record(signed, first.attempt, [said], at).attempt
    assert.strictEqual(again.refusal?.times, 2)
    const forgotten = record(signed, again, [silence], at).attempt
    assert.strictEqual(record(signed, forgotten, [said], at).attempt.refusal?.times, 1)
    assert.deepStrictEqual(send([{ _tag: "HttpError", status: 403 }]).attempt.refusal?.words, "HTTP 403")
  })

  it("that only some nodes refuse in unknown words keeps them beside what the others say, and may have arrived", () => {
    const partly = send([silence, says("what")]).attempt
    assert.deepStrictEqual([partly.outcome, partly.refusal], ["unknown", { class: "unknown", words: "what" }])
    const { outcome, refusal } = send([says("what"), says("fee too low")]).attempt
    assert.deepStrictEqual([outcome, refusal], ["unknown", { class: "price", words: "what" }])
    assert.notProperty(send([hash, says("what")]).attempt, "refusal")
  })

  it("in unknown words may have left a former version in a pool, so that it clears no nonce", () => {
    const versions = [request(), request({ value: 2n })] as const
    const former = attempt(1, { outcome: "refused", refusal: { class: "unknown", words: "what", times: 9 } })
    const attempts = [former, attempt(2, { requestVersion: 2 })]
    assert.isUndefined(send([says("intrinsic gas too low")], submitted({ versions, attempts }), 2).follows)
  })

  it("is refused by the class that says most, with the price that a node names", () => {
    const sent = send([says("intrinsic gas too low"), says("transaction underpriced: gas tip cap 0, minimum needed 7")])
    assert.deepStrictEqual(sent.attempt.refusal, { class: "price", minimumNeeded: 7n })
    assert.isTrue(sent.triesOlder)
    assert.isUndefined(sent.follows)
    assert.deepStrictEqual(send([says("txpool is full")]).attempt.refusal, { class: "window" })
  })

  it("that meets a used nonce says nothing about older attempts", () => {
    assert.isFalse(send([says("nonce too low")]).triesOlder)
  })

  it("halves the window if any node has too many transactions of the account", () => {
    assert.isTrue(send([hash, says("txpool is full")]).isWindowFull)
    assert.isFalse(send([hash]).isWindowFull)
  })

  it("clears the nonce only if all nodes refuse for good, and no other attempt can be in a pool", () => {
    const never = [says("intrinsic gas too low"), says("oversized data")]
    assert.strictEqual(summary([send(never).follows ?? { _tag: "Rest" }]), "Intend clear refused_by_all")
    const bumped = submitted({ attempts: [attempt(1), attempt(2)] })
    assert.isUndefined(send(never, bumped, 2).follows)
    const hopeless = { outcome: "refused", refusal: { class: "permanent" } } as const
    assert.isDefined(send(never, submitted({ attempts: [attempt(1, hopeless), attempt(2)] }), 2).follows)
    assert.isUndefined(send(never, submitted({ attempts: [attempt(1, { kind: "noop" })] })).follows)
    assert.isUndefined(send(never, submitted({ intent: "cancel" })).follows)
  })

  it("does not wait for a former version that nodes have refused", () => {
    const versions = [request(), request({ value: 2n })] as const
    const newer = attempt(2, { requestVersion: 2 })
    const never = [says("intrinsic gas too low")]
    const after = (former: Partial<Attempt<Evm>>) =>
      send(never, submitted({ versions, attempts: [attempt(1, former), newer] }), 2).follows
    assert.isUndefined(after({}))
    assert.isUndefined(after({ outcome: "refused", refusal: { class: "nonce" } }))
    assert.isDefined(after({ outcome: "refused", refusal: { class: "price" } }))
  })

  it("forgets a former refusal", () => {
    const refused = submitted({ attempts: [attempt(1, { outcome: "refused", refusal: { class: "funds" } })] })
    assert.notProperty(send([hash], refused).attempt, "refusal")
  })

  const answers = Arbitrary.array(
    Arbitrary.schema(Schema.Literals(["hash", "silence", "nonce too low", "intrinsic gas too low", "txpool is full"]))
  ).pipe(
    Arbitrary.map((texts) => texts.map((text) => (text === "hash" ? hash : text === "silence" ? silence : says(text))))
  )

  it.prop("never ends a transaction, whatever nodes answer", [answers], ([given]) => {
    const sent = send(given)
    assert.include(["signed", "submitted"], withSent(signed, sent).state)
    assert.strictEqual(sent.attempt.outcome === "accepted", sent.isAccepted)
    assert.strictEqual(sent.attempt.outcome === "refused", sent.attempt.refusal !== undefined)
  })
})
