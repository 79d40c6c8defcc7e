// Rules of evm about which transaction used a nonce: only a proof gives the request another one.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/networks/evm/rules"
const tests = "test/networks/evm/rules"
const lanes = "test/server/lanes"
const failures = "test/transactions-failures.md"

export const taken: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/LaneNonces.ts`, [
    {
      name: "own-bytes-take-no-nonce",
      rule: "A transaction that is an attempt of the row does not prove that another one used the nonce.",
      source: `${failures} 6`,
      before: "({ hash }) => hash === taker.hash",
      after: "() => false",
      test: `${tests}/DecideTaken.test.ts`
    },
    {
      name: "taker-has-the-sender",
      rule: "Only a transaction of the account proves that its nonce is taken.",
      source: `${failures} 6`,
      before: "taker.sender !== address || taker.nonce",
      after: "taker.nonce",
      test: `${tests}/DecideTaken.test.ts`
    },
    {
      name: "taker-has-the-nonce",
      rule: "Only a transaction with this nonce proves that it is taken.",
      source: `${failures} 6`,
      before: "taker.sender !== address || taker.nonce !== nonceOf(transaction)",
      after: "taker.sender !== address",
      test: `${tests}/DecideTaken.test.ts`
    },
    {
      name: "taker-is-deep",
      rule: "A transaction that took the nonce is in a deep block before the request gets another nonce.",
      source: `${failures} 6`,
      before: `if (block > view.finalHeight) return { _tag: "NotDeep" }`,
      after: "",
      test: `${tests}/DecideTaken.test.ts`
    },
    {
      name: "taker-has-a-second-opinion",
      rule: "A second provider has the block of the transaction that took the nonce.",
      source: `${failures} A2`,
      before: "return isAgreed(second, block, blockHash) ?",
      after: "return block >= 0 ?",
      test: `${tests}/DecideTaken.test.ts`
    },
    {
      name: "silence-is-no-proof",
      rule: "That a provider finds nothing does not prove that another transaction used the nonce.",
      source: `${failures} A2`,
      before: `case "NotFound":\n      return { _tag: "Unproven" }`,
      after: `case "NotFound":\n      return { _tag: "Taken" }`,
      test: `${tests}/DecideTaken.test.ts`
    },
    {
      name: "index-that-lags-is-no-proof",
      rule: "A block that is not shown yet does not prove that another transaction used the nonce.",
      source: `${failures} A2`,
      before: `return { _tag: "Behind", since: taker.since ?? now }`,
      after: `return { _tag: "Taken" }`,
      test: `${tests}/DecideTaken.test.ts`
    },
    {
      name: "authorization-is-in-a-deep-block",
      rule: "An authorization took the nonce only if both providers have its block deep.",
      source: `${failures} A2`,
      before: `return inBlock(view, taker, { _tag: "Taken" })`,
      after: `return { _tag: "Taken" }`,
      test: `${tests}/DecideTaken.test.ts`
    },
    {
      name: "unseen-taker-could-be-the-request",
      rule: "A transaction that took the nonce and was not fetched could be the request itself.",
      source: `${failures} A3`,
      before: `  call === undefined ||
  transaction.versions.some((request) => matches(request, call)) ||
  (call.isNoop === true && hasHad(transaction, call.nonce))`,
      after: `  call !== undefined &&
  (transaction.versions.some((request) => matches(request, call)) ||
    (call.isNoop === true && hasHad(transaction, call.nonce)))`,
      test: `${tests}/Restore.test.ts`
    },
    {
      name: "equal-call-could-be-the-request",
      rule: "A foreign transaction that equals the request could be one that the ledger has forgotten.",
      source: `${failures} A3`,
      before: "transaction.versions.some((request) => matches(request, call))",
      after: "transaction.versions.some(() => false)",
      test: `${tests}/Restore.test.ts`
    },
    {
      name: "no-op-could-have-ended-the-request",
      rule: "A foreign no-op at a nonce of the request could be one that the ledger has forgotten.",
      source: `${failures} A3`,
      before: "(call.isNoop === true && hasHad(transaction, call.nonce))",
      after: "false",
      test: `${tests}/DecideTaken.test.ts`
    }
  ]),
  ...inFile(`${source}/DecideInFlight.ts`, [
    {
      name: "lost-request-waits-for-an-operator",
      rule: "A request whose nonce was used by what could be its own bytes waits for an operator.",
      source: `${failures} 33`,
      before: "(restored || isLost)",
      after: "restored",
      test: `${tests}/DecideTaken.test.ts`
    },
    {
      name: "operator-waits-for-the-index",
      rule: "An operator is asked what used a nonce only after the indexes had time to show it.",
      source: `${failures}: the question \`nonce_taken_unproven\``,
      before: "now - since >= indexPatience",
      after: "now - since >= 0 * indexPatience",
      test: `${tests}/DecideTaken.test.ts`
    },
    {
      name: "requeue-three-times",
      rule: "A request gets another nonce at most three times.",
      source: `${failures} 5`,
      before: "requeues >= maxRequeues",
      after: "requeues > maxRequeues",
      test: `${tests}/DecideTaken.test.ts`
    },
    {
      name: "required-nonce-is-not-exchanged",
      rule: "A request that requires its nonce gets no other one.",
      source: `${failures} 5`,
      before: "if (required !== undefined) {",
      after: "if (required !== undefined && requeues < 0) {",
      test: `${tests}/DecideTaken.test.ts`
    },
    {
      name: "lost-nonce-is-given-up",
      rule: "A canceled transaction whose nonce was taken keeps no nonce.",
      source: `${failures} B13`,
      before: "if (!isWanted) return { ...endOf(transaction), losesPlace: true }",
      after: "if (!isWanted) return endOf(transaction)",
      test: `${tests}/LostNonces.test.ts`
    },
    {
      name: "unexplained-nonces-first",
      rule: "Nothing gets another nonce while a used nonce of the account is unexplained.",
      source: `${failures} 33`,
      before: `if (isUnexplained(situation)) return hold(situation, cause("nonce_unexplained", { nonce, count: view.count }))`,
      after: "",
      test: `${tests}/DecideTaken.test.ts`
    },
    {
      name: "given-up-without-a-receipt",
      rule: "A transaction that an operator gives up ends only if no provider has a receipt of it.",
      source: `${failures} 6`,
      before: "return view.hasNoReceipt === true",
      after: "return view.count > nonce",
      test: `${tests}/LostNonces.test.ts`
    }
  ]),
  ...inFile("src/networks/evm/chain/EvmEvidence.ts", [
    {
      name: "index-shows-the-newest-block",
      rule: "A provider is called unable to show what used a nonce only if its index has the newest transaction.",
      source: `${failures}: the question \`nonce_taken_unproven\``,
      before: "return shown !== null && own.every(",
      after: "return shown !== undefined && own.every(",
      test: `${lanes}/IndexLag.test.ts`,
      only: "asks no operator what became of it"
    },
    {
      name: "own-receipt-is-shown",
      rule: "A provider that has a receipt of an attempt is not unable to show what used its nonce.",
      source: `${failures}: the question \`nonce_taken_unproven\``,
      before: "own.every((receipt) => receipt === null)",
      after: "own.every((receipt) => receipt !== undefined)",
      test: "test/networks/evm/chain/EvmTaker.test.ts"
    },
    {
      name: "authorization-is-of-the-account",
      rule: "An authorization of another account does not take the nonce.",
      source: `${failures} A2`,
      before: "(yield* EvmBytes.authoritiesOf(signed, nonce)).includes(address)",
      after: "(yield* EvmBytes.authoritiesOf(signed, nonce)).length > 0",
      test: "test/networks/evm/chain/EvmTaker.test.ts"
    }
  ]),
  ...inFile("src/networks/evm/lane/EvmCounts.ts", [
    {
      name: "incomplete-look-does-not-count",
      rule: "Looks at an index that lags do not make requests count as executed.",
      source: `${failures}: a used nonce is not explained`,
      before: "else if (isBehind !== true) beliefs.unexplained += 1",
      after: "else beliefs.unexplained += 1",
      test: `${lanes}/IndexLag.test.ts`,
      only: "does not make requests that wait count as executed"
    }
  ])
]
