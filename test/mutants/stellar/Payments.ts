// Rules of stellar about what API keys send, and about what users pay.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/networks/stellar/rules"
const guards = "test/networks/stellar/chain"
const attacks = "docs/security/stellar.md: row"

export const payments: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/Envelope.ts`, [
    {
      name: "send-max-counts",
      rule: "sendMax of a path payment counts as sent.",
      source: `${attacks} 10`,
      before: `value: operation.sendAsset === "native" ? operation.sendMax : 0n,`,
      after: "value: 0n,",
      test: `${guards}/KeyLimits.test.ts`
    },
    {
      name: "approve-counts",
      rule: "approve of the contract of XLM counts as sent, because its spender can take it.",
      source: `${attacks} 42`,
      before: `name === "transfer" || name === "approve"`,
      after: `name === "transfer"`,
      test: `${guards}/KeyLimits.test.ts`
    },
    {
      name: "value-is-limited",
      rule: "A key sends at most its max_value.",
      source: `${attacks} 1`,
      before: "if (maxValue !== undefined && sends.value > maxValue) {",
      after: "if (maxValue !== undefined && sends.value > maxValue * 1_000_000n) {",
      test: `${guards}/KeyLimits.test.ts`
    },
    {
      name: "contracts-below-are-receivers",
      rule: "Contracts below an authorization are receivers of a key with limits.",
      source: `${attacks} 17`,
      before: "...(receivers === undefined ? [] : sends.receivers), ...sends.below]",
      after: "...(receivers === undefined ? [] : sends.receivers)]",
      test: `${guards}/KeyLimits.test.ts`
    },
    {
      name: "unreadable-calls-are-refused",
      rule: "A call of the contract of XLM that cannot be counted is refused for a key with limits.",
      source: `${attacks} 42`,
      before: "if (sends.unreadable.length > 0) {",
      after: "if (sends.unreadable.length > 1000) {",
      test: `${guards}/KeyLimits.test.ts`
    }
  ]),
  ...inFile(`${source}/SponsoredPayment.ts`, [
    {
      name: "exactly-one-payment",
      rule: "Exactly one payment to the relayer counts.",
      source: `${attacks} 39`,
      before: "payment === undefined || toRelayer.length > 1",
      after: "payment === undefined",
      test: `${guards}/SponsoredPayment.test.ts`
    },
    {
      name: "no-payment-to-a-muxed-address",
      rule: "A payment to a muxed address does not count.",
      source: `${attacks} 39`,
      before: " && !operation.destination.isMuxed",
      after: "",
      test: `${guards}/SponsoredPayment.test.ts`
    },
    {
      name: "payment-in-an-allowed-token",
      rule: "A payment counts only in an allowed token.",
      source: `${attacks} 39`,
      before: "tokens.find((one) => one.asset === asset)",
      after: 'tokens.find((one) => one.asset !== "")',
      test: `${guards}/SponsoredPayment.test.ts`
    },
    {
      name: "token-that-stays",
      rule: "A token whose issuer can take payments back is no payment.",
      source: `${attacks} 40`,
      before: `issuerClawsBack || (relayer !== "issuer" && relayer?.hasClawback === true)`,
      after: `relayer !== "issuer" && relayer?.hasClawback === undefined`,
      test: `${guards}/SponsoredPayment.test.ts`
    },
    {
      name: "payment-covers-the-fee",
      rule: "A payment covers the fee at the present price.",
      source: `${attacks} 39`,
      before: "return amount < least\n",
      after: "return amount < 0n * least\n",
      test: `${guards}/SponsoredPayment.test.ts`
    }
  ])
]
