// Rules of solana about what proves that bytes are dead, and about verdicts.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/networks/solana/rules"
const tests = "test/networks/solana/rules"
const looks = "test/networks/solana/chain/SolanaLooks.test.ts"
const traces = "test/networks/solana/lane/README.md: trace"

export const proofs: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/SolanaSeen.ts`, [
    {
      name: "dead-above-the-bound",
      rule: "The finalized height is above the bound before bytes count as dead.",
      source: `${traces} 7`,
      before: `if (finalized === undefined || finalized.height < offer.bound + boundMargin) return "finalized_height"`,
      after: `if (finalized === undefined) return "finalized_height"`,
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "index-shows-later-blocks",
      rule: "Bytes are dead only if the index of the provider shows a block in which they cannot land.",
      source: `${traces} 7`,
      before: `return isIndexed === true ? undefined : "index"`,
      after: `return isIndexed === true ? undefined : finalized.height < 0 ? "index" : undefined`,
      test: looks
    },
    {
      name: "index-covers-the-bound",
      rule: "An index that was shown up to one bound says nothing about bytes that may land above it.",
      source: `${traces} 7`,
      before: "fromSlot <= offer.signedSlot && toHeight >= offer.bound",
      after: "fromSlot <= offer.signedSlot && toHeight >= 0",
      test: looks
    },
    {
      name: "index-covers-the-signature",
      rule: "An index that was shown from a slot on says nothing about bytes that were signed before it.",
      source: `${traces} 7`,
      before: "fromSlot <= offer.signedSlot && toHeight",
      after: "fromSlot >= 0 && toHeight",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "history-has-no-signature",
      rule: "A status that was not answered is unknown, never absent.",
      source: `${traces} 11`,
      before: "statuses.of.get(hash) !== null ||",
      after: "(statuses.of.get(hash) ?? null) !== null ||",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "statuses-reach-the-finalized-slot",
      rule: "Statuses are not older than the finalized slot.",
      source: `${traces} 12`,
      before: " || statuses.slot < finalized.slot",
      after: "",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "list-has-no-signature",
      rule: "The list of the address does not have the signature.",
      source: `${traces} 14`,
      before: "if (listed === undefined || listed.signatures.has(hash)) return",
      after: "if (listed === undefined) return",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "list-reaches-back",
      rule: "The list of the address reaches back to the slot of the signature.",
      source: `${traces} 13`,
      before: "listed.isWhole === true ||",
      after: "listed.from > 0 ||",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "empty-list-of-a-whole-history",
      rule: "An empty list of a node that has dropped no block proves nothing.",
      source: `${traces} 13`,
      before: "keptFrom > 0 && known.every(",
      after: "keptFrom >= 0 && known.every(",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "empty-list-lacks-a-known-signature",
      rule: "An empty list of a node that has the block of an own transaction proves nothing.",
      source: `${traces} 43`,
      before: "slot < keptFrom || slot > finalized.slot",
      after: "slot < keptFrom || slot > 0",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "list-lacks-no-known-signature",
      rule: "A list that lacks a signature which is known as finalized proves nothing.",
      source: `${traces} 43`,
      before: "slot > finalized.slot || listed.signatures.has(hash)",
      after: "slot > 0 || listed.signatures.has(hash)",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "blockhash-is-dead",
      rule: "Bytes whose blockhash is valid are not dead.",
      source: `${traces} 13`,
      before: "blockhashes?.valid.get(offer.blockhash) === false && blockhashes.slot >= finalized.slot",
      after: "blockhashes === undefined || blockhashes.slot >= finalized.slot",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "blockhash-answer-is-fresh",
      rule: "The answer about the blockhash is not older than the finalized slot.",
      source: `${traces} 13`,
      before: " && blockhashes.slot >= finalized.slot",
      after: "",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "history-reaches-the-signature",
      rule: "A node that has forgotten the slot of the signature proves nothing.",
      source: `${traces} 13`,
      before: "firstAvailable === undefined || firstAvailable > offer.signedSlot",
      after: "firstAvailable === undefined",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "final-only-when-finalized",
      rule: "A signature is final only when its slot is finalized.",
      source: `${traces} 1`,
      before: `if (status?.level === "finalized") {`,
      after: `if (status?.level === "finalized" || status?.level === "confirmed") {`,
      test: `${tests}/DecideInFlight.test.ts`
    }
  ]),
  ...inFile(`${source}/SolanaDecision.ts`, [
    {
      name: "late-is-what-landed-late",
      rule: "What was seen in a block before its deadline is not late.",
      source: "docs/solana.md",
      before: "return !isSeenBefore && at >= validUntil",
      after: "return at >= validUntil",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "operator-waits-while-a-proof-is-possible",
      rule: "An operator may answer early only if no provider can ever prove what became of the bytes.",
      source: "docs/solana.md",
      before: "isUnprovable ? unprovableAfter : answerableAfter",
      after: "isUnprovable ? unprovableAfter : unprovableAfter",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "two-providers-agree",
      rule: "Two providers agree before a verdict is given.",
      source: `${traces} 15`,
      before: "isSameConclusion(other.conclusion, conclusion)).length >= agreeing",
      after: "isSameConclusion(other.conclusion, conclusion)).length >= 1",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "two-against-two-wait",
      rule: "Two of four providers that contradict the two others decide nothing.",
      source: `${traces} 15`,
      before: "return isContradicted(agreed) ? undefined : agreed[0]?.conclusion",
      after: "return agreed[0]?.conclusion",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "one-provider-proves-twice",
      rule: "A provider that decides alone has to prove an absence in two looks.",
      source: `${traces} 42`,
      before: "return decidesAtOnce || isRepeated(opinion, situation.now)",
      after: 'return decidesAtOnce || opinion.look.host !== "nobody"',
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "looks-are-apart",
      rule: "The two looks of a provider that decides alone are ten seconds apart.",
      source: `${traces} 42`,
      before: " &&\n  now >= look.earlier.at + looksApart",
      after: "",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "one-decides-after-an-hour",
      rule: "One provider of two decides alone only after the time that the network names.",
      source: `${traces} 42`,
      before: `return silenceOf(situation)?._tag === "Alone" ? "left" : undefined`,
      after: `return silenceOf(situation) === undefined ? undefined : "left"`,
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "never-by-one",
      rule: "A network can forbid that one provider decides.",
      source: `${traces} 42`,
      before: "required: finalizedAfter, finalityByOne }",
      after: `required: finalizedAfter, finalityByOne: finalityByOne === "never" ? 0 : finalityByOne }`,
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "one-decides-after-ten-times-finality",
      rule: "One provider of two never decides alone before ten times as long as finality takes.",
      source: `${traces} 42`,
      before: "required: finalizedAfter, finalityByOne }",
      after: "required: 0, finalityByOne }",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "silence-counts-from-the-ledger",
      rule: "The time of one provider counts from when the ledger has noted the silence of the others, for each transaction.",
      source: `${traces} 42`,
      before: "verdictOf([silent], transaction, {",
      after: `verdictOf([silent], { cause: cause("second_provider_missing"), causeSince: since }, {`,
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "silence-is-seen-by-the-holder",
      rule: "The process that decides has seen the silence of the others itself.",
      source: `${traces} 42`,
      before: `host: "another provider", since, error`,
      after: `host: "another provider", since: 0, error`,
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "refresh-only-after-the-proof",
      rule: "New bytes are signed only after the proof that all earlier ones are dead.",
      source: "test/transactions-failures.md 44",
      before: "if (!view.looks.some((look) => isPastBound(look, newest))) return alive(situation, newest)",
      after:
        "if (!view.looks.some((look) => isPastBound(look, newest))) return alive(situation, newest)\n  if (view.isProofAsked !== true) return dead(situation)",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "canceled-only-after-the-proof",
      rule: "A cancel after the first signature prevents new bytes and ends nothing before the proof.",
      source: `${traces} 22`,
      before: "  const opinions = opinionsOf(situation)\n",
      after: `  if (transaction.intent === "cancel") return dead(situation)\n  const opinions = opinionsOf(situation)\n`,
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "expired-only-after-the-proof",
      rule: "A deadline waits for the proof that the bytes are dead.",
      source: `${traces} 19`,
      before: "  const opinions = opinionsOf(situation)\n",
      after: `  if (situation.now >= transaction.validUntil) return dead(situation)\n  const opinions = opinionsOf(situation)\n`,
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "canceled-request-is-not-refreshed",
      rule: "A canceled request gets no new bytes after the proof.",
      source: `${traces} 22`,
      before: `if (transaction.intent === "cancel") return [finish({ state: "canceled", cause: cause("canceled") })]`,
      after: "",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "restored-request-is-not-refreshed",
      rule: "A request of a restored ledger waits for an operator after the proof.",
      source: `${traces} 27`,
      before: "if (transaction.restored) return holdRestored(situation)",
      after: "",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "given-blockhash-is-not-exchanged",
      rule: "A blockhash that may not be exchanged is not exchanged.",
      source: `${traces} 23`,
      before: "if (!facts.isRefreshable || attempts",
      after: "if (attempts",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "attempts-are-bounded",
      rule: "A transaction has at most twenty attempts.",
      source: `${traces} 6`,
      before: "return attempts.length >= maxAttempts",
      after: "return attempts.length > maxAttempts",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "dropped-block-is-forgotten",
      rule: "What a fork drops is not mined any more.",
      source: `${traces} 16`,
      before: "if (isGone(situation)) return unmined(now)",
      after: "",
      test: `${tests}/DecideInFlight.test.ts`
    },
    {
      name: "error-fails-nothing-before-it-is-final",
      rule: "An error that is not finalized is not shown as mined.",
      source: `${traces} 17`,
      before: `state: isSuccess ? "mined" : "submitted",`,
      after: `state: "mined",`,
      test: `${tests}/DecideInFlight.test.ts`
    }
  ]),
  ...inFile(`${source}/SolanaRules.ts`, [
    {
      name: "nothing-is-sent-again-while-bytes-are-alive",
      rule: "An operator cannot have bytes signed again while the former ones can land.",
      source: "docs/solana.md: proofs",
      before: 'answer === "send" && height <= bound',
      after: 'answer === "send" && height < 0',
      test: "test/networks/solana/lane/RealNodes.test.ts"
    }
  ]),
  ...inFile(`${source}/SolanaRules.ts`, [
    {
      name: "bytes-are-given-up-by-all",
      rule: "Bytes are given up only if every provider that was asked refuses them.",
      source: `${traces} 38`,
      before: `classes.every((one) => one === "refused")`,
      after: `classes.some((one) => one === "refused")`,
      test: `${tests}/SendAnswer.test.ts`
    },
    {
      name: "executed-bytes-are-accepted",
      rule: "A node that has executed the bytes already has accepted them.",
      source: `${traces} 2`,
      before: `if (namesError(answer, "AlreadyProcessed", "already been processed")) return "accepted"`,
      after: "",
      test: `${tests}/SendAnswer.test.ts`
    }
  ]),
  ...inFile(`${source}/RequestBytes.ts`, [
    {
      name: "bound-has-a-second-height",
      rule: "The bound does not rest on the height that one provider reports.",
      source: `${traces} 9`,
      before:
        "return Math.max(lastValid, Math.max(...seconds.map((second) => second.height)) + Math.max(...all)) + boundMargin",
      after: "return lastValid + 0 * seconds.length + boundMargin",
      test: `${tests}/Bound.test.ts`
    },
    {
      name: "bound-has-a-margin",
      rule: "The bound counts the last block in which the runtime takes the bytes.",
      source: `${traces} 8`,
      before: "+ Math.max(...all)) + boundMargin",
      after: "+ Math.max(...all)) - boundMargin",
      test: `${tests}/Bound.test.ts`
    },
    {
      name: "blockhash-is-valid-elsewhere",
      rule: "A blockhash that another provider does not know is not used.",
      source: `${traces} 9`,
      before: "if (!seconds.every(({ isValid }) => isValid)) return undefined",
      after: "",
      test: `${tests}/Bound.test.ts`
    }
  ]),
  ...inFile("src/networks/solana/chain/SolanaLooks.ts", [
    {
      name: "later-transaction-is-in-the-same-answer",
      rule: "The transaction of a later block is shown by the same answer that lacks the bytes.",
      source: `${traces} 7`,
      before: "return fromSlot !== undefined && isShown(witness.shown) ?",
      after: "return fromSlot !== undefined ?",
      test: looks
    },
    {
      name: "older-transaction-is-in-the-same-answer",
      rule: "A transaction from before the signatures is shown by the same answer that lacks them, or that back end may be younger.",
      source: `${traces} 7`,
      before: "const fromSlot = since !== undefined && isShown(since) ? since.slot : undefined",
      after: "const fromSlot = since !== undefined && parts.length > 0 ? since.slot : undefined",
      test: looks
    }
  ]),
  ...inFile("src/networks/solana/chain/SolanaLooks.ts", [
    {
      name: "page-continues-the-page-above",
      rule: "A page that does not begin with the last entry of the page above it is not the end of the list.",
      source: `${traces} 43`,
      before: "if (next !== undefined && found[0]?.signature !== next) return",
      after: "if (next !== undefined && found[0]?.signature === undefined && node.url === '') return",
      test: "test/networks/solana/chain/SolanaLists.test.ts"
    }
  ]),
  ...inFile("src/networks/solana/chain/SolanaLooks.ts", [
    {
      name: "empty-blocks-are-read",
      rule: "An empty block above the bound shows nothing of an index: the blocks below it are read until one has a transaction.",
      source: `${traces} 7`,
      before: "for (let end = first - 1; end >= lowest; end -= emptyBlocks) {",
      after: "for (let end = first - 1; end >= first; end -= emptyBlocks) {",
      test: looks
    }
  ])
]
