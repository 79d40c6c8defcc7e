// Rules of the facilitator of x402. Without one of them, a payment is paid twice, served twice, or answered as a failure although it lands.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "packages/x402/README.md: What it promises"
const test = "test/x402/Settlement.test.ts"

export const settlements: ReadonlyArray<Mutant> = [
  ...inFile("packages/x402/src/Settlement.ts", [
    {
      name: "x402-claim-is-made-final",
      rule: "A request makes its claim final before it is answered as settled.",
      source,
      before: "if (await answered(() => relayers.finish(name, by))) return result",
      after: "return result",
      test
    },
    {
      name: "x402-lapsed-claim-is-no-success",
      rule: "A request whose claim another one has got is not answered as settled.",
      source,
      before: 'return failed(pending("the claim of this request has lapsed", hash))',
      after: "return result",
      test
    },
    {
      name: "x402-other-requests-wait",
      rule: "Of several requests for a payment, the one that holds the claim settles it.",
      source,
      before: 'if (state === "mine") {',
      after: 'if (state !== "final") {',
      test
    },
    {
      name: "x402-noop-is-no-settlement",
      rule: "A block with the no-op that replaced the call has not moved the payment.",
      source,
      before: 'minedAs === "call" && code !== "reverted_unconfirmed"',
      after: 'code !== "reverted_unconfirmed"',
      test
    },
    {
      name: "x402-revert-is-no-settlement",
      rule: "A block with the reverted call has not moved the payment.",
      source,
      before: 'minedAs === "call" && code !== "reverted_unconfirmed"',
      after: 'minedAs === "call"',
      test
    },
    {
      name: "x402-canceled-only-while-pending",
      rule: "A payment that may be executed is pending after the budget, with its hash.",
      source,
      before: 'throw pending("no block has the payment yet", row.hash)',
      after: 'throw new Stopped(reasons.failed, "no block has the payment yet", row.hash)',
      test
    },
    {
      name: "x402-same-call-under-a-name",
      rule: "What was sent for a nonce counts only if it is the call of the payment.",
      source,
      before: "if (rows.some((one) => !isCallOf(payment, one)))",
      after: "if (rows.length > 9)",
      test
    },
    {
      name: "x402-signs-only-the-call-of-the-payment",
      rule: "The scheme sends no call other than that of the payment.",
      source,
      before: "if (!isCallOf(payment, { to: address, data }))",
      after: "if (size(data) === 0)",
      test
    },
    {
      name: "x402-known-signature",
      rule: "The store answers only for what was sent with the signature of the request.",
      source,
      before: "isOver(row) || !hasSignatureOf(payment, row)",
      after: "isOver(row)",
      test
    },
    {
      name: "x402-old-payments-are-used",
      rule: "A payment is answered as settled within an hour, while its claim is remembered.",
      source,
      before: "if (clock.now() - row.createdAt < settling.repeatWithin) return row.hash",
      after: "if (clock.now() >= row.createdAt) return row.hash",
      test
    },
    {
      name: "x402-unanswered-send-is-pending",
      rule: "A send that was not answered may have been accepted, so that it is no failure.",
      source,
      before: "if (isUnknown) throw pending(",
      after: "if (isUnknown) throw used(",
      test
    },
    {
      name: "x402-silent-nodes-are-no-verdict",
      rule: "The scheme takes a node that does not answer for one that says no, and the facilitator does not.",
      source,
      before: 'if (isUnanswered) return failed(pending("a node has not answered", newest))',
      after: "",
      test
    },
    {
      name: "x402-gone-seller-is-not-answered",
      rule: "The claim of a seller that has gone is released.",
      source,
      before: "if (held && !result.success) await relayers.release(name, by)",
      after: "if (held && result.success) await relayers.release(name, by)",
      test
    }
  ]),
  ...inFile("packages/x402/src/Chain.ts", [
    {
      name: "x402-transfer-is-next-to-the-nonce",
      rule: "A transaction of a stranger has landed the payment if the next log of the token is its transfer.",
      source,
      before: "const next = ofToken[used + 1]",
      after: "const next = ofToken.find(({ topics: [event] }) => event === transfer)",
      test
    }
  ]),
  ...inFile("packages/x402/src/Payers.ts", [
    {
      name: "x402-payers-have-few-open-payments",
      rule: "A payer has four payments on their way at most, which one transfer can revert.",
      source,
      before: "if (others.length >= maxOpenPerPayer)",
      after: "if (others.length > maxOpenPerPayer)",
      test
    },
    {
      name: "x402-payers-cover-all-open-payments",
      rule: "The balance of a payer covers all of its payments that are on their way.",
      source,
      before: "if ((await balanceOf(payment)) >= moving + payment.value) return undefined",
      after: "if ((await balanceOf(payment)) >= payment.value) return undefined",
      test
    }
  ]),
  ...inFile("packages/x402/src/Payment.ts", [
    {
      name: "x402-one-form-of-a-signature",
      rule: "A signature with a high s is the one with the low s.",
      source,
      before: "const isHigh = value > order / 2n",
      after: "const isHigh = value > order",
      test: "test/x402/Payment.test.ts"
    },
    {
      name: "x402-sellers-ask-for-themselves",
      rule: "A seller asks only for payments to its own addresses.",
      source,
      before: "if (!payTos.some((one) => same(one, payTo)))",
      after: "if (payTos.length === 0)",
      test: "test/x402/Payment.test.ts"
    }
  ])
]
